"""A ball that no force moves pushes the arm: what it feels, and how the arm comes back."""

import math

import pytest

from contact_aware_control.config import ControllerConfig
from contact_experiments.control.closed_loop import TRUTH
from contact_experiments.control.moving_ball import (
    BACKWARD,
    DOWNWARD,
    SIDEWAYS,
    BallPush,
    BallRun,
    SlowMotion,
)

LIMIT = ControllerConfig().force.limit
RETURN = 0.2
"""Largest speed of tool and elbow on the way back, at 0.1 rad/s of several joints [m/s]."""


def pushed(link, direction, speed, estimator=TRUTH, until=math.inf, **options):
    push = BallPush(f"lbr_link_{link}", direction, speed)
    return BallRun(push, estimator=estimator, **options).execute(until)[1]


def assert_kept(figures):
    """What the controller promises where the touched point can be faster than the ball."""
    assert figures.peak <= 1.2 * figures.impact + LIMIT
    assert figures.p50 <= 1.3 * LIMIT
    assert figures.p99 <= 2.0 * LIMIT
    assert_returns(figures)


def assert_returns(figures):
    # It may go along with a ball that withdraws as slowly, but not hit it.
    assert figures.second_peak <= 1.3 * LIMIT
    assert figures.return_speed <= RETURN
    assert math.isfinite(figures.back_after)


@pytest.mark.parametrize(
    ("link", "direction", "speed", "until"),
    [
        (6, SIDEWAYS, 0.25, 7.0),
        *(
            pytest.param(link, direction, speed, math.inf, marks=pytest.mark.verify)
            for link, direction, speed in [
                (4, SIDEWAYS, 0.1),
                (3, BACKWARD, 0.05),
                (4, BACKWARD, 0.1),
                (5, DOWNWARD, 0.1),
                (7, SIDEWAYS, 0.25),
                (4, BACKWARD, 0.05),
                (4, SIDEWAYS, 0.05),
                (5, BACKWARD, 0.1),
                (5, SIDEWAYS, 0.1),
                (5, SIDEWAYS, 0.25),
                (6, DOWNWARD, 0.1),
                (6, SIDEWAYS, 0.1),
                (7, BACKWARD, 0.05),
                (7, DOWNWARD, 0.1),
                (7, SIDEWAYS, 0.1),
            ]
        ),
    ],
)
def test_arm_gives_way_to_a_ball(link, direction, speed, until):
    """True contacts: what the controller alone can do."""
    assert_kept(pushed(link, direction, speed, until=until))


@pytest.mark.parametrize(
    ("link", "direction", "until"),
    [
        (5, SIDEWAYS, 10.0),
        *(
            pytest.param(link, direction, math.inf, marks=pytest.mark.verify)
            for link, direction in [(4, BACKWARD), (6, SIDEWAYS), (7, SIDEWAYS)]
        ),
    ],
)
def test_arm_gives_way_to_a_ball_that_it_has_to_find(link, direction, until):
    """99, 96 N and more before contacts that move were modelled, and 600 N at link 4."""
    estimator = "contact_particle_filter"
    assert_kept(pushed(link, direction, 0.1, estimator=estimator, until=until))


@pytest.mark.parametrize(
    ("link", "most", "until"),
    [(4, 100.0, 15.0), pytest.param(3, 130.0, math.inf, marks=pytest.mark.verify)],
)
def test_contact_without_a_place_is_bounded_through_the_torque(link, most, until):
    """Seven torques do not tell where it is: 1835 and 1128 N before."""
    figures = pushed(link, SIDEWAYS, 0.1, estimator="contact_particle_filter", until=until)
    assert figures.peak <= most
    assert figures.p50 <= 1.3 * LIMIT
    assert_returns(figures)
    assert "CONTACT_UNIDENTIFIABLE" in figures.statuses


def test_arm_on_its_way_gives_way_as_well():
    figures = pushed(6, SIDEWAYS, 0.1, until=5.0, experiment=SlowMotion())
    assert figures.peak <= 1.2 * figures.impact + LIMIT
    assert figures.p99 <= 2.0 * LIMIT


def test_arm_floats_with_a_ball_beyond_its_leash():
    """Uncalibrated: the command yields by 5 cm, then the springs let go, and it says why."""
    run = BallRun(BallPush("lbr_link_6", SIDEWAYS, 0.1), estimator=TRUTH, calibrated=False)
    _, figures = run.execute(until=5.0)
    assert "AMBIGUOUS_LOAD" in figures.statuses
    assert figures.displacement > 0.15
    # The least force that explains the springs' torque is less than the ball's.
    assert figures.p99 < 2.0 * run.run.loop.config.safety.float_force
