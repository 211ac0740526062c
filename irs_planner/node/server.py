"""The planner in the graph: goals in, plans out.

One plan is made at a time. A newer goal takes over from the one that is being planned,
which ends with the best plan so far; a malformed goal disturbs nobody.
"""

from __future__ import annotations

import time
from typing import Any

from contact_stack_msgs.action import PlanThroughContact
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from sensor_msgs.msg import JointState

from contact_core.errors import ContactStackError
from contact_ros.diagnostics import Diagnostics, Health, Level
from contact_ros.entry_point import run
from contact_ros.parameters import read
from contact_ros.qos import signal_subscription
from irs_planner.node.config import PlannerNodeConfig
from irs_planner.node.goal import read_goal
from irs_planner.node.job import Job
from irs_planner.node.messages import refusal, result_message
from irs_planner.node.outcome import Outcome, outcome_of
from irs_planner.precompile import precompile

NAME = "irs_planner"
ACTION = "plan_through_contact"

RESULT_TIMEOUT = 60
"""How long a client may fetch a result [s]."""

CLIENT_CHECK_PERIOD = 0.5
"""How often the server looks whether anybody still waits for the plan [s]."""

CLIENT_PATIENCE = 3.0
"""How long nobody may wait for the plan before planning stops [s]."""


class PlannerNode(Node):
    """Serve ``plan_through_contact``."""

    def __init__(self) -> None:
        """Load the planner, then offer the action.

        Raises:
            ContactStackError: If a parameter is wrong.
        """
        super().__init__(NAME)
        self._config = read(self, PlannerNodeConfig)
        precompile()
        self._jobs: list[Job] = []
        self._joints: dict[str, float] = {}
        self.create_subscription(
            JointState, "joint_states", self._hear_joints, signal_subscription(False)
        )
        self._client_seen = 0.0
        self._planned = 0
        self._refused = 0
        # The coroutine of a goal is resumed whenever the executor wakes up.
        self._wake = self.create_guard_condition(lambda: None)
        self._diagnostics = Diagnostics(self, self._health)
        self._timer = self.create_timer(CLIENT_CHECK_PERIOD, self._check_clients)
        self._server = ActionServer(
            self,
            PlanThroughContact,
            ACTION,
            self._execute,
            cancel_callback=self._cancel,
            result_timeout=RESULT_TIMEOUT,
        )

    def close(self) -> None:
        """Stop planning."""
        for job in self._jobs:
            job.cancel()
            job.join()
        self._server.destroy()

    async def _execute(self, handle: ServerGoalHandle) -> Any:
        """Plan one goal, once the goal before it has made place."""
        try:
            task = read_goal(handle.request, self._config, self._joints)
        except ContactStackError as error:
            self._refused += 1
            self.get_logger().warning(f"goal refused: {error}")
            handle.abort()
            return refusal(Outcome.INVALID_GOAL, str(error))
        job = Job(handle, task, self._wake.trigger)
        if handle.is_cancel_requested:
            job.cancel()
        before = self._jobs[-1] if self._jobs else None
        self._jobs.append(job)
        if before is not None:
            before.preempt()
            await before.ended
        self._client_seen = time.monotonic()
        job.start()
        planned = await job.planned
        job.join()
        self._jobs.remove(job)
        try:
            return self._end(job, planned)
        finally:
            job.ended.set_result(None)

    def _end(self, job: Job, planned: Any) -> Any:
        """End a goal and return its result."""
        self._planned += 1
        if isinstance(planned, str):
            job.handle.abort()
            return refusal(Outcome.SOLVER_FAILED, f"internal error, please report it: {planned}")
        outcome = outcome_of(planned.best, job.task.settings)
        if outcome is Outcome.CANCELED and job.preempted and not job.handle.is_cancel_requested:
            outcome = Outcome.PREEMPTED
        result = result_message(planned, job.task, outcome, self._config.force_margin)
        if job.handle.is_cancel_requested:
            job.handle.canceled()
        elif outcome.has_plan:
            job.handle.succeed()
        else:
            job.handle.abort()
        self.get_logger().info(
            f"{outcome.name} after {planned.iterations} iterations, {planned.seconds:.2f} s"
        )
        return result

    def _hear_joints(self, message: JointState) -> None:
        """Remember where the arm is, for goals that start from there."""
        self._joints.update(zip(message.name, message.position, strict=False))

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        for job in self._jobs:
            if job.handle == handle:
                job.cancel()
        return CancelResponse.ACCEPT

    def _check_clients(self) -> None:
        """Stop planning when the last client has gone."""
        if not self._jobs:
            return
        # Every action client listens to the feedback.
        if self.count_subscribers(f"{ACTION}/_action/feedback") > 0:
            self._client_seen = time.monotonic()
        elif time.monotonic() - self._client_seen > CLIENT_PATIENCE:
            self.get_logger().warning("nobody waits for the plan any longer: planning stops")
            for job in self._jobs:
                job.cancel()

    def _health(self) -> Health:
        values = {"goals_planned": self._planned, "goals_refused": self._refused}
        return Health(Level.OK, "planning" if self._jobs else "waiting for a goal", values)


def main() -> int:
    """Run the planner.

    Returns:
        The exit code.
    """
    return run(PlannerNode)
