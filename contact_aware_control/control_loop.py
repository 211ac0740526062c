"""The control loop as a function: state and inputs in, next state and command out.

:meth:`ControlLoop.tick` is one tick of the controller, 200 times a second. Everything that
changes in a run is in a :class:`LoopState`, everything that comes from outside in
:class:`LoopInputs`; the loop itself holds only what does not change, and scratch memory.
The same arguments give the same bits, which is what the incident log's replay rests on. (The
optional solver ``osqp`` starts from its last answer: with it, commands agree to its tolerance.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate, ContactReport
from contact_aware_control.controllers import (
    ControllerInput,
    ControllerOutput,
    ControllerState,
    make_controller,
)
from contact_aware_control.controllers.contact_jacobian import magnitude
from contact_aware_control.loop_state import NANOSECONDS, LoopInputs, LoopState, LoopStatus
from contact_aware_control.reference.base import Goal
from contact_aware_control.reference.clock import ReferenceClock
from contact_aware_control.safety.command_gate import Bound, CommandGate, GateState
from contact_aware_control.safety.command_limits import CommandGuard, CommandLimits
from contact_aware_control.safety.reflex import Reflex, ReflexState
from contact_aware_control.safety.state_checks import CheckState, StateChecks
from contact_aware_control.safety.status import Finding, Link, Mode, Request, Status
from contact_aware_control.safety.supervisor import Conditions, Supervisor, SupervisorState
from contact_aware_control.safety.transition import DONE, Transition, TransitionState
from contact_core.arm_state import ArmState, SoundCommand
from contact_core.robot import Robot

NOTHING = LoopInputs(0)
"""What the tick before the first one was given."""


FOLLOWING = (Mode.TRACKING, Mode.CONSERVATIVE)
"""Modes in which a reference is followed."""

STOPPED_AT_ONCE = (Status.STATE_STALE, Status.NOT_COMMANDING)
"""Reasons to hold in which a command that comes to rest slowly would lead away from the arm."""

SLOWED = 0.99
"""Below this rate of its clock a reference counts as slowed."""

REACTED_TO = (Status.TORQUE_EXCEEDED, Status.FORCE_EXCEEDED)
"""Faults after which the reflex may move the command."""


class _Heard(NamedTuple):
    """What is known after the messages of a tick.

    Attributes:
        supervisor: Has counted those that were rejected.
        checks: What the checks of the joint states remember.
        gate: What the gate remembers.
        arm: The last sound joint state since the activation.
        report: The last sound contacts.
        finding: What is wrong with the robot, its states, or who else commands it.
    """

    supervisor: SupervisorState
    checks: CheckState
    gate: GateState | None
    arm: ArmState | None
    report: ContactReport | None
    finding: Finding | None


class ControlLoop:
    """Turns joint states, contacts and a goal into commands, safely.

    Attributes:
        config: Every parameter.
    """

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Set up what does not change in a run.

        Args:
            robot: The arm, for this loop alone.
            config: Every parameter.

        Raises:
            ConfigError: If the controller is refused.
        """
        self.config = config
        self._robot = robot
        self._supervisor = Supervisor(config.safety, config.period)
        self._controller = make_controller(robot, config)
        self._limits = CommandLimits(
            robot, np.array(config.joint_stiffness), config.limits, config.period
        )
        self._guard = CommandGuard(robot, config, self._controller.bounds_step)
        self._checks = StateChecks(robot, config)
        self._gate = CommandGate(robot, config)
        self._softness = 1.0 / np.array(config.joint_stiffness)
        self._patience = config.safety.state_timeout_periods * config.period
        self._fastest = Bound.TRACKING if self._controller.bounds_step else Bound.NONE
        self._clock = ReferenceClock(robot, config.governor, config.period)
        self._transition = Transition(robot.n, config.transition, config.period)
        self._reflex = Reflex(robot, config.reflex, np.array(config.joint_stiffness), config.period)

    def start(self) -> LoopState:
        """Return the state of a loop that is active and waits for its first joint state."""
        return self.handle(LoopState(), Request.ACTIVATE)[0]

    def handle(
        self, state: LoopState, request: Request, detail: str = ""
    ) -> tuple[LoopState, bool]:
        """Do what is asked from outside, between two ticks.

        Args:
            state: What is remembered.
            request: What is asked.
            detail: The reason, in words.

        Returns:
            (what is remembered now; False if it is refused).
        """
        supervisor, done = self._supervisor.handle(state.supervisor, request, detail)
        if request is Request.DEACTIVATE:
            # The next activation starts from the driver's command.
            state = replace(state, gate=None, arm=None, goal=None, ramp_ticks=0, sent=None)
        return replace(state, supervisor=supervisor), done

    def tick(
        self, state: LoopState, inputs: LoopInputs
    ) -> tuple[LoopState, SoundCommand | None, LoopStatus]:
        """Compute one command.

        Args:
            state: What is remembered.
            inputs: What is given.

        Returns:
            (what is remembered now; what to send, or None; what happened).
        """
        late = state.last is not None and (
            (inputs.now - state.last.now) * NANOSECONDS > 1.5 * self.config.period
        )
        heard = self._receive(state, inputs)
        arm, report, checks = heard.arm, heard.report, heard.checks
        goal, controller, reference_time = self._take(state, inputs.goal)
        reflex, exceeded = self._watch_torque(state, inputs.now, arm, report, goal)
        conditions = self._conditions(state, inputs.now, heard, goal, reflex, exceeded)
        supervisor, mode, status = self._supervisor.update(heard.supervisor, conditions)
        gate, ramp_ticks, output = heard.gate, state.ramp_ticks, None
        sent, refusal = None, ""
        transition, rate = DONE, 0.0
        reference_rate = state.reference_rate
        if controller.assignment is not state.controller.assignment:
            reference_rate = 1.0
        begins = reference_time == 0.0 or (mode in FOLLOWING) != (state.mode in FOLLOWING)
        if supervisor.link is Link.SYNC:
            # Where the robot is now, commands would begin.
            assert arm is not None
            gate, ramp_ticks = self._start(arm, state.sent), 0
            checks = replace(checks, command=None)
        elif supervisor.link is Link.LOST:
            gate = None if gate is None else self._gate.rest(gate)
        else:
            assert arm is not None
            if gate is None or state.supervisor.link is not Link.ARMED:
                gate, ramp_ticks = self._start(arm, state.sent), 0
            command, bound = gate.command, Bound.YIELDING
            ramp_ticks = 0 if mode is Mode.FAULT else ramp_ticks + 1
            if mode in FOLLOWING:
                assert goal is not None
                rate = reference_rate
                if self._controller.bounds_step:
                    rate = self._clock.rate(rate, goal, reference_time, command)
                blind = _age(inputs.now, report) > self.config.safety.contacts_timeout
                fraction = self._step_fraction(blind, ramp_ticks)
                lower, upper = self._box(gate, arm.position, fraction)
                told = ControllerInput(
                    time=reference_time,
                    position=arm.position,
                    command=command,
                    lower=lower,
                    upper=upper,
                    contacts=None if blind or report is None else report.contacts,
                    conservative=mode is Mode.CONSERVATIVE,
                    unexplained_force=reflex.unexplained_force,
                    rate=rate,
                )
                controller, output = self._controller.step(controller, told)
                if output.status is Status.QP_FAILED:
                    command = self._give_way(arm, report, goal, gate, reflex)
                else:
                    if not output.contact_links and self._controller.bounds_step:
                        transition, change = self._transition.step(
                            state.transition, begins, gate.velocity, output.command - command
                        )
                        if transition is not DONE:
                            output = replace(output, command=command + change)
                    command, output = self._limited(told, output, fraction)
                    bound = self._fastest
                    reference_time += rate * self.config.period
                    reference_rate = rate
                    if rate < SLOWED and status is Status.OK:
                        status = Status.REFERENCE_SLOWED
                if status in (Status.OK, Status.REFERENCE_SLOWED):
                    status = output.status if output.status is not Status.OK else status
            elif status in REACTED_TO and self._reflex.moves:
                reflex, change = self._reflex.react(reflex, arm, command)
                change = np.clip(change, *self._gate.room(gate, bound))
                command, _ = self._guard.limit(command, change)
            else:
                command = self._give_way(arm, report, goal, gate, reflex)
                if mode is Mode.HOLD and command is gate.command and status not in STOPPED_AT_ONCE:
                    transition, command = self._brake(state.transition, begins, gate, arm)
            if late and status is Status.OK:
                status = Status.DEADLINE_MISSED
            gate, sent, refusal = self._gate.judge(gate, inputs.now, command, arm.position, bound)
            if refusal:
                supervisor = self._supervisor.refuse_command(supervisor, gate.refused, refusal)
                status = status if mode is Mode.FAULT else Status.COMMAND_REFUSED
        state = LoopState(
            supervisor=supervisor,
            checks=checks,
            controller=controller,
            gate=gate,
            reflex=reflex,
            arm=arm,
            report=report,
            goal=goal,
            reference_time=reference_time,
            reference_rate=reference_rate,
            mode=mode,
            transition=transition,
            last=inputs,
            ticks=state.ticks + 1,
            deadline_misses=state.deadline_misses + late,
            ramp_ticks=ramp_ticks,
            sent=state.sent if sent is None else sent.position,
        )
        return state, sent, _status(state, mode, status, output, refusal, rate)

    def _receive(self, state: LoopState, inputs: LoopInputs) -> _Heard:
        """Take over new messages that are sound, count those that are not."""
        supervisor, checks, arm, report = state.supervisor, state.checks, state.arm, state.report
        last, gate, found = state.last or NOTHING, state.gate, inputs.finding
        new = () if inputs.arm is None or inputs.arm is last.arm else (*inputs.earlier, inputs.arm)
        for message in new:
            if not is_sound_state(message, self._robot.n):
                supervisor = self._supervisor.reject_input(supervisor)
                continue
            supervisor = self._supervisor.accept_input(supervisor)
            checks, wrong, fresh = self._checks.check(checks, message, state.command)
            if wrong is None and gate is not None and supervisor.link is Link.ARMED:
                gate, wrong = self._gate.watch(gate, message)
            if wrong is None and fresh:
                arm = message
            found = found or wrong
        if inputs.report is not last.report and inputs.report is not None:
            if are_sound_contacts(inputs.report.contacts, self._robot.link_names):
                report = inputs.report
            else:
                supervisor = self._supervisor.reject_input(supervisor)
        return _Heard(supervisor, checks, gate, arm, report, found)

    def _take(
        self, state: LoopState, goal: Goal | None
    ) -> tuple[Goal | None, ControllerState, float]:
        """Start to follow a new goal; return it, the controller's state, the reference time."""
        if goal is state.goal or (goal is not None and state.command is None):
            return state.goal, state.controller, state.reference_time
        refreshed = state.goal is not None and (
            goal is not None and goal.reference is state.goal.reference
        )
        if goal is None or refreshed:
            return goal, state.controller, state.reference_time
        assert state.command is not None
        controller = self._controller.follow(goal.reference, state.command, goal.force_limits)
        return goal, controller, 0.0

    def _watch_torque(
        self,
        state: LoopState,
        now: int,
        arm: ArmState | None,
        report: ContactReport | None,
        goal: Goal | None,
    ) -> tuple[ReflexState, str]:
        """Look at the external torque; return also which one is too large, in words."""
        if arm is None:
            return state.reflex, ""
        command = None if state.gate is None else state.gate.command
        if _age(now, report) > self.config.safety.contacts_timeout:
            report = None
        located = [] if report is None else [c for c in report.contacts if c.identifiable]
        claimed = sum(magnitude(contact.force_world) for contact in located)
        allowed = math.inf
        if self._controller.limits_force:
            limits = goal.force_limits if goal is not None else {}
            default = self.config.force.limit
            allowed = max(default, *limits.values(), 0.0)
            allowed = max(allowed, sum(limits.get(c.link, default) for c in located))
        return self._reflex.watch(state.reflex, arm, command, report, claimed, allowed)

    def _conditions(
        self,
        state: LoopState,
        now: int,
        heard: _Heard,
        goal: Goal | None,
        reflex: ReflexState,
        torque_exceeded: str,
    ) -> Conditions:
        """Measure what the watchdogs look at."""
        arm, report, checks = heard.arm, heard.report, heard.checks
        refreshed = goal.refreshed if goal is not None else None
        contacts = report.contacts if report is not None else ()
        considered = self.config.force.contact_on
        return Conditions(
            state_age=_age(now, arm),
            arrived=arm is not state.arm,
            continuous=state.supervisor.link is not Link.LOST or self._continues(state, arm),
            reports_command=arm is not None and is_finite(arm.commanded_position, self._robot.n),
            hearing=abs(now - checks.heard) * NANOSECONDS <= self._patience,
            finding=heard.finding,
            contacts_age=_age(now, report),
            reference_age=0.0 if refreshed is None else (now - refreshed) * NANOSECONDS,
            has_reference=goal is not None,
            identifiable=reflex.unexplained_force == 0.0
            and all(
                contact.identifiable or magnitude(contact.force_world) < considered
                for contact in contacts
            ),
            force_ratio=max(
                self._force_ratio(goal, [c for c in contacts if c.identifiable]), reflex.force_ratio
            ),
            torque_exceeded=torque_exceeded,
        )

    def _force_ratio(self, goal: Goal | None, contacts: Sequence[ContactEstimate]) -> float:
        """Largest contact force over its limit; 0 for baselines, which have no limit."""
        if not contacts or not self._controller.limits_force:
            return 0.0
        limits = goal.force_limits if goal is not None else {}
        default = self.config.force.limit
        return max(
            magnitude(contact.force_world)
            / max(limits.get(contact.link, default), self.config.force.contact_off, 1e-3)
            for contact in contacts
        )

    def _box(
        self, gate: GateState, position: np.ndarray, fraction: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds on the change of the command: the limits', within the gate's."""
        lower, upper = self._limits.box(position, gate.command, fraction)
        lowest, highest = self._gate.room(gate, self._fastest)
        return np.clip(lower, lowest, highest), np.clip(upper, lowest, highest)

    def _continues(self, state: LoopState, arm: ArmState | None) -> bool:
        """Tell whether the robot is as it was when the link was lost, on its way to our command."""
        if state.gate is None or state.arm is None or arm is None:
            return True
        if self._gate.foreign(state.gate, arm.commanded_position) is not None:
            return False
        before, after = (np.abs(a.position - state.gate.command) for a in (state.arm, arm))
        return bool((after <= before + self.config.safety.continuity).all())

    def _brake(
        self, state: TransitionState, begins: bool, gate: GateState, arm: ArmState
    ) -> tuple[TransitionState, np.ndarray]:
        """Come to rest; a command that is at rest stays the same one."""
        if not gate.velocity.any():
            return DONE, gate.command
        still = np.zeros(gate.command.size)
        state, change = self._transition.step(state, begins, gate.velocity, still)
        change = np.clip(change, *self._box(gate, arm.position, 1.0))
        return state, self._guard.limit(gate.command, change)[0]

    def _start(self, arm: ArmState, sent: np.ndarray | None) -> GateState:
        """Begin at the command the robot holds: it would sag, or jump, if it began elsewhere.

        A driver that says nothing of its command holds our last one, unless its session began
        anew, where the arm was. Both look alike in the messages, but not in the arm: on springs
        at rest it is at q = q_cmd + K^-1 tau_ext, (5). Where our last command does not explain
        where the arm is, commands begin at the arm, which only lets a contact go.
        """
        reported = arm.commanded_position
        reports = np.isfinite(reported)
        held = np.where(reports, reported, arm.position - self._softness * arm.external_torque)
        known = np.where(reports, reported, arm.position)
        # Not "any is larger": what is unknown is not ours.
        if sent is not None and np.all(np.abs(held - sent) <= self.config.safety.command_tolerance):
            known = sent
        allowed = self.config.safety.start_command_distance
        start = np.clip(known, arm.position - allowed, arm.position + allowed)
        return self._gate.start(start, reported, sent)

    def _step_fraction(self, blind: bool, ramp_ticks: int) -> float:
        """Return the share of the step bound to use: little at the start, or without contacts."""
        if not self._controller.bounds_step:
            return math.inf
        ramp, passed = self.config.slow_start, ramp_ticks * self.config.period
        risen = 1.0 if passed >= ramp.duration else passed / ramp.duration
        fraction = ramp.fraction + (1.0 - ramp.fraction) * risen
        return min(fraction, self.config.safety.blind_step_fraction) if blind else fraction

    def _limited(
        self, inputs: ControllerInput, output: ControllerOutput, fraction: float
    ) -> tuple[np.ndarray, ControllerOutput]:
        """Return the command within every limit, and the output, which says which one holds."""
        lower, upper = inputs.lower, inputs.upper
        change = np.clip(output.command - inputs.command, lower, upper)
        limited = self._limits.reached(change, lower, upper, fraction)
        command, guarded = self._guard.limit(inputs.command, change)
        if output.status is Status.OK and (limited or guarded):
            output = replace(output, status=guarded or Status.LIMIT_REACHED)
        return command, output

    def _give_way(
        self,
        arm: ArmState,
        report: ContactReport | None,
        goal: Goal | None,
        gate: GateState,
        reflex: ReflexState,
    ) -> np.ndarray:
        """Hold; where a contact force is above its limit, relax the springs slowly."""
        command = gate.command
        ratio = 0.0 if report is None else self._force_ratio(goal, report.contacts)
        if ratio <= 1.0 and reflex.unexplained_force == 0.0:
            return command
        step = self.config.safety.relax_speed * self.config.period
        lower, upper = self._gate.room(gate, Bound.YIELDING)
        change = np.clip(arm.position - command, -step, step)
        relaxed: np.ndarray = command + np.clip(change, lower, upper)
        return relaxed


def _status(
    state: LoopState,
    mode: Mode,
    status: Status,
    output: ControllerOutput | None,
    refusal: str,
    rate: float,
) -> LoopStatus:
    if output is None:
        output = ControllerOutput(command=np.zeros(0) if state.command is None else state.command)
    return LoopStatus(
        mode=mode,
        status=status,
        reference_time=state.reference_time,
        output=output,
        ticks=state.ticks,
        deadline_misses=state.deadline_misses,
        rejected_messages=state.supervisor.rejected,
        link=state.supervisor.link,
        detail=state.supervisor.fault_detail or refusal or _loss(state.supervisor),
        reference_rate=rate,
    )


def _loss(supervisor: SupervisorState) -> str:
    """Say why there is no link; empty if there is one."""
    loss = supervisor.loss
    if loss is None or supervisor.link is Link.ARMED:
        return ""
    after = f"after {loss.status.name}: " if supervisor.link is Link.SYNC else ""
    return after + loss.detail


def _age(now: int, sample: ArmState | ContactReport | None) -> float:
    """Return the age [s]; a stamp in the future is as suspicious as an old one."""
    return math.inf if sample is None else abs(now - sample.stamp) * NANOSECONDS


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
    return (
        np.shape(state.commanded_position) == (joints,)
        and is_finite(state.position, joints)
        and not math.isinf(state.commanded_position @ state.commanded_position)
    )


def is_finite(vector: np.ndarray, size: int) -> bool:
    """Tell whether a vector has the right length and only finite numbers.

    Args:
        vector: Anything array-like.
        size: The right length.

    Returns:
        True if so.
    """
    # The scalar product is NaN or infinite if any number is; it costs one short call.
    shape = vector.shape if isinstance(vector, np.ndarray) else np.shape(vector)
    return shape == (size,) and math.isfinite(np.dot(vector, vector))


def are_sound_contacts(contacts: Sequence[ContactEstimate], links: Sequence[str]) -> bool:
    """Tell whether estimated contacts can be used.

    Args:
        contacts: The contacts.
        links: Names of the arm's links.

    Returns:
        False if a contact is on an unknown link, or a vector is not of three finite numbers.
    """
    return all(
        contact.link in links
        and all(
            is_finite(vector, 3)
            for vector in (contact.point_world, contact.normal_world, contact.force_world)
        )
        for contact in contacts
    )
