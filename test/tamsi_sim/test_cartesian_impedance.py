"""The Cartesian impedance controller: springs, damping, null space, and the wrench on top."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from scipy import linalg

from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import (
    CARTESIAN_IMPEDANCE,
    CartesianImpedanceConfig,
    TorqueSensorConfig,
)
from tamsi_sim.robot.cartesian_impedance import CartesianImpedance
from tamsi_sim.robot.plant import CommandError, Plant, cartesian_impedance

STIFFNESS = (3000.0, 0.0, 2000.0, 200.0, 150.0, 100.0)


def cartesian_scene(stiffness=STIFFNESS):
    """Return the arm alone, without sensor noise, in Cartesian impedance control."""
    scene = Scene.load("free_space")
    gains = CartesianImpedanceConfig(stiffness=stiffness)
    robot = dataclasses.replace(
        scene.config.robot, control_mode=CARTESIAN_IMPEDANCE, cartesian=gains
    )
    sensor = TorqueSensorConfig(cutoff=0.0, noise=(0.0,))
    config = dataclasses.replace(scene.config, robot=robot, torque_sensor=sensor)
    return dataclasses.replace(scene, config=config)


def tool_of(scene, q):
    """Return pose and Jacobian of the tool, axes of the base frame."""
    model = scene.robot.arm_model()
    data = model.createData()
    frame = model.getFrameId(scene.robot.tool_link)
    jacobian = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
    pin.updateFramePlacements(model, data)
    return data.oMf[frame], jacobian


@pytest.fixture
def at_start():
    """A controller at the start of the scene, with its scene, q and the tool's Jacobian."""
    scene = cartesian_scene()
    q = np.array(scene.config.robot.initial_positions)
    controller = cartesian_impedance(scene)
    return controller, scene, q, tool_of(scene, q)[1]


def test_wrench_gives_up_to_stiffness():
    """At rest the spring carries the wrench: e = F / K; about 4 mm and 0.03 rad."""
    scene = cartesian_scene((3000.0, 2500.0, 2000.0, 200.0, 150.0, 100.0))
    plant = Plant(scene)
    q = plant.reset(0).position
    before, _ = tool_of(scene, q)
    wrench = np.array([12.0, -8.0, 6.0, 2.0, -1.0, 1.5])
    for _ in range(600):
        measurement = plant.tick(q, None, wrench)
    after, _ = tool_of(scene, measurement.position)
    shift = after.translation - before.translation
    np.testing.assert_allclose(shift, wrench[:3] / [3000.0, 2500.0, 2000.0], atol=1e-5)
    turn = pin.log3(after.rotation @ before.rotation.T)
    np.testing.assert_allclose(turn, wrench[3:] / [200.0, 150.0, 100.0], atol=5e-4)


def test_without_stiffness_the_inertia_of_the_arm_resists(at_start):
    """A push along y accelerates the tool as if the other directions were held."""
    controller, scene, q, _ = at_start
    plant = Plant(scene)
    plant.reset(0)
    start = tool_of(scene, q)[0].translation[1]
    force = 4.0
    for _ in range(20):
        measurement = plant.tick(q, None, np.array([0.0, force, 0.0, 0.0, 0.0, 0.0]))
    travelled = tool_of(scene, measurement.position)[0].translation[1] - start
    felt = controller.tool_inertia(q)[1, 1]
    free = 1.0 / np.linalg.inv(controller.tool_inertia(q))[1, 1]
    # The other directions are held by springs, not rigidly, and joints have some friction.
    assert 0.5 * force / felt * 0.1**2 * 0.9 <= travelled <= 0.5 * force / free * 0.1**2


