"""Derivatives of steps against finite differences of whole steps, away from kinks."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from builders import (
    CHAIN,
    GRAVITY,
    arm_instance,
    body_urdf,
    box,
    cylinder,
    engine_of,
    ground_instance,
    mug_instance,
    pose,
    sphere,
)

from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from contact_experiments.tamsi.cases import ParallelGripper
from tamsi_sim.arrays.data import SUBSTEPS
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.world import World

# Newton's method has to end far below the differences.
EXACT = SolverConfig(relative_tolerance=1e-9, max_iterations=50)
HASTY = SolverConfig(relative_tolerance=1e-9, max_iterations=8, max_substeps=100)


def brick(placement):
    urdf = body_urdf("brick", box(0.1, 0.12, 0.08), 1.0, (2e-3, 1e-3, 3e-3))
    return Instance("brick", urdf, placement, True, GRAVITY)


def moved(engine, q, change):
    """Return q moved by a change in the coordinates of a velocity."""
    q = q.copy()
    joints = engine.built.arrays.joints.q
    q[joints[joints >= 0]] += change[joints >= 0]
    for i, dof in engine.built.free_bodies.values():
        q[i : i + 3] += change[dof : dof + 3]
        turn = pin.Quaternion(pin.exp3(change[dof + 3 : dof + 6]))
        q[i + 3 : i + 7] = (turn * pin.Quaternion(q[i + 3 : i + 7])).coeffs()
    for i, dof in engine.built.ball_joints.values():
        turn = pin.Quaternion(pin.exp3(change[dof : dof + 3]))
        q[i : i + 4] = (turn * pin.Quaternion(q[i : i + 4])).coeffs()
    return q


def difference(engine, end, start):
    """Return the change of coordinates that moves one q to the other."""
    joints = engine.built.arrays.joints.q
    change = np.zeros(len(joints))
    change[joints >= 0] = (end - start)[joints[joints >= 0]]
    for i, dof in engine.built.free_bodies.values():
        change[dof : dof + 3] = end[i : i + 3] - start[i : i + 3]
        turn = pin.Quaternion(end[i + 3 : i + 7]) * pin.Quaternion(start[i + 3 : i + 7]).inverse()
        change[dof + 3 : dof + 6] = pin.log3(turn.matrix())
    for i, dof in engine.built.ball_joints.values():
        turn = pin.Quaternion(end[i : i + 4]) * pin.Quaternion(start[i : i + 4]).inverse()
        change[dof : dof + 3] = pin.log3(turn.matrix())
    return change


def finite_differences(engine, steps, size=1e-6):
    """Return d(q+, v+)/d(q, v, applied, target) by central differences of steps of its length."""
    work, nv, start = engine.work, len(engine.v), engine.save()
    # What is moved by hand keeps its shear here.
    kept = bool((work.shear.q == engine.q).all())
    columns = []
    for j in range(4 * nv):
        ends = []
        for sign in (1.0, -1.0):
            engine.restore(start)
            change = np.zeros(nv)
            change[j % nv] = sign * size
            if j < nv:
                work.state.q[:] = moved(engine, start.q, change)
                work.shear.q[:] = work.state.q if kept else np.nan
            else:
                (work.state.v, work.drives.applied, work.drives.target)[j // nv - 1][:] += change
            # Those of a given accuracy are of many lengths, but here they are linearised as one.
            accurate = engine.solver.accuracy > 0.0
            status = engine.linearize(steps).status if accurate else engine.step(steps)
            assert status == StepStatus.OK
            ends.append((work.state.q.copy(), work.state.v.copy()))
        (q_up, v_up), (q_down, v_down) = ends
        columns.append(np.concatenate([difference(engine, q_up, q_down), v_up - v_down]))
    engine.restore(start)
    return np.array(columns).T / (2.0 * size)


def check_sub_steps(engine, steps):
    """Compare where a step needs some sub-steps, which must happen."""
    checked = 0
    for _ in range(steps):
        before = engine.q.copy(), engine.v.copy()
        assert engine.step(1) == StepStatus.OK
        if 1 < engine.work.counters[SUBSTEPS] < 6:
            engine.q[:], engine.v[:] = before
            check(engine, tolerance=1e-3)
            checked += 1
    assert checked > 0


def check(engine, steps=1, tolerance=1e-4):
    """Compare, and return the linearisation."""
    expected = finite_differences(engine, steps)
    found = engine.linearize(steps)
    assert found.status == StepStatus.OK
    ours = np.hstack([found.A, found.B_effort, found.B_target])
    scale = np.maximum(np.abs(expected).max(axis=1, keepdims=True), 1.0)
    np.testing.assert_allclose(ours / scale, expected / scale, rtol=0.0, atol=tolerance)
    return found


def test_free_flight_of_a_tumbling_body():
    """Without contact: gyroscopic terms and the quaternion's tangent."""
    engine = engine_of([brick(pose(0.3, -0.2, 1.0, 0.4, 0.9, -0.5))], 5e-3, solver=EXACT)
    engine.v[:] = [1.0, -2.0, 0.5, 8.0, -5.0, 3.0]
    found = check(engine, tolerance=1e-6)
    np.testing.assert_allclose(found.A[:3, 6:9], 5e-3 * np.eye(3), atol=1e-9)
    assert not found.B_target.any()


