"""Goals of plan_through_contact: checked, and turned into a planning task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from contact_core.base.config import Range, nested, parameter
from contact_core.base.errors import ConfigError, choices
from contact_ros.planning_goal import MAX_STEP, check_numbers, is_stated, read_array, read_fields
from contact_ros.stamps import NANOSECONDS, to_nanoseconds
from irs_planner.batch import PlanTask
from irs_planner.dynamics import Dynamics
from irs_planner.examples import (
    MODELS,
    BoundsConfig,
    CostConfig,
    ExampleConfig,
    HelixConfig,
    build_contact_model,
    build_problem,
    load_example,
)
from irs_planner.problem import IrsProblem, PlannerSettings, VarianceSchedule
from irs_planner.quasi_dynamic import QuasiDynamics, SpatialQuasiDynamics
from irs_planner.scene_problems import TIME_STEP, scene_problem
from irs_planner.search import SearchSettings, check_searchable
from irs_planner.smoothing import DEFAULT_MODE, mode_names

QUASI_DYNAMIC, SECOND_ORDER = "quasi_dynamic", "second_order"

MODEL_NEEDS = (
    "initial_state",
    "goal_state",
    "state_weight",
    "terminal_weight",
    "input_weight",
    "standard_deviation",
    "horizon",
    "time_step",
)
"""What a goal with a scene has to state where the contact model is not quasi-dynamic."""

TIMES = {"horizon": "horizon", "time_step": "time_step"}
STATE_WEIGHTS = {"state_weight": "cost.state", "terminal_weight": "cost.final"}
OF_STATES = STATE_WEIGHTS | {"goal_tolerance": "tolerance"}
OF_INPUTS = {
    "input_weight": "cost.input",
    "input_lower": "bounds.input_low",
    "input_upper": "bounds.input_high",
    "input_step_limit": "bounds.increment",
}
SCHEDULE = {
    "schedule": "schedule.decay",
    "schedule_rate": "schedule.rate",
    "standard_deviation_floor": "schedule.floor",
}
SETTINGS = {name: name for name in ("mode", "iterations", "samples", "seed")}
"""Field of a goal -> parameter of the example or, here, of the planner."""

POSITIVE, NOT_NEGATIVE = Range(low=0.0, open_low=True), Range(low=0.0)


@dataclass(frozen=True)
class GoalLimitsConfig:
    """The largest goals that are accepted, so that one goal cannot exhaust the machine."""

    horizon: int = parameter(1000, "largest number of steps of a goal", low=1, high=100_000)
    iterations: int = parameter(
        1000,
        "largest number of iterations, which a goal without a limit gets",
        low=1,
        high=1_000_000,
    )
    samples: int = parameter(
        200_000, "largest number of samples of all knots together", low=1, high=100_000_000
    )
    starts: int = parameter(
        100, "largest number of independent plans of one goal", low=1, high=10_000
    )


@dataclass(frozen=True)
class PlannerNodeConfig:
    """The planner in the graph."""

    workers: int = parameter(
        1, "threads of a plan; their number does not change it", low=1, high=64
    )
    force_margin: float = parameter(
        1.5, "force limit of a link relative to the largest force planned on it", low=1.0, high=10.0
    )
    limits: GoalLimitsConfig = nested(GoalLimitsConfig)


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
    check_numbers(goal)
    limits = {
        "horizon": Range(low=1, high=config.limits.horizon),
        "time_step": Range(unit="s", low=0.0, open_low=True, high=MAX_STEP),
    }
    example = read_fields(_own_config(goal), goal, TIMES, valid=limits)
    dynamics = _dynamics(example, goal.dynamics, bool(goal.example))
    start = _initial_state(goal, dynamics, joints or {})
    problem = build_problem(_with_values(example, goal, dynamics, start), dynamics)
    problem = _with_initial_inputs(problem, goal)
    if goal.globally:
        search = SearchSettings.within(to_nanoseconds(goal.time_budget) / NANOSECONDS, goal.seed)
        check_searchable(problem, search)
        return PlanTask(problem, PlannerSettings(), search=search)
    return _local_task(problem, goal, example, config)


def _own_config(goal: Any) -> ExampleConfig:
    """Return the values that hold where the goal states none."""
    if bool(goal.example) == bool(goal.scene):
        raise ConfigError(
            f"exactly one of example and scene must be set, got example '{goal.example}' and "
            f"scene '{goal.scene}'"
        )
    if goal.example:
        return load_example(goal.example)
    dynamics = build_contact_model(goal.scene, TIME_STEP, goal.dynamics or QUASI_DYNAMIC)
    if not isinstance(dynamics, QuasiDynamics):
        return _bare_config(goal)
    names = dynamics.state_names[: dynamics.coordinates]
    objects = [names[i] for i in dynamics.object_states]

    def given(field: str, entries: Sequence[str]) -> dict[str, float]:
        values = read_array(goal, field, entries)
        return {n: v for n, v in zip(entries[: len(names)], values, strict=False) if n in names}

    arm_is_measured = goal.start_from_joint_states
    held = objects if arm_is_measured else _entries(goal, "initial_state", dynamics)
    start = given("initial_state", held)
    target = given("goal_state", _entries(goal, "goal_state", dynamics))
    tolerance = given("goal_tolerance", dynamics.state_names)
    wanted = {n: target[n] if tolerance.get(n, 1.0) else None for n in objects if n in target}
    return scene_problem(goal.scene, wanted, start)


def _bare_config(goal: Any) -> ExampleConfig:
    """Return a configuration without values, for a goal that states them all."""
    missing = [name for name in MODEL_NEEDS if not is_stated(goal, name)]
    if missing:
        raise ConfigError(
            f"a goal with a scene and dynamics '{goal.dynamics}' needs {', '.join(missing)}"
        )
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


def _dynamics(config: ExampleConfig, model: str, own_values: bool) -> Dynamics:
    """Build the system with the model the goal asks for; examples have values of their own."""
    if config.model:
        if model:
            raise ConfigError(
                f"dynamics is '{model}', but {config.model} has dynamics of its own (valid: empty)"
            )
        return MODELS[config.model](config.time_step)
    model = model or config.dynamics
    if own_values and SECOND_ORDER in (model, config.dynamics) and model != config.dynamics:
        raise ConfigError(
            f"dynamics is '{model}', but the example's states are those of {config.dynamics}: "
            "give a scene instead"
        )
    return build_contact_model(config.scene, config.time_step, model)


def _entries(goal: Any, field: str, dynamics: Dynamics) -> tuple[str, ...]:
    """Return the names of a state's entries; outputs of a model in 3-D may be left out."""
    if isinstance(dynamics, QuasiDynamics) and len(getattr(goal, field)) == dynamics.coordinates:
        return dynamics.state_names[: dynamics.coordinates]
    return dynamics.state_names