def test_every_mode_has_the_damping_ratio(at_start):
    """Roots of s^2 M + s D + K: damped by 0.7, but where there is no stiffness, not at all."""
    controller, _, q, _ = at_start
    controller.start_tick(q, q, np.zeros(6))
    inertia, damping = controller.tool_inertia(q), controller._damping
    np.testing.assert_allclose(damping, damping.T, atol=1e-9)
    np.testing.assert_allclose(damping[:, 1], 0.0, atol=1e-4)  # of some 100 Ns/m
    companion = np.block(
        [
            [np.zeros((6, 6)), np.eye(6)],
            [-np.linalg.solve(inertia, np.diag(STIFFNESS)), -np.linalg.solve(inertia, damping)],
        ]
    )
    roots = linalg.eigvals(companion)
    moving = roots[np.abs(roots) > 1e-2]
    assert len(moving) == 10
    np.testing.assert_allclose(-moving.real / np.abs(moving), 0.7, atol=1e-6)


def test_posture_springs_do_not_move_the_tool(at_start):
    controller, _, q, jacobian = at_start
    controller.start_tick(q, q + 0.1, np.zeros(6))
    here = controller.torque(q, np.zeros(7))
    without = CartesianImpedance(
        at_start[1].robot.arm_model(),
        at_start[1].robot.tool_link,
        np.array(at_start[1].config.robot.effective_armature),
        CartesianImpedanceConfig(stiffness=STIFFNESS, null_space_stiffness=0.0),
    )
    without.start_tick(q, q + 0.1, np.zeros(6))
    posture = here - without.torque(q, np.zeros(7))
    assert np.abs(posture).max() > 1e-2
    acceleration = jacobian @ np.linalg.solve(controller.mass_matrix(q), posture)
    np.testing.assert_allclose(acceleration, 0.0, atol=1e-9)


def test_tool_returns_to_the_rest_pose():
    scene = cartesian_scene((3000.0, 2500.0, 2000.0, 200.0, 150.0, 100.0))
    plant = Plant(scene)
    q = plant.reset(0).position
    for _ in range(100):
        plant.tick(q, None, np.array([20.0, 20.0, 0.0, 0.0, 0.0, 0.0]))
    for _ in range(600):
        measurement = plant.tick(q)
    np.testing.assert_allclose(
        tool_of(scene, measurement.position)[0].translation,
        tool_of(scene, q)[0].translation,
        atol=1e-5,
    )


def test_reset_forgets_the_wrench():
    plant = Plant(cartesian_scene())
    q = plant.reset(0).position
    first = [plant.tick(q).position.tobytes() for _ in range(3)]
    plant.tick(q, None, np.full(6, 5.0))
    plant.reset(0)
    assert [plant.tick(q).position.tobytes() for _ in range(3)] == first


@pytest.mark.parametrize("wrench", [np.zeros(3), np.array([np.nan, 0, 0, 0, 0, 0])])
def test_bad_wrenches_are_rejected_before_anything_moves(wrench):
    plant = Plant(cartesian_scene())
    q = plant.reset(0).position
    before = plant.engine.q.tobytes()
    with pytest.raises(CommandError, match="a wrench"):
        plant.tick(q, None, wrench)
    assert plant.engine.q.tobytes() == before


def test_joint_impedance_takes_no_wrench():
    plant = Plant(Scene.load("free_space"))
    q = plant.reset(0).position
    with pytest.raises(CommandError, match="Cartesian impedance"):
        plant.tick(q, None, np.zeros(6))


def test_sled_is_carried_by_the_table_alone():
    """The jaws hold the sled like a vertical slot: its whole weight presses on the table."""
    plant = Plant(Scene.load("slide_sled"))
    q = plant.reset(0).position
    for _ in range(100):
        plant.tick(q)
    on_robot = [contact.force for contact in plant.truth().contacts if contact.body == "sled"]
    assert abs(sum(force[2] for force in on_robot)) < 1e-6
    for side in (1.0, -1.0):
        grip = sum(force[1] for force in on_robot if side * force[1] > 0.0)
        assert abs(grip) == pytest.approx(40.0, rel=0.02)
    table = sum(
        c.force[2] for c in plant.engine.contacts() if "table" in c.instance_b + c.instance_a
    )
    assert abs(table) == pytest.approx(1.5 * 9.81, rel=1e-3)
