"""Whether the robot follows our commands, and nobody else's.

What was sent within its round trip is remembered. The command that a driver reports has to be
among it; the arm has to be where springs between those commands and the external torque put it,
(5), or on its way there. So a foreign commander shows, and so do drives that are off, another
control mode, an encoder that is stuck, and a torque that is none or has the wrong sign.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.safety.status import Finding, Status
from contact_core.base.kernel import kernel
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot

ROUNDING = 1e-9
"""Times are whole periods: rounding must not decide [s]."""

COMMAND_TOLERANCE = 0.005
"""By how much a command that the driver reports may differ before it is somebody else's [rad]."""

MOVED, STILL = 0.001, 1e-4
"""A joint that is farther from where it was has moved; one that is nearer has not [rad]."""

MOVES = 0.003
"""Commands that stay within this range are at rest [rad]."""

RETURNING, SLOW = 0.01, 0.1
"""Speed of a joint on its way to balance, and one at which inertia may carry it away [rad/s]."""

DAMPING_TIME = 0.15
"""Damping over stiffness of joint springs, at most: so far a joint that moves lags behind [s]."""

TORQUE_TIME = 0.06
"""Delay and low-pass of torques, at most [s]."""

RETURN_TIME = 2.0 * DAMPING_TIME
"""A joint on its way to balance is there after this time, at its speed [s]."""

SWING = 10.0
"""Frequency of a joint that swings on its springs, at least [rad/s]."""

STIFFNESS_ERROR = 0.25
"""How much larger or smaller springs and torque seem of each other, where K is known to 20 %."""

FOLLOWS, FAR, UNBALANCED = range(3)
"""What the kernel answers of a joint: it follows, is too far away, or is not in balance."""


@dataclass(frozen=True, slots=True, eq=False)
class FollowState:
    """What is remembered of commands and of how the robot follows them.

    Attributes:
        recent: (2, n) smallest and largest command since the window began [rad].
        earlier: (2, n) those of the window before.
        age: Ticks since the window began.
        astray: (n) each, joint positions in a row that were not where commands should have
            them, or not in balance [rad].
    """

    recent: np.ndarray
    earlier: np.ndarray
    age: int = 0
    astray: tuple[np.ndarray, ...] = ()