@pytest.mark.parametrize("on_the_ground", [False, True])
def test_ball_joints(on_the_ground):
    world = World().add("chain", CHAIN, positions={"shoulder": (0.3, -0.4, 0.5)})
    if on_the_ground:
        world.add_ground()
    engine = world.build(2e-3, EXACT)
    engine.applied[:] = np.linspace(-0.05, 0.05, len(engine.v))
    engine.step(20)
    while on_the_ground and engine.evaluate() == 0:
        assert engine.step(5) == StepStatus.OK
    engine.step(1)
    assert (engine.evaluate() > 0) == on_the_ground
    check(engine, tolerance=1e-4 if on_the_ground else 1e-6)


@pytest.mark.parametrize("height", [1.0, 0.045], ids=["free", "on an edge"])
@pytest.mark.parametrize("terms", ["midpoint", "explicit"])
def test_a_body_that_spins_about_no_axis_of_its_own(terms, height):
    """Its centre of mass is off, so that the drift moves its origin, and its contacts ahead."""
    urdf = body_urdf("top", box(0.1, 0.06, 0.04), 0.5, (1.0e-3, 2.2e-3, 2.9e-3))
    urdf = urdf.replace("<inertial>", '<inertial><origin xyz="0.02 -0.01 0.01"/>')
    top = Instance("top", urdf, pose(z=height, roll=0.5, pitch=0.9, yaw=0.2), True, GRAVITY)
    solver = dataclasses.replace(EXACT, gyroscopic_terms=terms)
    engine = engine_of([top, ground_instance()], 1e-3, solver=solver)
    engine.v[:] = [0.2, 0.1, 0.0, 40.0, -25.0, 30.0]
    engine.evaluate()
    assert (engine.work.contacts.number[0] > 0) == (height < 1.0)
    check(engine, tolerance=1e-6 if height == 1.0 else 1e-4)


@pytest.mark.parametrize("speed", [0.0, 0.4], ids=["sticking", "sliding"])
def test_brick_on_the_ground(speed):
    engine = engine_of([brick(pose(z=0.0397, yaw=0.3)), ground_instance()], 1e-3, solver=EXACT)
    engine.step(300)
    engine.v[0] += speed
    engine.v[5] += 2.0 * speed
    engine.applied[1] = 0.5
    found = check(engine)
    if speed == 0.0:
        # Friction holds the foot of a brick that is pushed: it moves by far less than h / m.
        foot = found.B_effort[6, 0] - 0.04 * found.B_effort[10, 0]
        assert abs(foot) < 0.1 * 1e-3 < abs(found.B_effort[6, 0])


