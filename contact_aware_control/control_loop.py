"""The control loop as a function: state and inputs in, next state and command out.

:meth:`ControlLoop.tick` is one tick of the controller, 200 times a second. Everything that
changes in a run is in a :class:`LoopState`, everything that comes from outside in
:class:`LoopInputs`; the loop itself holds only what does not change, and scratch memory.
The same arguments give the same bits, which is what the incident log's replay rests on. (The
optional solver ``osqp`` starts from its last answer: with it, commands agree to its tolerance.)
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.controllers import (
    ControllerInput,
    ControllerOutput,
    ControllerState,
    make_controller,
)
from contact_aware_control.loop_state import NANOSECONDS, LoopInputs, LoopState, LoopStatus
from contact_aware_control.reference.base import Goal
from contact_aware_control.reference.clock import ReferenceClock
from contact_aware_control.safety.command_gate import BRAKING_RATE, CommandGate, GateState
from contact_aware_control.safety.command_limits import CommandGuard
from contact_aware_control.safety.deviation_bound import DeviationBound
from contact_aware_control.safety.follow_watch import COMMAND_TOLERANCE, FollowState, FollowWatch
from contact_aware_control.safety.joint_bounds import Bound, joint_bounds
from contact_aware_control.safety.reflex import Reflex, ReflexState
from contact_aware_control.safety.state_checks import (
    CheckState,
    StateChecks,
    are_sound_contacts,
    is_finite,
    is_sound_state,
)
from contact_aware_control.safety.status import FOLLOWING, Finding, LinkState, Mode, Request, Status
from contact_aware_control.safety.supervisor import Conditions, Supervisor, SupervisorState
from contact_aware_control.safety.transition import DONE, Transition, TransitionState
from contact_aware_control.yielding import Proposal, TickContext, Yielding, age
from contact_core.robot.arm_state import ArmState, SoundCommand
from contact_core.robot.robot import Robot

NOTHING = LoopInputs(0)
"""What the tick before the first one was given."""


STOPPED_AT_ONCE = (Status.STATE_STALE, Status.NOT_COMMANDING)
"""Reasons to hold in which a command that comes to rest slowly would lead away from the arm."""

STANDS = 1e-4
"""A reported command that changes by no more from one state to the next stands still [rad]."""

SLOWED = 0.99
"""Below this rate of its clock a reference counts as slowed."""

BLIND_STEP_FRACTION = 0.25
"""Share of the step bound that is used while the contacts are too old."""

CONTINUITY = 0.02
"""After a short outage the arm goes on by itself if no joint is farther from its command than
before, by more than this [rad]."""

REACTED_TO = (Status.TORQUE_EXCEEDED, Status.FORCE_EXCEEDED)
"""Faults after which the reflex may move the command."""


class _Received(NamedTuple):
    """What is known after the messages of a tick.

    Attributes:
        supervisor: Has counted those that were rejected.
        checks: What the checks of the joint states remember.
        follow: What is remembered of how the robot follows.
        arm: The last sound joint state since the activation.
        report: The last sound contacts.
        finding: What is wrong with the robot, its states, or who else commands it.
    """

    supervisor: SupervisorState
    checks: CheckState
    follow: FollowState | None
    arm: ArmState | None
    report: ContactReport | None
    finding: Finding | None


class ControlLoop:
    """Turns joint states, contacts and a goal into commands, safely.

    Attributes:
        config: Every parameter.
        robot: The arm.
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
        self.robot = robot
        self._supervisor = Supervisor(config.safety, config.period)
        self._controller = make_controller(robot, config)
        self._guard = CommandGuard(robot, config, self._controller.bounds_step)
        self._checks = StateChecks(robot, config)
        self._gate = CommandGate(robot, config)
        self._watch = FollowWatch(robot, config)
        self._softness = 1.0 / robot.stiffness
        self._patience = config.safety.state_timeout_periods * config.period
        bounds = joint_bounds(robot, config)
        self._fastest = Bound.TRACKING if self._controller.bounds_step else Bound.NONE
        self._clock = ReferenceClock(config.governor, config.period)
        self._transition = Transition(robot.n, bounds[Bound.JOINING], config.period)
        self._deviation_bound = DeviationBound(
            robot,
            config.safety.leash,
            min(1.0, BRAKING_RATE * config.period),
            config.force.contact_off,
        )
        self._yielding = Yielding(
            robot, config, self._controller, self._gate, self._guard, self._deviation_bound
        )
        self._reflex = Reflex(robot, config.reflex, robot.stiffness, config.period)

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
            state = replace(
                state,
                gate=None,
                follow=None,
                arm=None,
                goal=None,
                ramp_ticks=0,
                sent=None,
                nominal=None,
            )
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
        received = self._receive(state, inputs)
        arm, checks, follow = received.arm, received.checks, received.follow
        gate, ramp_ticks, nominal = state.gate, state.ramp_ticks, state.nominal
        goal, controller, time, rate = self._take(state, inputs.goal)
        reflex, exceeded = self._watch_torque(state, inputs.now, arm, received.report, goal)
        conditions = self._conditions(state, inputs.now, received, goal, reflex, exceeded)
        supervisor, mode, status = self._supervisor.update(received.supervisor, conditions)
        proposal = Proposal(
            state.command, Bound.YIELDING, status, reflex, controller, time, rate, nominal=nominal
        )
        sent, refusal = None, ""
        if supervisor.link is LinkState.SYNC:
            # Where the robot is now, commands would begin.
            assert arm is not None
            (gate, follow), ramp_ticks, nominal = self._start(arm, state.sent), 0, None
            checks = replace(checks, command=None)
        elif supervisor.link is LinkState.LOST:
            gate = None if gate is None else self._gate.rest(gate)
        else:
            assert arm is not None
            if gate is None or follow is None or state.supervisor.link is not LinkState.ARMED:
                (gate, follow), ramp_ticks, nominal = self._start(arm, state.sent), 0, None
            ramp_ticks = 0 if mode is Mode.FAULT else ramp_ticks + 1
            anew = proposal.reference_time == 0.0 and not _continues(goal, state)
            begins = (mode in FOLLOWING) != (state.mode in FOLLOWING) or anew
            fresh = age(inputs.now, received.report) <= self.config.safety.contacts_timeout
            report = received.report if fresh else None
            bounded = self._deviation_bound.holds(report)
            context = TickContext(
                inputs.now,
                arm,
                received.report,
                goal,
                gate,
                mode,
                begins,
                ramp_ticks,
                nominal,
                bounded,
                state.vouched,
            )
            proposal = proposal._replace(command=gate.command, nominal=nominal)
            proposal = self._move(state.transition, context, proposal)
            assert proposal.command is not None
            gate, sent, refusal = self._gate.judge(
                gate, inputs.now, proposal.command, arm.position, proposal.bound
            )
            follow = self._watch.sent(follow, gate.command)
            if proposal.status is Status.OK and report is not None and report.lacks_payload:
                proposal = proposal._replace(status=Status.AMBIGUOUS_LOAD)
            if late and proposal.status is Status.OK:
                proposal = proposal._replace(status=Status.DEADLINE_MISSED)
            if refusal:
                supervisor = self._supervisor.refuse_command(supervisor, gate.refused, refusal)
                if mode is not Mode.FAULT:
                    proposal = proposal._replace(status=Status.COMMAND_REFUSED)
        state = LoopState(
            supervisor=supervisor,
            checks=checks,
            controller=proposal.controller,
            gate=gate,
            follow=follow,
            reflex=proposal.reflex,
            arm=arm,
            report=received.report,
            goal=goal,
            reference_time=proposal.reference_time,
            reference_rate=proposal.reference_rate,
            mode=mode,
            transition=proposal.transition,
            last=inputs,
            ticks=state.ticks + 1,
            deadline_misses=state.deadline_misses + late,
            ramp_ticks=ramp_ticks,
            sent=state.sent if sent is None else sent.position,
            nominal=proposal.nominal,
            vouched=proposal.vouched,
        )
        return state, sent, _status(state, proposal, refusal)

    def _move(
        self, transition: TransitionState, context: TickContext, proposal: Proposal
    ) -> Proposal:
        """Decide what is wanted of an arm that is commanded."""
        gate, arm, guided = context.gate, context.arm, context.guidance is not None
        if guided:
            time = proposal.reference_time + self.config.period
            proposal = proposal._replace(reference_time=time, rate=1.0)
        elif context.mode in FOLLOWING:
            return self._follow(transition, context, proposal)
        if proposal.status in REACTED_TO and self._reflex.moves:
            reflex, change = self._reflex.react(proposal.reflex, arm, gate.command)
            change = np.clip(change, *self._gate.step_bounds(gate, arm.position, proposal.bound))
            command, _ = self._guard.limit(gate.command, change)
            return proposal._replace(command=command, reflex=reflex)
        proposal = self._yielding.give_way(context, proposal)
        if proposal.command is not gate.command:
            if guided:
                assert proposal.command is not None
                change = proposal.command - gate.command
                command, status = self._guard.limit(gate.command, change, yields=True)
                proposal = proposal._replace(
                    command=command, status=_first_wrong(proposal.status, status)
                )
            return proposal
        if guided or (context.mode is Mode.HOLD and proposal.status not in STOPPED_AT_ONCE):
            transition, command = self._brake(transition, context)
            return proposal._replace(command=command, transition=transition)
        return proposal

    def _follow(
        self, transition: TransitionState, context: TickContext, proposal: Proposal
    ) -> Proposal:
        """Follow the reference within every limit; give way where the controller fails."""
        gate, position, time = context.gate, context.arm.position, proposal.reference_time
        command, rate = gate.command, proposal.reference_rate
        assert context.goal is not None
        start, tool = command, self._guard.place_of(command)
        if self._controller.bounds_step:
            rate = self._clock.rate(rate, context.goal, time, command, tool)
        pulled = context.bounded and self._yielding.is_pulled(context, proposal)
        if pulled and context.nominal is not None and context.goal.refreshed is None:
            rate = min(rate, self._deviation_bound.rate(command, context.nominal))
        fraction = self._step_fraction(self._yielding.is_blind(context), context.ramp_ticks)
        lower, upper = self._gate.step_bounds(gate, position, self._fastest, fraction)
        given = self._yielding.controller_input(context, proposal, rate, lower, upper)
        controller, output = self._controller.step(proposal.controller, given)
        proposal = proposal._replace(controller=controller, rate=rate, output=output)
        if output.status is Status.QP_FAILED:
            status = _first_wrong(proposal.status, output.status)
            proposal = proposal._replace(
                command=self._yielding.relax(context, proposal.reflex), status=status
            )
            return self._yielding.within_bound(context, proposal)
        after = DONE
        # A baseline asks for a place, not for a speed: joined smoothly it would swing about it.
        if not output.contact_links and self._controller.limits_force:
            after, change = self._transition.step(
                transition, context.begins, gate.velocity, output.command - command
            )
            if after is not DONE:
                output = replace(output, command=command + change)
        bound = Bound.YIELDING if output.yields else self._fastest
        command, output = self._limited(given, output, fraction)
        held = rate < SLOWED
        if self._controller.bounds_step and not output.contact_links:
            there = self._guard.place_of(command)
            held |= self._clock.is_held(context.goal, time, start, tool, command, there)
        slowed = Status.REFERENCE_SLOWED if held else Status.OK
        proposal = proposal._replace(
            command=command,
            bound=bound,
            reference_time=time + rate * self.config.period,
            reference_rate=rate,
            transition=after,
            output=output,
            nominal=output.nominal,
        )
        if output.nominal is not None:
            proposal = self._yielding.within_bound(context, proposal)
        return proposal._replace(status=_first_wrong(proposal.status, output.status, slowed))

    def _receive(self, state: LoopState, inputs: LoopInputs) -> _Received:
        """Take over new messages that are sound, count those that are not."""
        supervisor, checks, arm, report = state.supervisor, state.checks, state.arm, state.report
        last, follow, found = state.last or NOTHING, state.follow, inputs.finding
        new = () if inputs.arm is None or inputs.arm is last.arm else (*inputs.earlier, inputs.arm)
        for message in new:
            if not is_sound_state(message, self.robot.n):
                supervisor = self._supervisor.reject_input(supervisor)
                continue
            supervisor = self._supervisor.accept_input(supervisor)
            checks, wrong, fresh = self._checks.check(checks, message, state.command)
            if wrong is None and follow is not None and supervisor.link is LinkState.ARMED:
                follow, wrong = self._watch.check(follow, message, state.reflex.offset)
            if wrong is None and fresh:
                arm = message
            found = found or wrong
        if inputs.report is not last.report and inputs.report is not None:
            if are_sound_contacts(inputs.report.contacts, self.robot.link_names):
                report = inputs.report
            else:
                supervisor = self._supervisor.reject_input(supervisor)
        return _Received(supervisor, checks, follow, arm, report, found)

    def _take(
        self, state: LoopState, goal: Goal | None
    ) -> tuple[Goal | None, ControllerState, float, float]:
        """Start to follow a new goal.

        Returns:
            (what is followed; what the controller remembers; reference time [s], its rate).
        """
        following = state.controller, state.reference_time, state.reference_rate
        if goal is state.goal or (goal is not None and state.command is None):
            return state.goal, *following
        refreshed = state.goal is not None and (
            goal is not None and goal.reference is state.goal.reference
        )
        if goal is None or refreshed:
            return goal, *following
        if _continues(goal, state):
            # The next target of a stream; its reference begins where the last one is now.
            assert state.controller.assignment is not None
            assignment = replace(
                state.controller.assignment,
                reference=goal.reference,
                force_limits=goal.force_limits,
            )
            return goal, replace(state.controller, assignment=assignment), 0.0, 1.0
        assert state.command is not None
        posture = state.command if goal.posture is None else goal.posture
        controller = self._controller.follow(goal.reference, posture, goal.force_limits)
        return goal, controller, 0.0, 1.0

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
        if age(now, report) > self.config.safety.contacts_timeout:
            report = None
        located = [] if report is None else [c for c in report.contacts if c.wrench_known]
        claimed = sum(contact.force for contact in located)
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
        received: _Received,
        goal: Goal | None,
        reflex: ReflexState,
        torque_exceeded: str,
    ) -> Conditions:
        """Measure what the watchdogs look at."""
        arm, report, checks = received.arm, received.report, received.checks
        refreshed = goal.refreshed if goal is not None else None
        contacts = report.contacts if report is not None else ()
        located = [contact for contact in contacts if contact.wrench_known]
        considered = self.config.force.contact_on
        return Conditions(
            state_age=age(now, arm),
            arrived=arm is not state.arm,
            continuous=state.supervisor.link is not LinkState.LOST or self._continues(state, arm),
            knows_command=state.supervisor.link is LinkState.ARMED
            or self._tells_command(state, arm),
            hearing=abs(now - checks.heard) * NANOSECONDS <= self._patience,
            finding=received.finding,
            contacts_age=age(now, report),
            reference_age=0.0 if refreshed is None else (now - refreshed) * NANOSECONDS,
            has_reference=goal is not None,
            identifiable=reflex.unexplained_force == 0.0
            and all(contact.wrench_known or contact.force < considered for contact in contacts),
            force_ratio=max(self._yielding.force_ratio(goal, located), reflex.force_ratio),
            torque_exceeded=torque_exceeded,
        )

    def _continues(self, state: LoopState, arm: ArmState | None) -> bool:
        """Tell whether the robot is as it was when the link was lost, on its way to our command."""
        if state.gate is None or state.follow is None or state.arm is None or arm is None:
            return True
        if self._watch.foreign(state.follow, arm.commanded_position) is not None:
            return False
        before, after = (np.abs(a.position - state.gate.command) for a in (state.arm, arm))
        return bool((after <= before + CONTINUITY).all())

    def _tells_command(self, state: LoopState, arm: ArmState | None) -> bool:
        """Tell whether the driver says which command it holds, and no other is on its way to it.

        It is the last one of ours, or has stood still from one state to the next.
        """
        sent, before = state.sent, state.arm
        if arm is None or not is_finite(arm.commanded_position, self.robot.n):
            return False
        reported = arm.commanded_position
        if sent is None or _is_near(reported, sent, COMMAND_TOLERANCE):
            return True
        if before is None or before is arm:
            return False
        return _is_near(reported, before.commanded_position, STANDS)

    def _brake(
        self, transition: TransitionState, context: TickContext
    ) -> tuple[TransitionState, np.ndarray]:
        """Come to rest; a command that is at rest stays the same one."""
        gate = context.gate
        if not gate.velocity.any():
            return DONE, gate.command
        still = np.zeros(gate.command.size)
        transition, change = self._transition.step(transition, context.begins, gate.velocity, still)
        bounds = self._gate.step_bounds(gate, context.arm.position, self._fastest)
        return transition, self._guard.limit(gate.command, np.clip(change, *bounds))[0]

    def _start(self, arm: ArmState, sent: np.ndarray | None) -> tuple[GateState, FollowState]:
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
        if sent is not None and _is_near(held, sent, COMMAND_TOLERANCE):
            known = sent
        allowed = self.config.safety.start_command_distance
        start = np.clip(known, arm.position - allowed, arm.position + allowed)
        return self._gate.start(start), self._watch.start(start, reported, sent)

    def _step_fraction(self, blind: bool, ramp_ticks: int) -> float:
        """Return the share of the step bound to use: little at the start, or without contacts."""
        if not self._controller.bounds_step:
            return math.inf
        ramp, passed = self.config.slow_start, ramp_ticks * self.config.period
        risen = 1.0 if passed >= ramp.duration else passed / ramp.duration
        fraction = ramp.fraction + (1.0 - ramp.fraction) * risen
        return min(fraction, BLIND_STEP_FRACTION) if blind else fraction

    def _limited(
        self, inputs: ControllerInput, output: ControllerOutput, fraction: float
    ) -> tuple[np.ndarray, ControllerOutput]:
        """Return the command within every limit, and the output, which says which one holds."""
        bound, bounds = self._fastest, (inputs.lower, inputs.upper)
        if output.yields and inputs.widest is not None:
            bound, fraction, bounds = Bound.YIELDING, 1.0, inputs.widest
        change = np.clip(output.command - inputs.command, *bounds)
        limited = self._gate.is_reached(change, bounds, bound, fraction)
        command, guarded = self._guard.limit(inputs.command, change, output.yields)
        if output.status is Status.OK and (limited or guarded):
            output = replace(output, status=guarded or Status.LIMIT_REACHED)
        return command, output


