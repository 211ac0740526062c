"""What a tick receives: messages that are sound, a new goal, the link to the robot, faults.

From them the supervisor decides the mode of the tick.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np

from contact_aware_control.config import ControllerConfig, ForceConfig
from contact_aware_control.contact import ContactEstimate, ContactReport
from contact_aware_control.controllers import Controller
from contact_aware_control.loop_state import NANOSECONDS, LoopInputs, LoopState
from contact_aware_control.reference.base import Goal, Guidance
from contact_aware_control.reference.stream import goes_on
from contact_aware_control.safety.command_gate import CommandGate
from contact_aware_control.safety.follow_watch import COMMAND_TOLERANCE, FollowWatch
from contact_aware_control.safety.reflex import Reflex
from contact_aware_control.safety.state_checks import (
    StateChecks,
    are_sound_contacts,
    is_finite,
    is_sound_state,
)
from contact_aware_control.safety.status import FOLLOWING, Finding, LinkState, Mode, Status
from contact_aware_control.safety.supervisor import Conditions, Supervisor
from contact_aware_control.safety.transition import DONE
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot

NOTHING = LoopInputs(0)
"""What the tick before the first one was given."""

START_DISTANCE = 0.1
"""Largest distance between the driver's command and the measured position at the start [rad]."""

STANDS = 1e-4
"""A reported command that changes by no more from one state to the next stands still [rad]."""

SHOWN = 0.5
"""Contacts of whose torque the arm feels a smaller share are not where they are said to be."""

_CLAIM = attrgetter("link", "point_world", "force_world")
"""Of a contact: where it presses, and how."""

TINY = 1e-9
"""Keeps the torque that may be wrong above zero [Nm]."""

CONTINUITY = 0.02
"""After a short outage the arm goes on by itself if no joint is farther from its command than
before, by more than this [rad]."""


