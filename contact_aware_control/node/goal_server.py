"""The actions of the controller: two trajectories, moves by touch, skills, hand guiding.

One goal runs at a time; a new goal takes over from the running one, which is aborted. A
goal that cannot be followed is aborted before anything moves, with the reason in its
result. Goals are checked beside the loop, one after the other, and cancel requests may be taken in
the loop's thread: an arm that is to stop waits for nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
from contact_stack_msgs.action import (
    CompliantMove,
    FollowPoseTrajectory,
    GuardedMove,
    HandGuide,
    Insert,
    Wipe,
)
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future

from contact_aware_control.contact import ContactReport
from contact_aware_control.loop_state import LoopStatus
from contact_aware_control.node.config import GoalConfig
from contact_aware_control.node.controller_parts import NOT_ACTIVE
from contact_aware_control.node.goal_checks import CanceledError, GoalChecks, WaitingGoal
from contact_aware_control.node.touch_goals import (
    CompliantGoal,
    GuardedGoal,
    GuidedGoal,
    InsertGoal,
    TouchContext,
    TouchGoal,
    WipeGoal,
)
from contact_aware_control.node.trajectory_goals import (
    ActionGoal,
    Awaited,
    GoalProgress,
    JointGoal,
    JointNamesError,
    PoseGoal,
    Violation,
)
from contact_aware_control.receiver import age
from contact_aware_control.reference import Goal, Guidance
from contact_aware_control.reference.base import LetTickRun
from contact_aware_control.reference.stream import FOR_EVER, MotionBounds
from contact_aware_control.safety.command_gate import GateState
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_aware_control.safety.status import FOLLOWING, LinkState, Mode, Status
from contact_aware_control.safety.supervisor import Pause
from contact_core.base.errors import ContactStackError, TrajectoryError
from contact_core.robot.robot import Robot
from contact_ros.geometry import BaseFrames, without_points
from contact_ros.guarded_node import PolledActionServer
from contact_ros.planning_server import CLIENT_PATIENCE, Listeners
from contact_ros.qos import ACTION_SERVICES
from contact_ros.stamps import MAX_START
from contact_ros.validation import MessageError

FEEDBACK_EVERY = 10
"""Ticks between two feedback messages."""

HOLDING_STATUSES = (
    Status.LIMIT_REACHED,
    Status.SELF_COLLISION,
    Status.WORKSPACE,
    Status.REFERENCE_SLOWED,
)
"""Statuses that explain why an arm is not where it should be."""

STANDSTILL = 0.02
"""Below this rate of its clock a reference stands still."""

LATEST_START = 0.05
"""How far in the past a goal's start may lie, for the time its message took [s]."""


DEACTIVATED = "the controller was deactivated"
UNSEEN = "there is no joint state yet: see the report on /diagnostics"

MOVING = 0.01
"""Below this speed of every joint a command counts as at rest where a goal begins [rad/s]."""

SETTLING = 1.0
"""How long a motion may take to arrive after its end, before its tolerances alone decide [s]."""


GUIDE = "hand_guide"
"""Name of the action whose goals may have no end of their own."""

TOUCHING: tuple[tuple[Any, str, Any], ...] = (
    (GuardedMove, "guarded_move", GuardedGoal),
    (CompliantMove, "compliant_move", CompliantGoal),
    (Insert, "insert", InsertGoal),
    (Wipe, "wipe", WipeGoal),
    (HandGuide, GUIDE, GuidedGoal),
)
"""The actions that touch on purpose, their names, and what translates their goals."""


