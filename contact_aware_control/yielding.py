"""How the command yields: to forces above limits, within a deviation bound, and to a hand.

:class:`TickContext` is what a tick starts from and :class:`Proposal` what it comes to; the control
loop makes the one and passes the other on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate, ContactReport
from contact_aware_control.controllers import (
    Controller,
    ControllerInput,
    ControllerOutput,
    ControllerState,
)
from contact_aware_control.controllers.qp_controller import RELEASE_TIME
from contact_aware_control.lever_arms import LeverArms
from contact_aware_control.loop_state import NANOSECONDS
from contact_aware_control.reference.base import Goal, Guidance
from contact_aware_control.safety.command_gate import CommandGate, GateState
from contact_aware_control.safety.command_limits import CommandGuard
from contact_aware_control.safety.deviation_bound import DeviationBound
from contact_aware_control.safety.joint_bounds import Bound
from contact_aware_control.safety.reflex import ReflexState
from contact_aware_control.safety.status import FOLLOWING, Mode, Status
from contact_aware_control.safety.transition import DONE, TransitionState
from contact_core.base.low_pass import followed_share
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot

BOUNDED = (Status.OK, Status.CONTACT_UNIDENTIFIABLE)
"""What the deviation bound explains better."""


class TickContext(NamedTuple):
    """What a tick of an arm that is commanded starts from.

    Attributes:
        time: Of the tick [ns].
        arm: The last sound joint state.
        report: The last sound contacts.
        goal: What is followed.
        gate: What the gate remembers, the present command above all.
        mode: Of the tick.
        begins: Whether something else is wanted from this tick on.
        ramp_ticks: Number of ticks since the slow start began.
        nominal: (n) the command that there would be without contacts [rad]; None: the present one.
        bounded: Whether nothing vouches for the contacts.
        vouched: (n) how far contacts that were vouched for have taken the command from the one
            without any [rad]; None: not at all.
    """

    time: int
    arm: ArmState
    report: ContactReport | None
    goal: Goal | None
    gate: GateState
    mode: Mode
    begins: bool
    ramp_ticks: int
    nominal: np.ndarray | None
    bounded: bool
    vouched: np.ndarray | None

    @property
    def guidance(self) -> Guidance | None:
        """What a hand may lead the arm by, if it may."""
        if self.goal is None or self.mode not in FOLLOWING:
            return None
        reference = self.goal.reference
        return reference if isinstance(reference, Guidance) else None


class Proposal(NamedTuple):
    """What is wanted of the arm, and what is remembered of how it came about.

    Attributes:
        command: (n) what the gate is asked to pass [rad]; None while there is none.
        bound: How fast it may be.
        status: Why it is this one.
        reflex: What the reflex remembers.
        controller: What the controller remembers.
        reference_time: Time since the start of the goal [s].
        reference_rate: How fast it passes.
        transition: From one motion to the next, if one is under way.
        rate: How fast reference time passed in this tick; 0 where nothing is followed.
        output: The controller's; None where nothing is followed.
        nominal: (n) the command that there would be now without contacts [rad]; None: this one.
        vouched: (n) how far contacts that are vouched for have taken the command from it [rad];
            None: not at all.
    """

    command: np.ndarray | None
    bound: Bound
    status: Status
    reflex: ReflexState
    controller: ControllerState
    reference_time: float
    reference_rate: float
    transition: TransitionState = DONE
    rate: float = 0.0
    output: ControllerOutput | None = None
    nominal: np.ndarray | None = None
    vouched: np.ndarray | None = None


class Yielding:
    """Gives way; it remembers nothing."""

    def __init__(
        self,
        robot: Robot,
        config: ControllerConfig,
        controller: Controller,
        gate: CommandGate,
        guard: CommandGuard,
        deviation_bound: DeviationBound,
    ) -> None:
        """Take what a command is made and bounded by.

        Args:
            robot: The arm; it is updated.
            config: Every parameter.
            controller: Knows the contacts.
            gate: Knows how fast a command may be.
            guard: Knows workspace and self-collision.
            deviation_bound: How far a command may yield to what may be no contact.
        """
        self._n = robot.n
        self._config = config
        self._controller = controller
        self._gate = gate
        self._guard = guard
        self._deviation_bound = deviation_bound
        self._softness = 1.0 / robot.stiffness
        self._release_share = followed_share(config.period, RELEASE_TIME)
        self._levers = LeverArms(robot, config.reflex.held_reach)
        self._most_torque = config.reflex.torque_share * robot.effort_limits

    def give_way(self, context: TickContext, proposal: Proposal) -> Proposal:
        """Follow nothing; yield where a contact force is above its limit.

        Args:
            context: What the tick starts from.
            proposal: What is wanted so far; its command is the present one.

        Returns:
            What is wanted now; with the same command where nothing presses.
        """
        command = context.gate.command
        doubted = context.guidance is not None and context.bounded
        if doubted or (np.abs(context.arm.external_torque) > self._most_torque).any():
            # A phantom must not lead the arm: what presses shows in the springs, too.
            return proposal._replace(command=self._floats(context, proposal))
        controller, output = self._controller.give_way(
            proposal.controller,
            self.controller_input(context, proposal, 0.0, *self._step_bounds(context)),
        )
        proposal = proposal._replace(controller=controller)
        if output.status is Status.QP_FAILED:
            proposal = proposal._replace(command=self.relax(context, proposal.reflex))
        elif (output.command != command).any():
            guarded, _ = self._guard.limit(command, output.command - command, yields=True)
            proposal = proposal._replace(command=guarded)
        if proposal.command is command and self._floats(context, proposal) is command:
            return proposal
        return self.within_bound(context, proposal)

    def within_bound(self, context: TickContext, proposal: Proposal) -> Proposal:
        """Hold back a command that yields to what may be no contact, and say so.

        Args:
            context: What the tick starts from.
            proposal: What is wanted so far.

        Returns:
            What is wanted now.
        """
        command = proposal.command
        assert command is not None
        before = context.gate.command if context.nominal is None else context.nominal
        nominal = before if proposal.nominal is None else proposal.nominal
        # Where nothing is followed, the first command that yields leaves the nominal one behind.
        proposal, held = proposal._replace(nominal=nominal), False
        if context.bounded:
            pulled = self.is_pulled(context, proposal)
            vouched = _shrunk(context.vouched, context.gate.command - before) if pulled else None
            shift = np.zeros(self._n) if vouched is None else vouched
            command, held = self._deviation_bound.limit(
                context.gate.command, (before + shift, nominal + shift), command, pulled
            )
            proposal = proposal._replace(vouched=vouched)
        else:
            proposal = proposal._replace(vouched=command - nominal)
        if held:
            bounds = self._gate.step_bounds(context.gate, context.arm.position, proposal.bound)
            command = context.gate.command + np.clip(command - context.gate.command, *bounds)
            status = Status.AMBIGUOUS_LOAD if proposal.status in BOUNDED else proposal.status
            proposal = proposal._replace(command=command, status=status)
        if held or context.mode not in FOLLOWING or context.guidance is not None:
            proposal = proposal._replace(command=self._floats(context, proposal))
        return proposal

    def is_pulled(self, context: TickContext, proposal: Proposal) -> bool:
        """Tell whether anything takes the command away from where it would be without contacts.

        Args:
            context: What the tick starts from.
            proposal: What is wanted so far.
        """
        unexplained = proposal.reflex.unexplained_force > 0.0
        return unexplained or self._deviation_bound.is_pulled(context.report)

    def relax(self, context: TickContext, reflex: ReflexState) -> np.ndarray:
        """Hold without the controller; above a force limit let the springs follow the arm.

        They give up what is above the limit, with the time constant of a force that is
        followed: an arm that is pushed goes along, one that is not stays where it is.

        Args:
            context: What the tick starts from.
            reflex: What the reflex remembers.

        Returns:
            (n) the command [rad]; the present one where nothing presses.
        """
        command, position = context.gate.command, context.arm.position
        contacts = () if context.report is None else context.report.contacts
        ratio = self.force_ratio(context.goal, contacts)
        if reflex.unexplained_force > 0.0:
            ratio = max(ratio, reflex.unexplained_force / self._config.force.limit)
        if ratio <= 1.0:
            return command
        share = (1.0 - 1.0 / ratio) * self._release_share
        bounds = self._step_bounds(context)
        relaxed: np.ndarray = command + np.clip(share * (position - command), *bounds)
        return relaxed

    def controller_input(
        self,
        context: TickContext,
        proposal: Proposal,
        rate: float,
        lower: np.ndarray,
        upper: np.ndarray,
    ) -> ControllerInput:
        """Return what the controller is told, see :class:`ControllerInput`.

        Args:
            context: What the tick starts from.
            proposal: What is wanted so far.
            rate: How fast reference time passes.
            lower: (n) lower bound on the change of the command [rad].
            upper: (n) upper bound [rad].
        """
        report = None if self.is_blind(context) else context.report
        return ControllerInput(
            time=proposal.reference_time,
            position=context.arm.position,
            command=context.gate.command,
            lower=lower,
            upper=upper,
            contacts=None if report is None else report.contacts,
            conservative=context.mode is Mode.CONSERVATIVE,
            unexplained_force=proposal.reflex.unexplained_force,
            rate=rate,
            nominal=context.nominal,
            torque=self._free_torque(context, proposal.reflex),
            widest=self._widest(context, proposal.reflex),
        )

    def is_blind(self, context: TickContext) -> bool:
        """Tell whether the contacts are too old.

        Args:
            context: What the tick starts from.
        """
        return age(context.time, context.report) > self._config.safety.contacts_timeout

    def force_ratio(self, goal: Goal | None, contacts: Sequence[ContactEstimate]) -> float:
        """Return the largest contact force over its limit; 0 for baselines, which have no limit.

        Args:
            goal: What is followed; None: nothing.
            contacts: Those that count.
        """
        if not contacts or not self._controller.limits_force:
            return 0.0
        # A hand that leads the arm may push harder than it has to.
        limits: Mapping[str, float] = {}
        if goal is not None and not isinstance(goal.reference, Guidance):
            limits = goal.force_limits
        default = self._config.force.limit
        return max(
            contact.force
            / max(limits.get(contact.link, default), self._config.force.contact_off, 1e-3)
            for contact in contacts
        )

    def _floats(self, context: TickContext, proposal: Proposal) -> np.ndarray:
        """Let the springs go along with what presses harder than a load does.

        Where the arm really is decides, no estimate: what shows in the torques alone moves
        nothing.
        """
        assert proposal.command is not None
        position, offset = context.arm.position, proposal.reflex.offset
        springs = (position - proposal.command) / self._softness
        if offset is not None:
            springs = springs - offset
        if context.guidance is not None:
            springs = np.where(context.guidance.free, springs, 0.0)
        force = self._levers.least_force(position, springs)
        if context.guidance is not None:
            most = context.guidance.force
        else:
            planned = () if context.goal is None else context.goal.force_limits.values()
            most = max(self._config.safety.float_force, *planned, 0.0)
        if force <= most:
            return proposal.command
        change = (
            proposal.command
            - context.gate.command
            + (1.0 - most / force) * self._softness * springs
        )
        floating: np.ndarray = context.gate.command + np.clip(change, *self._step_bounds(context))
        return floating

    def _free_torque(self, context: TickContext, reflex: ReflexState) -> np.ndarray:
        """Return the external torque (n) without bias and payload [Nm]."""
        free = None if context.report is None else context.report.free_torque
        if free is not None and free.size == self._n:
            return free
        offset = reflex.offset
        torque = context.arm.external_torque
        return torque if offset is None else torque - offset

    def _step_bounds(self, context: TickContext) -> tuple[np.ndarray, np.ndarray]:
        """Return the changes by which the command may give way, (lower, upper), each (n) [rad]."""
        bounds = self._gate.step_bounds(context.gate, context.arm.position, Bound.YIELDING)
        return bounds if context.guidance is None else context.guidance.within(bounds)

    def _widest(
        self, context: TickContext, reflex: ReflexState
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return how fast the arm may give way; None where nothing is there to give way to."""
        touched = reflex.unexplained_force > 0.0 or (context.report and context.report.contacts)
        if not (self._controller.limits_force and touched):
            return None
        return self._step_bounds(context)


def age(now: int, sample: ArmState | ContactReport | None) -> float:
    """Return the age of a message; a stamp in the future is as suspicious as an old one.

    Args:
        now: Time of the tick [ns].
        sample: The message; None: there is none.

    Returns:
        [s]; inf without a message.
    """
    return math.inf if sample is None else abs(now - sample.stamp) * NANOSECONDS


def _shrunk(vouched: np.ndarray | None, deviation: np.ndarray) -> np.ndarray | None:
    """Return what is left of a deviation (n) that was vouched for; what was given back is gone."""
    if vouched is None or not vouched.any():
        return None
    left: np.ndarray = min(max(vouched @ deviation / (vouched @ vouched), 0.0), 1.0) * vouched
    return left
