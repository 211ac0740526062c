"""Goals of plan_robust_contact: checked, and turned into a request."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from contact_stack_msgs.msg import UncertainParameter

from contact_core.base.config import Range, parameter, with_values
from contact_core.base.errors import ConfigError, choices
from contact_ros.planning_goal import MAX_STEP, check_numbers, read_fields
from robust_planner.config import ContinuationConfig, PlannerConfig
from robust_planner.examples import Example
from robust_planner.planner import RobustRequest
from robust_planner.problem_file import find_problem
from robust_planner.risk.risk_planner import check_risk
from robust_planner.solver import SolverMissingError


@dataclass(frozen=True)
class PlanServerConfig:
    """What a client may ask for; the plan itself is described by its goal."""

    max_knots: int = parameter(
        401, "largest number of knots of a plan; memory and time grow with it", low=2
    )
    max_samples: int = parameter(
        1_000_000, "largest number of sampled worlds for the empirical violation rate", low=1
    )


KINDS = {UncertainParameter.FRICTION: "friction", UncertainParameter.DISTANCE: "distance"}
SLIP_SCALE = Range(unit="N s/m", low=1.0)
"""Valid kappa_v; the smallest is that of the paper."""

PLANNER = {
    "mode": "mode",
    "solver": "solver.name",
    "expected_residual_weight": "expected_residual.weight",
}
CHANCE = {"beta": "risk.beta", "theta": "risk.theta"}
"""Field of a goal -> parameter of the planner."""


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
    check_numbers(goal)
    Range(high=limits.max_samples).check("evaluation_samples", goal.evaluation_samples)
    _refuse_unsupported(goal)
    example = find_problem(goal.problem)
    for name, state in (("start", goal.initial_state), ("goal", goal.final_state)):
        example = _with_problems(example, **{name: tuple(state)})
    weights = {"state_weight": tuple(goal.state_weight), "control_weight": tuple(goal.input_weight)}
    example = _with_problems(example, **weights, friction=_friction(example, goal.uncertainty))
    example, time_step = _with_time(example, goal, limits)
    if goal.risk != 0.0:
        check_risk(
            example.robust_problem, example.uncertain, example.failure, goal.risk, example.search
        )
        request = RobustRequest(example, example.config)
        return RobustGoal(request, 0, goal.seed, goal.risk, _controls(example, goal.initial_guess))
    request = RobustRequest(example, _config(example.config, goal, time_step))
    return RobustGoal(request, goal.evaluation_samples, goal.seed)


def _refuse_unsupported(goal: Any) -> None:
    """Refuse what the planner cannot do, rather than plan something else."""
    guess = goal.initial_guess
    if (guess.points or guess.joint_names) and goal.risk == 0.0:
        raise ConfigError(
            "initial_guess: plans start from a straight line, leave it empty (a cold start)"
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
        raise SolverMissingError("solver 'snopt' is not installed: pip install drake, or use ipopt")


def _with_problems(example: Example, **changes: Any) -> Example:
    """Change the problem planned under certainty and the one under uncertainty alike.

    What is empty stays as it is.
    """
    changes = {name: value for name, value in changes.items() if value}
    return dataclasses.replace(
        example,
        problem=dataclasses.replace(example.problem, **changes),
        robust_problem=dataclasses.replace(example.robust_problem, **changes),
    )


def _friction(example: Example, uncertainty: Sequence[Any]) -> float:
    """Return the mean friction of what is uncertain, 0 for the problem's own."""
    if not uncertainty:
        return 0.0
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
    if KINDS[entry.kind] == "distance" and entry.mean != 0.0:
        raise ConfigError(
            f"uncertainty mean of the distance is {entry.mean!r} m (valid: 0 m): the mean "
            "surface is at height zero, shift the boundary states instead"
        )
    return float(entry.mean)


def _with_time(
    example: Example, goal: Any, limits: PlanServerConfig
) -> tuple[Example, dict[str, Any]]:
    """Return the example with its horizon, and the configuration of its time steps."""
    knots = goal.knots or example.problem.knots
    Range(low=2, high=limits.max_knots).check("knots", knots)
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
    example = _with_problems(example, knots=knots, duration=nominal * (knots - 1))
    return example, {f"time_step.{name}": value for name, value in steps.items()}


def _controls(example: Example, guess: Any) -> np.ndarray | None:
    """Return the inputs of a motion to start from."""
    problem = example.robust_problem
    names, known = tuple(guess.joint_names), problem.model.position_names
    if names not in ((), known):
        raise ConfigError(
            f"initial_guess.joint_names is {', '.join(names)} (valid: {', '.join(known)}; or none)"
        )
    if not guess.points:
        return None
    controls = [list(point.effort) for point in guess.points]
    if {len(control) for control in controls} != {problem.model.controls}:
        raise ConfigError(
            f"initial_guess has points with {sorted({len(control) for control in controls})} "
            f"efforts (valid: {problem.model.controls}, one per control)"
        )
    for k, control in enumerate(controls):
        for name, value in zip(problem.model.control_names, control, strict=True):
            Range().check(f"initial_guess.points[{k}].effort ({name})", value)
    return np.array(controls)


def _config(own: PlannerConfig, goal: Any, time_step: dict[str, Any]) -> PlannerConfig:
    """Return the settings of the problem with what the goal states."""
    chance = goal.beta != 0.0 or goal.theta != 0.0
    kinds = [(KINDS[entry.kind], entry.sigma) for entry in goal.uncertainty]
    kind, sigma = kinds[0] if kinds else ("none", 0.0)
    changes = {
        "uncertainty.kind": kind,
        "uncertainty.sigma": sigma,
        "expected_residual.enabled": goal.expected_residual_weight != 0.0,
        "risk.enabled": own.risk.enabled or chance,
        **time_step,
    }
    if goal.slip_scale != 0.0:
        if goal.mode == "paper" or kind != "friction" or not sigma > 0.0:
            raise ConfigError(
                f"slip_scale is {goal.slip_scale!r}, which has no effect in mode 'paper' and "
                "without uncertain friction (valid: 0)"
            )
        SLIP_SCALE.check("slip_scale", goal.slip_scale)
        changes["expected_residual.slip_scale"] = goal.slip_scale / sigma
    continuation = dataclasses.replace(
        own.continuation, **_continuation(own.continuation, goal.complementarity)
    )
    config = with_values(dataclasses.replace(own, continuation=continuation), changes)
    return read_fields(config, goal, PLANNER | CHANCE)


def _continuation(own: ContinuationConfig, complementarity: str) -> dict[str, Any]:
    """Return what a way to impose complementarity changes in the continuation."""
    relaxed = {"method": "relaxation", "robust_method": "relaxation"}
    penalty = {"method": "penalty", "robust_method": "penalty"}
    ways: dict[str, dict[str, Any]] = {
        "strict": relaxed | {"relaxations": (*own.relaxations, 0.0), "robust_relaxation": 0.0},
        "relaxed": relaxed,
        "penalty": penalty | {"robust_penalty": own.penalties[-1]},
    }
    if complementarity and complementarity not in ways:
        raise ConfigError(f"complementarity is '{complementarity}' ({choices(ways)})")
    return ways.get(complementarity, {})
