"""contact-stack plan and bench irs: local and by the node, with the same result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contact_stack import cli


def plan(tmp_path: Path, *words: str) -> tuple[int, dict]:
    file = tmp_path / "plan.json"
    code = cli.main(
        ["plan", "pushing", "--iterations", "2", "--samples", "20", "--json", str(file), *words]
    )
    return code, json.loads(file.read_text())


@pytest.mark.graph
def test_the_node_plans_what_the_library_plans(server, tmp_path: Path) -> None:
    code, remote = plan(tmp_path)
    assert code == 0
    _, local = plan(tmp_path, "--local")
    for name in ("status", "remedy", "costs", "states", "inputs"):
        assert remote[name] == local[name]


def test_plots_are_drawn(tmp_path: Path) -> None:
    code, _ = plan(tmp_path, "--local", "--out", str(tmp_path / "plots"))
    assert code == 0
    names = {path.name for path in (tmp_path / "plots").iterdir()}
    assert names == {"fig9.png", "frames.png", "motion.gif"}


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