def _with_values(
    config: ExampleConfig, goal: Any, dynamics: Dynamics, start: tuple[float, ...]
) -> ExampleConfig:
    """Replace states, weights, bounds and schedule by what the goal states."""
    states, inputs = dynamics.state_names, dynamics.input_names
    if start:
        config = replace(config, initial_state=start)
        if dynamics.commanded_states:  # the first guess begins where the robots are
            config = replace(config, first_input=tuple(start[i] for i in dynamics.commanded_states))
    if target := read_array(goal, "goal_state", _entries(goal, "goal_state", dynamics)):
        config = replace(config, goal_state=target, helix=HelixConfig())
    config = read_fields(config, goal, OF_STATES, states)
    config = read_fields(config, goal, OF_INPUTS, inputs, valid={"input_weight": POSITIVE})
    if any(is_stated(goal, field) for field in (*STATE_WEIGHTS, "input_weight")):
        # Plans are then compared by the cost that was asked for.
        config = replace(config, reported_cost=CostConfig())
    config = read_fields(config, goal, SCHEDULE, always=("schedule_rate",) if goal.schedule else ())
    if std := read_array(goal, "standard_deviation", (*states, *inputs), NOT_NEGATIVE):
        of_states, of_inputs = std[: len(states)], std[len(states) :]
        state_std = of_states if any(of_states) else ()
        schedule = replace(config.schedule, state_std=state_std, input_std=of_inputs)
        config = replace(config, schedule=schedule)
    bounds = config.bounds
    if bounds.input_low and bounds.input_high:
        _check_order("input", bounds.input_low, bounds.input_high, inputs)
    return replace(config, bounds=_with_state_bounds(bounds, goal, states))


