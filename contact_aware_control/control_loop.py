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

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers import ControllerOutput, make_controller
from contact_aware_control.controllers.base import ControllerState
from contact_aware_control.controllers.qp_controller import RELEASE_TIME
from contact_aware_control.lever_arms import LeverArms
from contact_aware_control.limiters import (
    FloatLimiter,
    better_reason,
    limiters_by_purpose,
    yielding_bounds,
)
from contact_aware_control.loop_state import (
    LoopInputs,
    LoopState,
    LoopStatus,
    Purpose,
    TickContext,
)
from contact_aware_control.receiver import Receiver, age, continues, force_ratio
from contact_aware_control.reference.base import Guidance
from contact_aware_control.reference.clock import ReferenceClock
from contact_aware_control.safety.command_gate import CommandGate
from contact_aware_control.safety.command_guard import CommandGuard
from contact_aware_control.safety.deviation_bound import DeviationBound
from contact_aware_control.safety.joint_bounds import BRAKING_RATE, Bound
from contact_aware_control.safety.status import FOLLOWING, LinkState, Mode, Request, Status
from contact_aware_control.safety.supervisor import SupervisorState
from contact_core.base.low_pass import followed_share
from contact_core.robot.arm_state import SoundCommand
from contact_core.robot.robot import Robot

STOPPED_AT_ONCE = (Status.STATE_STALE, Status.NOT_COMMANDING)
"""Reasons to hold in which a command that comes to rest slowly would lead away from the arm."""

SLOWED = 0.99
"""Below this rate of its clock a reference counts as slowed."""

BLIND_STEP_FRACTION = 0.25
"""Share of the step bound that is used while the contacts are too old."""

