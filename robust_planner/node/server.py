"""The action server ``plan_robust_contact``: one plan at a time, in a thread of its own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from contact_stack_msgs.action import PlanRobustContact
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future

from contact_ros.diagnostics import Diagnostics, Health, Level
from contact_ros.entry_point import run
from contact_ros.loop import ErrorRelay
from contact_ros.parameters import read
from robust_planner.errors import SolverMissingError
from robust_planner.monitor import Progress
from robust_planner.node.config import PlanServerConfig
from robust_planner.node.goal import GoalRefusedError, translate
from robust_planner.node.messages import (
    Result,
    evaluation_feedback,
    plan_feedback,
    plan_result,
    refusal,
)
from robust_planner.request import PlanRequest, answer

NAME = "robust_planner"
ACTION = "plan_robust_contact"


class _Running:
    """A goal between its acceptance and its end."""

    def __init__(self, handle: ServerGoalHandle, request: PlanRequest) -> None:
        self.handle = handle
        self.request = request
        self.ended = Future()
        self.preempted = threading.Event()

    def unwanted(self) -> bool:
        """Whether nobody waits for the plan any more."""
        return self.preempted.is_set() or self.handle.is_cancel_requested


class PlannerNode(Node):
    """Serve ``plan_robust_contact``; a new goal takes over from the running one."""

    def __init__(self) -> None:
        """Offer the action.

        Raises:
            ContactStackError: If a parameter is wrong.
        """
        super().__init__(NAME)
        self._config = read(self, PlanServerConfig)
        self._running: _Running | None = None
        self._last_status = ""
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="planner")
        self._relay = ErrorRelay(self)
        self._diagnostics = Diagnostics(self, self._health)
        self._server = ActionServer(
            self,
            PlanRobustContact,
            ACTION,
            self._execute,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )

    def close(self) -> None:
        """End the running plan, then the server."""
        if self._running is not None:
            self._running.preempted.set()
        self._worker.shutdown()
        self._server.destroy()

    async def _execute(self, handle: ServerGoalHandle) -> Any:
        try:
            running = _Running(handle, translate(handle.request, self._config))
        except GoalRefusedError as error:
            self.get_logger().warning(f"goal refused: {error}")
            handle.abort()
            return refusal(str(error), error.status)
        if self._running is not None:
            self._running.preempted.set()
        self._running = running
        # The goal that was taken over from ends at its next iteration; the worker is free then.
        self._worker.submit(self._plan, running)
        result = await running.ended
        self._end(running, result)
        return result

    def _end(self, running: _Running, result: Any) -> None:
        if self._running is running:
            self._running = None
        self._last_status = result.status_name
        if result.status == Result.SUCCEEDED:
            running.handle.succeed()
            return
        self.get_logger().warning(f"{result.status_name}: {result.remedy}")
        if running.handle.is_cancel_requested:
            running.handle.canceled()
        else:
            running.handle.abort()

    def _plan(self, running: _Running) -> None:
        """Plan, in the worker's thread."""
        try:
            running.ended.set_result(self._result(running))
        except Exception as error:
            # Without this the goal would wait for ever.
            self._relay(error)

    def _result(self, running: _Running) -> Any:
        handle, request = running.handle, running.request

        def show(phase: str, progress: Progress) -> None:
            if not progress.finished:
                handle.publish_feedback(plan_feedback(phase, progress))

        try:
            planned = answer(request, show, running.unwanted)
        except SolverMissingError as error:
            return refusal(str(error), Result.SOLVER_MISSING)
        handle.publish_feedback(evaluation_feedback(planned.result))
        goal = handle.request
        return plan_result(
            request, planned, goal.evaluation_samples, goal.seed, running.preempted.is_set()
        )

    def _health(self) -> Health:
        problem = self._running.request.example.name if self._running else ""
        message = f"planning '{problem}'" if problem else "waiting for a goal"
        return Health(Level.OK, message, {"last_status": self._last_status})


def main() -> int:
    """Run the action server.

    Returns:
        The exit code.
    """
    return run(PlannerNode)
