"""Goals of plan_through_contact: checked, and turned into a planning task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from contact_core.config import nested, parameter
from contact_core.errors import ConfigError, choices
from contact_ros.border import LARGEST_NUMBER, LONGEST_STEP, check_numbers
from irs_planner.batch import PlanTask
from irs_planner.dynamics import Dynamics
from irs_planner.examples import (
    CONTACT_MODELS,
    MODELS,
    CostConfig,
    ExampleConfig,
    HelixConfig,
    build_contact_model,
    build_problem,
    example_names,
    load_example,
)
from irs_planner.problem import Bounds, IrsProblem, PlannerSettings, VarianceSchedule
from irs_planner.quasi_dynamic import QuasiDynamics, SpatialQuasiDynamics
from irs_planner.scenes import scene_names, spatial_scene_names
from irs_planner.search import SearchSettings, check_searchable
from irs_planner.smoothing_modes import DEFAULT_MODE, SMOOTHING_MODES, mode_names


@dataclass(frozen=True)
class GoalLimitsConfig:
    """The largest goals that are accepted, so that one goal cannot exhaust the machine."""

    horizon: int = parameter(1000, "knots", low=1, high=100_000)
    iterations: int = parameter(
        1000, "iterations; also what a goal without a limit gets", low=1, high=1_000_000
    )
    samples: int = parameter(200_000, "samples of all knots together", low=1, high=100_000_000)
    starts: int = parameter(100, "independent plans of one goal", low=1, high=10_000)


@dataclass(frozen=True)
class PlannerNodeConfig:
    """The planner in the graph."""

    workers: int = parameter(1, "threads of a plan; they do not change it", low=1, high=64)
    force_margin: float = parameter(
        1.5, "force limit of a link relative to the largest force planned on it", low=1.0, high=10.0
    )
    limits: GoalLimitsConfig = nested(GoalLimitsConfig)


def read_array(
    goal: Any,
    field: str,
    entries: tuple[str, ...],
    *,
    low: float = -math.inf,
    infinite: bool = False,
) -> np.ndarray | None:
    """Read an array of a goal.

    Args:
        goal: The goal's message.
        field: Name of the field.
        entries: Name of every entry.
        low: Smallest valid value.
        infinite: Whether infinite values are valid.

    Returns:
        The values; None if the array is empty, which stands for the problem's own.

    Raises:
        ConfigError: If size or a value is wrong.
    """
    values = np.array(getattr(goal, field), dtype=float)
    if values.size == 0:
        return None
    if values.size != len(entries):
        raise ConfigError(
            f"{field} has {values.size} values, but needs {len(entries)}: {', '.join(entries)}"
        )
    wrong = np.isnan(values) | (values < low) | (np.isinf(values) & (not infinite))
    if wrong.any():
        i = int(np.argmax(wrong))
        bound = f", >= {low:g}" if math.isfinite(low) else ""
        valid = f"a number{bound}" if infinite else f"finite{bound}"
        raise ConfigError(f"{field}[{i}] ({entries[i]}) is {values[i]:g} (valid: {valid})")
    return values


def read_number(goal: Any, field: str, high: float = math.inf) -> float:
    """Read a number that must not be negative.

    Args:
        goal: The goal's message.
        field: Name of the field.
        high: Largest valid value.

    Returns:
        The number; 0 mostly stands for the problem's own.

    Raises:
        ConfigError: If it is negative, not finite or too large.
    """
    value = getattr(goal, field)
    if not (math.isfinite(value) and 0.0 <= value <= high):
        valid = f"0 .. {high:g}" if math.isfinite(high) else "finite, >= 0"
        raise ConfigError(f"{field} is {value:g} (valid: {valid})")
    return float(value)


SECOND_ORDER = "second_order"
DECAYS = ("power", "geometric")

SCENE_NEEDS = (
    "initial_state",
    "goal_state",
    "state_weight",
    "terminal_weight",
    "input_weight",
    "standard_deviation",
    "horizon",
    "time_step",
)
"""What a goal with a scene has to state; an example has values of its own."""


def read_goal(
    goal: Any, config: PlannerNodeConfig, joints: Mapping[str, float] | None = None
) -> PlanTask:
    """Check a goal and turn it into a task.

    Args:
        goal: A PlanThroughContact goal.
        config: The node's limits and threads.
        joints: Joint name -> measured position [rad], for goals that start from there.

    Returns:
        The task.

    Raises:
        ContactStackError: If anything in the goal is malformed or not supported; the
            message names the field, the value and what is valid.
    """
    check_numbers(goal, LARGEST_NUMBER)
    _check_name(goal)
    example = _with_times(_own_config(goal), goal, config.limits)
    dynamics = _dynamics(example, goal.dynamics, bool(goal.example))
    states, inputs = dynamics.state_names, _input_names(dynamics)
    start = _initial_state(goal, dynamics, joints or {})
    problem = build_problem(_with_values(example, goal, dynamics, start), dynamics)
    problem = replace(
        problem,
        initial_inputs=_initial_inputs(goal, problem, inputs),
        bounds=_bounds(goal, problem.bounds, states, inputs),
        tolerance=_tolerance(goal, problem.tolerance, states),
    )
    if goal.globally:
        return _search(goal, problem)
    settings = _settings(goal, example, problem, config)
    return PlanTask(problem, settings, _starts(goal, settings, config.limits))


def _check_name(goal: Any) -> None:
    """Refuse goals without one known name, and what needs a live arm."""
    if bool(goal.example) == bool(goal.scene):
        raise ConfigError(
            f"exactly one of example and scene must be set, got example '{goal.example}' and "
            f"scene '{goal.scene}'"
        )
    if goal.example and goal.example not in example_names():
        raise ConfigError(f"unknown example '{goal.example}' ({choices(example_names())})")
    if goal.scene and goal.scene not in (scenes := (*scene_names(), *spatial_scene_names())):
        raise ConfigError(f"unknown scene '{goal.scene}' ({choices(scenes)})")


def _own_config(goal: Any) -> ExampleConfig:
    """Return the values that hold where the goal states none."""
    if goal.example:
        return load_example(goal.example)
    missing = [name for name in SCENE_NEEDS if not _given(getattr(goal, name))]
    if missing:
        raise ConfigError(f"a goal with a scene needs {', '.join(missing)}")
    return ExampleConfig(
        title=goal.scene,
        scene=goal.scene,
        time_step=goal.time_step,
        horizon=goal.horizon,
        iterations=1,
        initial_state=(),
        goal_state=(),
        first_input=(),
        schedule=VarianceSchedule(input_std=()),
    )


def _given(value: Any) -> bool:
    return value != 0 if isinstance(value, int | float) else len(value) > 0


def _with_times(config: ExampleConfig, goal: Any, limits: GoalLimitsConfig) -> ExampleConfig:
    _check_at_most("horizon", goal.horizon, limits.horizon)
    time_step = read_number(goal, "time_step", high=LONGEST_STEP)
    return replace(
        config,
        horizon=goal.horizon or config.horizon,
        time_step=time_step or config.time_step,
    )


def _dynamics(config: ExampleConfig, model: str, own_values: bool) -> Dynamics:
    """Build the system with the model the goal asks for; examples have values of their own."""
    if config.model:
        if model:
            raise ConfigError(
                f"dynamics is '{model}', but {config.model} has dynamics of its own (valid: empty)"
            )
        return MODELS[config.model](config.time_step)
    if model not in ("", *CONTACT_MODELS):
        raise ConfigError(f"dynamics is '{model}' ({choices(CONTACT_MODELS)}, or empty)")
    model = model or config.dynamics
    if own_values and SECOND_ORDER in (model, config.dynamics) and model != config.dynamics:
        raise ConfigError(
            f"dynamics is '{model}', but the example's states are those of {config.dynamics}: "
            "give a scene instead"
        )
    return build_contact_model(config.scene, config.time_step, model)


def _input_names(dynamics: Dynamics) -> tuple[str, ...]:
    if dynamics.commanded_states:
        return tuple(dynamics.state_names[i] for i in dynamics.commanded_states)
    return tuple(f"input {i}" for i in range(dynamics.input_size))


def _with_values(
    config: ExampleConfig,
    goal: Any,
    dynamics: Dynamics,
    start: np.ndarray | None,
) -> ExampleConfig:
    """Replace states, weights and schedule by what the goal states."""
    states, inputs = dynamics.state_names, _input_names(dynamics)
    if start is not None:
        config = replace(config, initial_state=tuple(start))
        if dynamics.commanded_states:  # the first guess begins where the robots are
            config = replace(config, first_input=tuple(start[list(dynamics.commanded_states)]))
    target = read_array(goal, "goal_state", _entries(goal.goal_state, dynamics))
    if target is not None:
        config = replace(config, goal_state=tuple(target), helix=HelixConfig())
    weights = {
        "state": read_array(goal, "state_weight", states, low=0.0),
        "final": read_array(goal, "terminal_weight", states, low=0.0),
        "input": read_array(goal, "input_weight", inputs, low=0.0),
    }
    given = {name: tuple(value) for name, value in weights.items() if value is not None}
    if "input" in given and min(given["input"]) == 0.0:
        raise ConfigError(f"input_weight is {list(given['input'])} (valid: > 0)")
    if given:
        # Plans are then compared by the cost that was asked for.
        config = replace(config, cost=replace(config.cost, **given), reported_cost=CostConfig())
    return replace(config, schedule=_schedule(goal, config.schedule, states, inputs))


def _initial_state(goal: Any, dynamics: Dynamics, joints: Mapping[str, float]) -> np.ndarray | None:
    """Return the initial state of the goal, None for the problem's own."""
    if not goal.start_from_joint_states:
        return read_array(goal, "initial_state", _entries(goal.initial_state, dynamics))
    if not isinstance(dynamics, SpatialQuasiDynamics):
        raise ConfigError(
            "start_from_joint_states is true, but only scenes in 3-D have the arm's joints: give "
            "initial_state"
        )
    missing = [name for name in dynamics.joint_names if name not in joints]
    if missing:
        raise ConfigError(f"joint_states has no '{missing[0]}' ({choices(joints) or 'silent'})")
    names = tuple(dynamics.state_names[i] for i in dynamics.object_states)
    objects = read_array(goal, "initial_state", names)
    if objects is None:
        raise ConfigError(f"initial_state is empty, but needs the objects: {', '.join(names)}")
    return np.array([*objects, *(joints[name] for name in dynamics.joint_names)])


