"""Request and outcome of ``contact-stack plan``, and planning without ROS."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from contact_core.base.config import YAML, read_mapping
from contact_core.base.errors import ConfigError, choices
from contact_core.base.planning import StopCondition
from contact_core.base.results import at_least
from contact_core.base.sweep import Sweep
from irs_planner import (
    IrsProblem,
    IterationReport,
    PlannerSettings,
    PlanTask,
    SearchReport,
    SearchSettings,
    Segment,
    example_names,
    load_example,
    run_task,
)
from irs_planner.examples import ExampleConfig, HelixConfig, build_dynamics
from irs_planner.result import remedy_of
from irs_planner.scene_problems import scene_problem
from irs_planner.scenes.spatial_scene import spatial_scene_names

read_count, read_seed = at_least(1, 2**32 - 1), at_least(0, 2**64 - 1)
"""Read what the actions' goals have room for."""

SHORTEST, LONGEST = 1e-9, 2.0**31 - 1.0
"""Time budgets that the actions' goals have room for [s]."""


def read_budget(text: str) -> float:
    """Read a time budget [s].

    Args:
        text: As it is typed, 0 for no limit.

    Raises:
        ArgumentTypeError: If it is none, or one that an action's goal has no room for.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value == 0.0 or SHORTEST <= value <= LONGEST):
        raise argparse.ArgumentTypeError(
            f"{text} s (valid: 0 for no limit, or {SHORTEST:g} to {LONGEST:.0f} s)"
        )
    return value


@dataclass(frozen=True)
class PlanRequest:
    """What to plan.

    Attributes:
        name: Name of an example or of a scene in 3-D, or path of a scene or of a problem.
        config: What it is, with the goal that was asked for.
        settings: How to plan; a search takes its seed and time budget alone.
        search: Whether to plan globally.
    """

    name: str
    config: ExampleConfig
    settings: PlannerSettings
    search: bool = False

    @property
    def is_scene(self) -> bool:
        """Whether a scene is what was given, not a problem."""
        return self.config.title == self.config.scene


@dataclass(frozen=True)
class PlanOutcome:
    """How it went.

    Attributes:
        status: Name of the action's status.
        remedy: What to do about it, empty on success.
        has_plan: Whether the plan may be used.
        goal_reached: Whether it ends within the tolerances, if there are any.
        states: (T + 1, n) best plan.
        inputs: (T, m) its inputs.
        costs: Cost of the first guess and of every iteration.
        best_cost: The lowest one.
        iterations: Number of iterations.
        seconds: Planning time [s].
        segments: Transits and contact of a global plan.
    """

    status: str
    remedy: str
    has_plan: bool
    goal_reached: bool
    states: np.ndarray
    inputs: np.ndarray
    costs: tuple[float, ...]
    best_cost: float
    iterations: int
    seconds: float
    segments: tuple[Segment, ...] = ()


OnIteration = Callable[[int, float, float], None]
"""Called with iteration, cost and best cost."""


Value = TypeVar("Value", float, float | None)
States = Sequence[float] | Mapping[str, Value]
"""Values of all states [m, rad], or of some by name; None for what does not matter."""


def read_entry(text: str) -> float | tuple[str, float]:
    """Read a value, or one with a name.

    Args:
        text: As it is typed, e.g. ``0.6`` or ``box/x=0.6``.

    Raises:
        ArgumentTypeError: If it is no number.
    """
    name, equals, value = text.rpartition("=")
    try:
        return (name, float(value)) if equals else float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{value}' is no number") from None


def read_goal_entry(text: str) -> float | tuple[str, float | None]:
    """Read likewise; what has a name may be ``any``: None."""
    return (text.removesuffix("=any"), None) if text.endswith("=any") else read_entry(text)


def states_of(option: str, entries: Sequence[float | tuple[str, Value]]) -> States[Value]:
    """Return the values of an option: all of them, or some by name.

    Args:
        option: The option, for the error.
        entries: What was read.

    Raises:
        ConfigError: If only some have a name, or a name is there twice.
    """
    named = [entry for entry in entries if isinstance(entry, tuple)]
    if len(named) not in (0, len(entries)):
        raise ConfigError(f"{option}: either all states, or some as NAME=X")
    twice = [name for name, count in Counter(name for name, _ in named).items() if count > 1]
    if twice:
        raise ConfigError(f"{option}: {', '.join(twice)} is given twice (valid: once)")
    return dict(named) if named else [entry for entry in entries if isinstance(entry, float)]


def config_of(
    name: str, goal: States[float | None] = (), start: States[float] = ()
) -> ExampleConfig:
    """Return what is to be planned.

    Args:
        name: Name of an example or of a scene in 3-D, or path of a scene or of a problem.
        goal: Of the states; empty for the problem's own.
        start: Of the states; empty for the problem's own.

    Raises:
        ConfigError: If there is no such example or file, or goal and start do not fit it.
        ModelError: If a scene cannot be planned with.
    """
    if name.endswith(YAML) and "goal_state" not in read_mapping(Path(name)):
        return scene_problem(str(Path(name).resolve()), by_name(goal), by_name(start))
    if not name.endswith(YAML) and name not in example_names():
        if name not in spatial_scene_names():
            known = dict.fromkeys((*example_names(), *spatial_scene_names()))
            raise ConfigError(f"unknown example or scene '{name}' ({choices(known, name)})")
        return scene_problem(name, by_name(goal), by_name(start))
    config = load_example(name)
    states = build_dynamics(config).state_names
    if start:
        config = replace(config, initial_state=_filled(start, config.initial_state, states))
    if goal:
        goal = _filled(goal, config.goal_state, states)
        config = replace(config, goal_state=goal, helix=HelixConfig())
    return config


def by_name(values: States[Value]) -> Mapping[str, Value]:
    """Return values that have names.

    Args:
        values: The values.

    Raises:
        ConfigError: If they have none.
    """
    if isinstance(values, Mapping):
        return values
    if values:
        raise ConfigError("states of a scene are given by name, e.g. box/x=0.6")
    return {}


def _filled(values: States[Value], own: Sequence[float], names: Sequence[str]) -> tuple[float, ...]:
    """Return values of all states, those without a name from the problem's own."""
    if not isinstance(values, Mapping):
        return tuple(values)
    filled = dict(zip(names, own, strict=False))
    for name, value in values.items():
        if name not in filled:
            raise ConfigError(f"unknown state '{name}' ({choices(filled, name)})")
        if value is None:
            raise ConfigError(f"{name}: what does not matter is said of scenes, not of problems")
        filled[name] = value
    return tuple(filled.values())


