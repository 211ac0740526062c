"""tamsi Fig. 7 and Sec. VI-B: the studies' bookkeeping."""

import numpy as np
import pytest

from contact_experiments.tamsi.cases import AllegroHand, ParallelGripper
from contact_experiments.tamsi.integrators.integrator import SolverEffort
from contact_experiments.tamsi.paper import hand_figure
from contact_experiments.tamsi.paper.hand_figure import LOOSE
from contact_experiments.tamsi.paper.speed import GRIPPERS, INTEGRATORS, SimulationRun, ratios, run

EFFORT = SolverEffort(*[0] * 10, smallest_step=1.0)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_a_run_reaches_its_end_and_time_only_grows(name):
    result = run(name, ParallelGripper(), duration=0.3)
    assert result.finished
    assert result.simulated[-1] == pytest.approx(0.3, abs=1e-9)
    assert np.all(np.diff(result.simulated) > 0.0)
    assert np.all(np.diff(result.cpu) > 0.0)


def test_without_tals_steps_are_cut():
    """The plateaus of Fig. 7: convergence control slows the integrator down."""
    plain, limited = (run(name, GRIPPERS["stiff"], 1.0).effort for name in ("ie_fn", "ie_fn_tals"))
    assert limited.retries == 0
    assert plain.retries > 10
    assert plain.smallest_step < 1e-4
    assert plain.evaluations > 1.2 * limited.evaluations


def test_ratios_are_taken_within_a_round():
    """A round on a machine that is twice as slow has the same ratios."""
    rounds = [
        [
            SimulationRun(name, np.array([0.0, 1.0]), np.array([0.0, slow * cpu]), EFFORT, True)
            for name, cpu in zip(INTEGRATORS, (1.0, 10.0, 20.0), strict=True)
        ]
        for slow in (1.0, 2.0, 5.0)
    ]
    for name, ratio in (("tamsi", 1.0), ("ie_fn", 20.0)):
        found = ratios(rounds)[name]
        assert found == pytest.approx({"median": ratio, "lowest": ratio, "highest": ratio})


def test_the_loose_accuracy_is_that_of_the_paper_and_its_steps_are_checked():
    """Sec. VI-B: error-controlled implicit Euler, quasi-Newton, a = 0.01 m/s, with the hand."""
    assert LOOSE.accuracy == 0.01
    case = AllegroHand()
    costs = {name: run(name, case, 0.5, LOOSE) for name in hand_figure.INTEGRATORS}
    assert all(cost.finished for cost in costs.values())
    steps = round(0.5 / case.time_step)
    assert costs["tamsi"].effort.evaluations == steps
    for name in hand_figure.INTEGRATORS[1:]:
        assert costs[name].effort.rejections > 0
        # Step doubling evaluates f at least three times a step.
        assert costs[name].effort.evaluations > 3 * steps
