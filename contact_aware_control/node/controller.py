"""The contact-aware controller in the graph: states, contacts and goals in, commands out."""

from __future__ import annotations

import dataclasses
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from contact_stack_msgs.msg import ContactArray, ControllerStatus
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from contact_aware_control.contact import ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.controllers import ControllerOutput
from contact_aware_control.incident_log import IncidentLog
from contact_aware_control.loop_state import LoopInputs, LoopState, LoopStatus
from contact_aware_control.node.config import ControllerNodeConfig, controller_defaults
from contact_aware_control.node.controller_parts import (
    CONTACTS,
    ExternalStop,
    IncidentFiles,
    LoopClock,
    RivalWatch,
    answer_to,
)
from contact_aware_control.node.goal_server import DEACTIVATED, GoalServer, explained, obstacle
from contact_aware_control.node.messages import from_message
from contact_aware_control.node.target_topics import TargetTopics
from contact_aware_control.precompile import precompile_controller
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_aware_control.safety.status import LinkState, Mode, Request, Status
from contact_aware_control.safety.supervisor import Activity
from contact_aware_control.targets import StreamedTargets
from contact_core.base.errors import ContactStackError
from contact_core.robot.arm_state import ArmState, SoundCommand
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.arguments import refuse_disagreement
from contact_ros.diagnostics import ClockMonitor, Diagnostics, Health, Level
from contact_ros.driver_profile import CommandWriter, DriverProfile, StateReader, driver_profile
from contact_ros.entry_point import freeze_garbage_collector, run
from contact_ros.geometry import BaseFrames
from contact_ros.identity import CONTROLLER, PAUSED_TOPIC, RobotIdentity
from contact_ros.lifecycle import ManagedNode
from contact_ros.lockstep import Participant, TickInputs
from contact_ros.loop import ErrorRelay, FixedRateLoop
from contact_ros.parameters import read
from contact_ros.qos import LATCHED, WAITING, signal_publisher, signal_subscription
from contact_ros.real_time import RealTimeReport, enter_real_time
from contact_ros.stamps import NANOSECONDS, to_nanoseconds, to_time
from contact_ros.validation import MessageError

OTHER_TIME = 1.0
"""Contacts whose stamps differ by more from those of the joint states are of other states [s]."""
MAX_STATES = 50
"""At most this many joint states are kept for a tick: those of a quarter of a second."""


