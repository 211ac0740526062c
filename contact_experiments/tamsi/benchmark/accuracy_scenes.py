"""The scenes of ``contact-stack bench accuracy``: short, so that two runs of them can be compared.

What touches is spheres on boxes, cylinders and spheres, where all simulators find the same
contacts. Between two samples the forces are constant, so that none misses how they change.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from contact_core.robot.surface import Surface
from contact_experiments.tamsi.benchmark.blocks import blocks
from contact_experiments.tamsi.benchmark.robots import arm_mug
from contact_experiments.tamsi.benchmark.scene import GRAVITY, BenchmarkScene, passive
from contact_experiments.tamsi.cases import ParallelGripper
from tamsi_sim.simulation.world import World

SAMPLES = 10
"""At which the positions are compared, evenly over a scene."""
PERIOD = 5e-3
"""How long a force that changes is constant [s]."""
WEIGHTLESS = (0.0, 0.0, 0.0)

LINK = """<link name="{name}"><inertial><origin xyz="{center}"/><mass value="{mass}"/>
  <inertia ixx="{i[0]}" iyy="{i[1]}" izz="{i[2]}" ixy="0" ixz="0" iyz="0"/></inertial>{shapes}
  </link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{name}"/>
  <origin xyz="{xyz}"/><axis xyz="{axis}"/>
  <limit lower="-100" upper="100" effort="1e6" velocity="1e3"/></joint>"""
SHAPE = '<collision><origin xyz="{}"/><geometry>{}</geometry></collision>'

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class AccuracyScene:
    """A scene, and what MuJoCo needs to be told of it.

    Attributes:
        make: Builds the scene from its name; its time step is that between two samples, or
            :data:`PERIOD` if a force changes.
        solref: Of MuJoCo's contacts, see its documentation: minus stiffness over effective mass
            [1/s^2] and minus damping over it [1/s], for what bounces; None for what makes its
            median depth ours.
    """

    make: Callable[[str], BenchmarkScene]
    solref: tuple[float, float] | None = None


def _text(values: Iterable[float]) -> str:
    return " ".join(map(repr, map(float, values)))


def _balls(radius: float, *centers: Triple) -> str:
    tag = f'<sphere radius="{radius}"/>'
    return "".join(SHAPE.format(_text(center), tag) for center in centers)


def _box(size: Triple, center: Triple = WEIGHTLESS) -> str:
    return SHAPE.format(_text(center), f'<box size="{_text(size)}"/>')


def _corners(x: float, y: float, z: float) -> list[Triple]:
    return [(a * x, b * y, c * z) for a, b, c in itertools.product((-1, 1), repeat=3)]


def _link(
    name: str, mass: float, inertia: float | Triple, shapes: str, center: Triple = WEIGHTLESS
) -> str:
    i = inertia if isinstance(inertia, tuple) else (inertia,) * 3
    return LINK.format(name=name, mass=mass, i=i, shapes=shapes, center=_text(center))


def _joint(name: str, kind: str, parent: str, axis: Triple, xyz: Triple = WEIGHTLESS) -> str:
    return JOINT.format(name=name, kind=kind, parent=parent, axis=_text(axis), xyz=_text(xyz))


def _robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


def _floor(world: World) -> World:
    return world.add("floor", _robot(f'<link name="f">{_box((20, 20, 1), (0, 0, -0.5))}</link>'))


def _scene(
    name: str,
    world: World,
    surface: Surface,
    duration: float,
    springs: Mapping[str, Triple] | None = None,
    forces: Mapping[str, float] | None = None,
) -> BenchmarkScene:
    """Return what a world is, without end stops, under constant forces.

    Args:
        name: Name of the scene.
        world: Its bodies.
        surface: Of all of them.
        duration: How long it takes [s].
        springs: Joint -> stiffness, damping, and where it pulls to [rad or m].
        forces: Joint -> force [Nm or N].
    """
    engine = world.build(duration / SAMPLES)
    joints = engine.built.joints
    arrays = engine.built.arrays.joints
    arrays.lower[:], arrays.upper[:] = -np.inf, np.inf
    stiffness, damping, force = np.zeros((3, len(engine.v)))
    for joint, (k, d, target) in (springs or {}).items():
        dof = joints[joint]
        stiffness[dof], damping[dof], force[dof] = k, d, k * target
    for joint, value in (forces or {}).items():
        force[joints[joint]] += value
    scene = passive(name, engine, surface, np.tile(force, (SAMPLES, 1)))
    return replace(scene, stiffness=stiffness, damping=damping)


def _tumbling(name: str) -> BenchmarkScene:
    body = _robot(_link("b", 1.0, (1e-3, 2e-3, 3e-3), _balls(0.01, *_corners(0.1, 0.07, 0.03))))
    surface = Surface(2e4, 1.0, 0.5)
    world = World(GRAVITY, surface)
    world.add("b", body, free=True, linear=(1.0, 0.0, 3.0), angular=(0.3, 8.0, 0.5))
    return _scene(name, world, surface, 1.0)


def _ball(
    name: str, dissipation: float, friction: float, height: float, linear: Triple, duration: float
) -> BenchmarkScene:
    """Return a ball of 0.5 kg above a floor, in contact 20 kN/m stiff; or on it, at height 0."""
    surface = Surface(4e4, dissipation, friction)
    height = height or -0.5 * 9.81 / 2e4
    world = _floor(World(GRAVITY, surface))
    body = _robot(_link("b", 0.5, 5e-4, _balls(0.05, WEIGHTLESS)))
    world.add("b", body, (0.0, 0.0, 0.05 + height), free=True, linear=linear)
    return _scene(name, world, surface, duration)


def _cradle(name: str) -> BenchmarkScene:
    surface = Surface(2e5, 0.0, 0.0)
    world = World(WEIGHTLESS, surface)
    body = _robot(_link("b", 0.1, 1e-5, _balls(0.02, WEIGHTLESS)))
    for k in range(5):
        start = 0.0401 * k + (0.02 if k else 0.0)
        world.add(f"b{k}", body, (start, 0, 0), free=True, linear=(0.0 if k else 1.0, 0, 0))
    return _scene(name, world, surface, 0.1)


def _cube(name: str) -> BenchmarkScene:
    surface = Surface(2e4, 1.0, 0.5)
    world = _floor(World(GRAVITY, surface))
    body = _robot(_link("b", 1.0, 1.7e-3, _balls(0.006, *_corners(0.044, 0.044, 0.044))))
    world.add("b", body, (0, 0, 0.17), (0.6, 0.5, 0.0), free=True, linear=(0.3, 0.1, 0.0))
    return _scene(name, world, surface, 0.4)


def _on_feet(
    name: str, slope: float, friction: float, linear: Triple, angular: Triple, duration: float
) -> BenchmarkScene:
    """Return a box of 1 kg on four feet that bear it, on a floor that is inclined [rad]."""
    surface = Surface(1e5, 5.0, friction)
    gravity = (9.81 * math.sin(slope), 0.0, -9.81 * math.cos(slope))
    world = _floor(World(gravity, surface))
    feet = [corner for corner in _corners(0.04, 0.04, 0.044) if corner[2] < 0.0]
    height = 0.05 - 9.81 * math.cos(slope) / (4 * 5e4)
    body = _robot(_link("b", 1.0, 1.7e-3, _balls(0.006, *feet)))
    world.add("b", body, (0, 0, height), free=True, linear=linear, angular=angular)
    return _scene(name, world, surface, duration)


def _wheels(name: str) -> BenchmarkScene:
    surface, slope = Surface(1e5, 5.0, 0.5), math.radians(10.0)
    gravity = (9.81 * math.sin(slope), 0.0, -9.81 * math.cos(slope))
    world = _floor(World(gravity, surface))
    balls = _balls(0.04, (0, -0.05, 0), (0, 0.05, 0))
    body = _robot(_link("b", 1.0, (3e-3, 8e-4, 3e-3), balls))
    height = 0.04 - 9.81 * math.cos(slope) / (2 * 5e4)
    return _scene(name, world.add("b", body, (0, 0, height), free=True), surface, 1.0)


def _top(name: str) -> BenchmarkScene:
    surface, tilt, spin = Surface(4e4, 5.0, 0.3), 0.3, 150.0
    world = _floor(World(GRAVITY, surface))
    balls = _balls(0.005, WEIGHTLESS, (0.03, 0, 0.05), (-0.03, 0, 0.05))
    body = _robot(_link("b", 0.1, (6e-5, 6e-5, 4e-5), balls, (0, 0, 0.04)))
    axis = (spin * math.sin(tilt), 0.0, spin * math.cos(tilt))
    height = 0.005 - 0.1 * 9.81 / 2e4
    world.add("b", body, (0, 0, height), (0, tilt, 0), free=True, angular=axis)
    return _scene(name, world, surface, 0.3)


def _paper_gripper(name: str) -> BenchmarkScene:
    case = ParallelGripper(time_step=PERIOD)
    surface = Surface(2.0 * case.stiffness, case.dissipation, case.friction)
    return passive(name, case.engine(), surface, case.forces(round(0.5 / PERIOD)))


def _pendulum(name: str, links: int) -> BenchmarkScene:
    parts = ['<link name="0"/>']
    for k in range(1, links + 1):
        shapes = _balls(0.02, (0.05, 0, -0.3))
        parts += [
            _link(str(k), 1.0, (0.01, 0.01, 1e-3), shapes, (0, 0, -0.2)),
            _joint(str(k), "continuous", str(k - 1), (0, 1, 0), (0, 0, -0.3 if k > 1 else 0)),
        ]
    surface, start = Surface(2e4, 5.0, 0.5), dict(zip("12", (2.0, 0.5), strict=True))
    world = World(GRAVITY, surface)
    world.add("arm", _robot(*parts), positions={joint: start[joint] for joint in "12"[:links]})
    return _scene(name, world, surface, 1.0)


def _arm_mug(name: str) -> BenchmarkScene:
    scene = arm_mug(name)
    held = round(PERIOD / scene.time_step)
    return replace(scene, time_step=PERIOD, forces=scene.forces[: 100 * held : held])


def _stack(name: str) -> BenchmarkScene:
    scene = blocks(name, [(0.004 * k, 0.002 * k, 0.05 + 0.105 * k) for k in range(3)], SAMPLES)
    return replace(scene, time_step=0.3 / SAMPLES)


def _belt(name: str) -> BenchmarkScene:
    surface = Surface(1e5, 5.0, 0.5)
    world = World(GRAVITY, surface)
    along = (1.0, 0.0, 0.0)
    belt = _link("belt", 1e4, 1.0, _box((9, 1, 1), (0, 0, -0.5)))
    belt += _joint("belt", "prismatic", "base", along)
    feet = [corner for corner in _corners(0.04, 0.04, 0.044) if corner[2] < 0.0]
    box = _link("x", 0.01, 1e-5, "") + _link("box", 1.0, 1.7e-3, _balls(0.006, *feet))
    box += _joint("x", "prismatic", "base", along, (0, 0, 0.05))
    box += _joint("box", "prismatic", "x", (0, 0, 1))
    base = '<link name="base"/>'
    world.add("belt", _robot(base, belt), velocities={"belt": 0.2})
    world.add("box", _robot(base, box), positions={"box": -5e-5}, velocities={"x": 0.4})
    return _scene(name, world, surface, 1.0, {"x": (200.0, 0.0, 0.0)})


def _edge(name: str) -> BenchmarkScene:
    surface = Surface(2e4, 5.0, 0.2)
    table = [(x, y, -0.01) for x in (-0.4, -0.3, -0.2, -0.1, 0.0) for y in (-0.04, 0.04)]
    world = World(GRAVITY, surface)
    world.add("table", _robot(f'<link name="t">{_balls(0.01, *table)}</link>'))
    body = _robot(_link("b", 1.0, (1e-3, 3.5e-3, 4.2e-3), _box((0.2, 0.1, 0.05))))
    world.add("b", body, (-0.14, 0, 0.025), free=True, linear=(0.8, 0, 0))
    return _scene(name, world, surface, 0.4)


def _in_corner(name: str) -> BenchmarkScene:
    surface, g = Surface(4e4, 0.2, 0.4), -9.81 / math.sqrt(3.0)
    walls = [_box((1, 1, 1), middle) for middle in ((-0.5, 0, 0), (0, -0.5, 0), (0, 0, -0.5))]
    world = World((g, g, g), surface)
    world.add("walls", _robot(f'<link name="w">{"".join(walls)}</link>'))
    body = _robot(_link("b", 0.5, 5e-4, _balls(0.05, WEIGHTLESS)))
    world.add("b", body, (0.12, 0.15, 0.2), free=True, linear=(0.5, -0.8, 0.0))
    return _scene(name, world, surface, 0.5)


def _hammer(name: str) -> BenchmarkScene:
    parts = ['<link name="0"/>']
    for k in range(1, 5):
        parts += [
            _link(str(k), 0.2, (2e-4, 2e-4, 2e-5), _balls(0.02, (0, 0, -0.05)), (0, 0, -0.05)),
            _joint(str(k), "continuous", str(k - 1), (0, 1, 0), (0, 0, -0.1 if k > 1 else 0)),
        ]
    surface = Surface(1e5, 0.5, 0.5)
    world = World(GRAVITY, surface).add("chain", _robot(*parts))
    hammer = _robot(_link("b", 0.3, 5e-5, _balls(0.02, WEIGHTLESS)))
    world.add("hammer", hammer, (-0.05, 0, -0.25), free=True, linear=(4.0, 0, 0))
    return _scene(name, world, surface, 0.2)


def _gripper_lift(name: str) -> BenchmarkScene:
    surface, up = Surface(2e4, 5.0, 0.6), (0.0, 0.0, 1.0)
    parts = ['<link name="base"/>', _link("palm", 0.5, 1e-3, "")]
    parts += [_joint("palm", "prismatic", "base", up)]
    pad = [(0, y, z) for y in (-0.007, 0.007) for z in (-0.007, 0.007)]
    for side, way in (("left", 1.0), ("right", -1.0)):
        parts += [
            _link(side, 0.05, 1e-5, _balls(0.006, *pad)),
            _joint(side, "prismatic", "palm", (way, 0, 0), (-0.0215 * way, 0, 0)),
        ]
    feet = [corner for corner in _corners(0.01, 0.01, 0.013) if corner[2] < 0.0]
    cube = _link("b", 0.1, 1.5e-5, _box((0.03, 0.03, 0.03)) + _balls(0.004, *feet))
    world = _floor(World(GRAVITY, surface))
    world.add("hand", _robot(*parts), (0, 0, 0.017))
    world.add("b", _robot(cube), (0, 0, 0.017 - 0.1 * 9.81 / 4e4), free=True)
    weight = 0.6 * 9.81
    springs = {"palm": (300.0, 30.0, 0.05)}
    forces = {"palm": weight, "left": 10.0, "right": 10.0}
    return _scene(name, world, surface, 0.5, springs, forces)


def _quadruped(name: str) -> BenchmarkScene:
    surface = Surface(1e5, 2.0, 0.8)
    parts = [_link("trunk", 6.0, (0.03, 0.1, 0.1), _balls(0.02, (0.2, 0, 0.05)))]
    springs: dict[str, Triple] = {}
    start: dict[str, float] = {}
    for leg, (x, y) in enumerate(itertools.product((-0.2, 0.2), (-0.12, 0.12))):
        thigh, calf = f"thigh{leg}", f"calf{leg}"
        parts += [
            _link(thigh, 1.0, (5e-3, 5e-3, 1e-3), "", (0, 0, -0.1)),
            _joint(thigh, "continuous", "trunk", (0, 1, 0), (x, y, 0)),
            _link(calf, 0.2, (1e-3, 1e-3, 1e-4), _balls(0.02, (0, 0, -0.2)), (0, 0, -0.1)),
            _joint(calf, "continuous", thigh, (0, 1, 0), (0, 0, -0.2)),
        ]
        start |= {thigh: 0.8, calf: -1.6}
        springs |= {thigh: (100.0, 2.0, 0.8), calf: (100.0, 2.0, -1.6)}
    world = _floor(World(GRAVITY, surface))
    world.add("robot", _robot(*parts), (0, 0, 0.35), (0.05, 0.1, 0), True, positions=start)
    return _scene(name, world, surface, 0.4, springs)


SCENES: dict[str, AccuracyScene] = {
    "tumbling": AccuracyScene(_tumbling),
    # Restitution 1, and 0.6 by a spring and damper.
    "elastic_ball": AccuracyScene(
        partial(_ball, dissipation=0.0, friction=0.5, height=0.25, linear=(1, 0, 0), duration=0.8),
        (-4e4, -1e-9),
    ),
    "thrown_ball": AccuracyScene(
        partial(_ball, dissipation=0.2, friction=0.5, height=0.25, linear=(1, 0, 0), duration=0.8),
        (-4e4, -62.0),
    ),
    "cradle": AccuracyScene(_cradle, (-2e6, -1e-9)),
    "cube_on_corner": AccuracyScene(_cube),
    "sliding_feet": AccuracyScene(
        partial(
            _on_feet, slope=0.0, friction=0.3, linear=(1, 0, 0), angular=(0, 0, 2), duration=0.5
        )
    ),
    "rolling_ball": AccuracyScene(
        partial(_ball, dissipation=1.0, friction=0.2, height=0.0, linear=(1, 0, 0), duration=0.5)
    ),
    "wheels_on_slope": AccuracyScene(_wheels),
    "box_on_slope": AccuracyScene(
        partial(
            _on_feet, slope=math.atan(0.55), friction=0.5, linear=WEIGHTLESS, angular=WEIGHTLESS,
            duration=0.5,
        )
    ),
    "spinning_top": AccuracyScene(_top),
    "paper_gripper": AccuracyScene(_paper_gripper),
    "pendulum": AccuracyScene(partial(_pendulum, links=1)),
    "double_pendulum": AccuracyScene(partial(_pendulum, links=2)),
    "arm_mug": AccuracyScene(_arm_mug),
    "stack": AccuracyScene(_stack),
    "belt": AccuracyScene(_belt),
    "over_an_edge": AccuracyScene(_edge),
    "ball_in_corner": AccuracyScene(_in_corner),
    "hammer_and_chain": AccuracyScene(_hammer),
    "gripper_lift": AccuracyScene(_gripper_lift),
    "quadruped_drop": AccuracyScene(_quadruped),
}  # fmt: skip
