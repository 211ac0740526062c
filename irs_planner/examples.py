"""The paper's examples by name, from config/irs/examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from contact_core.base.config import YAML, load, nested, parameter
from contact_core.base.errors import ConfigError, choices
from contact_core.base.files import share
from contact_core.base.registry import Registry
from irs_planner.dynamics import Dynamics
from irs_planner.problem import Bounds, IrsProblem, PlannerSettings, QuadraticCost, VarianceSchedule
from irs_planner.quasi_dynamic import (
    PlanarQuasiDynamics,
    QuasiDynamics,
    SpatialQuasiDynamics,
)
from irs_planner.scenes import (
    is_planar,
    load_scene,
    load_spatial_scene,
    scene_names,
    spatial_scene_names,
)
from irs_planner.smooth_dynamics import Bicycle, Pendulum, Quadrotor

MODELS: Registry[Callable[[float], Dynamics]] = Registry(
    "smooth system",
    {"pendulum": Pendulum, "bicycle": Bicycle, "quadrotor": Quadrotor},
)
ContactModel = Callable[[str, float], Dynamics]


def _quasi_dynamic(scene: str, time_step: float, quasi_static: bool = False) -> QuasiDynamics:
    if is_planar(scene):
        return PlanarQuasiDynamics(load_scene(scene), time_step, quasi_static=quasi_static)
    spatial = spatial_scene_names()
    if not scene.endswith(YAML) and scene not in spatial:
        known = choices(dict.fromkeys((*scene_names(), *spatial)), scene)
        raise ConfigError(f"unknown scene '{scene}' ({known}, or the path of a file)")
    return SpatialQuasiDynamics(load_spatial_scene(scene), time_step, quasi_static=quasi_static)


def _quasi_static(scene: str, time_step: float) -> QuasiDynamics:
    return _quasi_dynamic(scene, time_step, quasi_static=True)


CONTACT_MODELS: Registry[ContactModel] = Registry(
    "contact model",
    {"quasi_dynamic": _quasi_dynamic, "quasi_static": _quasi_static},
    group="contact_stack.contact_models",
)
"""Name -> what builds it from the name of a scene and h [s]."""


@dataclass(frozen=True, kw_only=True)
class CostConfig:
    """Diagonal weights, see :class:`QuadraticCost`."""

    state: tuple[float, ...] = parameter((), "Q, one weight per state", low=0.0)
    final: tuple[float, ...] = parameter((), "Qd, one weight per state", low=0.0)
    input: tuple[float, ...] = parameter((), "R, one weight per input", low=0.0)


@dataclass(frozen=True, kw_only=True)
class BoundsConfig:
    """Bounds, see :class:`Bounds`; empty lists mean none."""

    input_low: tuple[float, ...] = parameter((), "lowest inputs")
    input_high: tuple[float, ...] = parameter((), "highest inputs")
    increment: tuple[float, ...] = parameter((), "largest change of every command", low=0.0)
    around_actual: tuple[float, ...] = parameter(
        (), "largest distance of every command to the nominal actual position", low=0.0
    )
    bounded_states: tuple[int, ...] = parameter((), "indices of bounded states", low=0)
    state_low: tuple[float, ...] = parameter((), "lower bounds of the bounded states")
    state_high: tuple[float, ...] = parameter((), "upper bounds of the bounded states")


@dataclass(frozen=True, kw_only=True)
class HelixConfig:
    """A desired helix: (radius cos a, radius sin a, climb t), a = turn t, for step t."""

    radius: float = parameter(0.0, "radius of the helix; 0 for none", unit="m", low=0.0)
    turn: float = parameter(0.0, "angle per step", unit="rad")
    climb: float = parameter(0.0, "height per step", unit="m")


@dataclass(frozen=True, kw_only=True)
class ExampleConfig:
    """One example: the schema of a file in config/irs/examples."""

    title: str = parameter(description="what the example shows")
    scene: str = parameter("", "scene of a contact example, planar or in 3-D")
    dynamics: str = parameter("quasi_dynamic", "contact model of the scene")
    model: str = parameter("", "name of the smooth system", options=("", *MODELS))
    time_step: float = parameter(description="time step h", unit="s", above=0.0)
    horizon: int = parameter(description="number of steps T", low=1)
    iterations: int = parameter(description="number of iterations that the paper runs", low=1)
    refinements: int = parameter(
        0,
        "number of accept/reject iterations with a trust region afterwards, which the paper"
        " does not have",
        low=0,
    )
    trust_radius: float = parameter(
        0.1, "first radius of the trust region, in units of the inputs", above=0.0
    )
    initial_state: tuple[float, ...] = parameter(
        description="x_0; outputs of a model in 3-D follow from its coordinates"
    )
    goal_state: tuple[float, ...] = parameter(
        description="desired state at all times; outputs follow as those of the initial state"
    )
    helix: HelixConfig = nested(HelixConfig)
    first_input: tuple[float, ...] = parameter(description="first guess: where inputs begin")
    last_input: tuple[float, ...] = parameter(
        (), "first guess: where inputs end, linear in between; empty: constant"
    )
    cost: CostConfig = nested(CostConfig)
    reported_cost: CostConfig = nested(CostConfig)
    bounds: BoundsConfig = nested(BoundsConfig)
    schedule: VarianceSchedule = parameter(description="how the spread of the samples shrinks")
    allowed_penetration: float = parameter(
        0.01, "deepest overlap of the initial state that is accepted", unit="m", low=0.0
    )
    tolerance: tuple[float, ...] = parameter(
        (),
        "largest final error of every state, 0 where it does not matter; empty: no goal region",
        low=0.0,
    )


def example_names() -> tuple[str, ...]:
    """Return the names of all examples."""
    return tuple(sorted(path.stem for path in share("config", "irs", "examples").glob("*.yaml")))


def load_example(name: str | Path) -> ExampleConfig:
    """Read an example.

    Args:
        name: One of :func:`example_names`, or the path of a YAML file.

    Returns:
        Its configuration.

    Raises:
        ConfigError: If there is no such example, or its values are invalid.
    """
    path = Path(name)
    if path.suffix not in YAML:
        if str(name) not in example_names():
            raise ConfigError(f"unknown example '{name}' ({choices(example_names(), str(name))})")
        path = share("config", "irs", "examples", f"{name}.yaml")
    config = load(ExampleConfig, path)
    beside = path.parent / config.scene
    if config.scene.endswith(YAML) and beside.is_file():
        config = replace(config, scene=str(beside.resolve()))
    return config


def build_contact_model(scene: str, time_step: float, model: str = "quasi_dynamic") -> Dynamics:
    """Build a contact model of a scene.

    Args:
        scene: Name of a planar scene or of one in 3-D, or the path of a file: a planar scene, or
            one of the simulator.
        time_step: h [s].
        model: One of CONTACT_MODELS.

    Returns:
        The model.

    Raises:
        ConfigError: If there is no such scene or model.
        ModelError: If it cannot be planned with.
    """
    return CONTACT_MODELS[model](scene, time_step)


def build_dynamics(config: ExampleConfig) -> Dynamics:
    """Build the system of an example.

    Args:
        config: The example.

    Raises:
        ConfigError: If not exactly one of scene and model is given.
    """
    if bool(config.scene) == bool(config.model):
        raise ConfigError("an example needs either a scene or a model")
    if config.scene:
        return build_contact_model(config.scene, config.time_step, config.dynamics)
    return MODELS[config.model](config.time_step)


def build_problem(config: ExampleConfig, dynamics: Dynamics | None = None) -> IrsProblem:
    """Build the planning problem of an example.

    Args:
        config: The example.
        dynamics: Another system with the same states; None for the example's own.

    Returns:
        The problem.

    Raises:
        ConfigError: If sizes do not fit, or not exactly one of scene and model is given.
    """
    dynamics = dynamics or build_dynamics(config)
    start = _state(dynamics, "initial_state", config.initial_state)
    goal = _state(dynamics, "goal_state", config.goal_state)
    if isinstance(dynamics, SpatialQuasiDynamics):
        dynamics = dynamics.for_angles(start, goal)
        goal = dynamics.nearest_turns(goal, start)
    cost = _cost(config.cost)
    last = config.last_input or config.first_input
    progress = np.arange(1, config.horizon + 1)[:, np.newaxis] / config.horizon
    first_guess = np.array(config.first_input) + progress * np.subtract(last, config.first_input)
    tolerance = np.array(config.tolerance or np.zeros(dynamics.state_size))
    bounds = config.bounds
    return IrsProblem(
        dynamics,
        start,
        _reference(config, goal),
        first_guess,
        cost,
        Bounds(
            np.array(bounds.input_low),
            np.array(bounds.input_high),
            np.array(bounds.increment),
            np.array(bounds.around_actual),
            bounds.bounded_states,
            np.array(bounds.state_low),
            np.array(bounds.state_high),
        ),
        config.schedule,
        _cost(config.reported_cost) if config.reported_cost.state else cost,
        np.where(tolerance > 0.0, tolerance, np.inf),
        allowed_penetration=config.allowed_penetration,
    )


def example_settings(config: ExampleConfig) -> PlannerSettings:
    """Return the default settings, with the iterations of an example.

    Args:
        config: The example.
    """
    return PlannerSettings(
        iterations=config.iterations,
        refinements=config.refinements,
        trust_radius=config.trust_radius,
    )


def _cost(config: CostConfig) -> QuadraticCost:
    return QuadraticCost(np.array(config.state), np.array(config.final), np.array(config.input))


def _state(dynamics: Dynamics, field: str, values: tuple[float, ...]) -> np.ndarray:
    """Return a state; where a model has outputs, coordinates alone will do."""
    state, names = np.array(values), dynamics.state_names
    for name, value in zip(names, values, strict=False):
        if not np.isfinite(value):
            raise ConfigError(f"{field}: {name} is {value} (valid: finite)")
    if isinstance(dynamics, QuasiDynamics) and len(state) == dynamics.coordinates:
        return np.asarray(dynamics.complete(state[np.newaxis])[0])
    if len(state) != len(names):
        told = ", ".join(names)
        raise ConfigError(f"{field}: {len(state)} values for {len(names)} states: {told}")
    return state


def _reference(config: ExampleConfig, goal: np.ndarray) -> np.ndarray:
    """Return the (T + 1, n) desired states."""
    step = np.arange(config.horizon + 1)
    reference = np.tile(goal, (config.horizon + 1, 1))
    helix = config.helix
    if helix.radius > 0.0:
        reference[:, 0] += helix.radius * np.cos(helix.turn * step)
        reference[:, 1] += helix.radius * np.sin(helix.turn * step)
        reference[:, 2] += helix.climb * step
    return reference
