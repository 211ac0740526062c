"""What a robot that is well never reports: the checks that every joint state passes.

First of all a message has the right size and finite numbers. The checks after that know the arm,
its limits and the command, and no contact. Each compares a state with the one that arrived before,
sound or not, so that after a single jump states are sound again, while two sources that take turns
never are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.safety.status import Finding, Status
from contact_core.base.kernel import kernel
from contact_core.robot.arm_state import ArmState, CommandMode
from contact_core.robot.robot import Robot

NANOSECONDS = 1e-9

NOISE = 1e-3
"""By how much a joint at rest may seem to move [rad]."""

DRIFT = 1e-3
"""By how much two clocks may run apart [s/s]."""

MARGIN = 0.05
"""How far a position may be beyond a joint's limit [rad]."""

MAX_SPEED = 2.0
"""Motion between two states, in joint velocity limits."""

STAMP_JUMP = 0.1
"""How far a stamp may jump ahead [s]."""

FROZEN_DISTANCE = 0.005
"""Motion of a command during which some number of the states must have changed [rad]."""

PLAUSIBLE, BEYOND, JUMPED, FROZEN = range(4)
"""What the kernel answers."""


@dataclass(frozen=True, slots=True, eq=False)
class CheckState:
    """What the checks remember from state to state.

    Attributes:
        latest: The state that arrived last; None before the first.
        heard: When a message arrived last, its stamp new or not [ns]; long ago before the first.
        ahead: Largest offset of the driver's clock to ours, the one of the quickest messages [s].
        command: (n) the command when anything in the states changed last [rad].
    """

    latest: ArmState | None = None
    heard: int = -(2**62)
    ahead: float = -math.inf
    command: np.ndarray | None = None


