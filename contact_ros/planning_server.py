"""One action server for every planner: jobs, preemption, cancelling, budgets, lost clients.

One plan is made at a time, in a thread of its own. A newer goal takes over from the one that
is being planned, which ends with the best plan so far; a malformed goal disturbs nobody. Every
goal is answered with a status and a remedy, whatever went wrong. At the end is how plans become
messages.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from builtin_interfaces.msg import Duration
from contact_stack_msgs.msg import ContactForceTrajectory
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from contact_core.base.config import Range
from contact_core.base.errors import ContactStackError
from contact_core.base.planning import PlanStatus, StopCondition
from contact_ros.diagnostics import Diagnostics, Health, Level
from contact_ros.geometry import to_vector
from contact_ros.guarded_node import waking_future
from contact_ros.qos import ACTION_SERVICES
from contact_ros.rivals import SolePublisher
from contact_ros.stamps import NANOSECONDS, to_duration, to_nanoseconds

RESULT_TIMEOUT = 60
"""How long a client may fetch a result [s]."""

CLIENT_CHECK_PERIOD = 0.5
"""How often the server looks whether anybody still waits for the plan [s]."""

CLIENT_PATIENCE = 3.0
"""How long nobody may wait for the plan before planning stops [s]."""

SECOND_SERVER = (
    "end one of the nodes, or give it another robot_name; one that was killed is gone from the "
    "graph after about 20 s"
)
"""What to do about it."""

Problem = TypeVar("Problem")
Plan = TypeVar("Plan")


@dataclass(frozen=True)
class PlanAnswer:
    """How a goal ended.

    Attributes:
        status: How planning ended; the action has a constant of its name.
        remedy: What a person can do about it, empty on success.
        message: The action's result, but for status and remedy.
        usable: Whether the plan may be executed; the goal has then succeeded.
    """

    status: PlanStatus
    remedy: str
    message: Any
    usable: bool = False

    def result(self) -> Any:
        """Return the action's result, complete."""
        self.message.status = getattr(self.message, self.status.name)
        self.message.status_name = self.status.name
        self.message.remedy = self.remedy
        return self.message


class GoalPlanner(ABC, Generic[Problem, Plan]):
    """What a planner supplies; everything it raises becomes an answer."""

    @abstractmethod
    def read(self, goal: Any) -> Problem:
        """Check a goal and turn it into a problem, in the executor's thread.

        Args:
            goal: The action's goal.

        Raises:
            ContactStackError: If the goal is malformed; the message names field, value and
                what is valid. Its ``plan_status``, if it has one, becomes that of the answer.
        """

    @abstractmethod
    def solve(self, problem: Problem, stop: StopCondition, publish: Callable[[Any], None]) -> Plan:
        """Plan, in the planning thread.

        Args:
            problem: What :meth:`read` returned.
            stop: Asked at every iteration; its clock runs since the goal was accepted.
            publish: Takes the action's feedback.
        """

    @abstractmethod
    def answer(self, problem: Problem, plan: Plan) -> PlanAnswer:
        """Judge a plan and turn it into the action's result, in the planning thread.

        Args:
            problem: The problem.
            plan: What :meth:`solve` returned.
        """

    @abstractmethod
    def no_plan(self) -> Any:
        """Return the action's result without a plan: every figure is NaN or infinite."""