class RunningGoal:
    """A goal between its acceptance and its end."""

    def __init__(self, handle: ServerGoalHandle, goal: ActionGoal, start: int) -> None:
        """Begin.

        Args:
            handle: The action's.
            goal: What was asked for.
            start: When the motion begins, on the loop's clock [ns].
        """
        self.handle = handle
        self.goal = goal
        self.start = start
        self.begun = False
        self.interruption: Violation | None = None
        self.command: np.ndarray | None = None  # the last one with a link to the robot
        self.linked = False
        self.ended = Future()
        self.max_force = 0.0
        self.overtime = 0.0
        self.waiting = 0.0
        self.ticks = 0

    def interrupt(self, code: str, reason: str) -> None:
        """Let it fail in the next tick, whatever happens until then.

        Args:
            code: Name of the error code.
            reason: Why; empty if nothing interrupts it. The first one counts.
        """
        if reason and self.interruption is None:
            self.interruption = Violation(self.goal.codes[code], reason)

    def advance(
        self, progress: GoalProgress, status: LoopStatus, period: float
    ) -> Violation | None:
        """Go on for a tick, and judge it.

        Args:
            progress: Where the arm is.
            status: What the loop did.
            period: Time since the tick before [s].

        Returns:
            Why the goal has failed; None if it has not.
        """
        goal = self.goal
        if status.mode is Mode.INACTIVE:
            return Violation(goal.codes["invalid"], DEACTIVATED)
        if status.mode is Mode.FAULT:
            return Violation(goal.codes["fault"], explained(status.status, status.detail))
        self.waiting = self.waiting + period if stands_still(status) else 0.0
        if self.waiting > goal.patience:
            text = f"the reference has waited for the arm for {self.waiting:.1f} s"
            why = explained(status.status, status.detail)
            return Violation(goal.codes["late"], f"{text}; {why}")
        reference = goal.goal.reference
        path = goal.advance(progress)
        if path is not None:
            return path
        if progress.reference_time < reference.duration or goal.goal.reference is not reference:
            self.overtime = 0.0
            return None
        # Who is held has all the time that resume takes.
        self.overtime += period if progress.followed else 0.0
        if self.overtime <= goal.patience:
            return None
        return goal.goal_violation(progress)

    def reached(self, progress: GoalProgress, status: LoopStatus) -> bool:
        """Tell whether it is reached; contact, or a limit for good, may keep the command away.

        Args:
            progress: Where the arm is.
            status: What the loop did.
        """
        if not self.goal.reached(progress):
            return False
        held = bool(status.output.contact_links)
        settled = self.overtime >= min(self.goal.patience, SETTLING)
        return held or settled or self.goal.arrived(progress)


