"""A tool that is led: by moments about its tip, and by nothing that is not its own."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from skill_bench import BENT, DOWN, PERIOD

from contact_aware_control.config import ControllerConfig
from contact_aware_control.led_tool import (
    KNOCK,
    PRESSING_SPEED,
    REBOUND,
    TURN_DAMPING,
    TURN_DEAD_BAND,
    LedTool,
    axes_towards,
)
from contact_aware_control.targets import StreamConfig, StreamedTargets
from contact_core.base.errors import TrajectoryError

TIP = np.array([0.02, 0.0, 0.1])


def led(robot, torque, contacts=(), ticks=100, **settings):
    """Lead a tool that stays where it is, under a constant torque."""
    bounds = StreamedTargets(robot, ControllerConfig(), StreamConfig()).tool_bounds
    tool = LedTool(robot, BENT, axes_towards(DOWN), bounds, PERIOD, TIP)
    for name, value in settings.items():
        setattr(tool, name, np.array(value))
    for _ in range(ticks):
        tool.feel(BENT, torque, contacts)
        tool.lead(tool.start, PERIOD, BENT)
    return tool


def torque_of(robot, force, moment):
    """Return the torque (n) of a force on the tip and a moment, world frame [Nm]."""
    robot.update(BENT)
    pose = robot.tool_pose()
    pure = robot.tool_jacobian()[3:].T @ pose.rotation.T @ moment
    return robot.torque_of_force(robot.tool_link, pose.act(TIP), force) + pure


@pytest.mark.parametrize("direction", [DOWN, -DOWN, np.array([3.0, 0.1, 0.0]), np.ones(3)])
def test_axes_end_with_the_direction(direction):
    axes = axes_towards(direction)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    np.testing.assert_allclose(axes[2], direction / np.linalg.norm(direction))
    with pytest.raises(TrajectoryError, match="direction"):
        axes_towards(np.zeros(3))


def test_a_moment_turns_it_about_its_tip(robot):
    moment = np.array([0.0, 0.4, 0.3])
    tool = led(robot, torque_of(robot, np.zeros(3), moment), turns=[True, True, False])
    # About y alone, which is the second axis but for its sign; not about z.
    rate = (0.4 - TURN_DEAD_BAND) / TURN_DAMPING
    turned = pin.log3(tool.reference.sample(PERIOD).rotation @ tool.start.rotation.T)
    np.testing.assert_allclose(turned, [0.0, turned[1], 0.0], atol=2e-3)
    assert turned[1] == pytest.approx(rate * 100 * PERIOD, rel=0.2)
    end = tool.reference.sample(PERIOD).act(TIP)
    np.testing.assert_allclose(end, tool.start.act(TIP), atol=1e-3)


def test_a_force_through_its_tip_is_its_own_wherever_it_is_located(robot, contact):
    """One that passes elsewhere may lean on the arm: until that is known it presses no harder."""
    push = -4.0 * DOWN
    point = robot.link_pose("lbr_link_6").translation
    doubted = [contact(push, point, link="lbr_link_6", identifiable=False)]
    pressing = {"compliance": [0.0, 0.0, 1.0], "wanted": [0.0, 0.0, 10.0]}
    through = led(robot, torque_of(robot, push, np.zeros(3)), doubted, **pressing)
    assert through.offset[2] > 5e-3
    beside = led(robot, torque_of(robot, push, np.array([0.0, 0.8, 0.0])), doubted, **pressing)
    assert beside.offset[2] < 2e-3


def test_a_command_that_goes_astray_is_not_followed_for_good(robot):
    """A joint at its limit led it up by 18 cm, against the force, at 0.2 m/s."""
    tool = led(robot, np.zeros(7), compliance=[0.0, 0.0, 1.0], wanted=[0.0, 0.0, 10.0], ticks=1)
    command = BENT
    for _ in range(200):
        robot.update(command)
        up = tool.start.rotation.T @ (-1e-3 * DOWN)
        command = command + np.linalg.pinv(robot.tool_jacobian()[:3]) @ up
        tool.feel(command, np.zeros(7))
        tool.lead(tool.start, PERIOD, command)
    assert -KNOCK - 0.01 < tool.offset[2] < -0.5 * KNOCK


def test_knocked_off_what_it_presses_it_comes_back_slowly(robot):
    """The command came down again at 90 mm/s, with 130 N on what is stiff."""
    tool = led(robot, np.zeros(7), compliance=[0.0, 0.0, 1.0], wanted=[0.0, 0.0, 10.0], ticks=1)
    jacobian = robot.tool_jacobian()[:3]
    up = np.linalg.pinv(jacobian) @ (tool.start.rotation.T @ (-0.04 * DOWN))
    for _ in range(30):
        tool.feel(BENT + up, np.zeros(7))
        tool.lead(tool.start, PERIOD, BENT + up)
    assert tool.offset[2] == pytest.approx(REBOUND - 0.04, abs=3e-3)
    begin = tool.offset[2]
    command = BENT + up
    for _ in range(50):
        robot.update(command)
        error = pin.log6(robot.tool_pose().actInv(tool.reference.sample(PERIOD))).vector
        command = command + np.linalg.pinv(robot.tool_jacobian()) @ error
        tool.feel(command, np.zeros(7))
        tool.lead(tool.start, PERIOD, command)
    assert tool.offset[2] - begin == pytest.approx(50 * PERIOD * PRESSING_SPEED, rel=0.2)