def _is_near(a: np.ndarray, b: np.ndarray, distance: float) -> bool:
    # Not "none is larger": what is unknown is not near.
    return bool(np.all(np.abs(a - b) <= distance))


def _continues(goal: Goal | None, state: LoopState) -> bool:
    """Tell whether a goal is the next target of the stream that is followed."""
    before = state.goal
    if goal is None or before is None or before.refreshed is None or goal.refreshed is None:
        return False
    return state.mode in FOLLOWING and type(goal.reference) is type(before.reference)


def _status(state: LoopState, proposal: Proposal, refusal: str) -> LoopStatus:
    """Say what happened."""
    output = proposal.output
    if output is None:
        output = ControllerOutput(command=np.zeros(0) if state.command is None else state.command)
    return LoopStatus(
        mode=state.mode,
        status=proposal.status,
        reference_time=state.reference_time,
        output=output,
        ticks=state.ticks,
        deadline_misses=state.deadline_misses,
        rejected_messages=state.supervisor.rejected,
        link=state.supervisor.link,
        detail=state.supervisor.fault_detail or refusal or _loss(state.supervisor),
        reference_rate=proposal.rate,
    )


def _first_wrong(*statuses: Status) -> Status:
    return next((status for status in statuses if status is not Status.OK), Status.OK)


def _loss(supervisor: SupervisorState) -> str:
    """Say why there is no link; empty if there is one."""
    loss = supervisor.loss
    if loss is None or supervisor.link is LinkState.ARMED:
        return ""
    after = f"after {loss.status.name}: " if supervisor.link is LinkState.SYNC else ""
    return after + loss.detail