def test_rolling_ball():
    ball = Instance("ball", body_urdf("ball", sphere(0.05)), pose(z=0.0499), True, GRAVITY)
    engine = engine_of([ball, ground_instance()], 1e-3, solver=EXACT)
    engine.v[:] = [0.5, 0.1, 0.0, -2.0, 10.0, 0.3]
    engine.step(100)
    check(engine)


@pytest.mark.parametrize(("stiffness", "dissipation"), [(1e4, 10.0), (1e3, 3.0)])
@pytest.mark.parametrize("steps", [1, 4])
def test_gripper_and_mug(stiffness, dissipation, steps):
    """Spheres against a cylinder whose pose changes, with several contacts at once."""
    case = ParallelGripper(stiffness=stiffness, dissipation=dissipation, solver=EXACT)
    engine = case.engine()
    forces = case.forces(40)
    engine.roll(forces)
    check(engine, steps)


def test_arm_with_position_commands_on_a_table():
    """An articulated arm under implicit joint control presses on a box."""
    table = Instance("table", body_urdf("table", box(0.4, 0.4, 0.4)), pose(x=0.62))
    engine = engine_of([arm_instance(), table, mug_instance(pose(x=-1.0))], 1e-3, solver=EXACT)
    work = engine.work
    work.state.q[:8] = [0.1, 1.2, 0.05, -1.3, 0.1, 0.6, 0.0, 0.02]
    work.drives.target[:8] = work.state.q[:8]
    work.drives.stiffness[:8] = [800, 600, 600, 600, 400, 200, 200, 2000]
    work.drives.damping_ratio[:8] = 0.7
    engine.built.arrays.joints.armature[:7] = 0.3
    assert engine.step(200) == StepStatus.OK
    assert engine.contacts()
    found = check(engine)
    assert np.abs(found.B_target[15, 1]) > 0.0


def test_saturated_joint_ignores_its_target():
    engine = engine_of([arm_instance()], 1e-3, solver=EXACT)
    work = engine.work
    work.state.q[7] = 0.02
    work.drives.stiffness[:7] = 500.0
    work.drives.target[:7] = 0.3
    work.drives.effort_limit[0] = 10.0
    found = check(engine)
    assert not found.B_target[:, 0].any()
    assert found.B_target[:, 1].any()


def test_step_that_needs_sub_steps():
    """The derivative is that of the sub-stepped solution, penetrations included."""
    engine = engine_of(
        [brick(pose(z=0.12, roll=0.6, pitch=0.4)), ground_instance()],
        5e-3,
        Surface(2e4, 5.0, 0.5),
        HASTY,
    )
    engine.v[:] = [1.0, 0.3, -3.0, 4.0, 3.0, 1.0]
    check_sub_steps(engine, 60)


def test_what_spins_in_contact():
    """A ball of three moments of inertia: it turns by itself after it was pushed."""
    urdf = body_urdf("ball", sphere(0.05), 0.5, (4e-4, 6e-4, 8e-4))
    engine = engine_of(
        [Instance("ball", urdf, pose(z=0.0499), True, GRAVITY), ground_instance()],
        1e-3,
        Surface(2e4, 5.0, 0.5),
        EXACT,
    )
    engine.v[5] = 30.0
    engine.step(20)
    check(engine, 2)


def test_it_steps_like_step_and_leaves_the_contacts_of_the_step():
    case = ParallelGripper()
    engine, twin = case.engine(), case.engine()
    for _ in range(5):
        engine.linearize(2)
        twin.step(2)
    np.testing.assert_array_equal(engine.q, twin.q)
    np.testing.assert_array_equal(engine.v, twin.v)
    np.testing.assert_array_equal(engine.work.contact_impulse, twin.work.contact_impulse)
    np.testing.assert_array_equal(
        [c.force for c in engine.contacts()], [c.force for c in twin.contacts()]
    )


