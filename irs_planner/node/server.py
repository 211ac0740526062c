"""The node that serves ``plan_through_contact``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from contact_stack_msgs.action import PlanThroughContact
from sensor_msgs.msg import JointState

from contact_core.base.planning import StopCondition
from contact_ros.entry_point import run
from contact_ros.guarded_node import GuardedNode
from contact_ros.parameters import read
from contact_ros.planning_server import GoalPlanner, PlanAnswer, PlanningServer
from contact_ros.qos import WAITING, signal_subscription
from contact_ros.validation import joint_positions
from irs_planner.batch import PlanTask, TaskResult, run_task
from irs_planner.diagnosis import remedy_of
from irs_planner.node.goal import PlannerNodeConfig, read_goal
from irs_planner.node.messages import feedback_message, result_message
from irs_planner.precompile import precompile

NAME = "irs_planner"
ACTION = "plan_through_contact"


class IrsGoalPlanner(GoalPlanner[PlanTask, TaskResult]):
    """Plan through contact by iterative randomised-smoothing LQR."""

    def __init__(
        self, config: PlannerNodeConfig, take: Callable[[], object] = lambda: None
    ) -> None:
        """Take the parameters.

        Args:
            config: Limits of the goals, threads and margin of the force limits.
            take: Lets messages in that wait for a goal.
        """
        self._config, self._take = config, take
        self._joints: dict[str, float] = {}

    def hear_joints(self, message: JointState) -> None:
        """Remember where the arm is, for goals that start from there.

        Args:
            message: Joint positions [rad].
        """
        if message.position:
            self._joints = joint_positions(message, self._joints)

    def read(self, goal: Any) -> PlanTask:
        """Check a goal, see :meth:`GoalPlanner.read`."""
        self._take()
        return read_goal(goal, self._config, self._joints)

    def solve(
        self, problem: PlanTask, stop: StopCondition, publish: Callable[[Any], None]
    ) -> TaskResult:
        """Plan from every start, see :meth:`GoalPlanner.solve`."""
        return run_task(
            problem, lambda report: publish(feedback_message(report, problem.problem)), stop
        )

    def answer(self, problem: PlanTask, plan: TaskResult) -> PlanAnswer:
        """Fill the result, see :meth:`GoalPlanner.answer`."""
        best = plan.best
        message = result_message(plan, problem.problem, self._config.force_margin)
        return PlanAnswer(best.status, remedy_of(best, problem.problem), message, best.usable)

    def no_plan(self) -> Any:
        """Return a result without a plan, see :meth:`GoalPlanner.no_plan`."""
        return PlanThroughContact.Result(best_cost=math.inf, goal_error=math.nan)


class IrsPlannerNode(GuardedNode):
    """Serve ``plan_through_contact``."""

    def __init__(self) -> None:
        """Load the planner, then offer the action.

        Raises:
            ContactStackError: If a parameter is wrong.
        """
        super().__init__(NAME)
        config = read(self, PlannerNodeConfig)
        planner = IrsGoalPlanner(config, lambda: self.take(self._waiting))
        precompile()
        # 400 messages a second would take a quarter of a processor, for one goal now and then.
        self._waiting = self.create_subscription(
            JointState,
            "joint_states",
            planner.hear_joints,
            signal_subscription(False, depth=WAITING),
        )
        self.leave_waiting(self._waiting)
        self._server = PlanningServer(self, PlanThroughContact, ACTION, planner)

    def close(self) -> None:
        """Stop planning."""
        self._server.close()


def main() -> int:
    """Run the planner.

    Returns:
        The exit code.
    """
    return run(IrsPlannerNode)