def _entries(values: Any, dynamics: Dynamics) -> tuple[str, ...]:
    """Return the names of a state's entries; outputs of a model in 3-D may be left out."""
    names = dynamics.state_names
    if isinstance(dynamics, QuasiDynamics) and len(values) == dynamics.coordinates:
        return names[: dynamics.coordinates]
    return names


def _schedule(
    goal: Any, own: VarianceSchedule, states: tuple[str, ...], inputs: tuple[str, ...]
) -> VarianceSchedule:
    std = read_array(goal, "standard_deviation", (*states, *inputs), low=0.0)
    if std is not None:
        state_std = tuple(std[: len(states)]) if std[: len(states)].any() else ()
        own = replace(own, state_std=state_std, input_std=tuple(std[len(states) :]))
    if goal.schedule not in ("", *DECAYS):
        raise ConfigError(f"schedule is '{goal.schedule}' ({choices(DECAYS)}, or empty)")
    rate, floor = read_number(goal, "schedule_rate"), goal.standard_deviation_floor
    if goal.schedule or rate > 0.0:
        own = replace(own, decay=goal.schedule or own.decay, rate=rate)
    if floor != 0.0:
        own = replace(own, floor=read_number(goal, "standard_deviation_floor", high=1.0))
    return own


def _initial_inputs(goal: Any, problem: IrsProblem, inputs: tuple[str, ...]) -> np.ndarray:
    entries = tuple(f"knot {t}, {name}" for t in range(problem.horizon) for name in inputs)
    size = len(goal.initial_inputs)
    if size not in (0, len(entries)):
        raise ConfigError(
            f"initial_inputs has {size} values, but needs {problem.horizon} knots x {len(inputs)}"
        )
    guess = read_array(goal, "initial_inputs", entries)
    return problem.initial_inputs if guess is None else guess.reshape(problem.horizon, -1)


