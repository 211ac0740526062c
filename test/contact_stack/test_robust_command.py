"""``contact-stack robust`` and ``bench robust``: figures, files, exit codes, refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command import signal_another_thread
from own_problem import quick_cart, with_knots

from contact_experiments.bench import robust as bench
from contact_stack import cli
from contact_stack.robust import command as robust_command
from robust_planner import make_example
from robust_planner.sweep import GridPoint

KEYS = [
    "problem", "status", "warnings", "seconds", "cost", "merit", "max_speed", "friction_mid_N",
    "final_error", "foot_height_mean_m", "force_distance_max_m", "violation_rate", "risk_bound",
    "violation_rate_predicted", "impact", "max_control", "tamsi",
]  # fmt: skip


def test_reference_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without uncertainty; standard output holds nothing but the JSON."""
    assert cli.main(["robust", "block", "--sigma", "0", "--json", "--out", str(tmp_path)]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert list(summary) == KEYS
    assert summary["cost"] == pytest.approx(3280.18, rel=1e-3)
    assert summary["final_error"]["range"] == pytest.approx(1.943, abs=0.005)
    assert json.loads((tmp_path / "summary.json").read_text()) == summary


def test_robust_plan_beside_its_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the block with a fifth of its knots."""
    coarse = with_knots(make_example("block"), 21)
    monkeypatch.setattr(robust_command, "find_problem", {"block": coarse}.__getitem__)
    file = tmp_path / "deep" / "block.json"
    words = ["robust", "block", "--theta", "0.7", "--out", str(tmp_path), "--json", str(file)]
    assert cli.main(words) == 0
    summary = json.loads(file.read_text())
    assert summary["risk_bound"] == 0.5  # beta, not given
    table = capsys.readouterr().out
    assert "reference" in table
    assert "robust" in table
    for name in ("controls.png", "simulations.png"):
        assert (tmp_path / name).stat().st_size > 10_000


@pytest.mark.verify
def test_sled_under_other_friction_and_height_in_tamsi_sim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """mu = 0.4 +- 0.16 on tables +- 5 mm: a quarter of the range, and no bias."""
    assert cli.main(["robust", "sled", "--json", "--out", str(tmp_path / "robust")]) == 0
    robust = json.loads(capsys.readouterr().out)
    words = ["robust", "sled", "--sigma", "0", "--json", "--out", str(tmp_path / "reference")]
    assert cli.main(words) == 0
    reference = json.loads(capsys.readouterr().out)
    before, after = (s["tamsi"]["final_error"] for s in (reference, robust))
    assert len(after["error_m"]) == len(after["mu"]) == len(after["height_m"]) == 12
    assert after["range"] <= 0.25 * before["range"]
    assert abs(after["mean"]) <= 0.010
    assert robust["max_control"] <= 60.0 + 1e-9
    assert robust["max_speed"] <= 1.5 + 1e-9
    assert robust["violation_rate"] == pytest.approx(robust["violation_rate_predicted"], abs=0.02)
    assert (tmp_path / "robust" / "tamsi.png").stat().st_size > 10_000


def test_exhausted_budget_shows_the_best_iterate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["robust", "block", "--budget", "0.05", "--out", str(tmp_path)]
    assert cli.main(words) == 1
    shown = capsys.readouterr().out
    assert "TIME_BUDGET_REACHED: the plan is the best iterate" in shown
    assert "largest residual" in shown


@pytest.mark.parametrize(
    "send", [pytest.param(os.kill, marks=pytest.mark.verify), signal_another_thread]
)
def test_a_signal_ends_a_long_plan(
    send: Callable[[int, signal.Signals], None], tmp_path: Path
) -> None:
    command = (sys.executable, "-m", "contact_stack.cli", "robust", "hopper")
    with subprocess.Popen(
        (*command, "--out", str(tmp_path)), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        shown = ""
        while "iteration" not in shown:  # the progress bar: it plans
            shown += process.stderr.read(1)
        send(process.pid, signal.SIGTERM)
        shown += process.communicate(timeout=10)[1]  # the plan takes much longer
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in shown
    assert not (tmp_path / "summary.json").exists()


SLOW_TO_LOAD = """
import sys, time
from contact_core.base import waiting
from contact_stack import cli

waiting.LONG = 0.1
build_parser = cli.build_parser

def load_slowly(words):
    time.sleep(0.5)
    return build_parser(words)

cli.build_parser = load_slowly
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(("-m", "contact_stack.cli"), marks=pytest.mark.verify),
        ("-c", SLOW_TO_LOAD),
    ],
)
def test_a_plan_goes_on_where_nobody_reads_its_progress(
    start: tuple[str, str], tmp_path: Path
) -> None:
    """Nor what it says while the libraries are loaded."""
    words = ("robust", str(quick_cart(tmp_path)), "--sigma", "0", "--out", str(tmp_path))
    command = (sys.executable, *start, *words)
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.close()
        try:
            assert process.wait(timeout=250) == 0
        finally:
            process.kill()
    assert (tmp_path / "summary.json").exists()


@pytest.mark.parametrize("everybody", [False, pytest.param(True, marks=pytest.mark.verify)])
def test_interrupt_ends_the_benchmark(everybody: bool) -> None:
    """A signal to the command alone, and to its workers as well, as Ctrl-C in a terminal does."""
    command = (sys.executable, "-m", "contact_stack.cli", "bench", "robust", "--quick")
    with subprocess.Popen(
        [*command, "--workers", "2"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        shown = ""
        while "block, plans" not in shown:  # the progress bar: two processes plan
            shown += process.stdout.read(1)
        time.sleep(0.3)  # they begin
        os.kill(-process.pid if everybody else process.pid, signal.SIGINT)
        shown += process.stdout.read()
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in shown
    assert shown.count("SUCCEEDED") <= 1  # the reference


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["blok"], "unknown problem 'blok' (did you mean block? valid: block, "),
        (["block", "--sigma", "-1"], "'uncertainty.sigma' is -1.0 (valid: >= 0)"),
        (["block", "--beta", "0.3"], "'risk.beta' is 0.3 (valid: >= 0.5, <= 0.999)"),
        (
            ["examples/robust_planner/cart/cart.yaml", "--risk", "0.05", "--sigma", "0.1"],
            "--sigma is of friction or height",
        ),
        (["block", "--judge", "7"], "--judge is of plans with --risk: give it too, or leave"),
        (["block", "--start", "foo"], "--start is of plans with --risk"),
        (["block", "--budget", "0"], "'solver.budget' is 0.0 (valid: > 0 s)"),
    ],
)
def test_bad_values_are_named_in_one_line(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["robust", *words, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_benchmark_lists_reference_and_grid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "QUICK", {"sled": (GridPoint(0.08, 0.7, 0.7, False),)})
    file = tmp_path / "figures.json"
    assert cli.main(["bench", "robust", "--quick", "--json", str(file)]) == 0
    reference, robust = json.loads(file.read_text())["plans"]
    assert reference["point"] is None
    assert reference["violation_rate"] is not None
    assert robust["point"] == {"sigma": 0.08, "beta": 0.7, "theta": 0.7, "expected_residual": False}
    assert "chance, theta = 0.7, sigma = 0.08" in capsys.readouterr().out
