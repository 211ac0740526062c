"""contact-stack plan and bench irs, without a node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from contact_stack_msgs.action import PlanThroughContact
from own_scenes import write_scene

from contact_core.base.files import share
from contact_stack import cli


def plan(tmp_path: Path, *words: str) -> tuple[int, dict]:
    file = tmp_path / "plan.json"
    code = cli.main(
        ["plan", "pushing", "--iterations", "2", "--samples", "20", "--json", str(file), *words]
    )
    return code, json.loads(file.read_text())


def test_plots_are_drawn(tmp_path: Path) -> None:
    """Of a motion of a few steps: each is a frame."""
    own = yaml.safe_load(share("config", "irs", "examples", "pushing.yaml").read_text())
    path = tmp_path / "pushing.yaml"
    path.write_text(yaml.safe_dump({**own, "horizon": 8}))
    words = ["plan", str(path), "--local", "--iterations", "1", "--samples", "20"]
    assert cli.main([*words, "--out", str(tmp_path / "plots")]) == 0
    names = {path.name for path in (tmp_path / "plots").iterdir()}
    assert names == {"plan.json", "cost.png", "frames.png", "motion.gif"}
    # A dot is no picture: a search has no iterations.
    words = ["plan", "push_t", "--global", "--local", "--budget", "0.1"]
    cli.main([*words, "--out", str(tmp_path / "search")])
    names = {path.name for path in (tmp_path / "search").iterdir()}
    assert names == {"plan.json", "frames.png", "motion.gif"}


def test_several_seeds_are_planned_and_the_best_is_kept(tmp_path: Path, capsys) -> None:
    code, best = plan(tmp_path, "--starts", "3", "--workers", "2", "--seed", "1")
    assert code == 0
    shown = capsys.readouterr().out
    alone = [plan(tmp_path, "--local", "--seed", str(seed))[1] for seed in (1, 2, 3)]
    assert all(f"seed {seed}: " in shown for seed in (1, 2, 3))
    cheapest = min(alone, key=lambda found: found["best"])
    assert (best["best"], best["states"]) == (cheapest["best"], cheapest["states"])


def test_without_a_plan_the_exit_code_says_so(tmp_path: Path) -> None:
    code, plan_ = plan(tmp_path, "--local", "--mode", "exact")
    assert (code, plan_["status"]) == (1, "GRADIENT_FLAT")


def test_a_plan_that_misses_its_goal_says_so(tmp_path: Path, monkeypatch) -> None:
    """It may be used all the same, here as over ROS."""
    code, found = plan(tmp_path, "--local")
    assert (code, found["goal_reached"]) == (0, False)
    Result = PlanThroughContact.Result
    sent = Result(status=Result.ITERATIONS_REACHED, status_name=found["status"])
    monkeypatch.setattr("contact_stack.plan.client._run", lambda *_: sent)
    for sent.goal_reached in (True, False):
        code, found = plan(tmp_path)
        assert (code, found["goal_reached"]) == (0, sent.goal_reached)


def test_a_search_says_what_is_transit_and_what_contact(tmp_path: Path, capsys) -> None:
    file = tmp_path / "plan.json"
    words = ["plan", "push_t", "--global", "--local", "--json", str(file)]
    assert cli.main(words) == 0
    found = json.loads(file.read_text())
    assert {part["kind"] for part in found["segments"]} == {"transit", "contact"}
    assert found["segments"][-1]["stop"] == len(found["inputs"])
    assert "steps (transit " in capsys.readouterr().out
    far = ["--goal", "30.0", "0.0", "0.0", "0.0", "0.2", "--budget", "0.1"]
    assert cli.main([*words, *far]) == 1
    assert json.loads(file.read_text())["status"] == "TIME_BUDGET_REACHED"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "goal: nothing has one (valid: thing/x, thing/y, thing/z"),
        (["--goal", "0.6"], "by name, e.g. box/x=0.6"),
        (["--goal", "can/x=0.6"], "goal: unknown state 'can/x' (valid: thing/x"),
        (["--goal", "thing/x=0.6", "0.1"], "--goal: either all states, or some as NAME=X"),
        (["--goal", "thing/x=any"], "goal: nothing has one"),
        (["--goal", "thing/x=inf"], "goal: thing/x is inf (valid: >= -1000, <= 1000)"),
        (["--goal", "thing/x=1e300"], "goal: thing/x is 1e+300 (valid: >= -1000, <= 1000)"),
    ],
)
def test_what_a_scene_cannot_be_asked_is_one_line(
    tmp_path: Path, capsys, words: list[str], reason: str
) -> None:
    assert cli.main(["plan", str(write_scene(tmp_path, "can")), "--local", *words]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1


def test_states_of_a_problem_may_be_given_by_name(tmp_path: Path, capsys) -> None:
    _, found = plan(tmp_path, "--local", "--goal", "box/z=0.8", "--start", "box/z=0.4")
    assert found["states"][0][1] == 0.4
    words = ["plan", "pushing", "--local", "--goal"]
    assert cli.main([*words, "box/w=0.8"]) == 2
    assert "unknown state 'box/w' (did you mean box/z? valid: box/y" in capsys.readouterr().err
    assert cli.main([*words, "box/z=any"]) == 2
    assert "box/z: what does not matter" in capsys.readouterr().err


def test_a_goal_of_the_wrong_size_is_one_line(tmp_path: Path, capsys) -> None:
    assert cli.main(["plan", "pushing", "--local", "--goal", "1.0"]) == 2
    assert "contact-stack: " in capsys.readouterr().err


def test_the_benchmark_writes_every_figure(tmp_path: Path) -> None:
    file = tmp_path / "irs.json"
    words = ["--example", "pendulum", "--mode", "exact", "--json", str(file)]
    assert cli.main(["bench", "irs", *words, "--out", str(tmp_path)]) == 0
    figures = json.loads(file.read_text())["examples"]["pendulum"]["exact"]
    assert figures["best"] == pytest.approx(357.2965, abs=1e-3)
    assert len(figures["costs"]) == figures["iterations"] + 1
    assert set(json.loads(file.read_text())) == {"paper", "examples"}


def test_the_benchmark_compares_contact_qp_solvers(tmp_path: Path, capsys) -> None:
    file = tmp_path / "irs.json"
    assert cli.main(["bench", "irs", "--part", "qps", "--quick", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())["contact_qps"]
    assert {"ours", "quadprog", "osqp"} <= set(figures["iiwa_push"])
    assert "quadprog" in capsys.readouterr().out
