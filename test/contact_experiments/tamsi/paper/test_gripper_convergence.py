"""tamsi Fig. 8: TAMSI converges with first order in the step."""

import numpy as np
import pytest

from contact_experiments.tamsi.paper.gripper_convergence import (
    STEPS,
    Convergence,
    convergence,
    velocities,
)
from contact_experiments.tamsi.paper.gripper_speed import GRIPPERS


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
    for slope in convergence(GRIPPERS[gripper], reference, STEPS[:-1]).slopes():
        assert 0.9 < slope < 1.1
