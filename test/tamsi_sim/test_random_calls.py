"""Whatever a user calls, in whatever order: a value or a clear error, no crash, no silent NaN.

A call is a few small numbers, which choose a method and its arguments from tables of sound and
absurd ones; so what fails shrinks to the shortest series of calls that does.
"""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from builders import CHAIN, body_urdf, box, cylinder, sphere
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contact_core.base.errors import ContactStackError
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Material, Surface
from tamsi_sim import (
    Actuator,
    ForceTorque,
    Imu,
    JointTorque,
    SensorNoise,
    StepStatus,
    World,
)

PENDULUM = """<robot name="pendulum"><link name="base"/>
  <link name="arm"><inertial><origin xyz="0 0 -0.2"/><mass value="0.5"/>
    <inertia ixx="2e-3" iyy="2e-3" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 -0.2"/><geometry><box size="0.03 0.03 0.3"/></geometry></collision>
  </link>
  <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="20" velocity="5"/>
    <dynamics damping="0.1" friction="0.01"/>
  </joint></robot>"""
HUGE = 1e308
NUMBERS = (
    0.5, 1.0, 0.0, 1e-3, 0.02, -1.0, 1e-9, 1e9, HUGE, -HUGE, 1e-308, math.nan, math.inf, -math.inf,
    None, "x", (), np.float32(0.1), True, 2**70, [0.1], np.array(0.3), 1j,
)  # fmt: skip
COUNTS = (1, 3, 0, 20, -1, 2.5, math.nan, None, "x", 2**70, np.int64(2), True, np.array([2]))
TRIPLES = (
    (0.0, 0.0, 0.2), (0.0, 0.0, 0.0), (0.3, 0.0, 0.1), (0.0, 0.0, 5.0), np.array([0.1, 0.2, 0.3]),
    (math.nan, 0, 0), (0, 0), (HUGE, 0, 0), (1e9, 0, 0), "abc", None, np.zeros((3, 1)), 5,
)  # fmt: skip
NAMES = (
    "a",
    "b",
    "ground",
    "hand",
    "arm",
    "a/a",
    "pendulum/arm",
    "",
    "nobody",
    None,
    7,
    "swing",
    (),
)
URDFS = (
    body_urdf("a", box(0.1, 0.1, 0.1)), body_urdf("b", sphere(0.05), 0.2), PENDULUM, CHAIN,
    body_urdf("c", cylinder(0.04, 0.1)), body_urdf("d", box(0.1, 0.1, 0.1), 1e-12, (1e-15,) * 3),
    body_urdf("e", box(0.0, 0.1, 0.1)), body_urdf("f", sphere(0.1), -1.0),
    body_urdf("g", sphere(0.1), "nan"), body_urdf("h", box(1e3, 1e3, 1e3), 1e9, (1e9,) * 3),
    "urdf/mug.urdf", "nowhere.urdf", Path("nowhere.urdf"), "<robot", "", None, 5,
    "<robot name='x'/>", "<robot name='x'><link name='x'/></robot>",
)  # fmt: skip
SURFACES = (
    None, Surface(2e4, 5.0, 0.5), Surface(1e3, 0.0, 0.0), Surface(1e9, 100.0, 10.0),
    Surface(-1.0, 5.0, 0.5), Surface(2e4, -1.0, 0.5), Surface(2e4, 5.0, math.nan),
    Surface(math.inf, 5.0, 0.5), Surface(1e300, 1e300, 1e300), "rubber", 5,
)  # fmt: skip
MATERIALS = (
    Material(1e4, 5.0, 0.5), Material(0.0, 5.0, 0.5), Material(1e4, math.nan, 0.5), None, "wood",
)  # fmt: skip
FLAGS = (False, True)
POSITIONS = (None, {}, {"swing": 0.4}, {"swing": 9.0}, {"nobody": 0.0}, {"swing": math.nan}, 5, "x",
             {"shoulder": (0.1, 0.2, 0.3)}, {"shoulder": 0.1}, {"shoulder": "abc"})  # fmt: skip
VELOCITIES = (None, {}, {"swing": 2.0}, {"swing": HUGE}, {"wrist": (1.0, 2.0, 3.0)}, {"wrist": 1j},
              {"nobody": 0.0}, 5, "x")  # fmt: skip
