"""The limiters that a command passes between whoever wants it and the gate.

They have one interface: what is wanted and the context of the tick in, what is left of it and a
status out. :func:`limiters_by_purpose` says which of them a command passes, in which order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers import Controller
from contact_aware_control.lever_arms import LeverArms
from contact_aware_control.loop_state import Purpose, TickContext
from contact_aware_control.safety.command_gate import CommandGate
from contact_aware_control.safety.command_guard import CommandGuard
from contact_aware_control.safety.deviation_bound import DeviationBound
from contact_aware_control.safety.joint_bounds import Bound, joint_bounds
from contact_aware_control.safety.status import Status
from contact_aware_control.safety.transition import DONE, Transition
from contact_core.robot.robot import Robot


class Limiter(ABC):
    """Shortens a command, or moves it where something presses; its memory is the context's."""

    @abstractmethod
    def limit(self, wanted: np.ndarray, context: TickContext) -> tuple[np.ndarray, Status]:
        """Limit a command.

        Args:
            wanted: (n) q_cmd+ [rad].
            context: Of the tick; what is remembered is filled in.

        Returns:
            (q_cmd+ (n) [rad]; what holds it back, OK for nothing worth reporting).
        """


class TransitionLimiter(Limiter):
    """From one motion to the next, acceleration and jerk are bounded."""

    def __init__(self, transition: Transition, limits_force: bool) -> None:
        """Take the bounds.

        Args:
            transition: Has the bounds.
            limits_force: Of the controller. A baseline asks for a place, not for a speed: joined
                smoothly it would swing about it.
        """
        self._transition = transition
        self._limits_force = limits_force

    def limit(self, wanted: np.ndarray, context: TickContext) -> tuple[np.ndarray, Status]:
        """Limit a command, see :meth:`Limiter.limit`; in contact, forces come first."""
        gate, output = context.gate, context.output
        if output is not None and (output.contact_links or not self._limits_force):
            return wanted, Status.OK
        context.after.transition, change = self._transition.step(
            context.before.transition, context.begins, gate.velocity, wanted - gate.command
        )
        if context.after.transition is not DONE:
            wanted = gate.command + change
        return wanted, Status.OK


class StepLimiter(Limiter):
    """Every joint has bounds on position, speed, acceleration and jerk; a start is slow."""

    def __init__(self, gate: CommandGate, fastest: Bound) -> None:
        """Take the bounds.

        Args:
            gate: Has the bounds.
            fastest: That a reference is followed by.
        """
        self._gate = gate
        self._fastest = fastest

    def limit(self, wanted: np.ndarray, context: TickContext) -> tuple[np.ndarray, Status]:
        """Limit a command, see :meth:`Limiter.limit`."""
        output, command, bounds = context.output, context.command, (context.lower, context.upper)
        bound, fraction = self._fastest, context.fraction
        if output is not None and output.yields and context.widest is not None:
            bound, fraction, bounds = Bound.YIELDING, 1.0, context.widest
        change = np.minimum(np.maximum(wanted - command, bounds[0]), bounds[1])
        reached = context.follows and self._gate.is_reached(change, bounds, bound, fraction)
        return command + change, Status.LIMIT_REACHED if reached else Status.OK


class SpaceLimiter(Limiter):
    """Workspace, distance of the arm's own links, speed of tool and elbow."""

    def __init__(self, guard: CommandGuard, led: bool = False) -> None:
        """Take the limits.

        Args:
            guard: Has the limits.
            led: Whether this is the last limiter of an arm that a hand leads: floats pass it, too.
        """
        self._guard = guard
        self._led = led

    def limit(self, wanted: np.ndarray, context: TickContext) -> tuple[np.ndarray, Status]:
        """Limit a command, see :meth:`Limiter.limit`."""
        if self._led and context.guidance is None:
            return wanted, Status.OK
        output = context.output
        yields = self._led or context.purpose is Purpose.YIELD
        command, status = self._guard.limit(
            context.command, wanted, yields or (output is not None and output.yields)
        )
        return command, status if self._led or context.follows else Status.OK


class FloatLimiter(Limiter):
    """The springs go along with what presses harder than a load does.

    Where the arm really is decides, no estimate: what shows in the torques alone moves nothing.
    """

    def __init__(self, robot: Robot, config: ControllerConfig, gate: CommandGate) -> None:
        """Take springs and lever arms.

        Args:
            robot: The arm; it is updated.
            config: How hard something has to press.
            gate: Knows how fast a command may give way.
        """
        self._gate = gate
        self._force = config.safety.float_force
        self._softness = 1.0 / robot.stiffness
        self._levers = LeverArms(robot, config.reflex.held_reach)

    def limit(self, wanted: np.ndarray, context: TickContext) -> tuple[np.ndarray, Status]:
        """Limit a command, see :meth:`Limiter.limit`; the same one where nothing presses."""
        position, offset, led = context.position, context.after.reflex.offset, context.guidance
        springs = (position - wanted) / self._softness
        if offset is not None:
            springs = springs - offset
        if led is not None:
            springs = np.where(led.free, springs, 0.0)
        force = self._levers.least_force(position, springs)
        if led is not None:
            most = led.force
        else:
            goal = context.after.goal
            planned = () if goal is None else goal.force_limits.values()
            most = max(self._force, *planned, 0.0)
        if force <= most:
            return wanted, Status.OK
        change = wanted - context.command + (1.0 - most / force) * self._softness * springs
        bounds = yielding_bounds(context, self._gate)
        if context.bound is Bound.TRACKING:
            context.bound = Bound.YIELDING
        return context.command + np.clip(change, *bounds), Status.OK