def plan_from_seeds(
    problem: IrsProblem, request: PlanRequest, starts: int, sweep: Sweep
) -> list[PlanOutcome]:
    """Plan the same from several seeds.

    Args:
        problem: What is to be planned.
        request: The request; its seed is the first one.
        starts: Number of seeds.
        sweep: Who plans.

    Returns:
        How each went, in the order of the seeds.
    """
    settings = request.settings
    seeds = range(settings.seed, settings.seed + starts)
    tasks = [(problem, replace(request, settings=replace(settings, seed=seed))) for seed in seeds]
    return sweep.run(plan_locally, tasks, f"{request.name}, seeds")


def plan_locally(
    problem: IrsProblem,
    request: PlanRequest,
    on_iteration: OnIteration = lambda iteration, cost, best_cost: None,
    cancelled: Callable[[], bool] | None = None,
) -> PlanOutcome:
    """Plan here and now.

    Args:
        problem: What is to be planned.
        request: The request.
        on_iteration: Called after every iteration.
        cancelled: Asked at every iteration; True ends planning with the best iterate.

    Returns:
        How it went.
    """

    def show(step: IterationReport | SearchReport) -> None:
        if isinstance(step, SearchReport):
            on_iteration(step.attempt, step.distance, step.distance)
        else:
            on_iteration(step.iteration, step.cost, step.best_cost)

    settings = request.settings
    budget = settings.time_budget
    search = SearchSettings.within(budget, settings.seed)
    task = PlanTask(problem, settings, search=search if request.search else None)
    done = run_task(task, show, StopCondition(budget or math.inf, cancelled))
    result = done.best
    return PlanOutcome(
        result.status.name,
        remedy_of(result, problem),
        result.goal_reached if request.search else result.usable,
        result.goal_reached,
        result.states,
        result.inputs,
        result.costs,
        result.cost,
        done.iterations,
        result.seconds,
        result.segments,
    )
