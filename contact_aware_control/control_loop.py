"""The one object a controller node drives, 200 times a second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.controllers import ControllerInput, ControllerOutput, make_controller
from contact_aware_control.controllers.contact_jacobian import magnitude
from contact_aware_control.goal import Goal
from contact_aware_control.safety.command_guard import CommandGuard
from contact_aware_control.safety.command_limits import CommandLimits
from contact_aware_control.safety.input_checks import are_sound_contacts, is_sound_state
from contact_aware_control.safety.request import Request
from contact_aware_control.safety.status import Mode, Status
from contact_aware_control.safety.supervisor import Conditions, Supervisor
from contact_core.arm_state import ArmState
from contact_core.robot import Robot

NANOSECONDS = 1e-9


@dataclass(frozen=True)
class ContactReport:
    """The contacts of one estimator tick.

    Attributes:
        stamp: When they were estimated [ns], on the clock of the control loop.
        contacts: The contacts; empty in free space.
    """

    stamp: int
    contacts: Sequence[ContactEstimate]


@dataclass(frozen=True)
class LoopStatus:
    """What happened in one tick.

    Attributes:
        mode: What the controller does.
        status: Why.
        reference_time: Time since the start of the goal, without pauses [s].
        output: The controller's diagnostics; its command is the one before the limits.
        ticks: Number of ticks so far.
        deadline_misses: Number of ticks that came more than half a period late.
        rejected_messages: Number of rejected messages so far.
        detail: What led to a latched fault, in words; empty without one.
    """

    mode: Mode
    status: Status
    reference_time: float
    output: ControllerOutput
    ticks: int
    deadline_misses: int
    rejected_messages: int
    detail: str = ""

    @property
    def remedy(self) -> str:
        """What a person can do about the status."""
        return self.status.remedy


class ControlLoop:
    """Turns joint states, contacts and a goal into commands, safely.

    Attributes:
        config: Every parameter.
        supervisor: Modes, watchdogs and faults; hold, resume, stop and reset it.
        command: (n) the present command [rad]; None before the first joint state.
    """

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Set up, inactive.

        Args:
            robot: The arm, for this loop alone.
            config: Every parameter.

        Raises:
            ConfigError: If the controller is refused.
        """
        self.config = config
        self.supervisor = Supervisor(config.safety, config.period)
        self.command: np.ndarray | None = None
        self._robot = robot
        self._controller = make_controller(robot, config)
        self._stiffness = np.array(config.joint_stiffness)
        self._limits = CommandLimits(robot, self._stiffness, config.limits, config.period)
        self._guard = CommandGuard(robot, config)
        self._state: ArmState | None = None
        self._report: ContactReport | None = None
        self._seen: tuple[ArmState | None, ContactReport | None] = (None, None)
        self._goal: Goal | None = None
        self._reference_time = 0.0
        self._last_tick: int | None = None
        self._ticks = 0
        self._deadline_misses = 0
        self._ramp_ticks = 0

    def handle(self, request: Request, detail: str = "") -> bool:
        """Do what is asked from outside, between two ticks.

        Args:
            request: What.
            detail: The reason, in words.

        Returns:
            False if it is refused.
        """
        if request is Request.DEACTIVATE:
            self.deactivate()
            return True
        if request is Request.ROBOT_BACK:
            # Begin again at the command the driver holds: ours was not followed.
            self.command = None
            self._ramp_ticks = 0
        return self.supervisor.handle(request, detail)

    def tick(
        self,
        now: int,
        state: ArmState | None,
        report: ContactReport | None,
        goal: Goal | None,
    ) -> tuple[np.ndarray | None, LoopStatus]:
        """Compute one command.

        Args:
            now: Time [ns].
            state: The latest joint state; the same object again if there is no newer one.
            report: The latest contacts; the same object again if there are no newer ones.
            goal: What to follow, checked by a GoalChecker; another object starts anew. None: hold.

        Returns:
            (q_cmd (n) [rad], or None if no command is to be sent; what happened).
        """
        late = self._count(now)
        self._receive(state, report)
        self._take(goal)
        mode, status = self.supervisor.update(self._conditions(now))
        if mode is Mode.INACTIVE:
            return None, self._report_status(mode, status, None)
        assert self._state is not None
        if self.command is None:
            self.command = self._start_command(self._state)
        self._ramp_ticks = 0 if mode is Mode.FAULT else self._ramp_ticks + 1
        output = None
        if mode in (Mode.TRACKING, Mode.CONSERVATIVE):
            output = self._track(self._state, mode, now)
            status = output.status if status is Status.OK else status
        elif status is not Status.STATE_STALE:
            self._give_way(self._state)
        if late and status is Status.OK:
            status = Status.DEADLINE_MISSED
        return self.command.copy(), self._report_status(mode, status, output)

    def deactivate(self) -> None:
        """Send no commands any more; the next activation starts from the driver's command."""
        self.supervisor.deactivate()
        self.command = None
        self._state = None
        self._goal = None
        self._ramp_ticks = 0

    def _count(self, now: int) -> bool:
        """Count the tick, and whether it came late."""
        late = self._last_tick is not None and (
            (now - self._last_tick) * NANOSECONDS > 1.5 * self.config.period
        )
        self._last_tick = now
        self._ticks += 1
        self._deadline_misses += late
        return late

    def _receive(self, state: ArmState | None, report: ContactReport | None) -> None:
        """Take over new messages that are sound, count those that are not."""
        if state is not self._seen[0] and state is not None:
            if is_sound_state(state, self._robot.n):
                self.supervisor.accept_input()
                self._state = state
            else:
                self.supervisor.reject_input()
        if report is not self._seen[1] and report is not None:
            if are_sound_contacts(report.contacts, self._robot.link_names):
                self._report = report
            else:
                self.supervisor.reject_input()
        self._seen = (state, report)

    def _take(self, goal: Goal | None) -> None:
        """Start to follow a new goal."""
        if goal is self._goal or (goal is not None and self.command is None):
            return
        refreshed = (
            goal is not None and self._goal is not None and goal.reference is self._goal.reference
        )
        self._goal = goal
        if goal is None or refreshed:
            return
        assert self.command is not None
        self._controller.follow(goal.reference, self.command, dict(goal.force_limits))
        self._reference_time = 0.0

    def _conditions(self, now: int) -> Conditions:
        goal, report = self._goal, self._report
        refreshed = goal.refreshed if goal is not None else None
        contacts = report.contacts if report is not None else ()
        considered = [
            contact
            for contact in contacts
            if magnitude(contact.force_world) >= self.config.force.contact_on
        ]
        return Conditions(
            state_age=_age(now, self._state),
            contacts_age=_age(now, report),
            reference_age=0.0 if refreshed is None else (now - refreshed) * NANOSECONDS,
            has_reference=goal is not None,
            identifiable=all(contact.identifiable for contact in considered),
            force_ratio=self._force_ratio([c for c in contacts if c.identifiable]),
        )

    def _force_ratio(self, contacts: Sequence[ContactEstimate]) -> float:
        """Largest contact force over its limit; 0 for baselines, which have no limit."""
        if not self._controller.limits_force:
            return 0.0
        limits = self._goal.force_limits if self._goal is not None else {}
        default = self.config.force.limit
        return max(
            (
                magnitude(contact.force_world)
                / max(limits.get(contact.link, default), self.config.force.contact_off, 1e-3)
                for contact in contacts
            ),
            default=0.0,
        )

    def _start_command(self, state: ArmState) -> np.ndarray:
        """Begin at the command the driver holds: the arm sags if it begins at q instead."""
        commanded = state.commanded_position
        known = np.where(np.isfinite(commanded), commanded, state.position)
        allowed = self.config.safety.start_command_distance
        start: np.ndarray = np.clip(known, state.position - allowed, state.position + allowed)
        return start

    def _track(self, state: ArmState, mode: Mode, now: int) -> ControllerOutput:
        """Follow the goal for one period."""
        assert self.command is not None
        blind = _age(now, self._report) > self.config.safety.contacts_timeout
        fraction = self._step_fraction(blind)
        lower, upper = self._limits.box(state.position, self.command, fraction)
        output = self._controller.step(
            ControllerInput(
                time=self._reference_time,
                position=state.position,
                command=self.command,
                lower=lower,
                upper=upper,
                contacts=None if blind or self._report is None else self._report.contacts,
                conservative=mode is Mode.CONSERVATIVE,
            )
        )
        if output.status is Status.QP_FAILED:
            self._give_way(state)
            return output
        change = np.clip(output.command - self.command, lower, upper)
        limited = self._limits.reached(change, lower, upper, fraction)
        self.command, guarded = self._guard.limit(self.command, change)
        self._reference_time += self.config.period
        if output.status is not Status.OK or not (limited or guarded):
            return output
        return replace(output, status=guarded or Status.LIMIT_REACHED)

    def _step_fraction(self, blind: bool) -> float:
        """Return the share of the step bound to use: little at the start, or without contacts."""
        if not self._controller.bounds_step:
            return math.inf
        ramp, passed = self.config.slow_start, self._ramp_ticks * self.config.period
        risen = 1.0 if passed >= ramp.duration else passed / ramp.duration
        fraction = ramp.fraction + (1.0 - ramp.fraction) * risen
        return min(fraction, self.config.safety.blind_step_fraction) if blind else fraction

    def _give_way(self, state: ArmState) -> None:
        """Hold; where a contact force is above its limit, relax the springs slowly."""
        assert self.command is not None
        contacts = self._report.contacts if self._report is not None else ()
        if self._force_ratio(contacts) <= 1.0:
            return
        step = self.config.safety.relax_speed * self.config.period
        self.command = self.command + np.clip(state.position - self.command, -step, step)

    def _report_status(
        self, mode: Mode, status: Status, output: ControllerOutput | None
    ) -> LoopStatus:
        if output is None:
            command = self.command if self.command is not None else np.zeros(0)
            output = ControllerOutput(command=command)
        return LoopStatus(
            mode=mode,
            status=status,
            reference_time=self._reference_time,
            output=output,
            ticks=self._ticks,
            deadline_misses=self._deadline_misses,
            rejected_messages=self.supervisor.rejected,
            detail=self.supervisor.fault_detail,
        )


def _age(now: int, sample: ArmState | ContactReport | None) -> float:
    """Return the age [s]; a stamp in the future is as suspicious as an old one."""
    return math.inf if sample is None else abs(now - sample.stamp) * NANOSECONDS
