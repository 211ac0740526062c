"""Goals of plan_robust_contact: checked, and turned into a request."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from contact_stack_msgs.action import PlanRobustContact
from contact_stack_msgs.msg import UncertainParameter

from contact_core.base.config import from_mapping, parameter
from contact_core.base.errors import ConfigError, choices
from contact_core.base.planning import PlanStatus
from contact_ros.planning_server import GoalRefusedError
from contact_ros.stamps import to_nanoseconds
from contact_ros.validation import MAX_NUMBER, MAX_STEP, check_numbers
from robust_planner.config import PlannerConfig
from robust_planner.contact_model import ContactModel, PlanningProblemError
from robust_planner.examples import Example
from robust_planner.planner import RobustRequest
from robust_planner.problem import TOUCHING
from robust_planner.problem_file import find_problem
from robust_planner.risk.risk_planner import check_risk


@dataclass(frozen=True)
class PlanServerConfig:
    """What a client may ask for; the plan itself is described by its goal."""

    max_knots: int = parameter(
        401, "largest number of knots of a plan; memory and time grow with it", low=2
    )
    max_samples: int = parameter(
        1_000_000, "largest number of sampled worlds for the empirical violation rate", low=1
    )


Goal = PlanRobustContact.Goal

KINDS = {UncertainParameter.FRICTION: "friction", UncertainParameter.DISTANCE: "distance"}
MIN_SLIP_SCALE = 1.0
"""Smallest kappa_v [N s/m], that of the paper."""

COMPLEMENTARITY = ("strict", "relaxed", "penalty")


@dataclass(frozen=True)
class RobustGoal:
    """What a goal asks for.

    Attributes:
        request: What to plan.
        samples: Sampled worlds of the violation rate, 0 for none.
        seed: Of these samples.
        risk: Accepted probability of failure, 0 for no promise.
        start: Controls u (N, nu) to start from [N, Nm]; None for none.
    """

    request: RobustRequest
    samples: int
    seed: int
    risk: float = 0.0
    start: np.ndarray | None = None


def read_goal(goal: Any, limits: PlanServerConfig) -> RobustGoal:
    """Check a goal and turn it into a request.

    Args:
        goal: The goal; empty arrays and zeros mean the problem's own values.
        limits: What a client may ask for.

    Returns:
        The request, complete and checked.

    Raises:
        ContactStackError: If a value is malformed or out of range, or if the planner cannot
            do what is asked for.
    """
    check_numbers(goal, MAX_NUMBER)
    _refuse_unsupported(goal, limits)
    example = find_problem(goal.problem)
    example = _with_states(example, goal)
    example = _with_weights(example, goal)
    example = _with_friction(example, goal.uncertainty)
    example, time_step = _with_time(example, goal, limits)
    if goal.risk != 0.0:
        check_risk(
            example.robust_problem, example.uncertain, example.failure, goal.risk, example.search
        )
        request = RobustRequest(example, _with_budget(example.config, goal))
        return RobustGoal(request, 0, goal.seed, goal.risk, _controls(example, goal.initial_guess))
    request = RobustRequest(example, _config(example, goal, time_step))
    return RobustGoal(request, goal.evaluation_samples, goal.seed)


def _controls(example: Example, guess: Any) -> np.ndarray | None:
    """Return the inputs of a motion to start from."""
    if not guess.points:
        return None
    problem = example.robust_problem
    controls = [list(point.effort) for point in guess.points]
    if {len(control) for control in controls} != {problem.model.controls}:
        raise ConfigError(
            f"initial_guess has points with {sorted({len(control) for control in controls})} "
            f"efforts (valid: {problem.model.controls}, one per control)"
        )
    return np.array(controls)


def _with_budget(config: PlannerConfig, goal: Any) -> PlannerConfig:
    budget = 1e-9 * to_nanoseconds(goal.time_budget) or math.inf
    return dataclasses.replace(config, solver=dataclasses.replace(config.solver, budget=budget))


def _refuse_unsupported(goal: Any, limits: PlanServerConfig) -> None:
    """Refuse what the planner cannot do, rather than plan something else."""
    guess = goal.initial_guess
    if (guess.points or guess.joint_names) and goal.risk == 0.0:
        raise ConfigError(
            "initial_guess: plans start from a straight line, leave it empty (a cold start)"
        )
    if goal.evaluation_samples > limits.max_samples:
        raise ConfigError(
            f"evaluation_samples is {goal.evaluation_samples} (valid: <= {limits.max_samples})"
        )
    if to_nanoseconds(goal.time_budget) < 0:
        raise ConfigError(
            f"time_budget is {1e-9 * to_nanoseconds(goal.time_budget):g} s (valid: >= 0 s)"
        )
    if len(goal.uncertainty) > 1:
        raise ConfigError(
            f"uncertainty has {len(goal.uncertainty)} entries (valid: 0 or 1): friction and "
            "distance cannot be uncertain at the same time, and every contact is as uncertain"
        )
    asks = goal.expected_residual_weight != 0.0 or goal.beta != 0.0 or goal.theta != 0.0
    if goal.risk != 0.0 and (asks or goal.uncertainty or goal.complementarity or goal.mode):
        raise ConfigError(
            f"risk is {goal.risk!r}: the problem says what is uncertain and what fails, leave "
            "uncertainty, beta, theta, expected_residual_weight, mode and complementarity empty"
        )
    if goal.risk != 0.0 and (goal.time_step_min != goal.time_step_max):
        raise ConfigError("with a risk the time step is fixed: time_step_min = time_step_max")
    if asks and not goal.uncertainty:
        raise ConfigError("expected_residual_weight, beta and theta need an entry in uncertainty")
    if goal.solver == "snopt" and importlib.util.find_spec("pydrake") is None:
        raise GoalRefusedError(
            "solver 'snopt' is not installed: pip install drake, or use ipopt",
            PlanStatus.SOLVER_MISSING,
        )


def _with_problems(example: Example, **changes: Any) -> Example:
    """Change the problem planned under certainty and the one under uncertainty alike."""
    return dataclasses.replace(
        example,
        problem=dataclasses.replace(example.problem, **changes),
        robust_problem=dataclasses.replace(example.robust_problem, **changes),
    )


def _with_states(example: Example, goal: Any) -> Example:
    for name, values in (("start", goal.initial_state), ("goal", goal.final_state)):
        state = tuple(values)
        if not state:
            continue
        try:
            example = _with_problems(example, **{name: state})
        except PlanningProblemError as error:
            if _penetrates(example.problem.model, state):
                raise GoalRefusedError(str(error), PlanStatus.INITIAL_PENETRATION) from error
            raise
    return example


def _penetrates(model: ContactModel, state: Sequence[float]) -> bool:
    if len(state) != 2 * model.coordinates or not np.all(np.isfinite(state)):
        return False
    return bool(np.min(model.distance(np.array(state[: model.coordinates]))) < -TOUCHING)


def _with_weights(example: Example, goal: Any) -> Example:
    weights = {
        "state_weight": tuple(goal.state_weight),
        "control_weight": tuple(goal.input_weight),
    }
    return _with_problems(example, **{name: value for name, value in weights.items() if value})


def _with_friction(example: Example, uncertainty: Sequence[Any]) -> Example:
    """Take over the mean of what is uncertain."""
    if not uncertainty:
        return example
    (entry,) = uncertainty
    if entry.kind not in KINDS:
        raise ConfigError(
            f"uncertainty kind is {entry.kind} "
            f"({choices(f'{kind} ({name})' for kind, name in KINDS.items())})"
        )
    contacts = example.problem.model.contact_names
    if entry.contact and contacts != (entry.contact,):
        raise ConfigError(
            f"uncertainty contact is '{entry.contact}', but all contacts of "
            f"'{example.name}' ({', '.join(contacts)}) share one uncertainty: leave it empty"
        )
    if KINDS[entry.kind] == "distance":
        if entry.mean != 0.0:
            raise ConfigError(
                f"uncertainty mean of the distance is {entry.mean!r} m (valid: 0 m): the mean "
                "surface is at height zero, shift the boundary states instead"
            )
        return example
    return example if entry.mean == 0.0 else _with_problems(example, friction=entry.mean)


def _with_time(
    example: Example, goal: Any, limits: PlanServerConfig
) -> tuple[Example, dict[str, Any]]:
    """Return the example with its horizon, and the configuration of its time steps."""
    knots = goal.knots or example.problem.knots
    if not 2 <= knots <= limits.max_knots:
        raise ConfigError(f"knots is {knots} (valid: >= 2, <= {limits.max_knots})")
    low, high = goal.time_step_min, goal.time_step_max
    own = example.problem.duration / (knots - 1)
    if low == high == 0.0:
        return _with_problems(example, knots=knots), {}
    if not 0.0 < low <= high <= MAX_STEP:
        raise ConfigError(
            f"time_step_min is {low!r} s and time_step_max is {high!r} s "
            f"(valid: both 0, or 0 < time_step_min <= time_step_max <= {MAX_STEP:g} s)"
        )
    nominal = min(max(own, low), high)
    steps = {"free": low < high, "shortest": low / nominal, "longest": high / nominal}
    return _with_problems(example, knots=knots, duration=nominal * (knots - 1)), steps


def _config(example: Example, goal: Any, time_step: dict[str, Any]) -> PlannerConfig:
    values = dataclasses.asdict(example.config)
    values["mode"] = goal.mode or values["mode"]
    values["solver"]["name"] = goal.solver or values["solver"]["name"]
    values["time_step"].update(time_step)
    values["uncertainty"] = {}
    if goal.uncertainty:
        (entry,) = goal.uncertainty
        values["uncertainty"] = {"kind": KINDS[entry.kind], "sigma": entry.sigma}
    residual = values["expected_residual"]
    residual["enabled"] = goal.expected_residual_weight != 0.0
    if residual["enabled"]:
        residual["weight"] = goal.expected_residual_weight
    if goal.slip_scale != 0.0:
        residual["slip_scale"] = _slip_scale(goal)
    if goal.beta != 0.0 or goal.theta != 0.0:
        values["risk"] = {"enabled": True, "beta": goal.beta, "theta": goal.theta}
    values["continuation"].update(_continuation(example.config, goal.complementarity))
    return _with_budget(from_mapping(PlannerConfig, values), goal)


def _slip_scale(goal: Any) -> float:
    """Return the planner's slip scale, which is kappa_v per standard deviation."""
    sigmas = [entry.sigma for entry in goal.uncertainty if KINDS[entry.kind] == "friction"]
    if goal.mode == "paper" or not any(sigma > 0.0 for sigma in sigmas):
        raise ConfigError(
            f"slip_scale is {goal.slip_scale!r}, which has no effect in mode 'paper' and without "
            "uncertain friction (valid: 0)"
        )
    if not goal.slip_scale >= MIN_SLIP_SCALE:
        raise ConfigError(
            f"slip_scale is {goal.slip_scale!r} (valid: 0, or >= {MIN_SLIP_SCALE:g} N s/m)"
        )
    return float(goal.slip_scale / sigmas[0])


def _continuation(config: PlannerConfig, complementarity: str) -> dict[str, Any]:
    """Return what a way to impose complementarity changes in the continuation."""
    own = config.continuation
    if complementarity == "":
        return {}
    if complementarity == "relaxed":
        return {"method": "relaxation", "robust_method": "relaxation"}
    if complementarity == "strict":
        return {
            "method": "relaxation",
            "relaxations": (*own.relaxations, 0.0),
            "robust_method": "relaxation",
            "robust_relaxation": 0.0,
        }
    if complementarity == "penalty":
        return {
            "method": "penalty",
            "robust_method": "penalty",
            "robust_penalty": own.penalties[-1],
        }
    raise ConfigError(f"complementarity is '{complementarity}' ({choices(COMPLEMENTARITY)})")