class Receiver:
    """Begins a tick; it remembers nothing.

    Attributes:
        supervisor: Decides the mode.
        watch: Knows whether the robot follows our commands.
        reflex: Looks at the external torque.
    """

    def __init__(
        self, robot: Robot, config: ControllerConfig, controller: Controller, gate: CommandGate
    ) -> None:
        """Set up who looks at what is received.

        Args:
            robot: The arm.
            config: Every parameter.
            controller: Follows goals.
            gate: Knows the present command.
        """
        self.supervisor = Supervisor(config.safety, config.period)
        self.watch = FollowWatch(robot, config)
        self.reflex = Reflex(robot, config.reflex, robot.stiffness, config.period)
        self._checks = StateChecks(robot, config)
        self._controller = controller
        self._gate = gate
        self._config = config
        self._period = config.period
        self._n = robot.n
        self._links = robot.link_names
        self._softness = 1.0 / robot.stiffness
        self._robot = robot
        self._torque_margin = self.watch.torque_margin + TINY
        self._patience = config.safety.state_timeout_periods * config.period

    def receive(self, state: LoopState, inputs: LoopInputs) -> tuple[LoopState, Status]:
        """Take over what is sound, and decide the mode.

        Args:
            state: What is remembered.
            inputs: What is given.

        Returns:
            (what is remembered, as far as it is known by now; why the mode is what it is).
        """
        last = state.last or NOTHING
        gap = 0.0 if state.last is None else (inputs.now - last.now) * NANOSECONDS
        after = state.copy()
        after.last, after.transition, after.vouched = inputs, DONE, None
        after.ticks += 1
        after.deadline_misses += gap > 1.5 * self._period
        finding = self._take_messages(state, after, last, inputs)
        if finding is None and gap > max(self._config.safety.recovery_window, self._patience):
            finding = Finding(Status.STATE_STALE, f"no tick of the controller for {gap:.1f} s")
        if inputs.goal is not state.goal:
            self._take_goal(state, after, inputs.goal)
        conditions = self._conditions(state, after, inputs.now, finding)
        after.supervisor, after.mode, status = self.supervisor.update(after.supervisor, conditions)
        link = after.supervisor.link
        if link is LinkState.LOST:
            after.gate = None if after.gate is None else self._gate.rest(after.gate)
            return after, status
        known = after.gate is not None and after.follow is not None
        if not known or link is LinkState.SYNC or state.supervisor.link is not LinkState.ARMED:
            # Where the robot is now, commands begin, or would begin.
            self._start(state, after)
        if link is LinkState.SYNC:
            after.checks = replace(after.checks, command=None)
        else:
            after.ramp_ticks = 0 if after.mode is Mode.FAULT else after.ramp_ticks + 1
        return after, status

    def _take_messages(
        self, state: LoopState, after: LoopState, last: LoopInputs, inputs: LoopInputs
    ) -> Finding | None:
        """Take over new messages that are sound, count those that are not.

        Returns:
            What is wrong with the robot, its states, or who else commands it.
        """
        supervisor, found, command = state.supervisor, inputs.finding, state.command
        new = () if inputs.arm is None or inputs.arm is last.arm else (*inputs.earlier, inputs.arm)
        for message in new:
            if not is_sound_state(message, self._n):
                supervisor = self.supervisor.reject_input(supervisor)
                continue
            supervisor = self.supervisor.accept_input(supervisor)
            after.checks, wrong, fresh = self._checks.check(after.checks, message, command)
            if wrong is None and after.follow is not None and supervisor.link is LinkState.ARMED:
                after.follow, wrong = self.watch.check(after.follow, message, state.reflex.offset)
            if wrong is None and fresh:
                after.arm = message
            found = found or wrong
        if inputs.report is not last.report and inputs.report is not None:
            if are_sound_contacts(inputs.report.contacts, self._links):
                after.report = self._felt(inputs.report, after)
            else:
                supervisor = self.supervisor.reject_input(supervisor)
        after.supervisor = supervisor
        return found

    def _felt(self, report: ContactReport, after: LoopState) -> ContactReport:
        """Take the places of contacts for unknown where the arm feels little of their torque.

        All contacts together are compared with all joints, by what may be wrong in each: contacts
        may cancel each other, and one near the base is felt by few joints, or by none. An
        estimator fits its contacts to the torque; a phantom has none. Forces at unknown places
        are those that the torques prove.

        Args:
            report: Sound contacts.
            after: What is remembered, the latest joint state among it.

        Returns:
            The report, its contacts not located if the torque rules that out.
        """
        if after.arm is None or not report.contacts:
            return report
        torque = after.free_torque(report)
        links, points, forces = zip(*map(_CLAIM, report.contacts), strict=True)
        self._robot.update(after.arm.position)
        torques = self._robot.torques_of_forces(links, np.array(points), np.array(forces))
        claimed = torques.sum(axis=0) / self._torque_margin
        missing = claimed @ (SHOWN * claimed - torque / self._torque_margin)
        # Not "is explained": a torque that is not known, NaN, rules nothing out.
        if missing > math.sqrt(claimed @ claimed):
            nowhere = [
                replace(contact, identifiable=False, same_wrench=False)
                for contact in report.contacts
            ]
            return replace(report, contacts=nowhere)
        return report

    def _take_goal(self, state: LoopState, after: LoopState, goal: Goal | None) -> None:
        """Start to follow a new goal; without one nothing is planned, so the usual limits hold."""
        before = state.goal
        if goal is not None and state.gate is None:
            return
        after.goal = goal
        if goal is None:
            after.controller = replace(state.controller, assignment=None)
            return
        if before is not None and goal.reference is before.reference:
            return
        after.reference_time, after.reference_rate = 0.0, 1.0
        if continues(goal, state):
            # The next target of a stream; its reference begins where the last one is now.
            assert state.controller.assignment is not None
            assignment = replace(
                state.controller.assignment,
                reference=goal.reference,
                force_limits=goal.force_limits,
            )
            after.controller = replace(state.controller, assignment=assignment)
            return
        assert state.command is not None
        posture = state.command if goal.posture is None else goal.posture
        after.controller = self._controller.follow(goal.reference, posture, goal.force_limits)

    def _conditions(
        self, state: LoopState, after: LoopState, now: int, finding: Finding | None
    ) -> Conditions:
        """Look at the external torque, and measure what the watchdogs look at."""
        arm, report, goal, config = after.arm, after.report, after.goal, self._config
        contacts_age, exceeded = age(now, report), ""
        if contacts_age > config.safety.contacts_timeout:
            report = None
        contacts = () if report is None else report.contacts
        limits = {} if goal is None else goal.force_limits
        located, known, claimed, planned, hardest = [], True, 0.0, 0.0, 0.0
        for contact in contacts:
            if contact.wrench_known:
                located.append(contact)
                claimed += contact.force
                hardest = max(hardest, contact.force)
                planned += limits.get(contact.link, config.force.limit)
            elif not contact.force < config.force.contact_on:
                known = False
        if arm is not None:
            allowed = math.inf
            if self._controller.limits_force:
                allowed = max(config.force.limit, *limits.values(), planned)
            after.reflex, exceeded = self.reflex.watch(
                state.reflex, arm, state.command, report, claimed, allowed
            )
        reflex, link = after.reflex, state.supervisor.link
        ratio = 0.0
        if self._controller.limits_force:
            ratio = force_ratio(located, goal, config.force)
        refreshed = None if goal is None else goal.refreshed
        return Conditions(
            state_age=age(now, arm),
            arrived=arm is not state.arm,
            continuous=link is not LinkState.LOST or self._continues(state, arm),
            knows_command=link is LinkState.ARMED or self._tells_command(state, arm),
            hearing=abs(now - after.checks.heard) * NANOSECONDS <= self._patience,
            finding=finding,
            contacts_age=contacts_age,
            reference_age=0.0 if refreshed is None else (now - refreshed) * NANOSECONDS,
            has_reference=goal is not None,
            identifiable=known and reflex.unexplained_force == 0.0,
            force_ratio=max(ratio, reflex.force_ratio),
            force=max(reflex.force, hardest),
            torque_exceeded=exceeded,
        )

    def _start(self, state: LoopState, after: LoopState) -> None:
        """Begin at the command the robot holds: it would sag, or jump, if it began elsewhere.

        A driver that says nothing of its command holds our last one, unless its session began
        anew, where the arm was. Both look alike in the messages, but not in the arm: on springs
        at rest it is at q = q_cmd + K^-1 tau_ext, (5). Where our last command does not explain
        where the arm is, commands begin at the arm, which only lets a contact go.
        """
        arm, sent = after.arm, state.sent
        assert arm is not None
        reported = arm.commanded_position
        reports = np.isfinite(reported)
        held = np.where(reports, reported, arm.position - self._softness * arm.external_torque)
        known = np.where(reports, reported, arm.position)
        if sent is not None and _is_near(held, sent, COMMAND_TOLERANCE):
            known = sent
        low, high = arm.position - START_DISTANCE, arm.position + START_DISTANCE
        start = np.clip(known, low, high)
        after.gate, after.follow = self._gate.start(start), self.watch.start(start, reported, sent)
        after.ramp_ticks, after.nominal = 0, None

    def _continues(self, state: LoopState, arm: ArmState | None) -> bool:
        """Tell whether the robot is as it was when the link was lost, on its way to our command."""
        if state.gate is None or state.follow is None or state.arm is None or arm is None:
            return True
        if self.watch.foreign(state.follow, arm.commanded_position) is not None:
            return False
        before, after = (np.abs(a.position - state.gate.command) for a in (state.arm, arm))
        return bool((after <= before + CONTINUITY).all())

    def _tells_command(self, state: LoopState, arm: ArmState | None) -> bool:
        """Tell whether the driver says which command it holds, and no other is on its way to it.

        It is the last one of ours, or has stood still from one state to the next.
        """
        sent, before = state.sent, state.arm
        if arm is None or not is_finite(arm.commanded_position, self._n):
            return False
        reported = arm.commanded_position
        if sent is None or _is_near(reported, sent, COMMAND_TOLERANCE):
            return True
        if before is None or before is arm:
            return False
        return _is_near(reported, before.commanded_position, STANDS)