def test_a_failed_step_has_no_derivative():
    engine = engine_of([brick(pose(z=0.0399)), ground_instance()])
    engine.applied[0] = np.nan
    found = engine.linearize(3)
    assert found.status == StepStatus.NOT_FINITE
    assert np.isnan(found.A).all()


ROUND = {
    "standing": ((0.04, 0.1), pose(z=0.0998, roll=2e-4, pitch=1e-4), box(0.3, 0.3, 0.1)),
    "overhanging": ((0.04, 0.1), pose(x=0.13, z=0.0998, roll=2e-4), box(0.3, 0.3, 0.1)),
    "on a rim": ((0.04, 0.1), pose(z=0.105, pitch=0.2, yaw=0.1), box(0.3, 0.3, 0.1)),
    "lying": ((0.04, 0.1), pose(z=0.0898, roll=np.pi / 2, yaw=0.2), box(0.3, 0.3, 0.1)),
    "stacked": ((0.04, 0.1), pose(x=0.02, z=0.0998, pitch=1e-4), cylinder(0.05, 0.1)),
    "crossed": ((0.04, 0.3), pose(z=0.0898, roll=np.pi / 2, yaw=0.3), cylinder(0.05, 0.4)),
}


@pytest.mark.parametrize("name", list(ROUND))
def test_round_things_on_flat_and_round_ones(name):
    """Through cut discs, lines, rims and crossing sides, for bodies that slide and roll."""
    size, placement, lower = ROUND[name]
    urdf = body_urdf("upper", cylinder(*size), 1.0, (2e-3, 2e-3, 1e-3))
    laid = pose(pitch=np.pi / 2) if name == "crossed" else pose()
    upper = Instance("upper", urdf, placement, True, GRAVITY)
    engine = engine_of(
        [upper, Instance("lower", body_urdf("lower", lower), laid)], 1e-3, solver=EXACT
    )
    engine.v[:] = [0.1, 0.05, 0.0, 0.02, -0.03, 0.04]
    assert engine.evaluate() > 0
    check(engine, tolerance=1e-6)


@pytest.mark.parametrize("accuracy", [0.0, 1e-3])
@pytest.mark.parametrize("steps", [1, 7])
@pytest.mark.parametrize("share", [0.5, 1.2])
def test_what_sticks_is_held_by_its_shear(share, steps, accuracy):
    """A brick on a slope that it holds on, or slides down."""
    solver = dataclasses.replace(EXACT, accuracy=accuracy)
    angle = np.arctan(0.5 * share)
    gravity = (9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle))
    placement = dataclasses.replace(brick(pose(z=0.0399)), gravity=gravity)
    engine = engine_of([placement, ground_instance()], 1e-3, Surface(2e4, 5.0, 0.5), solver)
    engine.step(200)
    engine.v[3:] += [1e-4, -2e-4, 3e-4]
    engine.step(2)
    assert np.abs(engine.work.shear.shear).max() > 1e-8
    check(engine, steps, tolerance=1e-5)


@pytest.mark.parametrize("steps", [1, 5])
def test_what_rolls_and_spins_is_held_by_its_twist(steps):
    surface = Surface(2e4, 5.0, 0.5, torsional=4e-3, rolling=2e-3)
    ball = body_urdf("ball", sphere(0.02), 0.05, (8e-6,) * 3)
    gravity = (9.81 * np.sin(0.05), 0.0, -9.81 * np.cos(0.05))
    world = World(gravity, surface).add_ground().add("ball", ball, (0.0, 0.0, 0.02), free=True)
    engine = world.build(1e-3, EXACT)
    engine.step(300)
    engine.v[3:] += [1e-3, -2e-3, 3e-3]
    engine.step(1)
    assert np.abs(engine.work.shear.twist).max() > 1e-7
    check(engine, steps, tolerance=1e-5)
