"""The gate: the last step of every command in the controller, and the only way to its writer.

It knows nothing of controllers, goals and contacts. From the command before, the measured
joints and the limits it proves a command sound, or it refuses it and lets the arm brake along
its last motion, or hold. What would move a point of the arm too fast is shortened. Why here:
whatever goes wrong upstream, in a solver, an estimate or a reaction, ends in a command that passes
this point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.safety.arm_speed import ArmSpeed
from contact_aware_control.safety.joint_bounds import BRAKING_RATE, Bound, joint_bounds
from contact_core.base.kernel import inlined_kernel, kernel
from contact_core.robot.arm_state import SoundCommand
from contact_core.robot.robot import Robot

ROUNDING = 1e-9
"""By how much a command may exceed a limit, for upstream it is computed in another order [rad]."""

HELD_BACK = 1e-12
"""By how much a change may miss a bound that holds it back [rad]."""

SOUND, FINITE, POSITION, DISTANCE, SPEED, ACCELERATION, JERK = range(7)
"""What the kernel answers: sound, or the rule that is broken."""

RULES = {
    FINITE: ("finite", ""),
    POSITION: ("position limit", "rad"),
    DISTANCE: ("distance to the measured joint", "rad"),
    SPEED: ("speed", "rad/s"),
    ACCELERATION: ("acceleration", "rad/s^2"),
    JERK: ("jerk", "rad/s^3"),
}
"""Names of the rules, and the unit of their numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class GateState:
    """What the gate remembers from tick to tick.

    Attributes:
        command: (n) what passed last, or what the robot is at when commands begin [rad].
        velocity: (n) of the commands [rad/s].
        acceleration: (n) by which their speed grew in the last tick [rad/s^2].
        time: Of the last tick [ns]; None before the first.
        refused: Number of commands refused in a row.
    """

    command: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    time: int | None
    refused: int


