"""The benchmark of the controller measures what it says."""

import json
import time

import numpy as np
import pytest

from contact_core.base.errors import ConfigError
from contact_core.quadratic_program import SOLVERS, DualActiveSetSolver
from contact_experiments.bench import solvers
from contact_experiments.bench.control_case import MAX_CONTACTS, ControlCase, Timing
from contact_experiments.bench.loop_timing import measure_loop
from contact_stack import cli


@pytest.mark.parametrize("contacts", range(MAX_CONTACTS + 1))
def test_the_controller_sees_every_contact(contacts):
    case = ControlCase(contacts)
    seen = [len(case.tick(inputs)) for inputs in case.many(50)]
    assert seen[-1] == contacts


def test_more_contacts_than_there_are_places_are_refused():
    with pytest.raises(ConfigError, match="0 to 4"):
        ControlCase(MAX_CONTACTS + 1)


def test_solvers_agree_with_the_oracle():
    """Also about what is infeasible, which some of the random problems are."""
    pytest.importorskip("quadprog")
    by_name = {r.solver: r for r in solvers.measure_solvers("random", solvers.random_problems(600))}
    assert set(by_name) == {"dual_active_set", "osqp", "quadprog"}
    exact = by_name["dual_active_set"]
    assert exact.largest_error < 1e-9
    assert exact.disagreements == 0
    assert exact.unsolved > 0
    assert by_name["osqp"].largest_error < 1e-3


def test_problems_are_the_controllers_own():
    noted = solvers.controller_problems(100)
    assert len(noted) >= 100
    assert SOLVERS["dual_active_set"] is DualActiveSetSolver
    assert {p.constraints for p in noted} >= set(range(MAX_CONTACTS + 1))


def test_percentiles():
    timing = Timing.of(np.arange(1001) * 1000)
    percentiles = timing.p50_us, timing.p99_us, timing.p999_us, timing.max_us
    assert percentiles == pytest.approx((500, 990, 999, 1000))


@pytest.mark.parametrize("idle", [False, True])
def test_loop_ticks_at_its_rate_and_never_faster(idle):
    start = time.monotonic()
    result = measure_loop(100.0, 0.5, idle)
    assert 10 <= result.tick.count <= 100.0 * (time.monotonic() - start) + 1
    assert result.delay.p50_us >= 0.0


def test_missing_oracle_is_said_and_not_fatal(monkeypatch):
    from contact_experiments.bench import control

    monkeypatch.setattr(solvers, "has_oracle", lambda: False)
    results = solvers.measure_solvers("random", solvers.random_problems(20))
    assert {r.largest_error for r in results} == {None}
    assert "quadprog is not installed" in control.render_solvers(results)


@pytest.mark.verify
def test_quick_benchmark(tmp_path):
    files = ["--json", str(tmp_path / "a.json"), "--plot", str(tmp_path / "a.png")]
    assert cli.main(["bench", "control", "--quick", *files]) == 0
    result = json.loads((tmp_path / "a.json").read_text())
    assert len(result["ticks"]) == MAX_CONTACTS + 1
    assert (tmp_path / "a.png").stat().st_size > 1000
