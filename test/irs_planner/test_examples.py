"""The example files."""

import dataclasses
import pickle

import numpy as np
import pytest

from contact_core.base.errors import ConfigError
from contact_core.base.sweep import Workers
from contact_experiments.irs.benchmark import run_examples
from irs_planner import (
    PlannerSettings,
    PlanTask,
    build_problem,
    example_names,
    example_task,
    load_example,
    multi_start,
    plan,
    plan_all,
)


@pytest.mark.parametrize("name", example_names())
def test_every_example_plans_one_iteration(name):
    task = example_task(name, PlannerSettings(mode="zero", iterations=1, samples=20))
    assert task.problem.horizon == load_example(name).horizon
    result = plan(task.problem, task.settings)
    assert np.isfinite(result.cost)
    assert len(result.iterations) == 1


def test_example_names_are_those_of_the_paper():
    paper = {
        *("pendulum", "dubins_easy", "dubins_hard", "quadrotor"),
        *("hand_move", "hand_spin", "pushing", "pivoting", "plate"),
    }
    assert paper <= set(example_names())


def test_unknown_example_lists_the_valid_ones():
    with pytest.raises(ConfigError, match=r"unknown example 'push'.*pushing"):
        load_example("push")


def test_an_example_is_either_a_scene_or_a_model():
    config = dataclasses.replace(load_example("pushing"), model="pendulum")
    with pytest.raises(ConfigError, match="either a scene or a model"):
        build_problem(config)


def test_batches_do_not_depend_on_the_number_of_workers():
    settings = PlannerSettings(mode="zero", iterations=2, samples=20)
    tasks = [
        PlanTask(build_problem(load_example("pushing")), dataclasses.replace(settings, seed=seed))
        for seed in range(3)
    ]
    one, two = (plan_all(tasks, Workers(processes)) for processes in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.inputs, b.inputs)
        assert a.costs == b.costs


def test_multi_start_returns_the_best_first():
    problem = build_problem(load_example("pushing"))
    settings = PlannerSettings(mode="first", iterations=2, samples=5)
    results = multi_start(problem, settings, 4)
    costs = [result.cost for result in results]
    assert costs == sorted(costs)
    assert len(set(costs)) == 4


def test_tasks_and_results_can_be_sent_to_other_machines():
    task = example_task("pushing", PlannerSettings(iterations=1, samples=5))
    result = plan(task.problem, task.settings)
    sent = pickle.loads(pickle.dumps((task, result)))
    assert plan(sent[0].problem, sent[0].settings).costs == sent[1].costs


def test_a_batch_gives_what_plans_one_by_one_give():
    tasks = [
        example_task("pushing", PlannerSettings(iterations=1, samples=5, seed=s)) for s in range(2)
    ]
    batch = plan_all(tasks)
    assert [r.costs for r in batch] == [plan(t.problem, t.settings).costs for t in tasks]


def test_benchmark_reports_every_mode():
    figures = run_examples(["pushing"])["examples"]["pushing"]
    assert set(figures) == {"exact", "first", "zero", "log_barrier"}
    for mode, entry in figures.items():
        assert len(entry["costs"]) == entry["iterations"] + 1 == 11, mode
        assert entry["best"] == min(entry["costs"])
        assert entry["initial"] == entry["costs"][0]
        parts = entry["seconds_per_iteration"]
        assert entry["seconds"] >= 0.5 * entry["iterations"] * sum(parts.values())


def test_benchmark_with_the_paper_settings_has_no_refinements():
    paper = run_examples(["iiwa_push"], ["log_barrier"], paper=True)["examples"]["iiwa_push"]
    assert paper["log_barrier"]["iterations"] == load_example("iiwa_push").iterations
