"""Methods of one's own beside ours: what the examples of examples/papers register is compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from contact_core.base.sweep import Plugin, Sweep, Workers
from contact_experiments.robust.paper_figures import block_study
from contact_experiments.tamsi.integrators.integrator import SCHEMES
from contact_experiments.tamsi.paper.gripper_figures import GRIPPERS, convergence, velocities
from robust_planner.sweep import OURS, PLANNERS, GridPoint, plan_grid

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "papers"


@pytest.fixture(autouse=True)
def ours_alone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no method of one's own to the tests that follow."""
    for registry in (SCHEMES, PLANNERS):
        monkeypatch.setattr(registry, "_items", dict(registry))


def registered(name: str) -> Plugin:
    """Load an example in this process, as the option ``--with`` does."""
    plugin = Plugin.read(EXAMPLES / name)
    plugin.load()
    return plugin


def test_an_integrator_of_ones_own_converges_faster_than_ours() -> None:
    plugin = registered("01_own_integrator.py")
    assert "extrapolated" in SCHEMES
    case = GRIPPERS["soft"]
    reference = velocities(case, 1e-5, 0.15)
    steps = (1.5e-3, 7.5e-4, 3e-4)
    tasks = [(case, reference, steps, 0.15, name) for name in ("tamsi", "extrapolated")]
    ours, own = Sweep(Workers(2), plugins=[plugin], show=False).run(convergence, tasks)
    assert ours.slopes() == pytest.approx((0.9, 0.9), abs=0.15)
    assert min(own.slopes()) > 1.5
    assert np.all(own.translation < 0.3 * ours.translation)


def test_a_planner_of_ones_own_plans_the_papers_grid() -> None:
    registered("03_own_planner.py")
    assert set(PLANNERS) == {OURS, "worst_case"}
    study = block_study(Sweep(show=False), (), "paper")
    points = [GridPoint(0.1)]
    plans = plan_grid(study.example, points, study.reference, planner="worst_case")
    assert plans[points[0]].solved
    # Less friction is expected: where there is more, the block stops short of the goal.
    assert study.simulate(plans[points[0]]).mean < -0.1
