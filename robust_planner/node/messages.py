"""Results and feedback of plan_robust_contact."""

from __future__ import annotations

import math
from typing import Any

from contact_stack_msgs.action import PlanRobustContact
from contact_stack_msgs.msg import ContactForceTrajectory
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from contact_core.base.planning import PlanStatus
from contact_ros.geometry import to_vector
from contact_ros.stamps import to_duration
from robust_planner.contact_model import ContactModel
from robust_planner.evaluation.execution import predicted_spread
from robust_planner.evaluation.violation import declared_risk, highest_force, violation_rate
from robust_planner.planner import RobustAnswer, RobustRequest
from robust_planner.program import ProgramParameters
from robust_planner.result import RobustPlan, StageProgress
from robust_planner.risk.risk_planner import RiskPlan
from robust_planner.trajectory import ContactTrajectory

Result = PlanRobustContact.Result
Feedback = PlanRobustContact.Feedback

EVALUATION = "evaluation"

NOT_ROBUST = (
    "neither expected_residual_weight nor risk bounds are given: the plan is the reference, the "
    "uncertainty only enters its evaluation"
)


def no_plan() -> Any:
    """Return the result of a goal that was not planned: every figure is NaN."""
    unknown = dict.fromkeys(
        (
            "cost", "merit", "dynamics_residual", "complementarity_residual", "penetration",
            "force_distance", "predicted_spread", "violation_rate",
            "violation_rate_predicted", "risk_bound", "failure_rate", "failure_rate_low",
            "failure_rate_high", "nominal_failure_rate",
        ),
        math.nan,
    )  # fmt: skip
    return Result(**unknown)


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
    rate = violation_rate(trajectory, problem, config, samples, seed) if samples else None
    sigma = config.uncertainty.sigma
    spread = None
    if request.example.test_friction and config.uncertainty.kind == "friction":
        spread = predicted_spread(trajectory, problem, sigma)
    warnings = [str(warning) for warning in plan.warnings]
    if sigma > 0.0 and not config.robust:
        warnings.append(NOT_ROBUST)
    highest = highest_force(trajectory, problem)
    return Result(
        warnings=warnings,
        trajectory=_motion(trajectory, problem.model),
        contacts=_contacts(trajectory, problem.model),
        cost=plan.cost,
        merit=plan.merit,
        dynamics_residual=plan.residuals.dynamics,
        complementarity_residual=plan.residuals.complementarity,
        penetration=plan.residuals.penetration,
        force_distance=highest if math.isfinite(highest) else math.nan,
        predicted_spread=_or_nan(spread),
        violation_rate=rate.sampled if rate else math.nan,
        violation_rate_predicted=rate.predicted if rate else math.nan,
        risk_bound=_or_nan(declared_risk(config)),
        failure_rate=math.nan,
        failure_rate_low=math.nan,
        failure_rate_high=math.nan,
        nominal_failure_rate=math.nan,
        relaxation=parameters.relaxation,
        penalty_weight=parameters.penalty,
        expected_residual_weight=parameters.residual_weight,
        elapsed=plan.seconds,
    )


def risk_result(model: ContactModel, plan: RiskPlan) -> Any:
    """Build the result of a plan with a promise, but for the status.

    Args:
        model: The model that was planned for.
        plan: The plan; it is simulated, so that residuals do not apply.

    Returns:
        The message.
    """
    result, rate = no_plan(), plan.failure_rate
    result.trajectory = _motion(plan.trajectory, model)
    result.contacts = _contacts(plan.trajectory, model)
    result.cost = plan.cost
    result.failure_rate = rate.rate
    result.failure_rate_low, result.failure_rate_high = rate.low, rate.high
    result.nominal_failure_rate = plan.nominal_rate.rate
    result.elapsed = plan.seconds
    return result


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


def _or_nan(value: float | None) -> float:
    """Messages have no null."""
    return math.nan if value is None else value


def _motion(trajectory: ContactTrajectory, model: ContactModel) -> Any:
    points = [
        JointTrajectoryPoint(
            positions=position.tolist(),
            velocities=velocity.tolist(),
            effort=control.tolist(),
            time_from_start=_duration(time),
        )
        for time, position, velocity, control in zip(
            trajectory.time,
            trajectory.position,
            trajectory.velocity,
            trajectory.control,
            strict=True,
        )
    ]
    return JointTrajectory(joint_names=list(model.position_names), points=points)


def _contacts(trajectory: ContactTrajectory, model: ContactModel) -> list[Any]:
    """Return the forces on each contact point of what it touches."""
    distance, force = trajectory.distance(model), trajectory.contact_force(model)
    times = [_duration(time) for time in trajectory.time]
    contacts = []
    for index, (name, other) in enumerate(zip(model.contact_names, model.surfaces, strict=True)):
        contacts.append(
            ContactForceTrajectory(
                link=name.split("/")[0],
                other=other,
                time_from_start=times,
                force=[to_vector(tuple(acting)) for acting in force[:, index].tolist()],
                normal_force=trajectory.normal_force[:, index].tolist(),
                distance=distance[:, index].tolist(),
            )
        )
    return contacts


def _duration(seconds: float) -> Any:
    return to_duration(round(1e9 * seconds))
