"""The plant: what the driver sees, and the physics behind it."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from turning_gripper import STROKE, turning_gripper

from contact_core.base.errors import ConfigError, ModelError
from contact_core.robot.gripper import GripperCommand
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import TorqueSensorConfig
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.robot.plant import CommandError, Plant

CLEAN = TorqueSensorConfig(cutoff=0.0, noise=(0.0,))


def quiet(name="mug_placement"):
    scene = Scene.load(name)
    return dataclasses.replace(scene, config=dataclasses.replace(scene.config, torque_sensor=CLEAN))


@pytest.fixture(scope="module")
def plant():
    return Plant(quiet())


def arm_jacobian(scene, q, link, point):
    """Return the Jacobian of a point of a link, world axes."""
    model = scene.robot.arm_model(0.04)
    data = model.createData()
    frame = model.getFrameId(link)
    jacobian = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
    arm = point - data.oMf[frame].translation
    return jacobian[:3] - pin.skew(arm) @ jacobian[3:]


def test_first_measurement_is_the_scenes_start(plant):
    measurement = plant.reset(0)
    np.testing.assert_array_equal(measurement.position, plant.scene.config.robot.initial_positions)
    np.testing.assert_array_equal(measurement.commanded_position, measurement.position)
    assert measurement.time_ns == 0
    assert not measurement.external_torque.any()


def test_holding_still_the_mug_weighs_on_the_joints(plant):
    q = plant.reset(0).position
    for _ in range(300):
        measurement = plant.tick(q, GripperCommand(0.0, 20.0))
    assert measurement.status == StepStatus.OK
    mug = plant.truth().objects[-1]
    center = mug.position + pin.Quaternion(mug.quaternion).matrix() @ [0.01, 0.0, 0.0]
    jacobian = arm_jacobian(plant.scene, measurement.position, "tool", center)
    expected = jacobian.T @ [0.0, 0.0, -0.1 * 9.81]
    np.testing.assert_allclose(measurement.external_torque, expected, atol=5e-3)
    # And the joints give way by K^-1 tau.
    stiffness = np.array(plant.scene.config.robot.stiffness)
    np.testing.assert_allclose(
        measurement.position - q, measurement.external_torque / stiffness, atol=2e-5
    )


def test_grip_force_is_the_command(plant):
    q = plant.reset(0).position
    for _ in range(200):
        plant.tick(q, GripperCommand(0.0, 15.0))
    left = sum(c.force[1] for c in plant.truth().contacts if c.link == "finger_left")
    assert left == pytest.approx(15.0, rel=0.01)


def test_external_torque_is_jacobian_transpose_times_true_forces(plant):
    q = plant.reset(0).position
    command = q.copy()
    for _ in range(400):
        command[1] += 1.5e-3
        command[3] -= 3e-4
        measurement = plant.tick(command, GripperCommand(0.055, 20.0))
        if any(c.body == "table" for c in plant.truth().contacts):
            break
    for _ in range(400):
        measurement = plant.tick(command)
    truth = plant.truth()
    assert {c.body for c in truth.contacts} >= {"table"}
    expected = np.zeros(7)
    for contact in truth.contacts:
        jacobian = arm_jacobian(plant.scene, measurement.position, contact.link, contact.point)
        expected += jacobian.T @ contact.force
    assert np.abs(expected).max() > 1.0
    np.testing.assert_allclose(
        measurement.external_torque, expected, atol=1e-3 * np.abs(expected).max()
    )


def test_contact_forces_push_the_robot_away(plant):
    q = plant.reset(0).position
    plant.tick(q)
    contacts = plant.truth().contacts
    assert contacts
    for contact in contacts:
        assert np.linalg.norm(contact.normal) == pytest.approx(1.0)
        assert contact.force @ contact.normal > 0.0
        # Fingers are pushed outwards: left towards +y, right towards -y.
        assert np.sign(contact.normal[1]) == (1 if contact.link == "finger_left" else -1)


def test_opening_the_gripper_drops_the_mug(plant):
    q = plant.reset(0).position
    for _ in range(20):
        plant.tick(q)
    for _ in range(40):
        measurement = plant.tick(q, GripperCommand(0.055, 20.0))
    assert measurement.gripper_position > 0.05
    mug = plant.truth().objects[-1]
    assert mug.velocity[2] < -0.5
    assert not any(c.body == "mug" for c in plant.truth().contacts)


def test_the_gripper_opens_no_faster_than_commanded(plant):
    q = plant.reset(0).position
    positions = []
    for _ in range(120):
        measurement = plant.tick(q, GripperCommand(0.055, 20.0, max_speed=0.01))
        positions.append(measurement.gripper_position)
    # At first the squeezed mug springs back.
    assert positions[-1] - positions[19] == pytest.approx(0.01 * 0.5, rel=0.02)


def test_a_gripper_that_turns_opens_as_soon_as_one_that_slides(tmp_path):
    plant = Plant(Scene.from_mapping(turning_gripper(tmp_path)))
    q = plant.reset(0).position
    for _ in range(round(0.7 / plant.scene.config.period)):
        measurement = plant.tick(q, GripperCommand(STROKE, 20.0))
    assert measurement.gripper_position == pytest.approx(STROKE, abs=0.02)


def test_command_ramps_over_the_tick():
    plant = Plant(quiet("free_space"))
    q = plant.reset(0).position
    steps = []
    target = q + 0.01
    before = plant.engine.work.drives.target.copy()
    plant.tick(target)
    steps.append(plant.engine.work.drives.target_rate[0] * 5)
    np.testing.assert_allclose(steps, 0.01, atol=1e-12)
    np.testing.assert_array_equal(plant.engine.work.drives.target, target)
    assert not np.array_equal(before, plant.engine.work.drives.target)


def test_free_arm_follows_without_external_torque():
    plant = Plant(quiet("free_space"))
    q = plant.reset(0).position
    for k in range(400):
        measurement = plant.tick(q + 0.1 * min(k / 200, 1.0))
    np.testing.assert_allclose(measurement.position, q + 0.1, atol=1e-4)
    assert not measurement.external_torque.any()
    assert plant.truth().contacts == ()


def test_seed_reproduces_bit_for_bit_and_another_does_not():
    plant = Plant(Scene.load("mug_placement"))

    def run(seed):
        q = plant.reset(seed).position
        return b"".join(plant.tick(q + 1e-4 * k).external_torque.tobytes() for k in range(50))

    first = run(3)
    assert run(3) == first
    assert run(4) != first


def test_memory_layout_does_not_change_a_bit():
    """Which loops run vectorised depends on where arrays lie; rounding must not."""
    rng = np.random.default_rng(0)
    scene = Scene.load("mug_placement")
    start = np.array(scene.config.robot.initial_positions)
    runs = set()
    for _ in range(20):
        # What is freed here is where the plant's arrays come to lie.
        gaps = [np.empty(size) for size in rng.integers(1, 600, 20)]
        del gaps[::2]
        plant = Plant(scene)
        states = []
        for tick in range(150):
            command = start.copy()
            command[1] += 1e-3 * max(0, tick - 60)
            states.append(plant.tick(command).velocity)
        runs.add(np.array(states).tobytes())
    assert len(runs) == 1


def test_reset_forgets_everything(plant):
    q = plant.reset(0).position
    first = [plant.tick(q + 1e-3).position.tobytes() for _ in range(5)]
    plant.tick(q + 0.05, GripperCommand(0.05, 5.0))
    plant.reset(0)
    assert [plant.tick(q + 1e-3).position.tobytes() for _ in range(5)] == first


@pytest.mark.parametrize(
    ("command", "gripper"),
    [
        (np.zeros(6), None),
        (np.array([0, 0, np.nan, 0, 0, 0, 0]), None),
        (np.array([0, 0, np.inf, 0, 0, 0, 0]), None),
        (None, GripperCommand(np.nan, 1.0)),
        (None, GripperCommand(0.01, -1.0)),
        (None, GripperCommand(0.01, 1.0, max_speed=0.0)),
    ],
)
def test_bad_commands_are_rejected_before_anything_moves(plant, command, gripper):
    q = plant.reset(0).position
    before = plant.engine.q.tobytes()
    with pytest.raises(CommandError):
        plant.tick(q if command is None else command, gripper)
    assert plant.engine.q.tobytes() == before


def test_period_must_be_whole_steps():
    scene = Scene.load("free_space")
    odd = dataclasses.replace(scene.config, period=0.0053)
    with pytest.raises(ConfigError, match="no multiple"):
        Plant(dataclasses.replace(scene, config=odd))


def test_a_push_bends_the_joint_springs_and_is_an_external_torque(plant):
    """At rest K (q - q_cmd) = tau_ext, the relation the stiffness is measured by."""
    torque = np.array([4.0, 0.0, -3.0, 0.0, 0.0, 2.0, 0.0])
    command = plant.reset(0).position
    rest = [plant.tick(command) for _ in range(300)][-1]
    plant.push(torque)
    pushed = [plant.tick(command) for _ in range(300)][-1]
    np.testing.assert_allclose(pushed.external_torque - rest.external_torque, torque, atol=0.05)
    stiffness = np.array(plant.scene.config.robot.stiffness)
    np.testing.assert_allclose(stiffness * (pushed.position - rest.position), torque, atol=0.05)
    assert not plant.reset(0).external_torque.any()


def torque_plant():
    """The arm alone, left to the torques of its commands."""
    scene = quiet("free_space")
    robot = dataclasses.replace(scene.config.robot, control_mode="joint_torque")
    return Plant(dataclasses.replace(scene, config=dataclasses.replace(scene.config, robot=robot)))


def test_torques_accelerate_the_arm_as_its_inertia_has_it():
    """M qdd + C qd = tau, gravity and rotors included in what the robot does itself."""
    plant = torque_plant()
    q = plant.reset(0).position
    torque = np.array([3.0, -4.0, 2.0, 5.0, -1.0, 1.0, 0.5])
    first = plant.tick(q, None, torque)
    model = plant.scene.robot.arm_model()
    mass = pin.crba(model, model.createData(), q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    mass += np.diag(plant.scene.config.robot.effective_armature)
    # The joints' own damping acts from the first step on.
    np.testing.assert_allclose(first.velocity, 5e-3 * np.linalg.solve(mass, torque), rtol=0.02)


def test_without_torques_nothing_holds_the_arm_but_its_balanced_weight():
    plant = torque_plant()
    q = plant.reset(0).position
    for _ in range(20):
        measurement = plant.tick(q + 0.3)
    np.testing.assert_allclose(measurement.position, q, atol=1e-12)


@pytest.mark.parametrize("torque", [np.zeros(6), np.full(7, np.inf)])
def test_bad_torques_are_rejected_before_anything_moves(torque):
    plant = torque_plant()
    q = plant.reset(0).position
    with pytest.raises(CommandError, match="a torque command"):
        plant.tick(q, None, torque)
    np.testing.assert_array_equal(plant.engine.q, q)


def test_a_scene_may_give_an_accuracy_instead_of_a_step():
    scene = quiet()
    solver = dataclasses.replace(scene.config.solver, accuracy=1e-4)
    fine = dataclasses.replace(scene, config=dataclasses.replace(scene.config, solver=solver))
    ends = []
    for one in (scene, fine, fine):
        plant = Plant(one)
        q = plant.reset(0).position
        for _ in range(100):
            q = q + 1e-3
            measurement = plant.tick(q, GripperCommand(0.0, 20.0))
            assert measurement.status == StepStatus.OK
        assert measurement.time_ns == 100 * plant.period_ns
        ends.append(measurement)
    np.testing.assert_array_equal(ends[1].position, ends[2].position)
    np.testing.assert_allclose(ends[0].position, ends[1].position, atol=2e-3)
    np.testing.assert_allclose(ends[0].external_torque, ends[1].external_torque, atol=0.2)


def test_drakes_steps_know_no_accuracy():
    scene = quiet().on("drake")
    solver = dataclasses.replace(scene.config.solver, accuracy=1e-4)
    with pytest.raises(ModelError, match="accuracy"):
        Plant(dataclasses.replace(scene, config=dataclasses.replace(scene.config, solver=solver)))