class ControllerNode(ManagedNode):
    """Tick the control loop, in real time or at the simulator's ticks."""

    def __init__(self) -> None:
        """Build the control loop, connect it and, unless someone else is to, activate it.

        Raises:
            ContactStackError: If a parameter, the robot or the driver profile is wrong.
        """
        super().__init__(CONTROLLER)
        refuse_disagreement(self, sys.argv, "hardware")
        self._config = config = read(self, ControllerNodeConfig, self._change, controller_defaults)
        # Even from the cache a kernel takes a while to load: not at the first contact.
        precompile_controller()
        description = config.description()
        profile = driver_profile(
            config.driver,
            config.arm,
            config.period,
            description.arm_joints,
            self.get_namespace(),
        )
        self._build_loop(description)
        self._identify(profile, description)
        self._publish_commands(profile)
        self._take_goals(profile, description)
        self._take_requests()
        self._report_health()
        self.start(active=config.autostart)

        self._hear_robot(profile)
        freeze_garbage_collector()
        self._begin_to_tick()

    def _build_loop(self, description: RobotDescription) -> None:
        """Make the control loop, and what is known between two of its ticks."""
        config = self._config
        self._robot = Robot.from_description(description)
        # For the loop, and for the next one: to read a robot takes several periods.
        ours, self._spare = (Robot.from_description(description) for _ in range(2))
        self._loop = ControlLoop(ours, config)
        self._loop_state = LoopState()
        self._log = IncidentLog(config, description, self._loop_state, config.recorder.duration)
        self._loop_clock = LoopClock(
            lambda: int(self.get_clock().now().nanoseconds), round(config.period * NANOSECONDS)
        )
        self._lock = threading.Lock()
        self._state: ArmState | None = None
        self._states: deque[ArmState] = deque(maxlen=MAX_STATES)
        self._sent = 0
        self._heard = 0  # stamp of the last state, on the driver's clock [ns]
        self._report: ContactReport | None = None
        self._rejected = 0
        self._asked = False
        self._kept: SoundCommand | None = None
        self._status: LoopStatus | None = None
        self._command: SoundCommand | None = None
        self._rate = _RateMeter()
        self._real_time: RealTimeReport | None = None

    def _identify(self, profile: DriverProfile, description: RobotDescription) -> None:
        """Compare the robot with ours, and hear of a simulator's pauses if it may be one."""
        config = self._config
        real = config.hardware and not config.accept_simulator
        self._identity = RobotIdentity(self, profile, description, real)
        self._pauses = []
        # Nobody hears it on a real robot, where states that stop are a fault.
        if not real and not config.lockstep:
            self._pauses.append(
                self.create_subscription(
                    Bool, profile.topic(PAUSED_TOPIC), self._simulation_paused, LATCHED
                )
            )

    def _publish_commands(self, profile: DriverProfile) -> None:
        """Send commands to the driver, and a status to whoever wants to know."""
        lockstep = self._config.lockstep
        self._writer = CommandWriter(self, profile, lockstep)
        self._status_publisher = self.create_publisher(
            ControllerStatus, "controller_status", signal_publisher(lockstep)
        )

    def _take_goals(self, profile: DriverProfile, description: RobotDescription) -> None:
        """Accept what is to be followed, by actions and by streams of targets."""
        config = self._config
        targets = StreamedTargets(Robot.from_description(description), config, config.stream)
        frames = self._frames = BaseFrames(description)
        self._goals = GoalServer(
            self,
            lambda: self._loop_state.gate,
            config.period,
            GoalChecker(Robot.from_description(description), config),
            self._robot,
            profile.joint_names,
            self._lock,
            self._now,
            (lambda stamp: stamp) if config.lockstep else self._loop_clock.from_ros,
            lambda: obstacle(self._status, self._loop_state.supervisor.pause),
            config.goal,
            frames,
            targets.tool_bounds,
            lambda: self._timer.let_tick_run() if self._timer is not None else None,
            config.lockstep,
        )
        self._targets = TargetTopics(
            self,
            targets,
            profile.joint_names,
            frames,
            self._robot.tool_link,
            self._lock,
            self._now,
            lambda reason: self._reader.rejections.add(reason),
        )

    def _take_requests(self) -> None:
        """Hold, resume, stop and reset when somebody asks for it."""
        self._requests = [
            self.create_service(
                Trigger, f"{CONTROLLER}/{request.name.lower()}", self._server(request)
            )
            for request in (Request.HOLD, Request.RESUME, Request.STOP, Request.RESET)
        ]
        self._external_stop = ExternalStop(self, self._config.external_stop, self._ask)

    def _report_health(self) -> None:
        """Keep what led to an incident, and tell how everything is."""
        config = self._config
        self._incidents = IncidentFiles(
            self, self._log, config.recorder, self._lock, f"{CONTROLLER}/dump_flight"
        )
        self._clocks = ClockMonitor(self, config.clock_offset_limit)
        self._diagnostics = Diagnostics(
            self, lambda: self._reader.rejections.report(self._health())
        )

    def _hear_robot(self, profile: DriverProfile) -> None:
        """Receive joint states and contacts."""
        lockstep = self._config.lockstep
        self._inputs = TickInputs(["state", "contacts"], self._handle_tick)
        self._participant = Participant(self, CONTROLLER, self._inputs.tick) if lockstep else None
        self._reader = StateReader(self, profile, lockstep, self._state_arrived)
        self._rivals = RivalWatch(self, profile, self._reader, self._targets.followed)
        self._contacts = self.create_subscription(
            ContactArray,
            CONTACTS,
            self._contacts_arrived,
            # Of one that waits at a time, those of a second node could be all that is heard.
            signal_subscription(lockstep, depth=WAITING),
        )

    def _begin_to_tick(self) -> None:
        """Tick at the simulator's ticks, or in a thread of its own."""
        self._timer: FixedRateLoop | None = None
        if self._participant is not None:
            self._participant.announce()
            return
        self.leave_waiting(self._contacts, *self._pauses, *self._reader.subscriptions)
        # What stops the arm waits for nothing that the executor's thread is at.
        self.leave_waiting(*self._external_stop.subscriptions, *self._requests)
        self._timer = FixedRateLoop(
            self._config.period,
            lambda: self._tick(self._now()),
            ErrorRelay(self),
            on_start=self._enter_real_time,
            wait=self._wait_for_state,
        )
        self._timer.start()

    def _change(self, config: ControllerNodeConfig) -> None:
        """Take over the parameters that may change while the arm moves.

        What the loop remembers stays, so the next tick goes on from the last one.
        """
        self._clocks.limit = config.clock_offset_limit
        loop = ControlLoop(self._spare, config)
        with self._lock:
            self._spare, self._loop = self._loop.robot, loop
            self._log.restart(config, self._loop_state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to send commands as soon as there is a joint state."""
        self._ask(Request.ACTIVATE)
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send no commands any more; the driver keeps the last one."""
        self._ask(Request.DEACTIVATE)
        return TransitionCallbackReturn.SUCCESS

    def close(self) -> None:
        """Stop ticking."""
        if self._timer is not None:
            self._timer.stop()
        self._goals.close()
        self._incidents.close()

    def _now(self) -> int:
        """Return the time of the control loop [ns]: simulated in lock-step, else steady."""
        if self._participant is not None:
            return 0 if self._state is None else self._state.stamp
        return self._loop_clock.now()

    def _enter_real_time(self) -> None:
        self._real_time = enter_real_time(self._config.real_time)

    def _state_arrived(self, state: ArmState) -> None:
        if problem := self._identity.problem:
            self._ask(Request.FIND_WRONG_ROBOT, problem)
            return
        if self._participant is not None:
            self._inputs.put("state", state.stamp, state)
            return
        # Ages count from arrival: the robot's clock need not be ours.
        with self._lock:
            self._heard = state.stamp
            driver_stamp = self._loop_clock.hear(state.stamp)
            if driver_stamp is not None:
                self._states.append(
                    dataclasses.replace(state, stamp=self._now(), driver_stamp=driver_stamp)
                )

    def _simulation_paused(self, message: Bool) -> None:
        self._loop_clock.stop(message.data)

    def _wait_for_state(self, seconds: float) -> bool:
        """Wait for a joint state in the loop's thread; say whether there is one."""
        end = time.monotonic() + seconds
        while True:
            self._sent = self.take(*self._reader.subscriptions) or self._sent
            left = end - time.monotonic()
            if self._states or left <= 0.0:
                return bool(self._states)
            self.wait_for(left, *self._reader.subscriptions)

    def _contacts_arrived(self, message: ContactArray) -> None:
        stamp = to_nanoseconds(message.header.stamp)
        try:
            if self._participant is None:
                self._check_time(stamp)
                if not self._rivals.passes(message):
                    return
                # Ages count from arrival: the robot's clock need not be ours.
                stamp = self._now()
            self._frames.check_base(message.header.frame_id)
            report = from_message(message, self._robot, stamp)
        except ContactStackError as error:
            self._reader.rejections.add(f"contacts: {error}")
            return
        if self._participant is not None:
            self._inputs.put("contacts", stamp, report)
            return
        with self._lock:
            self._report = report

    def _check_time(self, stamp: int) -> None:
        """Check that contacts are of joint states that we hear, too: they have their stamps."""
        late = 1e-9 * (self._heard - stamp)
        if self._heard and abs(late) > OTHER_TIME:
            raise MessageError(
                f"stamped {late:.3g} s before the joint states (valid: within {OTHER_TIME:g} s)"
            )

    def _handle_tick(self, k: int, samples: Mapping[str, Any]) -> None:
        assert self._participant is not None
        state, self._report = samples["state"], samples["contacts"]
        self._states.append(state)
        self._tick(state.stamp)
        self._participant.done(k)

    def _tick(self, now: int) -> None:
        """One period: decide, command, report."""
        age = 1e-9 * (time.time_ns() - self._sent) if self._sent else math.nan
        if self._participant is None:
            self.take(*self._external_stop.subscriptions, self._contacts, *self._pauses)
            self.answer(*self._requests)
            self._goals.take_cancels()
        self._external_stop.check()
        self._count_rejections()
        awaited = self._states or self._asked or self._goals.canceled
        if self._loop_clock.stopped and not awaited and self._status is not None:
            self._repeat(now, self._status, age)
            return
        with self._lock:
            start, self._asked = time.perf_counter(), False
            goal = self._targets.goal(self._loop_state, now, self._goals.current(now))
            *earlier, self._state = self._states or (self._state,)
            self._states.clear()
            inputs = LoopInputs(
                now, self._state, self._report, goal, tuple(earlier), self._rivals.finding
            )
            self._loop_state, command, status = self._loop.tick(self._loop_state, inputs)
            self._command = command
            if command is not None:
                self._kept = None
                self._writer.publish_command(command)
            elif self._participant is not None:
                self._answer_simulator()
            duration = time.perf_counter() - start
            if self._state is not None:
                heard = self._loop_state.report  # what of it the loop believes
                self._goals.update(now, self._state.position, status, heard)
            self._rate.count(time.monotonic())
            self._report_change(status)
            if self._log.tick(inputs, self._loop_state, command, status):
                self._incidents.write(status.status.name)
        self._publish_status(now, status, duration, age)

    def _repeat(self, now: int, status: LoopStatus, age: float) -> None:
        """Say again what was said before the simulation was paused, so that nobody misses us."""
        active = self._loop_state.supervisor.activity is Activity.ON
        if active and self._command is not None:
            self._writer.publish_command(self._command)
        self._publish_status(now, status, 0.0, age)

    def _answer_simulator(self) -> None:
        """Give the robot back the command it has: in lock-step it waits for one."""
        if self._loop_state.command is None or self._state is None:
            return
        if self._kept is None:
            reported = self._state.commanded_position
            known = reported if np.isfinite(reported).all() else self._state.position
            self._kept = SoundCommand(known)
        self._writer.publish_command(self._kept)

    def _report_change(self, status: LoopStatus) -> None:
        """Log when a fault begins or ends, and when the link is lost or armed."""
        before, self._status = self._status, status
        fault = status.mode is Mode.FAULT
        text = f"{status.status.name}: {status.detail}; {status.remedy}"
        # One call site per severity, as the logger demands.
        if fault != (before is not None and before.mode is Mode.FAULT):
            if fault:
                self.get_logger().error(text)
            else:
                self.get_logger().info("the fault was reset")
        elif before is not None and before.link is not status.link:
            if status.link is LinkState.ARMED:
                self.get_logger().info("the link to the robot is armed")
            elif status.mode is not Mode.INACTIVE:
                why = "" if fault else f": {text}"  # A fault has a reason of its own.
                self.get_logger().warning(f"the link to the robot is {status.link.name}{why}")

    def _count_rejections(self) -> None:
        """Tell the supervisor about messages that did not get as far as the loop."""
        rejected = self._reader.rejections.count
        for _ in range(rejected - self._rejected):
            self._ask(Request.REJECT_INPUT, self._reader.rejections.reason)
        self._rejected = rejected

    def _publish_status(self, now: int, status: LoopStatus, duration: float, age: float) -> None:
        output, held = status.output, self._loop_state.command
        message = ControllerStatus(
            mode=int(status.mode),
            status=int(status.status),
            link=int(status.link),
            status_name=status.status.name,
            remedy=status.remedy,
            active_constraints=list(output.active_constraints),
            contact_links=list(output.contact_links),
            predicted_force=output.predicted_force,
            measured_force=output.measured_force,
            force_limit=output.force_limit,
            damping_weight=float(output.damping_weight),
            slack=float(output.slack),
            joint_command=[] if held is None else held,
            position_error=float(output.position_error),
            rotation_error=float(output.rotation_error),
            reference_rate=status.reference_rate,
            state_age=age,
            tick_time=duration,
            ticks=status.ticks,
            deadline_misses=self._deadline_misses(),
            rejected_messages=status.rejected_messages,
            rate=self._rate.rate,
        )
        message.header.stamp = to_time(now)
        self._status_publisher.publish(message)

    def _deadline_misses(self) -> int:
        return 0 if self._timer is None else self._timer.deadline_misses

    def _ask(self, request: Request, detail: str = "") -> bool:
        """Ask something of the loop between two ticks, and note it for a replay."""
        with self._lock:
            self._log.note(request, detail)
            self._loop_state, done = self._loop.handle(self._loop_state, request, detail)
            self._asked |= request is not Request.REJECT_INPUT
            # Another request, in the same tick, must not let a goal go on.
            supervisor = self._loop_state.supervisor
            if request is Request.DEACTIVATE:
                self._goals.interrupt("invalid", DEACTIVATED)
            elif supervisor.fault is not None:
                reason = explained(supervisor.fault, supervisor.fault_detail)
                self._goals.interrupt("fault", reason)
            return done

    def _server(
        self, request_: Request
    ) -> Callable[[Trigger.Request, Trigger.Response], Trigger.Response]:
        """Return the callback of the service that asks for something."""

        def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            before = self._loop_state.supervisor
            response.success = self._ask(request_)
            response.message = answer_to(request_, response.success, before)
            return response

        return serve

    def _health(self) -> Health:
        status = self._status
        values: dict[str, object] = {"rate_Hz": f"{self._rate.rate:.1f}"}
        if self._timer is not None:
            timing = self._timer.statistics()
            values["tick_p50_us"] = f"{timing.tick_p50_us:.0f}"
            values["tick_p99_us"] = f"{timing.tick_p99_us:.0f}"
            values["deadline_misses"] = timing.deadline_misses
        if self._real_time is not None:
            values["scheduling"] = self._real_time.scheduling
            values["processors"] = self._real_time.processors
            values["memory"] = self._real_time.memory
        if status is None:
            return Health(Level.STALE, "waiting for the simulator's ticks", values)
        if status.status is Status.WAITING_FOR_STATE and self._reader.others:
            values["other_joints"] = self._reader.others
        values["mode"] = status.mode.name
        values["link"] = status.link.name
        values |= diagnosis(status.output)
        if status.detail:
            values["fault" if status.mode is Mode.FAULT else "detail"] = status.detail
        if self._external_stop.pressed:
            values["external_stop"] = "pressed"
        if self._incidents.last:
            values["flight_record"] = self._incidents.last
        values["rejected_messages"] = status.rejected_messages
        level, message = _level(status), status.status.name
        waiting = status.status is Status.WAITING_FOR_STATE
        if remedy := self._reader.absence if waiting else status.remedy:
            message += f": {remedy}"
        for name, warning in (("clocks", self._clocks.warning), ("senders", self._rivals.senders)):
            if warning:
                values[name] = warning
                if level is Level.OK:
                    level, message = Level.WARN, warning
        return Health(level, message, values)


class _RateMeter:
    """Ticks per second over the last whole second."""

    def __init__(self) -> None:
        self.rate = 0.0
        self._start = 0.0
        self._ticks = 0

    def count(self, now: float) -> None:
        """Count a tick at a time [s]."""
        if self._ticks == 0:
            self._start = now
        elif now - self._start >= 1.0:
            self.rate = self._ticks / (now - self._start)
            self._start, self._ticks = now, 0
        self._ticks += 1


def _level(status: LoopStatus) -> Level:
    if status.mode is Mode.FAULT:
        return Level.ERROR
    return Level.OK if status.status is Status.OK else Level.WARN


def diagnosis(output: ControllerOutput) -> dict[str, object]:
    """Return forces, constraints and slack of the last tick.

    Args:
        output: Of the controller; empty while the arm is held.

    Returns:
        Name -> value, the unit in the name; empty without contact.
    """
    values: dict[str, object] = {}
    if output.contact_links:
        values["contacts"] = " ".join(output.contact_links)
        values["measured_force_N"] = _numbers(output.measured_force)
        values["predicted_force_N"] = _numbers(output.predicted_force)
        values["force_limit_N"] = _numbers(output.force_limit)
        values["force_slack_N"] = f"{output.slack:.2f}"
    if output.active_constraints:
        values["active_constraints"] = ", ".join(output.active_constraints)
    return values


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{value:.1f}" for value in values)


def main() -> int:
    """Run the contact-aware controller.

    Returns:
        The exit code.
    """
    return run(ControllerNode)