class FollowWatch:
    """Compares joint states with commands; what it remembers is its callers' FollowState.

    Attributes:
        torque_margin: (n) what the external torque may be wrong by [Nm].
    """

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Take the tolerances.

        Args:
            robot: Has the joints' names, stiffness and effort limits.
            config: Round trip and tolerances.
        """
        self._names = robot.joint_names
        self._period = config.period
        self._window = max(1, round(config.safety.round_trip / config.period))
        self._tolerance = COMMAND_TOLERANCE
        self._stiffness = robot.stiffness
        share = config.reflex.torque_margin_share
        self.torque_margin = np.maximum(share * robot.effort_limits, robot.torque_error)
        self._unknown = np.zeros(robot.n)
        self._distance = config.plausibility.follow_distance
        self._time = config.plausibility.follow_time

    def start(self, *known: np.ndarray | None) -> FollowState:
        """Begin where the robot is.

        Args:
            known: (n) each, what it may be following [rad]: where commands begin; what the
                driver reports, NaN where it does not; our last command, which may still be on
                its way. None for what there is not.

        Returns:
            What is remembered.
        """
        told = [command for command in known if command is not None]
        ours = np.array([np.fmin.reduce(told), np.fmax.reduce(told)])
        return FollowState(ours, ours)

    def sent(self, state: FollowState, command: np.ndarray) -> FollowState:
        """Take note of the command of a tick.

        Args:
            state: What is remembered.
            command: (n) what was sent [rad].

        Returns:
            What is remembered now.
        """
        recent, earlier, age = _widened(state.recent, command), state.earlier, state.age + 1
        if age >= self._window:
            recent, earlier, age = np.array([command, command]), recent, 0
        return FollowState(recent, earlier, age, state.astray)

    def check(
        self, state: FollowState, arm: ArmState, offset: np.ndarray | None = None
    ) -> tuple[FollowState, Finding | None]:
        """Compare what the robot does with what was sent within its round trip.

        Args:
            state: What is remembered.
            arm: A joint state.
            offset: (n) what is known of bias and payload within tau_ext [Nm]; None for nothing.

        Returns:
            (what is remembered now; what is wrong, None if the robot follows our commands and
            nobody else's).
        """
        foreign = self.foreign(state, arm.commanded_position)
        if foreign is not None:
            return state, foreign
        verdict, joint, value, limit = _astray(
            arm.position,
            arm.external_torque,
            self._unknown if offset is None else offset,
            self._stiffness,
            state.recent,
            state.earlier,
            self._distance,
            self.torque_margin,
        )
        if verdict == FOLLOWS:
            return (replace(state, astray=()) if state.astray else state), None
        state = replace(state, astray=(*state.astray, arm.position))
        time = len(state.astray) * self._period
        if time <= self._time + ROUNDING:
            return state, None
        first, middle = state.astray[0], state.astray[len(state.astray) // 2]
        moved = arm.position - first
        speed = moved[joint] * np.sign(value) / time
        turn = (arm.position - 2.0 * middle + first)[joint] * np.sign(value) / (0.5 * time) ** 2
        unit = 1.0 if verdict == FAR else self._stiffness[joint]
        # Whoever returns is there in a time; what creeps follows its command astray.
        returning = speed > max(RETURNING, abs(value) / unit / RETURN_TIME)
        swings = speed < -SLOW or turn > SWING**2 * abs(value) / unit
        if returning or (verdict == UNBALANCED and swings):
            return replace(state, astray=()), None
        # What a contact moves is damped as well: (2) is out of balance by D qd; and torques come
        # late, which is the other way round.
        lag = abs(speed) * unit * (DAMPING_TIME if speed > 0.0 else TORQUE_TIME)
        if abs(value) <= limit + lag:
            return state, None
        return state, self._astray(verdict, joint, abs(value), limit, np.abs(moved), speed)

    def _astray(
        self,
        verdict: int,
        joint: int,
        value: float,
        limit: float,
        moved: np.ndarray,
        speed: float,
    ) -> Finding:
        """Say what is wrong with a joint that is not where it should be, nor on its way there."""
        name = self._names[joint]
        if verdict == FAR:
            text = f"{name} is {value:.3g} rad from where its commands and torque should have it"
        else:
            text = (
                f"springs and external torque of {name} differ by {value:.3g} Nm, "
                f"more than {limit:.3g} Nm"
            )
        if moved[joint] < STILL and np.any(moved > MOVED):
            return Finding(Status.ENCODER_STUCK, f"{text}, and only others move")
        if speed < -SLOW or np.all(moved < STILL):
            return Finding(Status.NOT_COMMANDING, text)
        return Finding(Status.UNBALANCED, text)

    def foreign(self, state: FollowState, reported: np.ndarray) -> Finding | None:
        """Tell whether the robot follows somebody else's commands.

        Args:
            state: What is remembered.
            reported: (n) the command the driver says the robot follows [rad]; NaN if it
                does not say.

        Returns:
            FOREIGN_COMMAND with the joint and the numbers, or None.
        """
        joint = _foreign(reported, state.recent, state.earlier, self._tolerance)
        if joint < 0:
            return None
        return Finding(
            Status.FOREIGN_COMMAND,
            f"{self._names[joint]} is commanded to {reported[joint]:.4f} rad, we sent "
            f"{state.recent[0, joint]:.4f} to {state.recent[1, joint]:.4f} rad",
        )


@kernel
def _widened(window: np.ndarray, command: np.ndarray) -> np.ndarray:
    """Return the smallest and the largest command (2, n) of a window and one more [rad]."""
    widened = np.empty_like(window)
    for i in range(command.size):
        widened[0, i] = min(window[0, i], command[i])
        widened[1, i] = max(window[1, i], command[i])
    return widened


@kernel
def _foreign(
    reported: np.ndarray, recent: np.ndarray, earlier: np.ndarray, tolerance: float
) -> int:
    """Return the first joint whose command was not sent in either window; -1 if there is none."""
    for i in range(reported.size):
        if reported[i] < min(recent[0, i], earlier[0, i]) - tolerance:
            return i
        if reported[i] > max(recent[1, i], earlier[1, i]) + tolerance:
            return i
    return -1


@kernel
def _astray(
    position: np.ndarray,
    torque: np.ndarray,
    offset: np.ndarray,
    stiffness: np.ndarray,
    recent: np.ndarray,
    earlier: np.ndarray,
    distance: float,
    margin: np.ndarray,
) -> tuple[int, int, float, float]:
    """Compare springs and torque, K (q_cmd - q) + tau_ext = 0 by (5), for any recent q_cmd.

    A joint that is not in balance moves towards it; which way tells the sign of the answer. Two
    bounds: a distance, which is coarse, and while commands move a torque. That one allows for
    what is no fault:

    - sensors and friction, by a margin;
    - a stiffness known to 20 %, by a quarter of the smaller torque of the two. It scales what
      springs carry: one that is missing or has the other sign is none of its errors;
    - bias and payload, which the estimator cannot tell apart. Payload bends the springs, bias
      does not move the arm: any share of the offset may be bias. While commands rest, it may
      not be known yet.

    Returns:
        (what is wrong; the joint; by how much [rad] or [Nm], with the sign of the way back; the
        bound). An unknown torque, NaN, is never wrong.
    """
    far, worst, moves = -1, -1, False
    away, excess, limit = distance, 0.0, 0.0
    for i in range(position.size):
        low, high = min(recent[0, i], earlier[0, i]), max(recent[1, i], earlier[1, i])
        moves = moves or high - low > MOVES
        rest = position[i] - torque[i] / stiffness[i]
        command = min(max(rest, low), high)
        if abs(command - rest) > abs(away):
            away, far = command - rest, i
        unbalanced = stiffness[i] * (command - rest)
        unbalanced -= min(max(unbalanced, min(0.0, offset[i])), max(0.0, offset[i]))
        carried = min(abs(torque[i]), stiffness[i] * abs(command - position[i]))
        tolerance = margin[i] + STIFFNESS_ERROR * carried
        if abs(unbalanced) > tolerance and abs(unbalanced) - tolerance > abs(excess) - limit:
            excess, limit, worst = unbalanced, tolerance, i
    if far >= 0:
        return FAR, far, away, distance
    if worst >= 0 and moves:
        return UNBALANCED, worst, excess, limit
    return FOLLOWS, 0, 0.0, 0.0