class _Job(Generic[Problem, Plan]):
    """A goal between its acceptance and its end.

    Attributes:
        handle: The goal.
        budget: Time it may take [s]; 0 for no limit.
        planned: Done when planning has ended: the answer.
        ended: Done when the goal has got its result.
        preempted: Whether a newer goal took over.
    """

    def __init__(
        self,
        handle: ServerGoalHandle,
        planner: GoalPlanner[Problem, Plan],
        node: Node,
    ) -> None:
        """Start the clock of the time budget."""
        self.handle = handle
        self.planned = waking_future(node)
        self.ended = waking_future(node)
        self.preempted = False
        self._planner = planner
        self._cancel = threading.Event()
        self.budget = to_nanoseconds(handle.request.time_budget) / NANOSECONDS
        self._stop = StopCondition(self.budget or math.inf, self._unwanted)
        self._thread: threading.Thread | None = None

    def start(self, problem: Problem) -> None:
        """Begin planning."""
        self._thread = threading.Thread(target=self._run, args=(problem,), name="planning")
        self._thread.start()

    def cancel(self) -> None:
        """Make planning end within an iteration."""
        self._cancel.set()

    def preempt(self) -> None:
        """Make place for a newer goal."""
        self.preempted = True
        self.cancel()

    def join(self) -> None:
        """Wait until the planning thread has ended, if it was ever started."""
        if self._thread is not None:
            self._thread.join()

    def _unwanted(self) -> bool:
        return self._cancel.is_set() or self.handle.is_cancel_requested

    def _run(self, problem: Problem) -> None:
        try:
            plan = self._planner.solve(problem, self._stop, self.handle.publish_feedback)
            answer = self._planner.answer(problem, plan)
            answer.result()  # the action may lack the status
        except BaseException as error:  # whatever it is, the client gets an answer
            answer = explain(error, self._planner)
        self.planned.set_result(answer)


class Listeners:
    """Whether anybody still waits for what an action does: every action client hears feedback."""

    def __init__(self, node: Node, action: str) -> None:
        """Begin now.

        Args:
            node: The node that serves it.
            action: Its name.
        """
        self._node = node
        self._topic = f"{action}/_action/feedback"
        self.begin()

    def begin(self) -> None:
        """Be patient from now on: whoever sends a goal may not be discovered yet."""
        self._heard = time.monotonic()

    def gone(self) -> bool:
        """Tell whether nobody has listened for a while, with every look at it."""
        now = time.monotonic()
        if self._node.count_subscribers(self._topic) > 0:
            self._heard = now
        return now - self._heard > CLIENT_PATIENCE


class PlanningServer(Generic[Problem, Plan]):
    """Serve a planning action from a node.

    Attributes:
        rivals: Says so where another node serves the same action: both would take every goal.
    """

    def __init__(
        self, node: Node, action: Any, name: str, planner: GoalPlanner[Problem, Plan]
    ) -> None:
        """Offer the action, and report the node's health.

        Args:
            node: The node.
            action: Type of the action: its goal has a ``time_budget``, its result ``status``,
                ``status_name`` and ``remedy``, and a constant for every status of the planner.
            name: Name of the action.
            planner: What plans.
        """
        self._node = node
        self._planner = planner
        self._jobs: list[_Job[Problem, Plan]] = []
        self._listeners = Listeners(node, name)
        self._planned = 0
        self._refused = 0
        self._last_status = ""
        # Every action server publishes the status of its goals.
        self.rivals = SolePublisher(node, {f"{name}/_action/status": SECOND_SERVER})
        self._diagnostics = Diagnostics(node, self._health)
        self._timer = node.create_timer(CLIENT_CHECK_PERIOD, self._check_clients)
        self._server = ActionServer(
            node,
            action,
            name,
            self._execute,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
            result_timeout=RESULT_TIMEOUT,
            **ACTION_SERVICES,
        )

    def close(self) -> None:
        """Stop planning, then end the server."""
        for job in self._jobs:
            job.cancel()
        for job in self._jobs:
            job.join()
        self._server.destroy()

    async def _execute(self, handle: ServerGoalHandle) -> Any:
        """Plan one goal, once the goal before it has made place."""
        job = _Job(handle, self._planner, self._node)
        try:
            Range(unit="s", low=0.0).check("time_budget", job.budget)
            problem = self._planner.read(handle.request)
        except Exception as error:
            self._refused += 1
            return self._end(job, explain(error, self._planner))
        before = self._jobs[-1] if self._jobs else None
        self._jobs.append(job)
        if before is not None:
            before.preempt()
            await before.ended
        self._listeners.begin()
        job.start(problem)
        answer = await job.planned
        job.join()
        self._jobs.remove(job)
        self._planned += 1
        try:
            return self._end(job, answer)
        finally:
            job.ended.set_result(None)

    def _end(self, job: _Job[Problem, Plan], answer: PlanAnswer) -> Any:
        """End a goal and return its result."""
        canceled = job.handle.is_cancel_requested
        if answer.status is PlanStatus.CANCELED and job.preempted and not canceled:
            status = PlanStatus.PREEMPTED
            answer = replace(answer, status=status, remedy=status.remedy)
        self._last_status = answer.status.name
        log = self._node.get_logger()
        if answer.usable:
            log.info(answer.status.name)
        else:
            log.warning(f"{answer.status.name}: {answer.remedy}")
        if canceled:
            job.handle.canceled()
        elif answer.usable:
            job.handle.succeed()
        else:
            job.handle.abort()
        return answer.result()

    def _check_clients(self) -> None:
        """Stop planning when the last client has gone."""
        if self._jobs and self._listeners.gone():
            self._node.get_logger().warning(
                "nobody waits for the plan any longer: planning stops", throttle_duration_sec=10.0
            )
            for job in self._jobs:
                job.cancel()

    def _health(self) -> Health:
        values = {
            "goals_planned": self._planned,
            "goals_refused": self._refused,
            "last_status": self._last_status,
        }
        told = "planning" if self._jobs else "waiting for a goal"
        return self.rivals.report(Health(Level.OK, told, values))