class CommandGate:
    """Passes sound commands; what it remembers is its callers' GateState."""

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Take the limits.

        Args:
            robot: Has the position and velocity limits, and the joints' names.
            config: Margins and bounds.
        """
        limits = config.limits
        self._names = robot.joint_names
        self._period = config.period
        self._lowest = robot.position_limits[0] + limits.position_margin
        self._highest = robot.position_limits[1] - limits.position_margin
        torque = limits.spring_torque_share * robot.spring_torque
        self._distance = np.minimum(limits.distance, torque / robot.stiffness)
        self._bounds = joint_bounds(robot, config)
        self._approach = min(1.0, BRAKING_RATE * config.period)
        self._braking = limits.braking
        self._farthest = limits.point_speed * config.period
        self._speed = ArmSpeed(robot, config.reflex.held_reach) if self._farthest > 0.0 else None

    def start(self, command: np.ndarray) -> GateState:
        """Begin where the robot is, at rest.

        Args:
            command: (n) where commands begin [rad].

        Returns:
            What is remembered.
        """
        still = np.zeros(command.size)
        return GateState(command, still, still, None, 0)

    def step_bounds(
        self,
        state: GateState,
        measured: np.ndarray,
        bound: Bound = Bound.TRACKING,
        fraction: float = 1.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the changes q_cmd+ - q_cmd that pass.

        Bounds on the motion are never exceeded. Within them joint limits win over the distance
        to the measured joints; one that is already violated is approached as fast as the
        stronger ones allow, so that there is always a change. A joint limit is approached by a
        share of the way to it per tick, so that the command comes to rest in front of it.

        Args:
            state: What is remembered.
            measured: (n) measured joint positions [rad].
            bound: How fast the command may be.
            fraction: Share of the step bound to use.

        Returns:
            (lower, upper), each (n) [rad].
        """
        step, acceleration, jerk = self._bounds[bound]
        changes = np.empty((2, step.size))
        _step_bounds(
            state.command,
            state.velocity,
            state.acceleration,
            measured,
            self._lowest,
            self._highest,
            self._distance,
            self._approach,
            step if fraction == 1.0 else fraction * step,
            acceleration,
            jerk,
            self._period,
            changes,
        )
        return changes[0], changes[1]

    def is_reached(
        self,
        change: np.ndarray,
        step_bounds: tuple[np.ndarray, np.ndarray],
        bound: Bound = Bound.TRACKING,
        fraction: float = 1.0,
    ) -> bool:
        """Tell whether a limit other than the step bound holds a joint back.

        Args:
            change: (n) q_cmd+ - q_cmd [rad].
            step_bounds: From :meth:`step_bounds`.
            bound: Given to :meth:`step_bounds`.
            fraction: Given to :meth:`step_bounds`.

        Returns:
            True if so.
        """
        reached: bool = _is_reached(change, *step_bounds, self._bounds[bound][0], fraction)
        return reached

    def rest(self, state: GateState) -> GateState:
        """Return what is remembered when nothing is sent in a tick: the robot holds."""
        still = np.zeros(state.command.size)
        return replace(state, velocity=still, acceleration=still)

    def judge(
        self,
        state: GateState,
        now: int,
        wanted: np.ndarray,
        measured: np.ndarray,
        bound: Bound = Bound.TRACKING,
    ) -> tuple[GateState, SoundCommand, str]:
        """Pass a command, or brake.

        Args:
            state: What is remembered.
            now: Time of the tick [ns].
            wanted: (n) the command that is asked for [rad].
            measured: (n) measured joint positions [rad].
            bound: How fast it may be.

        Returns:
            (what is remembered now; what may be sent, the wanted command unless a point of the
            arm would be too fast; empty, or the rule that the wanted command breaks, with the
            numbers).
        """
        refusal = self._refusal(state, now, wanted, measured, bound)
        command = self._braked(state, measured) if refusal else np.array(wanted, dtype=float)
        command = self._slowed(state.command, command)
        velocity, acceleration = _motion(command, state.command, state.velocity, self._period)
        refused = state.refused + 1 if refusal else 0
        after = GateState(command, velocity, acceleration, now, refused)
        return after, SoundCommand(command), refusal

    def _refusal(
        self,
        state: GateState,
        now: int,
        wanted: np.ndarray,
        measured: np.ndarray,
        bound: Bound,
    ) -> str:
        """Name the rule that a command breaks; empty if it is sound."""
        if state.time is not None and now <= state.time:
            return f"time: {now} ns does not come after {state.time} ns"
        shape = np.shape(wanted)
        if shape != state.command.shape:
            return f"size: {shape} instead of {state.command.shape}"
        rule, joint, value, limit = self._broken(state, wanted, measured, bound)
        if rule == SOUND:
            return ""
        name, unit = RULES[rule]
        if rule == FINITE:
            return f"{name}: {self._names[joint]} would be {value}"
        return f"{name}: {self._names[joint]} would be at {value:.4g} {unit}, limit {limit:.4g}"

    def _broken(
        self, state: GateState, wanted: np.ndarray, measured: np.ndarray, bound: Bound
    ) -> tuple[int, int, float, float]:
        step, acceleration, jerk = self._bounds[bound]
        broken: tuple[int, int, float, float] = _judge(
            np.asarray(wanted, dtype=np.float64),
            state.command,
            state.velocity,
            state.acceleration,
            measured,
            self._lowest,
            self._highest,
            self._distance,
            step,
            acceleration,
            jerk,
            self._period,
        )
        return broken

    def _slowed(self, last: np.ndarray, command: np.ndarray) -> np.ndarray:
        """Shorten a change that moves a point of the arm too fast; to be slower is always sound."""
        if self._speed is None:
            return command
        change = command - last
        farthest = self._speed.farthest(last, change)
        if farthest <= self._farthest:
            return command
        slowed: np.ndarray = last + (self._farthest / farthest) * change
        return slowed

    def _braked(self, state: GateState, measured: np.ndarray) -> np.ndarray:
        """Slow down along the last motion; where that is not sound either, hold."""
        fastest = float(np.max(np.abs(state.velocity), initial=0.0))
        left = fastest - self._braking * self._period
        if left <= 0.0:
            return state.command
        braked: np.ndarray = state.command + state.velocity * (left / fastest * self._period)
        sound = self._broken(state, braked, measured, Bound.NONE)[0] == SOUND
        return braked if sound else state.command


