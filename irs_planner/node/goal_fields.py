"""Fields of a goal of plan_through_contact: each is checked, and named if it is wrong."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from contact_core.base.errors import ConfigError, choices
from irs_planner.dynamics import Dynamics
from irs_planner.problem import Bounds, IrsProblem, VarianceSchedule
from irs_planner.quasi_dynamic import QuasiDynamics

DECAYS = ("power", "geometric")


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


def is_given(value: Any) -> bool:
    """Return whether a field states something: a number but 0, or anything in a list."""
    return value != 0 if isinstance(value, int | float) else len(value) > 0


def read_coordinates(
    goal: Any, field: str, dynamics: QuasiDynamics, entries: tuple[str, ...] = ()
) -> dict[str, float]:
    """Read the coordinates of a state; outputs of the model follow from them.

    Args:
        goal: The goal's message.
        field: Name of the field.
        dynamics: The model.
        entries: What the field holds, if not a state.

    Returns:
        Name -> value [m, rad]; nothing if the field is empty.

    Raises:
        ConfigError: If size or a value is wrong.
    """
    entries = entries or state_entries(getattr(goal, field), dynamics)
    values = read_array(goal, field, entries)
    names = dynamics.state_names[: dynamics.coordinates]
    given = zip(entries, [] if values is None else values.tolist(), strict=False)
    return {name: value for name, value in given if name in names}


def input_names(dynamics: Dynamics) -> tuple[str, ...]:
    """Return the name of every input: the state it commands, or its number."""
    if dynamics.commanded_states:
        return tuple(dynamics.state_names[i] for i in dynamics.commanded_states)
    return tuple(f"input {i}" for i in range(dynamics.input_size))


def state_entries(values: Any, dynamics: Dynamics) -> tuple[str, ...]:
    """Return the names of a state's entries; outputs of a model in 3-D may be left out."""
    names = dynamics.state_names
    if isinstance(dynamics, QuasiDynamics) and len(values) == dynamics.coordinates:
        return names[: dynamics.coordinates]
    return names


def read_schedule(
    goal: Any, own: VarianceSchedule, states: tuple[str, ...], inputs: tuple[str, ...]
) -> VarianceSchedule:
    """Read how the samples spread.

    Args:
        goal: The goal's message.
        own: The problem's schedule.
        states: Name of every state.
        inputs: Name of every input.

    Raises:
        ConfigError: If something in it is wrong.
    """
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


def read_initial_inputs(goal: Any, problem: IrsProblem, inputs: tuple[str, ...]) -> np.ndarray:
    """Read the inputs (T, m) to start from.

    Args:
        goal: The goal's message.
        problem: The problem, whose inputs count if the goal has none.
        inputs: Name of every input.

    Raises:
        ConfigError: If size or a value is wrong.
    """
    entries = tuple(f"knot {t}, {name}" for t in range(problem.horizon) for name in inputs)
    size = len(goal.initial_inputs)
    if size not in (0, len(entries)):
        raise ConfigError(
            f"initial_inputs has {size} values, but needs {problem.horizon} knots x {len(inputs)}"
        )
    guess = read_array(goal, "initial_inputs", entries)
    return problem.initial_inputs if guess is None else guess.reshape(problem.horizon, -1)


def read_bounds(goal: Any, own: Bounds, states: tuple[str, ...], inputs: tuple[str, ...]) -> Bounds:
    """Read the bounds.

    Args:
        goal: The goal's message.
        own: The problem's bounds, which count where the goal has none.
        states: Name of every state.
        inputs: Name of every input.

    Raises:
        ConfigError: If sizes or values are wrong, or a lower bound is above its upper one.
    """
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


def read_tolerance(goal: Any, own: np.ndarray, states: tuple[str, ...]) -> np.ndarray:
    """Read what counts as reached (n); infinite where the goal says 0.

    Args:
        goal: The goal's message.
        own: (n) the problem's tolerance, which counts if the goal has none.
        states: Name of every state.

    Raises:
        ConfigError: If size or a value is wrong.
    """
    tolerance = read_array(goal, "goal_tolerance", states, low=0.0)
    return own if tolerance is None else np.where(tolerance > 0.0, tolerance, np.inf)


def read_budget(goal: Any) -> float:
    """Read the time budget [s]; 0 for no limit.

    Args:
        goal: The goal's message.

    Raises:
        ConfigError: If it is negative.
    """
    budget = float(goal.time_budget.sec + 1e-9 * goal.time_budget.nanosec)
    if budget < 0.0:
        raise ConfigError(f"time_budget is {budget:g} s (valid: >= 0, 0 for no limit)")
    return budget


def check_at_most(name: str, value: int, most: int) -> None:
    """Check a count.

    Args:
        name: Name of the field.
        value: Its value.
        most: Largest valid value.

    Raises:
        ConfigError: If it is larger.
    """
    if value > most:
        raise ConfigError(f"{name} is {value} (valid: at most {most})")