def age(now: int, sample: ArmState | ContactReport | None) -> float:
    """Return the age of a message; a stamp in the future is as suspicious as an old one.

    Args:
        now: Time of the tick [ns].
        sample: The message; None: there is none.

    Returns:
        [s]; inf without a message.
    """
    return math.inf if sample is None else abs(now - sample.stamp) * NANOSECONDS


def force_ratio(
    contacts: Sequence[ContactEstimate], goal: Goal | None, config: ForceConfig
) -> float:
    """Return the largest contact force over its limit; 0 without contacts.

    Args:
        contacts: Those that count.
        goal: What is followed, with the limits of planned contacts; None: nothing.
        config: The limit of all others.
    """
    # A hand that leads the arm may push harder than it has to.
    limits: Mapping[str, float] = {}
    if goal is not None and not isinstance(goal.reference, Guidance):
        limits = goal.force_limits
    ratio = 0.0
    for contact in contacts:
        limit = max(limits.get(contact.link, config.limit), config.contact_off, 1e-3)
        ratio = max(ratio, contact.force / limit)
    return ratio


def continues(goal: Goal | None, state: LoopState) -> bool:
    """Tell whether a goal begins where the stream is that is followed: with its next target.

    Args:
        goal: The goal; None: there is none.
        state: What is remembered.
    """
    before = state.goal
    if goal is None or before is None or state.mode not in FOLLOWING:
        return False
    return goes_on(goal.reference, before.reference, state.reference_time)


def _is_near(a: np.ndarray, b: np.ndarray, distance: float) -> bool:
    # Not "none is larger": what is unknown is not near.
    return bool(np.all(np.abs(a - b) <= distance))
