"""The node that serves ``plan_robust_contact``, and its plans as messages."""

from __future__ import annotations

import math
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
    PlanAnswer,
    PlanningServer,
    contact_motion,
    joint_motion,
)
from robust_planner.contact_model import ContactModel
from robust_planner.evaluation.execution import predicted_spread
from robust_planner.evaluation.violation import declared_risk, highest_force, violation_rate
from robust_planner.node.goal import PlanServerConfig, RobustGoal, read_goal
from robust_planner.planner import RobustAnswer, RobustRequest, answer
from robust_planner.precompile import precompile
from robust_planner.program import ProgramParameters
from robust_planner.result import RobustPlan, StageProgress
from robust_planner.risk.risk_planner import RiskPlan, plan_example
from robust_planner.trajectory import ContactTrajectory

NAME = "robust_planner"
ACTION = "plan_robust_contact"
RISK = "risk"
"""Stage of the feedback while plans are made from which a plan with a promise starts."""

Result = PlanRobustContact.Result
Feedback = PlanRobustContact.Feedback

EVALUATION = "evaluation"

NOT_ROBUST = (
    "neither expected_residual_weight nor risk bounds are given: the plan is the reference, the "
    "uncertainty only enters its evaluation"
)

UNKNOWN = dict.fromkeys(
    (
        "cost", "merit", "dynamics_residual", "complementarity_residual", "penetration",
        "force_distance", "predicted_spread", "violation_rate", "violation_rate_predicted",
        "risk_bound", "failure_rate", "failure_rate_low", "failure_rate_high",
        "nominal_failure_rate",
    ),
    math.nan,
)  # fmt: skip
"""Figures of a goal that was not planned."""


def remedy_of(plan: RobustPlan) -> str:
    """Say what a person can do about a plan, with the residual that is too large.

    Args:
        plan: The plan.

    Returns:
        The remedy, empty on success.
    """
    if plan.solved:
        return ""
    if plan.status is PlanStatus.INFEASIBLE:
        return plan.status.remedy
    worst = f"{plan.status.remedy} (largest residual {plan.residuals.worst:.3g})"
    if plan.status is PlanStatus.NOT_CONVERGED and plan.stages:
        worst += f"; the solver says {plan.stages[-1].message}"
    return worst


def plan_result(request: RobustRequest, answer: RobustAnswer, samples: int, seed: int) -> Any:
    """Evaluate a plan and build its result, but for the status.

    Args:
        request: What was asked for.
        answer: The plan.
        samples: Sampled worlds of the violation rate, 0 for none.
        seed: Of the samples.

    Returns:
        The message.
    """
    problem, plan, config = answer.problem, answer.result, request.config
    trajectory = plan.trajectory
    parameters = plan.stages[-1].parameters if plan.stages else ProgramParameters()
    sigma, bound = config.uncertainty.sigma, declared_risk(config)
    figures = {
        "cost": plan.cost,
        "merit": plan.merit,
        "dynamics_residual": plan.residuals.dynamics,
        "complementarity_residual": plan.residuals.complementarity,
        "penetration": plan.residuals.penetration,
        "relaxation": parameters.relaxation,
        "penalty_weight": parameters.penalty,
        "expected_residual_weight": parameters.residual_weight,
        "elapsed": plan.seconds,
    }
    if samples and (rate := violation_rate(trajectory, problem, config, samples, seed)):
        figures["violation_rate"] = rate.sampled
        figures["violation_rate_predicted"] = rate.predicted
    if bound is not None:
        figures["risk_bound"] = bound
    if request.example.test_friction and config.uncertainty.kind == "friction":
        figures["predicted_spread"] = predicted_spread(trajectory, problem, sigma)
    if math.isfinite(highest := highest_force(trajectory, problem)):
        figures["force_distance"] = highest
    result = _result(trajectory, problem.model, figures)
    result.warnings = [str(warning) for warning in plan.warnings]
    if sigma > 0.0 and not config.robust:
        result.warnings.append(NOT_ROBUST)
    return result


def risk_result(model: ContactModel, plan: RiskPlan) -> Any:
    """Build the result of a plan with a promise, but for the status.

    Args:
        model: The model that was planned for.
        plan: The plan; it is simulated, so that residuals do not apply.

    Returns:
        The message.
    """
    rate = plan.failure_rate
    figures = {
        "cost": plan.cost,
        "failure_rate": rate.rate,
        "failure_rate_low": rate.low,
        "failure_rate_high": rate.high,
        "nominal_failure_rate": plan.nominal_rate.rate,
        "elapsed": plan.seconds,
    }
    result = _result(plan.trajectory, model, figures)
    basis = f"the failure rate rests on{rate.basis.replace(',', '', 1)}"
    result.warnings = [basis, *(str(warning) for warning in plan.warnings)]
    return result


def _result(trajectory: ContactTrajectory, model: ContactModel, figures: dict[str, float]) -> Any:
    """Return the result of a motion; contact points tell the forces of what they touch."""
    times, distance = trajectory.time, trajectory.distance(model)
    force, normal = trajectory.contact_force(model), trajectory.normal_force
    return Result(
        trajectory=joint_motion(
            model.position_names,
            times,
            positions=trajectory.position,
            velocities=trajectory.velocity,
            effort=trajectory.control,
        ),
        contacts=[
            contact_motion(
                name.split("/")[0], other, times, force[:, i], normal[:, i], distance[:, i]
            )
            for i, (name, other) in enumerate(zip(model.contact_names, model.surfaces, strict=True))
        ],
        **(UNKNOWN | figures),
    )


def plan_feedback(phase: str, progress: StageProgress) -> Any:
    """Build the feedback of a solver's iteration.

    Args:
        phase: What is being solved.
        progress: Where the planner is.

    Returns:
        The message; the solvers do not report the cost, which is NaN.
    """
    return Feedback(
        stage=phase,
        iteration=progress.iterations,
        relaxation=progress.relaxation,
        penalty_weight=progress.penalty,
        expected_residual_weight=progress.residual_weight,
        cost=math.nan,
        residual=progress.residual,
        elapsed=progress.elapsed,
    )


def evaluation_feedback(plan: RobustPlan) -> Any:
    """Build the feedback at the beginning of the evaluation.

    Args:
        plan: What is evaluated.

    Returns:
        The message.
    """
    return Feedback(
        stage=EVALUATION, cost=plan.cost, residual=plan.residuals.worst, elapsed=plan.seconds
    )


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
        planned = answer(problem.request, show, stop=stop)
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
        return Result(**UNKNOWN)


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
