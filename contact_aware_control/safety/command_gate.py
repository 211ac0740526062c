"""The gate: the last step of every command, and the only way to the writer.

It knows nothing of controllers, goals and contacts. From the command before, the measured
joints and the limits it proves a command sound, or it refuses it and lets the arm brake along
its last motion, or hold. Why here: whatever goes wrong upstream, in a solver, an estimate or
a reaction, ends in a command that passes this point.

It also remembers what it let through, to tell the commands the robot follows from anybody
else's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.safety.status import Finding, Status
from contact_core.arm_state import ArmState, SoundCommand
from contact_core.kernel import inlined_kernel, kernel
from contact_core.robot import Robot

ROUNDING = 1e-9
"""By how much a command may exceed a limit, for upstream it is computed in another order [rad]."""

HELD_BACK = 1e-12
"""By how much a change may miss a bound that holds it back [rad]."""

MOVED, STILL = 0.001, 1e-4
"""A joint that is farther from where it was has moved; one that is nearer has not [rad]."""

MOVES = 0.003
"""Commands that stay within this range are at rest [rad]."""

RETURNING, SLOW = 0.01, 0.1
"""Speed of a joint on its way to balance, and one at which inertia may carry it away [rad/s]."""

STIFFNESS_ERROR = 0.25
"""How much larger or smaller springs and torque seem of each other, where K is known to 20 %."""

FOLLOWS, FAR, UNBALANCED = range(3)
"""What the kernel answers of a joint: it follows, is too far away, or is not in balance."""

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


class Bound(Enum):
    """How fast a command may be."""

    TRACKING = "of the step bound"
    YIELDING = "of the joints, to give way"
    NONE = "none, for a baseline whose abrupt motion is to be seen"


@dataclass(frozen=True, slots=True, eq=False)
class GateState:
    """What the gate remembers from tick to tick.

    Attributes:
        command: (n) what passed last, or what the robot is at when commands begin [rad].
        velocity: (n) of the commands [rad/s].
        acceleration: (n) by which their speed grew in the last tick [rad/s^2].
        time: Of the last tick [ns]; None before the first.
        refused: Number of commands refused in a row.
        recent: (2, n) smallest and largest command since the window began [rad].
        earlier: (2, n) those of the window before.
        age: Ticks since the window began.
        astray: Number of joint states in a row that were not where commands should have them,
            or not in balance.
        since: (n) joint positions in the first of them [rad].
    """

    command: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    time: int | None
    refused: int
    recent: np.ndarray
    earlier: np.ndarray
    age: int = 0
    astray: int = 0
    since: np.ndarray | None = None


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
        stiffness = np.array(config.joint_stiffness)
        self._distance = np.minimum(limits.distance, np.array(limits.spring_torque) / stiffness)
        reach = config.period * robot.velocity_limits
        # (step [rad], acceleration [rad/s^2], jerk [rad/s^3]) of each bound.
        self._bounds = {
            Bound.TRACKING: (
                np.minimum(limits.step, limits.velocity_fraction * reach),
                limits.acceleration,
                limits.jerk,
            ),
            Bound.YIELDING: (limits.yielding_fraction * reach, limits.acceleration, limits.jerk),
            Bound.NONE: (np.full(robot.n, np.inf), np.inf, np.inf),
        }
        self._approach = min(1.0, limits.braking_rate * config.period)
        self._braking = limits.braking
        self._window = max(1, round(config.safety.round_trip / config.period))
        self._tolerance = config.safety.command_tolerance
        self._stiffness = stiffness
        self._torque_margin = config.reflex.torque_margin_share * robot.effort_limits
        self._known = np.zeros(robot.n)
        self._follow_distance = config.plausibility.follow_distance
        self._follow_time = config.plausibility.follow_time

    def start(
        self,
        command: np.ndarray,
        reported: np.ndarray | None = None,
        sent: np.ndarray | None = None,
    ) -> GateState:
        """Begin where the robot is, at rest.

        Args:
            command: (n) where commands begin [rad].
            reported: (n) what the driver says the robot follows [rad]; NaN or None if it
                does not say.
            sent: (n) our last command, which may still be on its way [rad]; None if there is
                none.

        Returns:
            What is remembered.
        """
        still = np.zeros(command.size)
        known = [command, *(other for other in (reported, sent) if other is not None)]
        ours = np.array([np.fmin.reduce(known), np.fmax.reduce(known)])
        return GateState(command, still, still, None, 0, ours, ours)

    def room(
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
        _room(
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
        room: tuple[np.ndarray, np.ndarray],
        bound: Bound = Bound.TRACKING,
        fraction: float = 1.0,
    ) -> bool:
        """Tell whether a limit other than the step bound holds a joint back.

        Args:
            change: (n) q_cmd+ - q_cmd [rad].
            room: From :meth:`room`.
            bound: Given to :meth:`room`.
            fraction: Given to :meth:`room`.

        Returns:
            True if so.
        """
        reached: bool = _is_reached(change, *room, self._bounds[bound][0], fraction)
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
            (what is remembered now; what may be sent; empty, or the rule that the wanted
            command breaks, with the numbers).
        """
        refusal = self._refusal(state, now, wanted, measured, bound)
        command = self._braked(state, measured) if refusal else np.array(wanted, dtype=float)
        velocity, acceleration, recent = _motion(
            command, state.command, state.velocity, self._period, state.recent
        )
        earlier, age = state.earlier, state.age + 1
        if age >= self._window:
            earlier, recent, age = recent, np.array([command, command]), 0
        refused = state.refused + 1 if refusal else 0
        after = GateState(
            command,
            velocity,
            acceleration,
            now,
            refused,
            recent,
            earlier,
            age,
            state.astray,
            state.since,
        )
        return after, SoundCommand(command), refusal

    def watch(
        self, state: GateState, arm: ArmState, offset: np.ndarray | None = None
    ) -> tuple[GateState, Finding | None]:
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
            self._known if offset is None else offset,
            self._stiffness,
            state.recent,
            state.earlier,
            self._follow_distance,
            self._torque_margin,
        )
        if verdict == FOLLOWS:
            return (replace(state, astray=0) if state.astray else state), None
        since = arm.position if state.since is None or not state.astray else state.since
        state = replace(state, astray=state.astray + 1, since=since)
        if state.astray * self._period <= self._follow_time + ROUNDING:
            return state, None
        moved = arm.position - since
        speed = moved[joint] * np.sign(value) / (state.astray * self._period)
        if speed > RETURNING or (verdict == UNBALANCED and speed < -SLOW):
            return replace(state, astray=0), None
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

    def foreign(self, state: GateState, reported: np.ndarray) -> Finding | None:
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
            f"{state.command[joint]:.4f} rad",
        )

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
def _room(
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
    command: np.ndarray,
    last: np.ndarray,
    velocity: np.ndarray,
    period: float,
    sent: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return velocity, acceleration, and the range of what was sent."""
    n = command.size
    now, gained, widened = np.empty(n), np.empty(n), np.empty((2, n))
    for i in range(n):
        now[i] = (command[i] - last[i]) / period
        gained[i] = _gain(now[i], velocity[i]) / period
        widened[0, i] = min(sent[0, i], command[i])
        widened[1, i] = max(sent[1, i], command[i])
    return now, gained, widened


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
