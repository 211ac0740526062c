"""A tool that is led off its way by what acts on it: admittance control of its reference.

Along an axis with compliance c the reference is off its way by o, which follows

    D o' = F + f - o / c

with the force F that the tool is to press with, the force f on the tool and a damping D: an axis
whose c is large ends where -f = F, a force axis; one without F is a spring about the way; one
whose c is 0 is rigid. A tool that may turn gives way to the moment about its tip likewise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.reference import PoseStream
from contact_aware_control.reference.stream import MotionBounds
from contact_aware_control.tool_force import FORCE_TIME, hand_links, wrench_along
from contact_core.base.errors import TrajectoryError
from contact_core.base.low_pass import followed_share
from contact_core.robot.robot import Robot

DAMPING = 200.0
"""D: 10 N more than wanted move the tool at 50 mm/s [N s/m]."""

DEAD_BAND = 1.0
"""Where no force is wanted, a smaller one moves nothing, so that noise does not [N]."""

PRESSING_SPEED = 0.02
"""The tool looks for what it is to press no faster [m/s]."""

AHEAD = 0.03
"""The reference is at most so far ahead of a command that something else holds back [m]."""

HELD = 0.5
"""Share of a force that is wanted from which on it is held."""

REBOUND = 0.005
"""The reference goes back to so far ahead of a command that was knocked off what it presses [m]."""

KNOCK = 0.05
"""But no farther back than that from where it pressed last, or has been since: what leads a command
astray, as a joint at its limit does, is no knock [m]."""

BEHIND = 0.03
"""The way waits for a tool that is so far from it, along axes that do not give way [m]."""

EXPECTED = 10.0
"""A force on the tool, where none is asked for [N]."""

MOMENT_TIME = 0.05
"""Time constant of the moment [s]."""

TURN_DAMPING = 8.0
"""D of rotations [Nm s/rad]."""

TURN_DEAD_BAND = 0.05
"""A smaller moment turns nothing [Nm]."""

UNSURE, NEAR = 0.1, 0.03
"""How wrong a moment may be [Nm]; a force this near the tip passes through it [m]."""

STEEP = 0.9
"""A direction is near x from this share of it on."""

FREE = 1.0
"""So large a compliance that the force alone decides [m/N]."""


def axes_towards(direction: np.ndarray) -> np.ndarray:
    """Return axes of which the third one is a direction.

    Args:
        direction: (3) world frame; its length makes no difference.

    Returns:
        (3, 3) unit vectors as rows, right-handed; the first one is as near to x as that allows, or
        to y if the direction is.

    Raises:
        TrajectoryError: If the direction is zero.
    """
    length = float(np.linalg.norm(direction))
    if not (np.isfinite(length) and length > 0.0):
        raise TrajectoryError(f"the direction is {direction} (valid: not zero)")
    third = direction / length
    near = np.eye(3)[int(abs(third[0]) > STEEP)]
    first = near - (near @ third) * third
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(third, first), third])


class LedTool:
    """Where forces lead the tool, tick by tick.

    Attributes:
        axes: (3, 3) the axes that compliance and force are along, as rows, world frame.
        lever: (3) where the tip is in the tool's frame [m].
        start: Pose of the tool where it began, world frame.
        reference: What the tool follows.
        hand: The links beyond the last joint.
        wanted: (3) F that the tool presses with [N]; may be changed at any time.
        compliance: (3) c [m/N]; likewise.
        turns: (3) whether it gives way to moments about the axes; likewise.
        offset: (3) o, how far the reference is off its way [m].
        turn: (3) how far it is turned off its way, about the axes [rad].
        pressing: (3) what the tool presses with, along all axes [N].
        moment: (3) on the tool about its tip and the axes [Nm].
        tip: Where the tip is by the measured joints (3), world frame [m].
        hidden: Whether something leans on the arm elsewhere, from which it is not told what the
            tool presses with.
        fastest: Of the tip, along each axis [m/s].
    """

    def __init__(
        self,
        robot: Robot,
        command: np.ndarray,
        axes: np.ndarray,
        bounds: MotionBounds,
        period: float,
        tip: np.ndarray | None = None,
    ) -> None:
        """Begin where the arm is commanded to be.

        Args:
            robot: The arm; it is updated.
            command: (n) where it is commanded to be now [rad].
            axes: See the attributes.
            bounds: Of the tool's motion: (6) each.
            period: Time between ticks [s].
            tip: (3) what the tool turns about, tool frame [m]; None: its origin.
        """
        self._robot = robot
        self.axes = axes
        self._period = period
        self._bounds = bounds
        self.lever = np.zeros(3) if tip is None else tip
        robot.update(command)
        self.start = robot.tool_pose()
        self.reference = PoseStream.at_rest(self.start, bounds)
        self._before = self.start
        self.hand = hand_links(robot)
        self.wanted, self.compliance = np.zeros(3), np.zeros(3)
        self.turns = np.zeros(3, dtype=bool)
        self.offset, self.turn, self._deepest = np.zeros(3), np.zeros(3), np.zeros(3)
        self.pressing, self.moment = np.zeros(3), np.zeros(3)
        self.tip = self.start.act(self.lever)
        self.hidden = self._blind = False
        self.fastest = float(bounds.velocity[:3].min())
        self._share = followed_share(period, FORCE_TIME)
        self._turn_share = followed_share(period, MOMENT_TIME)

    def across(self, way: np.ndarray) -> np.ndarray:
        """Return what a way (3) has across the third axis, world frame [m]."""
        across: np.ndarray = way @ self.axes[:2].T @ self.axes[:2]
        return across

    def straight(self, distance: float, speed: float) -> PoseStream:
        """Return a motion along the third axis from where it began.

        Args:
            distance: How far [m].
            speed: How fast [m/s].
        """
        return PoseStream.straight(self.start, distance * self.axes[2], speed, self._bounds)

    def feel(
        self,
        position: np.ndarray,
        torque: np.ndarray | None,
        contacts: Sequence[ContactEstimate] = (),
    ) -> None:
        """Look at a joint state.

        Args:
            position: (n) measured q [rad].
            torque: (n) external torque without bias and payload [Nm]; None: it is not known.
            contacts: Those that are estimated.
        """
        robot = self._robot
        robot.update(position)
        pose = robot.tool_pose()
        self.tip = pose.act(self.lever)
        self._blind = torque is None
        if torque is None:
            return
        for contact in contacts:
            if contact.wrench_known and contact.link not in self.hand:
                torque = torque - robot.torque_of_force(
                    contact.link, contact.point_world, contact.force_world
                )
        strength = max(EXPECTED, float(np.linalg.norm(self.wanted)))
        wrench = wrench_along(robot, self.axes, torque, strength)
        force, moment = self.axes.T @ wrench[:3], pose.rotation @ wrench[3:]
        moment = moment - np.cross(pose.rotation @ self.lever, force)
        self.pressing = self.pressing + self._share * (-wrench[:3] - self.pressing)
        self.moment = self.moment + self._turn_share * (self.axes @ moment - self.moment)
        # A force through the tip is the tool's, wherever the estimator would have it.
        lever = float(np.linalg.norm(self.moment)) - UNSURE
        passes = lever <= NEAR * float(np.linalg.norm(self.pressing))
        doubted = any(not c.wrench_known and c.link not in self.hand for c in contacts)
        self.hidden = doubted and not passes

    def lead(self, way: pin.SE3, passed: float, command: np.ndarray) -> PoseStream:
        """Return what is followed next.

        Args:
            way: Where the tool would be now without forces, world frame.
            passed: What has passed of the reference that was returned last [s]; 0 if it was
                not followed.
            command: (n) present command q_cmd [rad].
        """
        if passed > 0.0 and not self._blind:
            self._robot.update(command)
            lead = way.act(self.lever) - self._robot.tool_pose().act(self.lever)
            self.offset = self.offset + self._period * self._speed(self.axes @ lead + self.offset)
            self.turn = self.turn + self._period * self._spin()
        target = self._led(way)
        velocity = np.zeros(6)
        velocity[:3] = (target.translation - self._before.translation) / self._period
        velocity[3:] = pin.log3(self._before.rotation.T @ target.rotation) / self._period
        self._before = target
        self.reference = self.reference.towards(passed, target, velocity)
        return self.reference

    def tip_on(self, way: pin.SE3) -> np.ndarray:
        """Return where the tip is led to (3), world frame [m]; the way is that of :meth:`lead`."""
        tip: np.ndarray = way.act(self.lever) + self.axes.T @ self.offset
        return tip

    def behind(self, way: pin.SE3) -> float:
        """Return how far the tip is from there, along axes that do not give way [m]."""
        behind = self.axes @ (self.tip_on(way) - self.tip)
        return float(np.linalg.norm(behind[self.compliance == 0.0]))

    def _led(self, way: pin.SE3) -> pin.SE3:
        """Return where the tool is led to from its way."""
        led = pin.SE3(pin.exp3(self.axes.T @ self.turn) @ way.rotation, np.zeros(3))
        led.translation = self.tip_on(way) - led.rotation @ self.lever
        return led

    def _speed(self, lead: np.ndarray) -> np.ndarray:
        """Return o' (3) [m/s]; the reference leads the command (3) [m]."""
        soft = self.compliance > 0.0
        stiffness = np.divide(1.0, self.compliance, out=np.zeros(3), where=soft)
        excess = self.wanted - self.pressing - stiffness * self.offset
        idle = np.where(self.wanted == 0.0, DEAD_BAND, 0.0)
        excess = excess - np.clip(excess, -idle, idle)
        speed = np.clip(excess / DAMPING, -self.fastest, self.fastest)
        # Free to press on, it is slow; pushed, it goes along.
        side = np.sign(self.wanted)
        sought = side * np.minimum(np.abs(speed), PRESSING_SPEED)
        speed = np.where(speed * self.wanted > 0.0, sought, speed)
        # Knocked back, the command would come down again as fast as it can.
        ahead, presses = side * lead - REBOUND, side * self.pressing >= HELD * np.abs(self.wanted)
        deepest = side * np.maximum(side * self._deepest, side * self.offset)
        self._deepest = np.where(presses, self.offset, deepest)
        off = (ahead > 0.0) & ~presses & (side * (self._deepest - self.offset) < KNOCK)
        speed = np.where(off, -side * np.minimum(ahead / self._period, self.fastest), speed)
        waits = ~soft | ((np.abs(lead) > AHEAD) & (lead * speed > 0.0))
        if self.hidden:
            # What it presses with is not told from what leans on the arm elsewhere.
            waits |= speed * self.wanted > 0.0
        return np.where(waits, 0.0, speed)

    def _spin(self) -> np.ndarray:
        """Return how fast it turns off its way, about the axes (3) [rad/s]."""
        felt = self.moment - np.clip(self.moment, -TURN_DEAD_BAND, TURN_DEAD_BAND)
        fastest = self._bounds.velocity[3:].min()
        spin = np.clip(felt / TURN_DAMPING, -fastest, fastest)
        return np.where(self.turns, spin, 0.0)