def _bounds(goal: Any, own: Bounds, states: tuple[str, ...], inputs: tuple[str, ...]) -> Bounds:
    input_low = read_array(goal, "input_lower", inputs)
    input_high = read_array(goal, "input_upper", inputs)
    increment = read_array(goal, "input_step_limit", inputs, low=0.0)
    bounds = replace(
        own,
        input_low=own.input_low if input_low is None else input_low,
        input_high=own.input_high if input_high is None else input_high,
        increment=own.increment if increment is None else increment,
    )
    if bounds.input_low.size and bounds.input_high.size:
        _check_order("input", bounds.input_low, bounds.input_high, inputs)
    low = read_array(goal, "state_lower", states, infinite=True)
    high = read_array(goal, "state_upper", states, infinite=True)
    if low is None and high is None:
        return bounds
    if low is None or high is None or (np.isinf(low) != np.isinf(high)).any():
        raise ConfigError(
            "state_lower and state_upper have to bound a state from both sides, or be infinite both"
        )
    _check_order("state", low, high, states)
    bounded = np.flatnonzero(np.isfinite(low))
    return replace(
        bounds,
        bounded_states=tuple(int(i) for i in bounded),
        state_low=low[bounded],
        state_high=high[bounded],
    )


def _check_order(what: str, low: np.ndarray, high: np.ndarray, entries: tuple[str, ...]) -> None:
    for name, lower, upper in zip(entries, low, high, strict=True):
        if lower > upper:
            raise ConfigError(f"{what}_lower of {name} is {lower:g}, above {what}_upper {upper:g}")