SOLVERS = (
    None, SolverConfig(), SolverConfig(gyroscopic_terms="explicit"), SolverConfig(max_contacts=1),
    SolverConfig(max_iterations=1, max_substeps=1), SolverConfig(friction_law="quadratic"),
)  # fmt: skip
STEPS = (1e-3, 5e-3, 0.0, -1e-3, math.nan, math.inf, 1.0, 1e-300, 1e300, None, "x")
DURATIONS = (0.01, 0.0, 0.05, -1.0, math.nan, math.inf, 1e12, HUGE, None, "x", 1e-9)
COMMANDS = ("effort", "target", "position", None, 3)
ACTUATORS = (
    Actuator.torque("swing", 5.0), Actuator.position("swing", 100.0, 10.0),
    Actuator.velocity("swing", HUGE), Actuator.position("swing", HUGE), Actuator.torque("nobody"),
)  # fmt: skip
COMMANDED = ({"a": 0.3}, {"b": -0.1, "a": 1.0}, {"a": HUGE}, {"a": math.nan}, {"x": 1.0}, {}, 5)
SENSORS = (
    JointTorque("swing"), ForceTorque("a", "arm"), Imu("a", "arm"), Imu("b", "b"), JointTorque("x"),
    ForceTorque("ground", "ground"), Imu("ground", "ground"), Imu("a", "a"), JointTorque(None),
)  # fmt: skip
FAULTS = (
    None, SensorNoise(), SensorNoise(5.0, 0.01, 0.1, 0.2, 0.3), SensorNoise(HUGE, HUGE),
    SensorNoise(bias=[1.0] * 6, noise=HUGE),
)  # fmt: skip
PAIRS = ((), (("base", "arm"),), (("x", "y"),), (("a",),), "ab", None)
LINKS = (
    ("ground", "ground"), ("a", "a"), ("b", "b"), ("hand", "arm"), ("arm", "arm"), ("a", "x"),
    ("nobody", "a"), "a", None, ([], {}), (1, 2, 3),
)  # fmt: skip
SHAPES = (
    "state",
    "zeros",
    "long",
    "short",
    "nan",
    "huge",
    "text",
    "none",
    "scalar",
    "two",
    "objects",
)