def _with_state_bounds(own: BoundsConfig, goal: Any, states: Sequence[str]) -> BoundsConfig:
    low, high = (read_array(goal, f"state_{end}", states, None) for end in ("lower", "upper"))
    if not (low or high):
        return own
    if not (low and high) or (np.isinf(low) != np.isinf(high)).any():
        raise ConfigError(
            "state_lower and state_upper have to bound a state from both sides, or be infinite both"
        )
    _check_order("state", low, high, states)
    bounded = tuple(np.flatnonzero(np.isfinite(low)).tolist())
    return replace(
        own,
        bounded_states=bounded,
        state_low=tuple(low[i] for i in bounded),
        state_high=tuple(high[i] for i in bounded),
    )


def _check_order(
    what: str, low: Sequence[float], high: Sequence[float], entries: Sequence[str]
) -> None:
    for name, lower, upper in zip(entries, low, high, strict=True):
        if not lower <= upper:
            raise ConfigError(
                f"{what}_lower of {name} is {lower:g} and {what}_upper {upper:g} (valid: numbers, "
                "the lower not above the upper)"
            )


def _initial_state(goal: Any, dynamics: Dynamics, joints: Mapping[str, float]) -> tuple[float, ...]:
    """Return the initial state of the goal; empty for the problem's own."""
    if not goal.start_from_joint_states:
        return read_array(goal, "initial_state", _entries(goal, "initial_state", dynamics))
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
    if not objects:
        raise ConfigError(f"initial_state is empty, but needs the objects: {', '.join(names)}")
    return (*objects, *(joints[name] for name in dynamics.joint_names))


def _with_initial_inputs(problem: IrsProblem, goal: Any) -> IrsProblem:
    """Replace the inputs (T, m) to start from by those of the goal, if it has some."""
    names, shape = problem.dynamics.input_names, problem.initial_inputs.shape
    if len(goal.initial_inputs) not in (0, problem.initial_inputs.size):
        raise ConfigError(
            f"initial_inputs has {len(goal.initial_inputs)} values, but needs {shape[0]} knots x "
            f"{shape[1]}"
        )
    entries = [f"knot {t}, {name}" for t in range(problem.horizon) for name in names]
    guess = read_array(goal, "initial_inputs", entries)
    return replace(problem, initial_inputs=np.reshape(guess, shape)) if guess else problem


def _local_task(
    problem: IrsProblem, goal: Any, example: ExampleConfig, config: PlannerNodeConfig
) -> PlanTask:
    """Return the task of a goal that is planned for from its first guess."""
    limits, sampled = config.limits, mode_names(sampled=True)
    mode = goal.mode or DEFAULT_MODE
    Range(options=mode_names(problem.dynamics)).check("mode", mode)
    valid = {"iterations": Range(low=1, high=limits.iterations)}
    needed = ("samples",) if mode in sampled else ()
    for field in needed:
        valid[field] = Range(low=1, high=limits.samples // problem.horizon)
    own = PlannerSettings(
        iterations=limits.iterations,
        samples=1,
        workers=config.workers,
        refinements=example.refinements,
        trust_radius=example.trust_radius,
    )
    settings = read_fields(own, goal, SETTINGS, valid=valid, always=needed)
    Range(high=limits.starts).check("starts", goal.starts)
    if goal.starts > 1 and mode not in sampled:
        raise ConfigError(
            f"starts is {goal.starts}, but plans in mode {mode} do not depend on the seed "
            f"(valid: 1, or mode {' or '.join(sampled)})"
        )
    return PlanTask(problem, settings, max(goal.starts, 1))
