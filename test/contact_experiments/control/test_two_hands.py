"""Two hands push an arm at the same moment: what it feels, and what is said of it."""

import pytest

from contact_aware_control.config import ControllerConfig
from contact_experiments.control.moving_ball import BACKWARD, DOWNWARD, SIDEWAYS, BallPush
from contact_experiments.control.two_hands import TwoHands

LIMIT = ControllerConfig().force.limit


@pytest.mark.parametrize(
    "hands",
    [
        ((4, BACKWARD), (7, SIDEWAYS)),
        pytest.param(((5, DOWNWARD), (7, BACKWARD)), marks=pytest.mark.verify),
        pytest.param(((5, SIDEWAYS), (7, SIDEWAYS)), marks=pytest.mark.verify),
    ],
)
def test_arm_gives_way_to_both(hands):
    """The median within 1.5 times the limit; the rest as for one hand."""
    pushes = [BallPush(f"lbr_link_{link}", way, 0.05, stroke=0.1, stay=0.5) for link, way in hands]
    data, figures = TwoHands(pushes).execute()
    touched = [{contact.link for contact in tick} for tick in data.contacts]
    assert {push.link for push in pushes} in touched
    for hand in figures:
        assert hand.p50 <= 1.5 * LIMIT
        assert hand.p99 <= 2.0 * LIMIT
