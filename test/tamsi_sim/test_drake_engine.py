"""A scene on Drake: the same interface, and the same physics from another author."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from builders import (
    GRAVITY,
    body_urdf,
    box,
    box_points,
    cylinder,
    ground_instance,
    hull_mesh,
    pose,
    sphere,
)

from contact_core.base.errors import ConfigError
from contact_core.robot.gripper import GripperCommand
from contact_core.robot.scene import Instance, Scene
from contact_core.robot.scene_config import SolverConfig, TorqueSensorConfig
from contact_core.robot.surface import Surface
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.drake.drake_engine import DrakeEngine
from tamsi_sim.robot.plant import Plant
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import build_model

CLEAN = TorqueSensorConfig(cutoff=0.0, noise=(0.0,))
SURFACE = Surface(2e4, 5.0, 0.4)


def surface_of(instance, link):
    return SURFACE


def plant_on(engine, name="mug_placement"):
    scene = Scene.load(name).on(engine)
    return Plant(
        dataclasses.replace(scene, config=dataclasses.replace(scene.config, torque_sensor=CLEAN))
    )


def ball(height, velocity=0.0, time_step=1e-3):
    """Return both engines with a ball above a floor that moves sideways."""
    body = body_urdf("ball", sphere(0.05))
    instances = [Instance("ball", body, pose(z=height), True, GRAVITY), ground_instance()]
    built = build_model(instances, surface_of, lambda a, b: a[0] != b[0])
    ours = Engine(built, time_step, SolverConfig())
    engines = ours, DrakeEngine(built, time_step, surface_of)
    for engine in engines:
        engine.v[0] = velocity
        engine.evaluate()
    return engines


def test_dropped_and_rolling_ball():
    """Fall, impact, slip and pure rolling on both, within a millimetre and a millimetre/s.

    Drake's steps take more of an impact than ours, by their length.
    """
    ours, drake = ball(0.1, velocity=0.5, time_step=5e-4)
    for _ in range(80):
        assert ours.step(20) == drake.step(20) == StepStatus.OK
        np.testing.assert_allclose(drake.q[:3], ours.q[:3], atol=1e-3)
    np.testing.assert_allclose(drake.v, ours.v, atol=2e-2)
    # Momentum about the contact point, which lies half a millimetre inside the ball.
    radius = 0.05 - 0.5 * 9.81 / 1e4
    assert drake.v[0] == pytest.approx(radius * drake.v[4], abs=1e-4)
    assert drake.v[0] == pytest.approx(0.5 / (1.0 + 1e-3 / radius**2), rel=0.01)


def test_contact_of_a_resting_ball():
    ours, drake = ball(0.0495)
    for engine in (ours, drake):
        engine.step(500)
    (a,), (b,) = ours.contacts(), drake.contacts()
    sign = 1.0 if b.instance_a == a.instance_a else -1.0
    np.testing.assert_allclose(sign * b.normal, a.normal, atol=1e-9)
    np.testing.assert_allclose(sign * b.force, [0.0, 0.0, 9.81], atol=1e-3)
    np.testing.assert_allclose(b.point, a.point, atol=1e-6)
    assert b.depth == pytest.approx(a.depth, abs=1e-6)
    assert {b.instance_a, b.instance_b} == {"ball", "ground"}


def test_a_mesh_is_the_convex_solid_that_ours_is(tmp_path):
    """A ball slides down the face of a wedge: where it touches, and how it gets on."""
    corners = box_points(0.4, 0.3, 0.2)
    corners = corners[~((corners[:, 0] > 0.0) & (corners[:, 2] > 0.0))]  # it falls along x
    wedge = body_urdf("wedge", hull_mesh(tmp_path, "wedge", corners))
    body, slope = body_urdf("ball", sphere(0.05)), np.array([0.2, 0.0, 0.4]) / np.hypot(0.2, 0.4)
    start = pose(*(0.0495 * slope))
    instances = [Instance("ball", body, start, True, GRAVITY), Instance("wedge", wedge)]
    built = build_model(instances, surface_of, lambda a, b: a[0] != b[0])
    ours, drake = Engine(built, 1e-3, SolverConfig()), DrakeEngine(built, 1e-3, surface_of)
    for engine in (ours, drake):
        engine.evaluate()
        assert engine.step(100) == StepStatus.OK
    (a,), (b,) = ours.contacts(), drake.contacts()
    sign = 1.0 if b.instance_a == a.instance_a else -1.0
    np.testing.assert_allclose(sign * b.normal, a.normal, atol=1e-6)
    np.testing.assert_allclose(np.abs(b.normal), slope, atol=1e-6)
    np.testing.assert_allclose(b.point, a.point, atol=1e-4)
    assert 0.01 < ours.q[0] < 0.05
    np.testing.assert_allclose(drake.q[:3], ours.q[:3], atol=1e-3)


def hexagon(folder):
    corners = [(0.06 * np.cos(k * np.pi / 3), 0.06 * np.sin(k * np.pi / 3)) for k in range(6)]
    return hull_mesh(folder, "hexagon", np.array([(*c, z) for c in corners for z in (-0.05, 0.05)]))


@pytest.mark.parametrize(
    "shape",
    [lambda _: box(0.2, 0.1, 0.1), hexagon, lambda _: cylinder(0.05, 0.1)],
    ids=["box", "hexagon", "cylinder"],
)
def test_what_stands_and_spins_stops_as_on_ours(shape, tmp_path):
    """Friction of a face resists a turn about its middle."""
    body = body_urdf("thing", shape(tmp_path), inertia=(2e-3, 2e-3, 3e-3))
    instances = [
        Instance("thing", body, pose(z=0.05), True, GRAVITY),
        Instance("slab", body_urdf("slab", box(2.0, 2.0, 0.1)), pose(z=-0.05)),
    ]
    built = build_model(instances, surface_of, lambda a, b: a[0] != b[0])
    ours, drake = Engine(built, 1e-3, SolverConfig()), DrakeEngine(built, 1e-3, surface_of)
    for engine in (ours, drake):
        assert engine.step(200) is StepStatus.OK
        engine.v[0], engine.v[5] = 0.3, 6.0
        engine.evaluate()
    for _ in range(30):
        ours.step(10)
        drake.step(10)
        assert drake.v[5] == pytest.approx(ours.v[5], abs=0.1)
    assert abs(drake.v[5]) < 1e-3
    np.testing.assert_allclose(drake.q, ours.q, atol=5e-3)


def test_contact_impulse_is_the_weight_over_the_time():
    _, drake = ball(0.0495)
    drake.step(500)
    drake.contact_impulse[:] = 0.0
    drake.step(100)
    np.testing.assert_allclose(drake.contact_impulse[2], 9.81 * 0.1, rtol=1e-3)


def test_arm_that_holds_the_mug_feels_the_same_torques():
    """Grip with mimicking fingers, effort limit, joint stiffness and external torque."""
    measurements = {}
    for engine in ("tamsi", "drake"):
        plant = plant_on(engine)
        q = plant.reset(0).position
        for _ in range(100):
            measurement = plant.tick(q, GripperCommand(0.0, 20.0))
            assert measurement.status is StepStatus.OK
        measurements[engine] = measurement
        assert len(plant.truth().contacts) == 4
    ours, drake = measurements["tamsi"], measurements["drake"]
    assert np.abs(ours.external_torque).max() > 0.5
    np.testing.assert_allclose(drake.external_torque, ours.external_torque, atol=5e-3)
    np.testing.assert_allclose(drake.position, ours.position, atol=1e-5)
    assert drake.gripper_effort == pytest.approx(ours.gripper_effort, abs=1e-6)
    assert drake.gripper_position == pytest.approx(ours.gripper_position, abs=1e-5)


@pytest.mark.verify
def test_external_torque_is_jacobian_transpose_times_contact_forces():
    """The arm leans on the table; the driver's torque has the sign of the contact's force."""
    plant = plant_on("drake")
    q = plant.reset(0).position
    command = q.copy()
    for k in range(420):
        if k < 270:
            command[1] += 1.5e-3
            command[3] -= 3e-4
        measurement = plant.tick(command, GripperCommand(0.055, 20.0))
    (contact,) = [c for c in plant.truth().contacts if c.body == "table"]
    assert contact.link == "lbr_link_6"
    assert contact.force @ contact.normal > 10.0
    model = plant.scene.robot.arm_model(0.05)
    data = model.createData()
    frame = model.getFrameId(contact.link)
    jacobian = pin.computeFrameJacobian(
        model, data, measurement.position, frame, pin.LOCAL_WORLD_ALIGNED
    )
    arm = contact.point - data.oMf[frame].translation
    expected = (jacobian[:3] - pin.skew(arm) @ jacobian[3:]).T @ contact.force
    np.testing.assert_allclose(measurement.external_torque, expected, rtol=0.01, atol=0.05)


def test_reset_reproduces_bit_for_bit():
    plant = plant_on("drake")

    def run():
        q = plant.reset(3).position
        return b"".join(plant.tick(q + 1e-3 * k).position.tobytes() for k in range(20))

    assert run() == run()
    assert plant.reset(3).time_ns == 0
    assert plant.truth().contacts == ()


def test_a_step_that_fails_leaves_the_last_good_state():
    _, drake = ball(0.1)
    drake.drives.applied[0] = np.nan
    before = drake.q.copy()
    assert drake.step(3) is StepStatus.NOT_FINITE
    np.testing.assert_array_equal(drake.q, before)
    drake.drives.applied[0] = 0.0
    drake.v[1] = np.nan
    assert drake.step(3) is StepStatus.NOT_FINITE
    drake.v[1] = 0.0
    assert drake.step(3) is StepStatus.OK


def test_stiction_velocity_of_the_scene_counts():
    """On a slope of 0.2 g the ball's slip in stiction is proportional to v_s."""
    speeds = []
    for stiction in (1e-3, 1e-2):
        cube = body_urdf("cube", sphere(0.05), inertia=(1e3, 1e3, 1e3))
        gravity = (2.0, 0.0, -9.81)
        instances = [Instance("cube", cube, pose(z=0.049), True, gravity), ground_instance()]
        built = build_model(instances, surface_of, lambda a, b: a[0] != b[0])
        drake = DrakeEngine(built, 1e-3, surface_of, stiction)
        drake.step(300)
        speeds.append(drake.v[0])
    assert 0.0 < speeds[0] < 1e-3
    assert speeds[1] == pytest.approx(10.0 * speeds[0], rel=0.05)


def test_unknown_engine_lists_the_valid_ones():
    with pytest.raises(ConfigError, match="tamsi, drake"):
        Scene.load("mug_placement").on("bullet")
