"""tamsi Fig. 6 and 8: TAMSI holds the mug with any step, and converges with first order."""

import numpy as np
import pytest

from contact_experiments.tamsi.paper.gripper_figures import (
    FINE_STEPS,
    STEPS,
    STIFFNESSES,
    Convergence,
    convergence,
    trial,
    velocities,
)
from contact_experiments.tamsi.paper.speed import GRIPPERS


@pytest.mark.parametrize("stiffness", [1e3, 1e5])
def test_tamsi_holds_the_mug_with_steps_of_20_ms(stiffness):
    found = trial("tamsi", 2e-2, stiffness)
    assert found.held
    assert found.normal_ratio == 0.0


def test_explicit_normal_forces_hold_the_mug_below_their_limit_only():
    """tamsi Sec. V-A: conditionally stable, and silent about it but for our warning."""
    stable, unstable = (trial("semi_implicit", h, 1e4, 1.0) for h in (2e-4, 3e-3))
    assert stable.held
    assert stable.normal_ratio < 2.0
    assert not unstable.held
    assert not unstable.failed
    assert unstable.normal_ratio > 2.0


@pytest.mark.verify
@pytest.mark.parametrize("stiffness", STIFFNESSES)
@pytest.mark.parametrize("time_step", STEPS)
def test_no_step_of_tamsi_fails(time_step, stiffness):
    assert trial("tamsi", time_step, stiffness).held


@pytest.mark.verify
@pytest.mark.parametrize("stiffness", STIFFNESSES)
@pytest.mark.parametrize("time_step", STEPS)
def test_the_warning_foretells_who_loses_the_mug(time_step, stiffness):
    """The stability limit is 2; between 1.8 and 2.3 non-linearity decides."""
    found = trial("semi_implicit", time_step, stiffness)
    if found.normal_ratio < 1.8:
        assert found.held
    if found.normal_ratio > 2.3:
        assert not found.held


def test_slopes_of_a_known_curve():
    steps = np.array([1e-4, 1e-3])
    assert Convergence(steps, 3.0 * steps, 2.0 * steps**2).slopes() == pytest.approx((1.0, 2.0))


def test_translations_and_rotations_converge_with_first_order():
    """A short run of stiff pads against h = 1e-5 s, within 20 % of slope one."""
    reference = velocities(GRIPPERS["stiff"], 1e-5, 0.15)
    study = convergence(GRIPPERS["stiff"], reference, (6e-4, 3e-4, 1.5e-4), 0.15)
    assert study.slopes() == pytest.approx((1.0, 1.0), abs=0.2)


@pytest.mark.verify
@pytest.mark.parametrize("gripper", GRIPPERS)
def test_figure_8(gripper):
    """Slopes in [0.9, 1.1] over 2.5 decades, against h = 1e-6 s."""
    reference = velocities(GRIPPERS[gripper], 1e-6)
    for slope in convergence(GRIPPERS[gripper], reference, FINE_STEPS[:-1]).slopes():
        assert 0.9 < slope < 1.1