def yielding_bounds(context: TickContext, gate: CommandGate) -> tuple[np.ndarray, np.ndarray]:
    """Return the changes by which the command may give way.

    Args:
        context: Of the tick.
        gate: Knows them.

    Returns:
        (lower, upper), each (n) [rad].
    """
    if context.widest is not None:
        return context.widest
    return gate.step_bounds(context.gate, context.position, Bound.YIELDING)


class DeviationLimiter(Limiter):
    """What may be no contact takes the arm no farther than the deviation bound."""

    def __init__(self, bound: DeviationBound, gate: CommandGate, floats: FloatLimiter) -> None:
        """Take the bound.

        Args:
            bound: How far a command may yield to what may be no contact.
            gate: Knows how fast it may be held back.
            floats: Where a command that is held back, or follows nothing, gives way all the same.
        """
        self._deviation_bound = bound
        self._gate = gate
        self._floats = floats

    def limit(self, wanted: np.ndarray, context: TickContext) -> tuple[np.ndarray, Status]:
        """Limit a command, see :meth:`Limiter.limit`."""
        after, command, output = context.after, context.command, context.output
        if context.purpose is Purpose.FOLLOW and output is not None and output.nominal is None:
            return wanted, Status.OK
        before = command if context.nominal is None else context.nominal
        # Where nothing is followed, the first command that yields leaves the nominal one behind.
        after.nominal = nominal = before if after.nominal is None else after.nominal
        held = False
        if context.doubted:
            vouched = _shrunk(context.before.vouched, command - before) if context.pulled else None
            shift = np.zeros(command.size) if vouched is None else vouched
            wanted, held = self._deviation_bound.limit(
                command, (before + shift, nominal + shift), wanted, context.pulled
            )
            after.vouched = vouched
        else:
            after.vouched = wanted - nominal
        if held:
            bounds = self._gate.step_bounds(context.gate, context.position, context.bound)
            wanted = command + np.clip(wanted - command, *bounds)
        if held or not context.follows:
            wanted, _ = self._floats.limit(wanted, context)
        return wanted, Status.AMBIGUOUS_LOAD if held else Status.OK


def limiters_by_purpose(
    robot: Robot,
    config: ControllerConfig,
    controller: Controller,
    gate: CommandGate,
    guard: CommandGuard,
    deviation_bound: DeviationBound,
) -> Mapping[Purpose, tuple[Limiter, ...]]:
    """Return the limiters that a command passes, in this order.

    What floats or relaxes its springs is limited by the gate alone, but for the deviation bound,
    and where a hand leads the arm. A force limit that holds for no change and for the one asked for
    holds in between: so limits in space shorten the whole change. Steps are cut joint by joint,
    which changes nothing that a QP asks for: it knows these bounds.

    Args:
        robot: The arm; it is updated.
        config: Every parameter.
        controller: Whose commands are limited.
        gate: Has the bounds of every joint.
        guard: Has the limits in space.
        deviation_bound: How far a command may yield to what may be no contact.
    """
    bounds = joint_bounds(robot, config)
    joins = TransitionLimiter(
        Transition(robot.n, bounds[Bound.JOINING], config.period), controller.limits_force
    )
    step = StepLimiter(gate, Bound.TRACKING if controller.bounds_step else Bound.NONE)
    space, led = SpaceLimiter(guard), SpaceLimiter(guard, led=True)
    floats = FloatLimiter(robot, config, gate)
    deviation = DeviationLimiter(deviation_bound, gate, floats)
    return {
        Purpose.FOLLOW: (joins, step, space, deviation),
        Purpose.YIELD: (space, deviation, led),
        Purpose.RELAX: (deviation, led),
        Purpose.FLOAT: (led,),
        Purpose.REACT: (step, space),
        Purpose.REST: (joins, step, space),
        Purpose.STAY: (),
    }


EXPLAINED_BETTER = {
    Status.WORKSPACE: (Status.LIMIT_REACHED,),
    Status.SELF_COLLISION: (Status.LIMIT_REACHED,),
    Status.AMBIGUOUS_LOAD: (
        Status.CONTACT_UNIDENTIFIABLE,
        Status.QP_INFEASIBLE,
        Status.LIMIT_REACHED,
        Status.WORKSPACE,
        Status.SELF_COLLISION,
    ),
}
"""What a limiter says, and what that explains better."""


def better_reason(known: Status, found: Status) -> Status:
    """Return why a command is what it is: the first reason, or one that explains it better.

    Args:
        known: The reason so far.
        found: Another one.
    """
    if known is Status.OK or known in EXPLAINED_BETTER.get(found, ()):
        return found
    return known


def _shrunk(vouched: np.ndarray | None, deviation: np.ndarray) -> np.ndarray | None:
    """Return what is left of a deviation (n) that was vouched for; what was given back is gone."""
    if vouched is None or not vouched.any():
        return None
    left: np.ndarray = min(max(vouched @ deviation / (vouched @ vouched), 0.0), 1.0) * vouched
    return left
