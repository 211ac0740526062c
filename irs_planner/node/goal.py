"""Goals of plan_through_contact: checked, and turned into a planning task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from contact_core.base.config import nested, parameter
from contact_core.base.errors import ConfigError, choices
from contact_ros.validation import MAX_NUMBER, MAX_STEP, check_numbers
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
    load_example,
)
from irs_planner.node.goal_fields import (
    check_at_most,
    input_names,
    is_given,
    read_array,
    read_bounds,
    read_budget,
    read_coordinates,
    read_initial_inputs,
    read_number,
    read_schedule,
    read_tolerance,
    state_entries,
)
from irs_planner.problem import IrsProblem, PlannerSettings, VarianceSchedule
from irs_planner.quasi_dynamic import QuasiDynamics, SpatialQuasiDynamics
from irs_planner.scene_problems import TIME_STEP, scene_problem
from irs_planner.search import SearchSettings, check_searchable
from irs_planner.smoothing_modes import DEFAULT_MODE, SMOOTHING_MODES, mode_names

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
    check_numbers(goal, MAX_NUMBER)
    _check_name(goal)
    example = _with_times(_own_config(goal), goal, config.limits)
    dynamics = _dynamics(example, goal.dynamics, bool(goal.example))
    states, inputs = dynamics.state_names, input_names(dynamics)
    start = _initial_state(goal, dynamics, joints or {})
    problem = build_problem(_with_values(example, goal, dynamics, start), dynamics)
    problem = replace(
        problem,
        initial_inputs=read_initial_inputs(goal, problem, inputs),
        bounds=read_bounds(goal, problem.bounds, states, inputs),
        tolerance=read_tolerance(goal, problem.tolerance, states),
    )
    if goal.globally:
        return _search(goal, problem)
    settings = _settings(goal, example, problem, config)
    return PlanTask(problem, settings, _starts(goal, settings, config.limits))


def _check_name(goal: Any) -> None:
    """Refuse goals that name no problem, or two."""
    if bool(goal.example) == bool(goal.scene):
        raise ConfigError(
            f"exactly one of example and scene must be set, got example '{goal.example}' and "
            f"scene '{goal.scene}'"
        )


def _own_config(goal: Any) -> ExampleConfig:
    """Return the values that hold where the goal states none."""
    if goal.example:
        return load_example(goal.example)
    dynamics = _contact_model(goal.scene, TIME_STEP, goal.dynamics or QUASI_DYNAMIC)
    if not isinstance(dynamics, QuasiDynamics):
        return _bare_config(goal)
    objects = tuple(dynamics.state_names[i] for i in dynamics.object_states)
    held = objects if goal.start_from_joint_states else ()
    start = read_coordinates(goal, "initial_state", dynamics, held)
    target = read_coordinates(goal, "goal_state", dynamics)
    tolerance = read_coordinates(goal, "goal_tolerance", dynamics, dynamics.state_names)
    wanted = {n: target[n] if tolerance.get(n, 1.0) else None for n in objects if n in target}
    return scene_problem(goal.scene, wanted, start)


def _bare_config(goal: Any) -> ExampleConfig:
    """Return a configuration without values, for a goal that states them all."""
    missing = [name for name in MODEL_NEEDS if not is_given(getattr(goal, name))]
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


def _with_times(config: ExampleConfig, goal: Any, limits: GoalLimitsConfig) -> ExampleConfig:
    check_at_most("horizon", goal.horizon, limits.horizon)
    time_step = read_number(goal, "time_step", high=MAX_STEP)
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
    model = model or config.dynamics
    if own_values and SECOND_ORDER in (model, config.dynamics) and model != config.dynamics:
        raise ConfigError(
            f"dynamics is '{model}', but the example's states are those of {config.dynamics}: "
            "give a scene instead"
        )
    return _contact_model(config.scene, config.time_step, model)


def _contact_model(scene: str, time_step: float, model: str) -> Dynamics:
    if model not in CONTACT_MODELS:
        raise ConfigError(f"dynamics is '{model}' ({choices(CONTACT_MODELS)}, or empty)")
    return build_contact_model(scene, time_step, model)


def _with_values(
    config: ExampleConfig,
    goal: Any,
    dynamics: Dynamics,
    start: np.ndarray | None,
) -> ExampleConfig:
    """Replace states, weights and schedule by what the goal states."""
    states, inputs = dynamics.state_names, input_names(dynamics)
    if start is not None:
        config = replace(config, initial_state=tuple(start))
        if dynamics.commanded_states:  # the first guess begins where the robots are
            config = replace(config, first_input=tuple(start[list(dynamics.commanded_states)]))
    target = read_array(goal, "goal_state", state_entries(goal.goal_state, dynamics))
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
    return replace(config, schedule=read_schedule(goal, config.schedule, states, inputs))


def _initial_state(goal: Any, dynamics: Dynamics, joints: Mapping[str, float]) -> np.ndarray | None:
    """Return the initial state of the goal, None for the problem's own."""
    if not goal.start_from_joint_states:
        return read_array(goal, "initial_state", state_entries(goal.initial_state, dynamics))
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
    check_at_most("iterations", goal.iterations, config.limits.iterations)
    return PlannerSettings(
        mode=mode,
        iterations=goal.iterations or config.limits.iterations,
        samples=max(goal.samples, 1),
        seed=goal.seed,
        workers=config.workers,
        time_budget=read_budget(goal),
        refinements=example.refinements,
        trust_radius=example.trust_radius,
    )


def _search(goal: Any, problem: IrsProblem) -> PlanTask:
    """Return the task of a goal that is searched for."""
    settings = SearchSettings(seed=goal.seed, time_budget=read_budget(goal))
    check_searchable(problem, settings)
    return PlanTask(problem, PlannerSettings(time_budget=settings.time_budget), search=settings)


def _starts(goal: Any, settings: PlannerSettings, limits: GoalLimitsConfig) -> int:
    check_at_most("starts", goal.starts, limits.starts)
    sampled = mode_names(sampled=True)
    if goal.starts > 1 and settings.mode not in sampled:
        raise ConfigError(
            f"starts is {goal.starts}, but plans in mode {settings.mode} do not depend on the seed "
            f"(valid: 1, or mode {' or '.join(sampled)})"
        )
    return max(goal.starts, 1)