class GoalServer:
    """Accept goals, feed them to the control loop, report how they end."""

    def __init__(
        self,
        node: Node,
        present: Callable[[], GateState | None],
        period: float,
        checker: GoalChecker,
        robot: Robot,
        joint_names: tuple[str, ...],
        lock: threading.Lock,
        now: Callable[[], int],
        local_time: Callable[[int], int],
        obstacle: Callable[[], str],
        defaults: GoalConfig,
        frames: BaseFrames,
        bounds: MotionBounds,
        let_tick_run: LetTickRun,
        lockstep: bool,
    ) -> None:
        """Create the action servers.

        Args:
            node: The controller's node.
            present: Tells the present command of the loop that follows the goals; None while
                there is none.
            period: Time between its ticks [s].
            checker: What judges them beforehand; with a robot of its own, because it works
                while the loop ticks.
            robot: The arm, for measuring errors.
            joint_names: The driver's names of the arm's joints, base to wrist.
            lock: Held while the loop ticks.
            now: The clock of the loop [ns].
            local_time: Translates a stamp of a message to that clock [ns].
            obstacle: Says why the arm would not move now; empty if it would.
            defaults: What holds for goals that do not say it themselves.
            frames: Those that goals may be given in.
            bounds: Of the tool's motion where forces lead it.
            let_tick_run: Lets a tick go before the check of a goal.
            lockstep: Whether goals begin in a tick that does not depend on how fast they are
                checked; else the loop's thread calls :meth:`take_cancels`.
        """
        self._node = node
        self._present = present
        self._period = period
        self._checker = checker
        self._robot = robot
        self._joint_names = joint_names
        self._lock = lock
        self._now = now
        self._local_time = local_time
        self._obstacle = obstacle
        self._defaults = defaults
        self._frames = frames
        self._checks = GoalChecks(node, let_tick_run, beside=not lockstep)
        self._touch = TouchContext(robot, frames, joint_names, bounds, period, defaults)
        self._running: RunningGoal | None = None
        self._guides = Listeners(node, GUIDE)
        server = ActionServer if lockstep else PolledActionServer
        self._servers = [
            server(
                node,
                action,
                name,
                execute,
                cancel_callback=lambda handle: CancelResponse.ACCEPT,
                **ACTION_SERVICES,
            )
            for action, name, execute in (
                (FollowPoseTrajectory, "follow_pose_trajectory", self._follow_pose),
                (FollowJointTrajectory, "follow_joint_trajectory", self._follow_joints),
                # Where clients of ros2_control look for it, MoveIt among them.
                (
                    FollowJointTrajectory,
                    f"{node.get_name()}/follow_joint_trajectory",
                    self._follow_joints,
                ),
                *((action, name, self._touching(kind, action)) for action, name, kind in TOUCHING),
            )
        ]

    def close(self) -> None:
        """Destroy the action servers."""
        self._checks.close()
        for server in self._servers:
            server.destroy()

    @property
    def canceled(self) -> bool:
        """Whether a goal is to be canceled in the next tick."""
        running = self._running
        return self._checks.canceled or (running is not None and running.handle.is_cancel_requested)

    def interrupt(self, code: str, reason: str) -> None:
        """End the running goal in the next tick, and begin none that waits; the lock is held.

        Args:
            code: Name of the error code of the running one.
            reason: Why.
        """
        self._checks.update(lambda: reason)
        if self._running is not None:
            self._running.interrupt(code, reason)

    def take_cancels(self) -> None:
        """Handle the cancel requests that wait, in the loop's thread."""
        for server in self._servers:
            if isinstance(server, PolledActionServer):
                server.take_cancels()

    def current(self, stamp: int) -> Goal | Awaited | None:
        """Return what the loop is to follow in the tick of a stamp.

        Args:
            stamp: Time of the tick [ns].

        Returns:
            The goal; Awaited before its start; None after it was canceled, or without one.
        """
        running = self._running
        if running is None or running.handle.is_cancel_requested:
            return None
        if running.interruption is not None:
            return None
        if stamp < running.start:
            return Awaited()
        if not running.begun:
            # It was checked for where the arm was then, maybe on its way or elsewhere.
            try:
                present = self._command()
                running.goal.check_start(present.command, self._checker.start_tolerance)
            except TrajectoryError as error:
                running.interrupt("invalid", str(error))
                return None
            running.begun = True
            running.goal.begin(present.command, _speed(present))
        return running.goal.goal

    def update(
        self,
        stamp: int,
        position: np.ndarray,
        status: LoopStatus,
        report: ContactReport | None = None,
    ) -> None:
        """Judge the running goal after a tick.

        Args:
            stamp: Time of the tick [ns].
            position: (n) measured joint positions [rad].
            status: What the loop did.
            report: The last contacts, whatever their age.
        """
        if age(stamp, report) > self._checker.contacts_timeout:
            report = None
        self._checks.update(self._obstacle)
        running = self._running
        if running is None:
            return
        handle, present = running.handle, self._present()
        if running.begun:
            force = float(np.max(status.output.measured_force, initial=0.0))
            running.max_force = max(running.max_force, force)
        progress = GoalProgress(
            stamp,
            position,
            status.reference_time,
            running.max_force,
            report,
            None if present is None else present.command,
            status.mode in FOLLOWING,
        )
        if handle.is_cancel_requested:
            self._end(running, progress, status, handle.canceled, None)
            return
        running.interrupt("invalid", self._interruption(running, present, status))
        if running.interruption is not None:
            self._end(running, progress, status, handle.abort, running.interruption)
            return
        if not running.begun:
            return
        running.ticks += 1
        violation = running.advance(progress, status, self._period)
        if violation is not None:
            self._end(running, progress, status, handle.abort, violation)
        elif running.reached(progress, status):
            violation = running.goal.shortfall()
            transition = handle.succeed if violation is None else handle.abort
            self._end(running, progress, status, transition, violation)
        elif running.ticks % FEEDBACK_EVERY == 0:
            handle.publish_feedback(running.goal.feedback(progress))

    def _interruption(
        self, running: RunningGoal, present: GateState | None, status: LoopStatus
    ) -> str:
        """Say why the running goal cannot go on, whatever it asks for; empty if it can."""
        reason = ""
        if not running.begun:
            # It waits for its start; what stops or holds the arm meanwhile refuses it.
            reason = self._held()
        elif present is None:
            reason = DEACTIVATED if status.mode is Mode.INACTIVE else UNSEEN
        elif status.link is LinkState.ARMED:
            if not running.linked:
                reason = self._elsewhere(running.command, present.command)
            running.command = present.command
        running.linked = status.link is LinkState.ARMED
        reference = running.goal.goal.reference
        endless = isinstance(reference, Guidance) and reference.duration == FOR_EVER
        if endless and not reason and self._guides.gone():
            reason = f"no action client has listened for {CLIENT_PATIENCE:g} s"
        return reason

    def _elsewhere(self, before: np.ndarray | None, command: np.ndarray) -> str:
        """Say that commands have begun anew too far from the last one for a goal to go on."""
        tolerance = self._checker.start_tolerance.joint
        jump = 0.0 if before is None else float(np.abs(command - before).max())
        if jump <= tolerance:
            return ""
        return f"the arm was put elsewhere, {jump:.3f} rad away (at most {tolerance:g} rad)"

    def _end(
        self,
        running: RunningGoal,
        progress: GoalProgress,
        status: LoopStatus,
        transition: Callable[[], None],
        violation: Violation | None,
    ) -> None:
        transition()
        note = "" if running.interruption is not None else held_back(status)
        if violation is not None:
            self._node.get_logger().warning(f"goal aborted: {violation.text}{note}")
        self._running = None
        running.ended.set_result(running.goal.result(progress, violation, note))

    async def _follow_pose(self, handle: ServerGoalHandle) -> Any:
        def translate(now: GateState) -> ActionGoal:
            with self._lock:
                self._robot.update(now.command)
                start, speed = self._robot.tool_pose(), _speed(now)
                twist = None if speed is None else self._robot.tool_jacobian() @ speed
            return PoseGoal(handle.request, self._robot, start, self._frames, self._defaults, twist)

        return await self._run(handle, translate, FollowPoseTrajectory.Result())

    async def _follow_joints(self, handle: ServerGoalHandle) -> Any:
        def translate(now: GateState) -> ActionGoal:
            return JointGoal(
                handle.request, self._joint_names, now.command, self._defaults, _speed(now)
            )

        return await self._run(handle, translate, FollowJointTrajectory.Result())

    def _touching(
        self, kind: Callable[[Any, TouchContext, np.ndarray], TouchGoal], action: Any
    ) -> Callable[[ServerGoalHandle], Coroutine[Any, Any, Any]]:
        """Return what executes an action that touches on purpose."""

        async def execute(handle: ServerGoalHandle) -> Any:
            def translate(now: GateState) -> ActionGoal:
                with self._lock:
                    return kind(handle.request, self._touch, now.command)

            return await self._run(handle, translate, without_points(action.Result()))

        return execute

    async def _run(
        self,
        handle: ServerGoalHandle,
        translate: Callable[[GateState], ActionGoal],
        refusal: Any,
    ) -> Any:
        """Start a goal and wait for its end."""

        def check(let_tick_run: LetTickRun) -> ActionGoal:
            with self._lock:
                now = self._command()
            # What is wrong with a goal is said whatever the arm does meanwhile.
            goal = translate(now)
            with self._lock:
                self._refuse_if_held()
            # Only the loop's own work may make it wait.
            self._checker.check(goal.goal, now.command, let_tick_run)
            return goal

        waiting: WaitingGoal | None = None
        try:
            with self._lock:
                ready = not self._obstacle()
            waiting = self._checks.begin(handle, check, ready)
            goal = await waiting.checked
            with self._lock:
                waiting.update(self._obstacle())
                waiting.demand()
                running = self._start(handle, goal)
        except CanceledError as error:
            handle.canceled()
            refusal.error_string = str(error)
            return refusal
        except (TrajectoryError, MessageError) as error:
            handle.abort()
            self._node.get_logger().warning(f"goal refused: {error}")
            refusal.error_code = _refusal_code(error, refusal)
            refusal.error_string = str(error)
            return refusal
        finally:
            if waiting is not None:
                self._checks.end(waiting)
        return await running.ended

    def _start(self, handle: ServerGoalHandle, goal: ActionGoal) -> RunningGoal:
        """Take over from the running goal; the lock is held."""
        now = self._now()
        start = self._local_time(goal.start) if goal.start else now
        if start < now - LATEST_START * 1e9:
            raise OldStampError(f"the start lies {1e-9 * (now - start):.3f} s in the past")
        if start > now + MAX_START * 1e9:
            raise TrajectoryError(
                f"the start lies {1e-9 * (start - now):.0f} s ahead (valid: at most "
                f"{MAX_START:g} s)"
            )
        present = self._command()
        if start <= now:
            # The arm has gone on since the goal was checked.
            goal.check_start(present.command, self._checker.start_tolerance)
        if self._running is not None:
            replaced, self._running = self._running, None
            replaced.handle.abort()
            violation = Violation(replaced.goal.codes["invalid"], "a new goal took over")
            progress = GoalProgress(now, present.command, 0.0, replaced.max_force)
            replaced.ended.set_result(replaced.goal.result(progress, violation, ""))
        self._running = RunningGoal(handle, goal, start)
        self._guides.begin()
        return self._running

    def _held(self) -> str:
        """Say that the arm would not move, and why; empty if it would."""
        reason = self._obstacle()
        return f"the arm would not move: {reason}" if reason else ""

    def _refuse_if_held(self) -> None:
        if held := self._held():
            raise TrajectoryError(held)

    def _command(self) -> GateState:
        present = self._present()
        if present is None:
            self._refuse_if_held()
            raise TrajectoryError(UNSEEN)
        return present


