"""The node that serves ``plan_robust_contact``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from contact_stack_msgs.action import PlanRobustContact

from contact_core.base.planning import PlanStatus, StopCondition
from contact_ros.entry_point import run
from contact_ros.guarded_node import GuardedNode
from contact_ros.parameters import read
from contact_ros.planning_server import (
    GoalPlanner,
    GoalRefusedError,
    PlanAnswer,
    PlanningServer,
)
from robust_planner.node.goal import PlanServerConfig, RobustGoal, read_goal
from robust_planner.node.messages import (
    evaluation_feedback,
    no_plan,
    plan_feedback,
    plan_result,
    remedy_of,
    risk_result,
)
from robust_planner.planner import RobustAnswer, answer
from robust_planner.precompile import precompile
from robust_planner.result import StageProgress
from robust_planner.risk.risk_planner import RiskPlan, plan_example
from robust_planner.solver import SolverMissingError

NAME = "robust_planner"
ACTION = "plan_robust_contact"
RISK = "risk"
"""Stage of the feedback while plans are made from which a plan with a promise starts."""


class RobustGoalPlanner(GoalPlanner[RobustGoal, RobustAnswer | RiskPlan]):
    """Plan under contact uncertainty, the reference first, or with a promise."""

    def __init__(self, limits: PlanServerConfig) -> None:
        """Take the parameters.

        Args:
            limits: What a client may ask for.
        """
        self._limits = limits

    def read(self, goal: Any) -> RobustGoal:
        """Check a goal, see :meth:`GoalPlanner.read`."""
        return read_goal(goal, self._limits)

    def solve(
        self, problem: RobustGoal, stop: StopCondition, publish: Callable[[Any], None]
    ) -> RobustAnswer | RiskPlan:
        """Plan, see :meth:`GoalPlanner.solve`."""

        def show(phase: str, progress: StageProgress) -> None:
            if not progress.finished:
                publish(plan_feedback(phase, progress))

        if problem.risk > 0.0:
            return plan_example(
                problem.request.example, problem.risk, problem.request.config,
                start=problem.start, on_progress=partial(show, RISK), stop=stop,
            )  # fmt: skip
        try:
            planned = answer(problem.request, show, stop=stop)
        except SolverMissingError as error:
            raise GoalRefusedError(str(error), PlanStatus.SOLVER_MISSING) from error
        publish(evaluation_feedback(planned.result))
        return planned

    def answer(self, problem: RobustGoal, plan: RobustAnswer | RiskPlan) -> PlanAnswer:
        """Evaluate the plan and fill the result, see :meth:`GoalPlanner.answer`."""
        if isinstance(plan, RiskPlan):
            message = risk_result(problem.request.example.robust_problem.model, plan)
            return PlanAnswer(
                plan.status, plan.remedy, message, plan.status is PlanStatus.SUCCEEDED
            )
        status, remedy = plan.result.status, remedy_of(plan.result)
        if status is PlanStatus.RESIDUAL_TOO_LARGE:  # the action has no word of its own for it
            status = PlanStatus.NOT_CONVERGED
        message = plan_result(problem.request, plan, problem.samples, problem.seed)
        return PlanAnswer(status, remedy, message, plan.result.solved)

    def no_plan(self) -> Any:
        """Return a result without a plan, see :meth:`GoalPlanner.no_plan`."""
        return no_plan()


class RobustPlannerNode(GuardedNode):
    """Serve ``plan_robust_contact``."""

    def __init__(self) -> None:
        """Load the planner, then offer the action.

        Raises:
            ContactStackError: If a parameter is wrong.
        """
        super().__init__(NAME)
        planner = RobustGoalPlanner(read(self, PlanServerConfig))
        precompile()
        self._server = PlanningServer(self, PlanRobustContact, ACTION, planner)

    def close(self) -> None:
        """Stop planning."""
        self._server.close()


def main() -> int:
    """Run the planner.

    Returns:
        The exit code.
    """
    return run(RobustPlannerNode)