def _tolerance(goal: Any, own: np.ndarray, states: tuple[str, ...]) -> np.ndarray:
    tolerance = read_array(goal, "goal_tolerance", states, low=0.0)
    return own if tolerance is None else np.where(tolerance > 0.0, tolerance, np.inf)


def _settings(
    goal: Any, example: ExampleConfig, problem: IrsProblem, config: PlannerNodeConfig
) -> PlannerSettings:
    mode, modes = goal.mode or DEFAULT_MODE, mode_names(problem.dynamics)
    if mode not in modes:
        raise ConfigError(f"mode is '{mode}' ({choices(modes)})")
    if SMOOTHING_MODES[mode].sampled:
        most = config.limits.samples // problem.horizon
        if not 1 <= goal.samples <= most:
            raise ConfigError(f"samples is {goal.samples} (valid: 1 .. {most} with this horizon)")
    _check_at_most("iterations", goal.iterations, config.limits.iterations)
    return PlannerSettings(
        mode=mode,
        iterations=goal.iterations or config.limits.iterations,
        samples=max(goal.samples, 1),
        seed=goal.seed,
        workers=config.workers,
        time_budget=_budget(goal),
        refinements=example.refinements,
        trust_radius=example.trust_radius,
    )


def _search(goal: Any, problem: IrsProblem) -> PlanTask:
    """Return the task of a goal that is searched for."""
    settings = SearchSettings(seed=goal.seed, time_budget=_budget(goal))
    check_searchable(problem, settings)
    return PlanTask(problem, PlannerSettings(time_budget=settings.time_budget), search=settings)


def _budget(goal: Any) -> float:
    budget = float(goal.time_budget.sec + 1e-9 * goal.time_budget.nanosec)
    if budget < 0.0:
        raise ConfigError(f"time_budget is {budget:g} s (valid: >= 0, 0 for no limit)")
    return budget


def _starts(goal: Any, settings: PlannerSettings, limits: GoalLimitsConfig) -> int:
    _check_at_most("starts", goal.starts, limits.starts)
    sampled = mode_names(sampled=True)
    if goal.starts > 1 and settings.mode not in sampled:
        raise ConfigError(
            f"starts is {goal.starts}, but plans in mode {settings.mode} do not depend on the seed "
            f"(valid: 1, or mode {' or '.join(sampled)})"
        )
    return max(goal.starts, 1)


def _check_at_most(name: str, value: int, most: int) -> None:
    if value > most:
        raise ConfigError(f"{name} is {value} (valid: at most {most})")