def _speed(present: GateState) -> np.ndarray | None:
    """Return how fast a command moves (n) [rad/s]; None if it is at rest."""
    return present.velocity if np.abs(present.velocity).max() > MOVING else None


def explained(status: Status, detail: str) -> str:
    """Return name, detail and remedy of a status, for the text of a result."""
    return ": ".join(filter(None, (status.name, detail, status.remedy)))


def stands_still(status: LoopStatus) -> bool:
    """Tell whether the reference of a goal does not go on, other than on request."""
    if status.mode in FOLLOWING:
        return status.reference_rate < STANDSTILL
    return not is_ready(status)


def is_ready(status: LoopStatus) -> bool:
    """Tell whether a held arm would move, had it something to follow: whatever it gives way to.

    Args:
        status: What the loop did last.
    """
    return status.mode is Mode.HOLD and status.link is LinkState.ARMED


def obstacle(status: LoopStatus | None, pause: Pause) -> str:
    """Say why the arm would not follow a goal.

    Args:
        status: What the loop did last; None before its first tick.
        pause: Why the reference is paused.

    Returns:
        The reason and the remedy; empty if it would follow.
    """
    if pause is Pause.ASKED:
        return "it is held on request: call resume"
    if status is None or status.mode in FOLLOWING or is_ready(status):
        return ""
    if status.mode is Mode.INACTIVE and status.status is Status.OK:
        return f"INACTIVE: {NOT_ACTIVE}"
    # A late state alone is over soon; after an outage the link waits for resume, NOT_ARMED.
    if status.mode is Mode.HOLD and status.status is Status.STATE_STALE:
        return ""
    return f"{status.mode.name}: {explained(status.status, status.detail)}"


def held_back(status: LoopStatus) -> str:
    """Say what holds the arm back, for the text of a result.

    Args:
        status: What the loop did last.

    Returns:
        For instance "; in contact: lbr_link_6 with 14.9 N (limit 15 N)"; empty if nothing does.
    """
    output = status.output
    contacts = [
        f"{link} with {force:.1f} N (limit {limit:g} N)"
        for link, force, limit in zip(
            output.contact_links, output.measured_force, output.force_limit, strict=True
        )
    ]
    parts = [f"in contact: {', '.join(contacts)}"] if contacts else []
    if status.status in HOLDING_STATUSES:
        parts.append(f"{status.status.name}: {status.remedy}")
    return "".join(f"; {part}" for part in parts)


class OldStampError(TrajectoryError):
    """A goal would have had to start in the past.

    Stamp the trajectory with a time to come, or with 0 to start now.
    """


def _refusal_code(error: ContactStackError, result: Any) -> int:
    """Return the error code of a result for a goal that was refused."""
    if isinstance(error, OldStampError):
        return int(result.OLD_HEADER_TIMESTAMP)
    if isinstance(error, JointNamesError):
        return int(result.INVALID_JOINTS)
    return int(result.INVALID_GOAL)