def durations(times: np.ndarray) -> list[Duration]:
    """Convert the times of a plan.

    Args:
        times: (N) [s].
    """
    return [to_duration(round(NANOSECONDS * time)) for time in times.tolist()]


def joint_motion(names: Sequence[str], times: np.ndarray, **rows: np.ndarray) -> JointTrajectory:
    """Return a motion as a message.

    Args:
        names: (n) names of the joints.
        times: (N) [s].
        rows: Field of a point -> (N, n) its values: positions [m, rad], velocities [m/s, rad/s]
            or effort [N, Nm].
    """
    points = [JointTrajectoryPoint(time_from_start=time) for time in durations(times)]
    for field, values in rows.items():
        for point, row in zip(points, values.tolist(), strict=True):
            setattr(point, field, row)
    return JointTrajectory(joint_names=list(names), points=points)


def contact_motion(
    link: str,
    other: str,
    times: np.ndarray,
    force: np.ndarray,
    normal_force: np.ndarray,
    distance: np.ndarray,
) -> ContactForceTrajectory:
    """Return what a contact does along a motion as a message.

    Args:
        link: What the force acts on.
        other: What it is from.
        times: (N) [s].
        force: (N, 3) in the world [N].
        normal_force: (N) [N].
        distance: (N) [m].
    """
    return ContactForceTrajectory(
        link=link,
        other=other,
        time_from_start=durations(times),
        force=[to_vector(row) for row in force],
        normal_force=normal_force.tolist(),
        distance=distance.tolist(),
    )


def explain(error: BaseException, planner: GoalPlanner[Any, Any]) -> PlanAnswer:
    """Turn whatever was raised into an answer; an unexpected error is printed as well.

    Args:
        error: What was raised while a goal was read, planned or turned into a message.
        planner: The planner.
    """
    if isinstance(error, ContactStackError):
        status = getattr(error, "plan_status", PlanStatus.INVALID_GOAL)
        return PlanAnswer(status, str(error), planner.no_plan())
    traceback.print_exception(error)
    reason = f"internal error, please report it: {type(error).__name__}: {error}"
    return PlanAnswer(PlanStatus.SOLVER_FAILED, reason, planner.no_plan())
