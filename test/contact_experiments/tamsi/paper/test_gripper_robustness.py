"""The scene of tamsi Fig. 6: TAMSI holds the mug with any step; explicit normals eject it."""

import pytest

from contact_experiments.tamsi.paper.gripper_robustness import STEPS, STIFFNESSES, trial


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
