"""A problem for any scene: it starts as the scene says, and its goal is given by name.

Errors count in tolerances and inputs in largest steps, so that nothing has to be tuned to the
scene.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from contact_core.base.errors import ConfigError, choices
from irs_planner.examples import BoundsConfig, CostConfig, ExampleConfig, build_contact_model
from irs_planner.feasibility import KEPT
from irs_planner.problem import VarianceSchedule
from irs_planner.quasi_dynamic import PlanarQuasiDynamics, QuasiDynamics, SpatialQuasiDynamics
from irs_planner.scenes.spatial_scene import LEVEL, POSE_AXES, STEEP

TIME_STEP = 0.1
"""Of the model [s]."""
HORIZON, ITERATIONS, REFINEMENTS = 40, 10, 25
"""Of a plan without a search."""
FULL_TURN = 2.0 * math.pi
POSITION, ANGLE = 0.02, 0.1
"""What counts as there [m, rad]."""
LENGTH_STEP, ANGLE_STEP = 0.02, 0.03
"""Of a joint, at most [m, rad]."""
MAX_GOAL = 1e3
"""Larger goals are typing errors [m or rad]."""
SMALL = 0.01
"""Weight of an error on the way, and of an input, relative to one at the end."""

Goal = Mapping[str, float | None]


def scene_problem(
    scene: str, goal: Goal, start: Mapping[str, float] | None = None
) -> ExampleConfig:
    """Return what is to be planned, in the form of an example.

    States of objects that the goal does not name do not matter, but that in 3-D objects stay
    upright at their height all the way, unless the goal has them elsewhere. What is to roll or
    pitch comes to lie at whatever height that takes.

    Args:
        scene: Name of a scene, or path of a file: a planar scene, or one of the simulator.
        goal: State -> goal [m, rad], e.g. ``{"box/x": 0.6}``, or None if it does not matter.
        start: State -> where it begins [m, rad]; without it, where the scene has it. A planar
            scene has nothing anywhere.

    Returns:
        The problem.

    Raises:
        ConfigError: If there is no such scene or state, nothing has a goal, or a state has no
            start.
        ModelError: If the scene cannot be planned with.
    """
    dynamics = build_contact_model(scene, TIME_STEP)
    assert isinstance(dynamics, QuasiDynamics)
    names = dynamics.state_names[: dynamics.coordinates]
    objects = [names[i] for i in dynamics.object_states]
    _check_names("start", start or {}, names)
    _check_names("goal", goal, objects)
    begin = {**_scene_start(dynamics), **(start or {})}
    if isinstance(dynamics, SpatialQuasiDynamics):
        dynamics = dynamics.for_angles(*_start_and_goal(begin, goal, objects))
        begin = {**_scene_start(dynamics), **(start or {})}
    if missing := [name for name in names if name not in begin]:
        raise ConfigError(f"start: the scene does not say where {', '.join(missing)} begins")
    for i, low, high in zip(dynamics.commanded_states, *dynamics.position_limits, strict=True):
        if not low <= begin[names[i]] <= high:
            raise ConfigError(
                f"start: {names[i]} is {begin[names[i]]:g} (valid: {low:g} to {high:g}, its limits)"
            )
    if not any(value is not None for value in goal.values()):
        raise ConfigError(f"goal: nothing has one ({choices(objects)})")
    axes: tuple[str, ...] = ()
    if isinstance(dynamics, SpatialQuasiDynamics):
        axes = KEPT
        _check_level(dynamics, *_start_and_goal(begin, goal, objects))
    goal = {name: _nearest_turn(name, value, begin[name]) for name, value in goal.items()}
    wanted, kept = _wanted_and_kept(dynamics, begin, goal, axes)
    # What is seen beside the states has no goals, whatever it is called.
    tolerance = [usual_tolerance(name) if name in wanted else 0.0 for name in names]
    tolerance += [0.0] * (len(dynamics.state_names) - len(names))
    weight = np.array([1.0 / width**2 if width else 0.0 for width in tolerance])
    step = _steps(dynamics)
    return ExampleConfig(
        title=scene,
        scene=scene,
        time_step=TIME_STEP,
        horizon=HORIZON,
        iterations=ITERATIONS,
        refinements=REFINEMENTS,
        trust_radius=float(step.max()),
        initial_state=tuple(begin[name] for name in names),
        goal_state=tuple(wanted.get(name, begin[name]) for name in names),
        first_input=tuple(begin[names[i]] for i in dynamics.commanded_states),
        cost=CostConfig(
            state=tuple(SMALL * weight), final=tuple(weight), input=tuple(SMALL / step**2)
        ),
        bounds=replace(
            _bounds(dynamics, step),
            bounded_states=tuple(names.index(name) for name in kept),
            state_low=tuple(begin[name] - usual_tolerance(name) for name in kept),
            state_high=tuple(begin[name] + usual_tolerance(name) for name in kept),
        ),
        schedule=VarianceSchedule(input_std=tuple(step)),
        tolerance=tuple(tolerance),
    )


def _wanted_and_kept(
    dynamics: QuasiDynamics, begin: Mapping[str, float], goal: Goal, axes: Iterable[str]
) -> tuple[dict[str, float], list[str]]:
    """Return the goals of states, also of what stays upright, and the states that stay all the way.

    Args:
        dynamics: Of the scene.
        begin: State -> where it begins.
        goal: State -> goal, None if it does not matter.
        axes: Along and about which an object that is not to tip or roll stays where it is.
    """
    names = dynamics.state_names[: dynamics.coordinates]
    objects = [names[i] for i in dynamics.object_states]
    upright = [name for name in objects if _axis(name) in axes and not _rolls(dynamics, name)]
    ends = dict(zip(objects, zip(*_start_and_goal(begin, goal, objects), strict=True), strict=True))
    tipped = {
        _thing(name)
        for name in upright
        if _axis(name) != "z" and abs(ends[name][1] - ends[name][0]) > ANGLE
    }
    lies = [name for name in upright if _axis(name) != "z" or _thing(name) not in tipped]
    asked = {**{name: begin[name] for name in lies}, **goal}
    wanted = {name: value for name, value in asked.items() if value is not None}
    kept = [
        name
        for name, value in wanted.items()
        if name in upright
        and _thing(name) not in tipped
        and abs(value - begin[name]) <= usual_tolerance(name)
    ]
    return wanted, kept


def _check_names(what: str, values: Goal, known: Iterable[str]) -> None:
    for name, value in values.items():
        if name not in known:
            raise ConfigError(f"{what}: unknown state '{name}' ({choices(known, name)})")
        if value is not None and not abs(value) <= MAX_GOAL:
            raise ConfigError(
                f"{what}: {name} is {value:g} (valid: >= {-MAX_GOAL:g}, <= {MAX_GOAL:g})"
            )


def _start_and_goal(
    begin: Mapping[str, float], goal: Goal, objects: Sequence[str]
) -> tuple[list[float], list[float]]:
    """Return the states of objects; where they have no goal, that they stay."""
    given = {**begin, **{name: value for name, value in goal.items() if value is not None}}
    return [begin[name] for name in objects], [given[name] for name in objects]


def _check_level(
    dynamics: SpatialQuasiDynamics, start: Sequence[float], goal: Sequence[float]
) -> None:
    """Check that the angles of what pitches far can be told apart where it starts and ends."""
    for i, name in enumerate(dynamics.object_names):
        for what, state in (("start", start), ("goal", goal)):
            roll, pitch = state[6 * i + 3 : 6 * i + 5]
            if name in dynamics.scene.pitch_first and abs(math.cos(roll)) < LEVEL:
                raise ConfigError(
                    f"{what}: {name}/roll is {roll:.3g} rad and {name}/pitch {pitch:.3g}, and "
                    f"what pitches by more than {math.acos(STEEP):.3g} does not roll so (valid: "
                    f"a roll more than {math.asin(LEVEL):.2g} rad away from +-pi/2)"
                )


def _rolls(dynamics: QuasiDynamics, name: str) -> bool:
    """Return whether a state is an angle of a ball, which looks the same however it is turned."""
    assert isinstance(dynamics, SpatialQuasiDynamics)
    return _axis(name) in POSE_AXES[3:] and _thing(name) in dynamics.balls


def _nearest_turn(name: str, value: float | None, begin: float) -> float | None:
    """Return an angle as it is nearest to where it begins: full turns are none.

    Raises:
        ConfigError: If it is more than a full turn, as degrees are.
    """
    if value is None or _axis(name) not in (*POSE_AXES[3:], "angle"):
        return value
    if abs(value) > FULL_TURN:
        raise ConfigError(
            f"goal: {name} is {value:g} rad, more than a full turn (valid: -{FULL_TURN:.3f} to "
            f"{FULL_TURN:.3f}; {value:g} degrees are {math.radians(value):.4f})"
        )
    return begin + math.remainder(value - begin, FULL_TURN)


def _scene_start(dynamics: QuasiDynamics) -> dict[str, float]:
    """Return where a scene of the simulator has objects and joints; nothing of a planar one."""
    if not isinstance(dynamics, SpatialQuasiDynamics):
        return {}
    scene = dynamics.scene.scene
    poses = {name: scene.object_placement(name) for name in dynamics.object_names}
    joints = scene.initial_joints()
    state = dynamics.state_of(poses, np.array([joints[name] for name in dynamics.joint_names]))
    # Without the outputs: an object may be called tool.
    names = dynamics.state_names[: dynamics.coordinates]
    return dict(zip(names, state[: dynamics.coordinates].tolist(), strict=True))


def usual_tolerance(name: str) -> float:
    """Return what counts as there for a state of an object [m, rad].

    Args:
        name: The state, e.g. ``box/yaw``.
    """
    return POSITION if _axis(name) in ("x", "y", "z") else ANGLE


def _axis(name: str) -> str:
    return name.rpartition("/")[2]


def _thing(name: str) -> str:
    return name.rpartition("/")[0]


def _steps(dynamics: QuasiDynamics) -> np.ndarray:
    """Return the largest steps (n_a) of the joints [m, rad]."""
    if isinstance(dynamics, PlanarQuasiDynamics):
        slides = np.array([link.joint != "revolute" for link in dynamics.scene.links])
    else:
        assert isinstance(dynamics, SpatialQuasiDynamics)
        arrays = dynamics.arrays
        slides = np.zeros(dynamics.input_size, dtype=bool)
        slides[arrays.joint_column - 6 * arrays.objects] = arrays.joint_slides
    return np.where(slides, LENGTH_STEP, ANGLE_STEP)


def _bounds(dynamics: QuasiDynamics, step: np.ndarray) -> BoundsConfig:
    """Return the joints' limits, where they have some, and the largest steps."""
    low, high = dynamics.position_limits
    if not np.isfinite(dynamics.position_limits).all():
        return BoundsConfig(increment=tuple(step))
    return BoundsConfig(input_low=tuple(low), input_high=tuple(high), increment=tuple(step))