REACTED_TO = (Status.TORQUE_EXCEEDED, Status.FORCE_EXCEEDED)
"""Faults after which the reflex may move the command."""


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
        self._period = config.period
        self._clock = ReferenceClock(config.governor, config.period)
        self._controller = make_controller(robot, config)
        self._fastest = Bound.TRACKING if self._controller.bounds_step else Bound.NONE
        self._guard = CommandGuard(robot, config, self._controller.bounds_step)
        self._gate = CommandGate(robot, config)
        self._receiver = Receiver(robot, config, self._controller, self._gate)
        self._deviation_bound = DeviationBound(
            robot,
            LeverArms(robot, config.reflex.held_reach),
            config.safety.leash,
            min(1.0, BRAKING_RATE * config.period),
            config.force.contact_off,
        )
        self._limiters = limiters_by_purpose(
            robot, config, self._controller, self._gate, self._guard, self._deviation_bound
        )
        self._floats = FloatLimiter(robot, config, self._gate)
        self._release_share = followed_share(config.period, RELEASE_TIME)
        self._most_torque = config.reflex.torque_share * robot.effort_limits

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
        supervisor, done = self._receiver.supervisor.handle(state.supervisor, request, detail)
        if request is Request.DEACTIVATE:
            # The next activation starts from the driver's command.
            state = replace(
                state,
                gate=None,
                follow=None,
                arm=None,
                last=None,
                goal=None,
                controller=ControllerState(),
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
        after, status = self._receiver.receive(state, inputs)  # checks, link, faults -> mode
        if after.supervisor.link is not LinkState.ARMED:
            return after, None, _status(after, status)
        context = self._begin(state, after, status)
        if context.follows:
            self._scale_time(context)  # governor of the reference
            wanted = self._solve(context)  # the controller's step: QP (24)
        else:
            wanted = self._without_reference(context)
        for limiter in self._limiters[context.purpose]:
            wanted, status = limiter.limit(wanted, context)
            if status is not Status.OK:
                context.status = better_reason(context.status, status)
        return self._pass_or_brake(wanted, context)

    def _begin(self, state: LoopState, after: LoopState, status: Status) -> TickContext:
        """Return what the tick of a commanded arm works with; time passes where a hand leads it."""
        arm, gate, report, goal = after.arm, after.gate, after.report, after.goal
        assert arm is not None and gate is not None and after.last is not None
        following = after.mode in FOLLOWING
        guidance = None
        if following and goal is not None and isinstance(goal.reference, Guidance):
            guidance = goal.reference
        anew = after.reference_time == 0.0 and not continues(goal, state)
        blind = age(after.last.now, report) > self.config.safety.contacts_timeout
        unexplained = after.reflex.unexplained_force
        fraction, widest = 1.0, None
        if following and guidance is None:
            fraction = self._step_fraction(blind, after.ramp_ticks)
            lower, upper = self._gate.step_bounds(gate, arm.position, self._fastest, fraction)
            touched = unexplained > 0.0 or (report is not None and len(report.contacts) > 0)
            if self._controller.limits_force and touched:
                widest = self._gate.step_bounds(gate, arm.position, Bound.YIELDING)
        else:
            lower, upper = self._gate.step_bounds(gate, arm.position, Bound.YIELDING)
            if guidance is not None:
                after.reference_time += self._period
                lower, upper = guidance.within((lower, upper))
            widest = lower, upper
        return TickContext(
            time=after.reference_time,
            position=arm.position,
            command=gate.command,
            lower=lower,
            upper=upper,
            contacts=None if blind or report is None else report.contacts,
            conservative=after.mode is Mode.CONSERVATIVE,
            unexplained_force=unexplained,
            rate=0.0 if guidance is None else 1.0,
            nominal=after.nominal,
            torque=after.free_torque(None if blind else report),
            offset=after.reflex.told_offset,
            widest=widest,
            before=state,
            after=after,
            arm=arm,
            gate=gate,
            status=status,
            begins=following != (state.mode in FOLLOWING) or anew,
            guidance=guidance,
            follows=following and guidance is None,
            pulled=unexplained > 0.0 or self._deviation_bound.is_pulled(report),
            doubted=self._deviation_bound.in_doubt(None if blind else report, arm.position),
            fraction=fraction,
        )

    def _scale_time(self, context: TickContext) -> None:
        """Decide how fast reference time passes: as fast as the command follows."""
        goal, command = context.after.goal, context.command
        assert goal is not None
        rate = context.after.reference_rate
        if self._controller.bounds_step:
            tool = self._guard.place_of(command)
            rate = self._clock.rate(rate, goal, context.time, command, tool)
        led_astray = context.pulled and context.doubted and goal.refreshed is None
        if led_astray and context.nominal is not None:
            rate = min(rate, self._deviation_bound.rate(command, context.nominal))
        context.rate = rate

    def _solve(self, context: TickContext) -> np.ndarray:
        """Ask the controller where the command is to go; relax where it fails."""
        after = context.after
        after.controller, output = self._controller.step(after.controller, context)
        context.output = output
        if output.status is not Status.OK:
            context.status = better_reason(context.status, output.status)
        if output.status is Status.QP_FAILED:
            context.purpose = Purpose.RELAX
            return self._relax(context)
        context.purpose = Purpose.FOLLOW
        context.bound = Bound.YIELDING if output.yields else self._fastest
        after.reference_time = context.time + context.rate * self._period
        after.reference_rate = context.rate
        after.nominal = output.nominal
        return output.command

    def _without_reference(self, context: TickContext) -> np.ndarray:
        """React to a fault, give way, or come to rest."""
        gate, position, mode = context.gate, context.position, context.after.mode
        if context.status in REACTED_TO and self._receiver.reflex.moves:
            context.purpose = Purpose.REACT
            context.lower, context.upper = self._gate.step_bounds(gate, position, context.bound)
            context.after.reflex, change = self._receiver.reflex.react(
                context.after.reflex, context.arm, context.command
            )
            return context.command + change
        context.purpose, wanted = self._give_way(context)
        if context.purpose is Purpose.STAY and gate.velocity.any():
            held = mode is Mode.HOLD and context.status not in STOPPED_AT_ONCE
            if held or context.guidance is not None:
                context.purpose = Purpose.REST
                context.lower, context.upper = self._gate.step_bounds(gate, position, self._fastest)
        return wanted

    def _give_way(self, context: TickContext) -> tuple[Purpose, np.ndarray]:
        """Follow nothing; yield where a contact force is above its limit.

        Returns:
            (what the command is for; the command (n) [rad]): STAY, and the present one, where
            nothing presses.
        """
        command, after = context.command, context.after
        doubted = context.guidance is not None and context.doubted
        if doubted or (np.abs(context.arm.external_torque) > self._most_torque).any():
            # A phantom must not lead the arm: what presses shows in the springs, too. The same
            # command back means that nothing does, here and below.
            wanted, _ = self._floats.limit(command, context)
            return Purpose.STAY if wanted is command else Purpose.FLOAT, wanted
        after.controller, output = self._controller.give_way(after.controller, context)
        if output.status is not Status.QP_FAILED and (output.command != command).any():
            return Purpose.YIELD, output.command
        wanted = self._relax(context) if output.status is Status.QP_FAILED else command
        if wanted is command and self._floats.limit(command, context)[0] is command:
            return Purpose.STAY, command
        return Purpose.RELAX, wanted  # where it is the present one, a later limiter floats it

    def _relax(self, context: TickContext) -> np.ndarray:
        """Hold without the controller; above a force limit let the springs follow the arm.

        They give up what is above the limit, with the time constant of a force that is
        followed: an arm that is pushed goes along, one that is not stays where it is.
        """
        command, after, force = context.command, context.after, self.config.force
        ratio = 0.0
        if self._controller.limits_force:
            ratio = force_ratio(context.contacts or (), after.goal, force)
        if context.unexplained_force > 0.0:
            ratio = max(ratio, context.unexplained_force / force.limit)
        if ratio <= 1.0:
            return command
        share = (1.0 - 1.0 / ratio) * self._release_share
        bounds = yielding_bounds(context, self._gate)
        relaxed: np.ndarray = command + np.clip(share * (context.position - command), *bounds)
        return relaxed

    def _pass_or_brake(
        self, wanted: np.ndarray, context: TickContext
    ) -> tuple[LoopState, SoundCommand, LoopStatus]:
        """Let the gate pass the command, or brake, and say what happened."""
        before, after, report = context.before, context.after, context.after.report
        assert after.last is not None and after.follow is not None
        status = context.status
        if status is Status.OK:
            if self._is_slowed(wanted, context):
                status = Status.REFERENCE_SLOWED
            elif context.contacts is not None and report is not None and report.lacks_payload:
                status = Status.AMBIGUOUS_LOAD
            elif after.deadline_misses > before.deadline_misses:
                status = Status.DEADLINE_MISSED
        gate, sent, refusal = self._gate.judge(
            context.gate, after.last.now, wanted, context.position, context.bound
        )
        after.gate, after.sent = gate, sent.position
        if status is Status.OK and not refusal and (sent.position != wanted).any():
            status = Status.LIMIT_REACHED
        after.follow = self._receiver.watch.sent(after.follow, gate.command)
        if refusal:
            after.supervisor = self._receiver.supervisor.refuse_command(
                after.supervisor, gate.refused, refusal
            )
            if after.mode is not Mode.FAULT:
                status = Status.COMMAND_REFUSED
        return after, sent, _status(after, status, context.output, context.rate, refusal)

    def _is_slowed(self, wanted: np.ndarray, context: TickContext) -> bool:
        """Tell whether the reference waits, or its target moves away."""
        output, goal = context.output, context.after.goal
        if context.purpose is not Purpose.FOLLOW or output is None or goal is None:
            return False
        if context.rate < SLOWED:
            return True
        if goal.refreshed is None or output.contact_links or not self._controller.bounds_step:
            return False
        command, place_of = context.command, self._guard.place_of
        return self._clock.is_held(
            goal, context.time, command, place_of(command), wanted, place_of(wanted)
        )

    def _step_fraction(self, blind: bool, ramp_ticks: int) -> float:
        """Return the share of the step bound to use: little at the start, or without contacts."""
        if not self._controller.bounds_step:
            return math.inf
        ramp, passed = self.config.slow_start, ramp_ticks * self._period
        risen = 1.0 if passed >= ramp.duration else passed / ramp.duration
        fraction = ramp.fraction + (1.0 - ramp.fraction) * risen
        return min(fraction, BLIND_STEP_FRACTION) if blind else fraction


def _status(
    state: LoopState,
    status: Status,
    output: ControllerOutput | None = None,
    rate: float = 0.0,
    refusal: str = "",
) -> LoopStatus:
    """Say what happened."""
    if output is None:
        output = ControllerOutput(command=np.zeros(0) if state.command is None else state.command)
    link = state.supervisor.link
    loss = "" if link is LinkState.ARMED else _loss(state.supervisor)
    return LoopStatus(
        mode=state.mode,
        status=status,
        reference_time=state.reference_time,
        output=output,
        ticks=state.ticks,
        deadline_misses=state.deadline_misses,
        rejected_messages=state.supervisor.rejected,
        link=link,
        detail=state.supervisor.fault_detail or refusal or loss,
        reference_rate=rate,
    )


def _loss(supervisor: SupervisorState) -> str:
    """Say why there is no link."""
    loss = supervisor.loss
    if loss is None:
        return ""
    after = f"after {loss.status.name}: " if supervisor.link is LinkState.SYNC else ""
    return after + loss.detail