class StateChecks:
    """Judges joint states; what it remembers is its callers' CheckState."""

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Take the limits.

        Args:
            robot: Has the position and velocity limits, and the joints' names.
            config: What is plausible.
        """
        self._config = config.plausibility
        self._names = robot.joint_names
        self._lowest = robot.position_limits[0] - MARGIN
        self._highest = robot.position_limits[1] + MARGIN
        self._speed = MAX_SPEED * robot.velocity_limits

    def check(
        self, memory: CheckState, arm: ArmState, command: np.ndarray | None
    ) -> tuple[CheckState, Finding | None, bool]:
        """Judge a state that has just arrived.

        Args:
            memory: What is remembered.
            arm: The state; of the right size, and finite.
            command: (n) the present command [rad]; None while there is none.

        Returns:
            (what is remembered now; what is wrong, None if nothing is; whether it is a new
            state, False for one that repeats the stamp of the last).
        """
        before, taken = memory.latest, arm.taken
        passed, late, ahead = 0.0, None, (taken - arm.stamp) * NANOSECONDS
        if before is not None:
            passed = (taken - before.taken) * NANOSECONDS
            if passed == 0.0:
                return replace(memory, heard=arm.stamp), None, False
            late, ahead = self._order(passed, ahead, memory.ahead)
        found = condition_of(arm)
        followed = command if found is None else None
        broken, anchor = self._compare(before or arm, arm, followed, memory.command, passed)
        return CheckState(arm, arm.stamp, ahead, anchor), found or late or broken, True

    def _order(self, passed: float, offset: float, ahead: float) -> tuple[Finding | None, float]:
        """Judge the stamp; return also the largest offset of the clocks.

        Args:
            passed: Time since the state before [s].
            offset: Of the clocks, by this state [s].
            ahead: The largest one so far [s].
        """
        if passed < 0.0:
            return Finding(
                Status.STATE_OUT_OF_ORDER, f"a stamp is {-passed:.3f} s older than the last"
            ), offset
        # A message may be late by any time, but none is early.
        expected = ahead - DRIFT * passed
        if offset > expected + STAMP_JUMP:
            early = offset - expected
            return Finding(
                Status.STATE_OUT_OF_ORDER, f"a stamp is {early:.3f} s ahead of its time"
            ), offset
        return None, max(offset, expected)

    def _compare(
        self,
        before: ArmState,
        arm: ArmState,
        command: np.ndarray | None,
        anchor: np.ndarray | None,
        passed: float,
    ) -> tuple[Finding | None, np.ndarray | None]:
        """Judge positions and torques, alone and against the state before.

        Returns:
            (what is wrong; (n) the command when anything changed last [rad]).
        """
        # Without a command to follow, nothing has to move.
        followed = arm.position if command is None else command
        anchor = followed if anchor is None else anchor
        verdict, joint, value, limit, same = _judge(
            arm.position,
            before.position,
            arm.external_torque,
            before.external_torque,
            followed,
            anchor,
            self._lowest,
            self._highest,
            self._speed,
            max(0.0, passed),
            FROZEN_DISTANCE,
        )
        finding = None if verdict == PLAUSIBLE else self._finding(verdict, joint, value, limit)
        return finding, anchor if same and command is not None else command

    def _finding(self, verdict: int, joint: int, value: float, limit: float) -> Finding:
        name = self._names[joint]
        if verdict == BEYOND:
            text = f"{name} is at {value:.4g} rad, its limit is {limit:.4g} rad"
            return Finding(Status.STATE_IMPLAUSIBLE, text)
        if verdict == JUMPED:
            text = f"{name} moved by {value:.4g} rad between two states, at most {limit:.4g} rad"
            return Finding(Status.STATE_IMPLAUSIBLE, text)
        text = f"no number has changed while the command of {name} moved by {value:.4g} rad"
        return Finding(Status.STATE_FROZEN, text)


def condition_of(arm: ArmState) -> Finding | None:
    """Tell what the robot itself says is wrong, the cause before its consequences.

    Args:
        arm: The state.

    Returns:
        What is wrong; None if nothing is, or the driver does not tell.
    """
    condition = arm.condition
    if condition.safe is False:
        return Finding(Status.SAFETY_VIOLATED, "the robot reports a safety stop")
    if condition.connected_well is False:
        return Finding(Status.CONNECTION_POOR, "the robot reports a poor connection")
    if not condition.commanding:
        return Finding(Status.NOT_COMMANDING, "the session is not in its commanding state")
    if condition.overlay is False:
        text = "no motion runs on the robot that joint commands overlay"
        return Finding(Status.NOT_COMMANDING, text)
    if condition.drives_on is False:
        return Finding(Status.DRIVES_OFF, "the robot reports its drives as not active")
    if condition.impedance is False:
        return Finding(Status.WRONG_CONTROL_MODE, "the robot is not in joint impedance control")
    if arm.command_mode is not CommandMode.POSITION:
        return Finding(Status.WRONG_CONTROL_MODE, f"the robot takes {arm.command_mode.value}")
    return None


def is_sound_state(state: ArmState, joints: int) -> bool:
    """Tell whether a joint state can be used.

    Args:
        state: The state. Of what the controller uses, commands may be missing (NaN),
            positions may not.
        joints: The number of joints of the arm.

    Returns:
        False if a vector has the wrong length, a position is not finite, or a command is
        infinite.
    """
    # The scalar product is NaN or infinite if any number is; it costs one short call.
    position, command = state.position, state.commanded_position
    return (
        position.shape == command.shape == (joints,)
        and math.isfinite(np.dot(position, position))
        and not math.isinf(np.dot(command, command))
    )


def is_finite(vector: np.ndarray, size: int) -> bool:
    """Tell whether a vector has the right length and only finite numbers.

    Args:
        vector: Anything array-like.
        size: The right length.

    Returns:
        True if so.
    """
    return np.shape(vector) == (size,) and math.isfinite(np.dot(vector, vector))


def are_sound_contacts(contacts: Sequence[ContactEstimate], links: Sequence[str]) -> bool:
    """Tell whether estimated contacts can be used.

    Args:
        contacts: The contacts.
        links: Names of the arm's links.

    Returns:
        False if a contact is on an unknown link, or a vector is not of three finite numbers.
    """
    for contact in contacts:
        if contact.link not in links:
            return False
        for vector in (contact.point_world, contact.normal_world, contact.force_world):
            if vector.shape != (3,) or not math.isfinite(vector.dot(vector)):
                return False
    return True


@kernel
def _judge(
    position: np.ndarray,
    position_before: np.ndarray,
    torque: np.ndarray,
    torque_before: np.ndarray,
    command: np.ndarray,
    anchor: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    speed: np.ndarray,
    passed: float,
    frozen_distance: float,
) -> tuple[int, int, float, float, bool]:
    """Return what is wrong with which joint, two numbers, and whether no number has changed.

    Encoders and torque sensors that work flicker; simulated ones may rest to the bit, but not
    while the command moves.
    """
    n = position.size
    same = True
    for i in range(n):
        # NaN, an unknown torque, is as good as an unchanged one.
        changed = torque[i] != torque_before[i] and torque[i] == torque[i]
        same = same and position[i] == position_before[i] and not changed
    for i in range(n):
        at = position[i]
        if at < lowest[i]:
            return BEYOND, i, at, lowest[i], same
        if at > highest[i]:
            return BEYOND, i, at, highest[i], same
        moved, most = abs(at - position_before[i]), speed[i] * passed + NOISE
        if moved > most:
            return JUMPED, i, moved, most, same
    if same:
        for i in range(n):
            moved = abs(command[i] - anchor[i])
            if moved > frozen_distance:
                return FROZEN, i, moved, frozen_distance, same
    return PLAUSIBLE, 0, 0.0, 0.0, same