WORLD = {
    "add": (
        NAMES, URDFS, TRIPLES, TRIPLES, FLAGS, SURFACES, FLAGS, POSITIONS, ((), ["/"], 5), FLAGS,
        FLAGS, TRIPLES, TRIPLES, VELOCITIES,
    ),
    "add_ground": (NUMBERS, SURFACES),
    "set_material": (NAMES, NAMES, MATERIALS),
    "ignore": (NAMES, NAMES),
    "connect": (NAMES, LINKS, LINKS, TRIPLES, (None, *TRIPLES), NUMBERS, NUMBERS),
    "weld": (NAMES, LINKS, LINKS, (None, *TRIPLES), TRIPLES, NUMBERS, NUMBERS, NUMBERS),
    "collide_with_itself": (NAMES, PAIRS, (None, "nowhere.srdf")),
}  # fmt: skip
ENGINE = {
    "step": (COUNTS,),
    "simulate": (DURATIONS,),
    "roll": (SHAPES,),
    "set_state": (SHAPES, SHAPES),
    "set_velocity": (NAMES, TRIPLES, TRIPLES),
    "reset": (),
    "restore": (),
    "save": (),
    "evaluate": (),
    "contacts": (),
    "closures": (),
    "linearize": (COUNTS,),
    "rollouts": (SHAPES, SHAPES, SHAPES, COMMANDS, COUNTS, FLAGS),
    "observer.energy": (),
    "observer.pose": (NAMES, NAMES),
    "observer.penetrations": (),
    "observer.warnings": (),
    "observer.distance": (NAMES, NAMES),
    "set_friction": (("swing", *NAMES), NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    "actuators.add": (NAMES, ACTUATORS),
    "actuators.command": (COMMANDED,),
    "sensors.add": (NAMES, SENSORS, FAULTS, NUMBERS, COUNTS),
    "write": (("q", "v", "applied", "target", "stiffness", "damping"), NUMBERS),
}
MAX_CALLS = 12


def argument(name, size):
    """Return an array by its name, for a vector of some size."""
    wrong = {"long": np.zeros(size + 1), "short": np.zeros(max(0, size - 1)), "text": "x",
             "none": None, "scalar": 3.0, "objects": [object()] * size}  # fmt: skip
    if name in wrong:
        return wrong[name]
    array = np.zeros((2, size)) if name == "two" else np.zeros(size)
    array[...] = {"nan": np.nan, "huge": HUGE}.get(name, 0.0)
    return array


def pick(table, numbers):
    return tuple(values[n % len(values)] for values, n in zip(table, numbers, strict=False))


def build(calls):
    """Return the engine of a world after some calls, None if it cannot be built."""
    world = World()
    for method, *numbers in calls:
        name = list(WORLD)[method % len(WORLD)]
        attempt(getattr(world, name), *pick(WORLD[name], numbers))
    (_, step, solver, *_) = calls[-1]
    return attempt(world.build, STEPS[step % len(STEPS)], SOLVERS[solver % len(SOLVERS)])


def attempt(method, *arguments):
    """Call; return the value, None for a clear error: ours, or Python's for what is no number."""
    try:
        return method(*arguments)
    except (ContactStackError, TypeError) as error:
        assert str(error).strip()
        return None


def strike(engine, calls):
    """Call an engine, and see that nothing is NaN that is called OK."""
    snapshots = [engine.save()]
    for method, *numbers in calls:
        name = list(ENGINE)[method % len(ENGINE)]
        arguments = list(pick(ENGINE[name], numbers))
        nq, nv = len(engine.q), len(engine.v)
        if name == "write":
            array = getattr(engine, arguments[0], None)
            array = getattr(engine.drives, arguments[0]) if array is None else array
            value = arguments[1]
            if isinstance(value, float) and len(array):
                array[numbers[0] % len(array)] = value
            continue
        if name == "roll":
            arguments = [np.array([forces] * 3) if isinstance(forces := argument(arguments[0], nv),
                         np.ndarray) else forces]  # fmt: skip
        elif name in ("set_state", "rollouts"):
            state = [argument(arguments[0], nq), argument(arguments[1], nv)]
            if arguments[0] == "state":
                state[0] = engine.q.copy()
            inputs = []
            if name == "rollouts":
                inputs = [argument(arguments[2], nv)]
                if isinstance(inputs[0], np.ndarray):
                    inputs = [np.array([[inputs[0]] * 2] * 2)]
            arguments = [*state, *inputs, *arguments[3:]]
        elif name == "restore":
            arguments = [snapshots[-1]]
        target = engine
        for part in name.split("."):
            target = getattr(target, part)
        found = attempt(target, *arguments)
        if name == "save":
            snapshots.append(found)
        if found is not None:
            check(engine, name, arguments, found)


def check(engine, name, arguments, found):
    """See that what is called OK is finite; no step at all is OK, too, whatever was written."""
    if name == "step" and arguments[0] > 0 and found == StepStatus.OK:
        assert np.isfinite(engine.q).all()
        assert np.isfinite(engine.v).all()
    if name == "simulate" and len(found.q) > 1 and found.status == StepStatus.OK:
        for array in (found.q, found.v, found.contact_force, found.joint_force):
            assert np.isfinite(array).all()
    if name == "roll" and found[0] == StepStatus.OK:
        assert np.isfinite(found[1]).all()
        assert np.isfinite(found[2]).all()
    if name == "rollouts":
        assert np.isfinite(found.q[found.status == StepStatus.OK]).all()
    if name == "linearize" and found.status == StepStatus.OK:
        assert np.isfinite(found.A).all()


def run(building, striking):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = build(building)
        if engine is not None:
            strike(engine, striking)


numbers = st.integers(0, 2**16)
call = st.lists(numbers, min_size=15, max_size=15)


@settings(
    max_examples=250, deadline=None, database=None, derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(st.lists(call, min_size=1, max_size=8), st.lists(call, max_size=MAX_CALLS))
def test_thousands_of_calls(building, striking):
    run(building, striking)


@pytest.mark.verify
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(10))
def test_a_million_calls(part):
    """With sound worlds more often than hypothesis finds them, and longer series of calls."""
    rng = np.random.default_rng(part)
    calls = 0
    while calls < 100_000:
        building = rng.integers(0, 2**16, (rng.integers(1, 5), 15))
        # Mostly the first entries of each table, which are sound.
        building = np.where(rng.random(building.shape) < 0.85, building % 2, building)
        striking = rng.integers(0, 2**16, (60, 15))
        run(building.tolist(), striking.tolist())
        calls += len(building) + len(striking)
