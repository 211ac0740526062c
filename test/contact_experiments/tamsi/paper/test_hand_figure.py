"""The periodic reorientation of the mug, tamsi Fig. 9."""

import numpy as np
import pytest

from contact_core.base.errors import ContactStackError
from contact_core.robot.scene_config import SolverConfig
from contact_experiments.tamsi.cases import AllegroHand
from contact_experiments.tamsi.paper.hand_figure import plot_turning, turn_mug


@pytest.fixture(scope="module")
def run():
    return turn_mug(AllegroHand(), duration=15.0)


def test_mug_swings_by_20_degrees_in_every_period(run):
    """15 s at h 0.7 ms; the mug comes back every time."""
    swings = np.rad2deg(run.swings())
    assert len(swings) == 5
    assert swings.min() > 20.0
    assert np.ptp(swings) < 0.1 * swings.mean()


def test_three_fingers_hold_it_at_all_times(run):
    held = run.time > 0.5 * run.period
    assert run.fingers[held].min() >= 3
    assert np.ptp(run.poses[held, :3], axis=0).max() < 0.02


def test_angle_swings_as_much_as_the_orientation(run):
    """About one axis: the signed angle accounts for the whole swing."""
    last = run.time > 4 * run.period
    assert np.ptp(run.angle()[last]) == pytest.approx(run.swings()[-1], rel=0.03)


def test_quaternions_stay_unit(run):
    np.testing.assert_allclose(np.linalg.norm(run.poses[:, 3:], axis=1), 1.0, atol=1e-12)


@pytest.mark.verify
def test_a_smaller_step_turns_the_mug_as_far(run):
    """The result is the model's, not the step's."""
    finer = turn_mug(AllegroHand(time_step=3.5e-4), duration=6.0)
    np.testing.assert_allclose(finer.swings()[1], run.swings()[1], rtol=0.03)


def test_figure(run, tmp_path):
    plot_turning(run).savefig(tmp_path / "figure_9.png")
    assert (tmp_path / "figure_9.png").stat().st_size > 50_000


def test_a_step_that_fails_is_an_error_with_its_remedy():
    hopeless = SolverConfig(max_iterations=1, max_substeps=1)
    with pytest.raises(ContactStackError, match="sub-steps"):
        turn_mug(AllegroHand(solver=hopeless), duration=1.0)
