"""Hand guiding: the arm goes where a hand leads it, and stays there."""

from __future__ import annotations

import numpy as np
import pytest
from touch_bench import FORCE, SPEED, Guided

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.reference import Goal, Guidance
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_aware_control.safety.status import Status
from contact_core.base.errors import TrajectoryError


@pytest.mark.parametrize(
    ("link", "direction"),
    [
        ("lbr_link_7", (0.0, 1.0, 0.0)),
        pytest.param("lbr_link_7", (0.0, 0.0, 1.0), marks=pytest.mark.verify),
        pytest.param("lbr_link_7", (-1.0, 0.0, 0.0), marks=pytest.mark.verify),
        pytest.param("lbr_link_5", (0.0, -1.0, 0.0), marks=pytest.mark.verify),
    ],
)
def test_the_arm_goes_along_and_stays_where_it_is_left(link, direction):
    guided = Guided(link, direction)
    assert guided.led @ direction >= 0.4 * SPEED * 2.0
    assert np.linalg.norm(guided.left) <= 0.02
    assert np.median(guided.force[150:500]) <= 2.5 * FORCE


def test_only_the_joints_that_are_free_are_led():
    free = np.zeros(7, dtype=bool)
    free[3] = True
    guided = Guided("lbr_link_7", (0.0, 0.0, 1.0), free)
    np.testing.assert_allclose(guided.turned[~free], 0.0, atol=1e-12)
    assert abs(guided.turned[3]) > 0.2


def test_an_arm_that_is_not_calibrated_follows_its_springs_alone():
    phantom = ContactEstimate(
        number=0, link="lbr_link_6", joints_moving=6, point_world=np.array([0.5, 0.0, 0.6]),
        point_link=np.zeros(3), normal_world=np.array([0.0, 0.0, 1.0]),
        force_world=np.array([0.0, 0.0, -40.0]), point_covariance=np.zeros((3, 3)),
        force_covariance=np.zeros((3, 3)), residual=0.0, effective_sample_size=1.0, spread=0.0,
        identifiable=True, age=1.0, modes=(),
    )  # fmt: skip
    guided = Guided("lbr_link_7", (0.0, 1.0, 0.0), phantom=phantom)
    assert guided.led[1] >= 0.4 * SPEED * 2.0
    still = Guided("lbr_link_7", (0.0, 0.0, 0.0), strength=0.0, phantom=phantom)
    np.testing.assert_array_equal(still.turned, 0.0)


def test_an_arm_that_nobody_pushes_stays():
    guided = Guided("lbr_link_7", (0.0, 0.0, 0.0), strength=0.0)
    np.testing.assert_array_equal(guided.turned, 0.0)
    assert guided.statuses == {Status.OK}


@pytest.mark.parametrize(
    ("free", "force", "time", "said"),
    [
        (np.zeros(7, dtype=bool), 8.0, 1.0, "joint"),
        (np.ones(6, dtype=bool), 8.0, 1.0, "joint"),
        (np.ones(7, dtype=bool), -1.0, 1.0, "force"),
        (np.ones(7, dtype=bool), 8.0, np.nan, "duration"),
    ],
)
def test_what_nobody_can_lead_is_refused(robot, free, force, time, said):
    q = np.zeros(7)
    checker = GoalChecker(robot, ControllerConfig())
    with pytest.raises(TrajectoryError, match=said):
        checker.check(Goal(Guidance(q, free, force, time)), q)
    checker.check(Goal(Guidance(q, np.ones(7, dtype=bool), 8.0, 1e6)), q)