@kernel
def _judge(
    wanted: np.ndarray,
    last: np.ndarray,
    velocity: np.ndarray,
    acceleration: np.ndarray,
    measured: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    distance: np.ndarray,
    step: np.ndarray,
    most_acceleration: float,
    most_jerk: float,
    period: float,
) -> tuple[int, int, float, float]:
    """Return the first broken rule, the joint, its number and the limit.

    To hold is always allowed, and so is to stop at once: a spring's rest position that stands
    still adds no torque. A limit that is already exceeded must not be exceeded further.
    """
    for i in range(wanted.size):
        to = wanted[i]
        if not np.isfinite(to):
            return FINITE, i, to, 0.0
        if to == last[i]:
            continue
        if to < min(lowest[i], last[i]) - ROUNDING:
            return POSITION, i, to, lowest[i]
        if to > max(highest[i], last[i]) + ROUNDING:
            return POSITION, i, to, highest[i]
        away = abs(to - measured[i])
        # Not "larger than": what cannot be compared is not sound.
        if not (away <= max(distance[i], abs(last[i] - measured[i])) + ROUNDING):
            return DISTANCE, i, away, distance[i]
        change = to - last[i]
        if not (abs(change) <= step[i] + ROUNDING):
            return SPEED, i, abs(change) / period, step[i] / period
        gain = _gain(change / period, velocity[i])
        if not (abs(gain) <= most_acceleration * period + ROUNDING / period):
            return ACCELERATION, i, abs(gain) / period, most_acceleration
        # Only more of the acceleration of the last tick is a jerk; to end it is none.
        before = max(0.0, acceleration[i] if gain > 0.0 else -acceleration[i])
        more = abs(gain) / period - before
        if not (more <= most_jerk * period + ROUNDING / period**2):
            return JERK, i, more / period, most_jerk
    return SOUND, 0, 0.0, 0.0


@inlined_kernel
def _gain(now: float, before: float) -> float:
    """Return by how much a velocity goes beyond slowing down to a stop."""
    if now > max(before, 0.0):
        return now - max(before, 0.0)
    if now < min(before, 0.0):
        return now - min(before, 0.0)
    return 0.0


@kernel
def _step_bounds(
    command: np.ndarray,
    velocity: np.ndarray,
    acceleration: np.ndarray,
    measured: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    distance: np.ndarray,
    approach: float,
    step: np.ndarray,
    most_acceleration: float,
    most_jerk: float,
    period: float,
    changes: np.ndarray,
) -> None:
    """Fill (2, n) with the smallest and the largest change, the stronger rules first."""
    jerk = most_jerk * period
    for i in range(command.size):
        below, above = -step[i], step[i]
        for low, high in (
            (approach * (lowest[i] - command[i]), approach * (highest[i] - command[i])),
            (measured[i] - distance[i] - command[i], measured[i] + distance[i] - command[i]),
        ):
            below, above = min(max(low, below), above), min(max(high, below), above)
        faster = min(most_acceleration, max(0.0, acceleration[i]) + jerk) * period
        slower = min(most_acceleration, max(0.0, -acceleration[i]) + jerk) * period
        highest_change = period * (max(0.0, velocity[i]) + faster)
        lowest_change = -period * (max(0.0, -velocity[i]) + slower)
        changes[0, i] = min(max(below, lowest_change), highest_change)
        changes[1, i] = min(max(above, lowest_change), highest_change)


@kernel
def _is_reached(
    change: np.ndarray, lower: np.ndarray, upper: np.ndarray, step: np.ndarray, fraction: float
) -> bool:
    for i in range(change.size):
        most = fraction * step[i]
        if lower[i] > -most and change[i] <= lower[i] + HELD_BACK:
            return True
        if upper[i] < most and change[i] >= upper[i] - HELD_BACK:
            return True
    return False


@kernel
def _motion(
    command: np.ndarray, last: np.ndarray, velocity: np.ndarray, period: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return velocity and acceleration."""
    now, gained = np.empty(command.size), np.empty(command.size)
    for i in range(command.size):
        now[i] = (command[i] - last[i]) / period
        gained[i] = _gain(now[i], velocity[i]) / period
    return now, gained
