"""MuJoCo's samplers on the planner's problems: the same scene, and methods that improve."""

import json

import numpy as np
import pytest

from contact_stack import cli
from irs_planner import build_problem, load_example

pytest.importorskip("mujoco")

from contact_experiments.irs.sampling_peers import (
    MPPI,
    SAMPLING,
    MujocoScene,
    sample_inputs,
)


def problem(name):
    return build_problem(load_example(name))


def test_a_ball_in_a_hand_sinks_as_far_as_in_our_model():
    """By its weight, against the springs of four joints."""
    given = problem("hand_turn")
    hold = np.tile(given.initial_inputs[0], (60, 1))
    ours = given.dynamics.rollout(given.initial_state, hold)[-1]
    theirs = MujocoScene(given).roll_out(hold[np.newaxis])[0, -1]
    assert ours[1] - given.initial_state[1] < -0.03
    np.testing.assert_allclose(theirs, ours, atol=2e-3)


@pytest.mark.parametrize("name", ["push_disc", "push_t"])
def test_a_straight_push_goes_as_far_as_in_our_model(name):
    given = problem(name)
    begin = given.initial_state[list(given.dynamics.commanded_states)]
    goes = np.minimum(np.arange(1, 61), 20)[:, np.newaxis]
    inputs = begin - 0.01 * goes * begin / np.linalg.norm(begin)
    ours = given.dynamics.rollout(given.initial_state, inputs)[-1]
    theirs = MujocoScene(given).roll_out(inputs[np.newaxis])[0, -1]
    moved = np.linalg.norm(ours[:2] - given.initial_state[:2])
    assert moved > 0.05
    assert np.linalg.norm(theirs[:2] - ours[:2]) < 0.1 * moved


@pytest.mark.parametrize("method", [SAMPLING, MPPI])
def test_samples_lower_the_cost_and_keep_to_the_largest_step(method):
    given = problem("push_disc")
    scene = MujocoScene(given)
    costs = []
    for budget in (0.0, 0.5):
        inputs, states = sample_inputs(given, scene, method, budget, seed=0)
        np.testing.assert_allclose(scene.roll_out(inputs[np.newaxis])[0], states, atol=1e-9)
        begin = states[:1, list(given.dynamics.commanded_states)]
        change = np.abs(np.diff(inputs, axis=0, prepend=begin))
        assert (change <= given.bounds.increment + 1e-12).all()
        costs.append(given.evaluate(states, inputs))
    assert (
        costs[1]
        <= costs[0]
        < given.evaluate(np.tile(given.initial_state, (61, 1)), np.tile(begin, (60, 1)))
    )


def test_the_benchmark_has_a_row_for_every_method(tmp_path):
    path = tmp_path / "peers.json"
    words = ["--part", "peers", "--quick", "--budget", "0.01", "--json", str(path)]
    assert cli.main(["bench", "irs", *words]) == 0
    rows = json.loads(path.read_text())["peers"]
    methods = ["plan_globally, in MuJoCo", "plan_globally", SAMPLING, MPPI]
    assert [row["method"] for row in rows] == methods
    assert all(np.isfinite(row["error"]) for row in rows)
