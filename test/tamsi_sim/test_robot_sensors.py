"""The arm's joint-torque sensors: M qdd + C qd + g = tau_m + tau_ext, at rest and in motion."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from contact_core.robot.gripper import GripperCommand
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import TorqueSensorConfig
from tamsi_sim.robot.plant import Plant

CLEAN = TorqueSensorConfig(cutoff=0.0, noise=(0.0,))


def plant_with(sensor, gravity_compensated=True):
    scene = Scene.load("mug_placement")
    config = dataclasses.replace(
        scene.config, torque_sensor=sensor, gravity_compensated=gravity_compensated
    )
    return Plant(dataclasses.replace(scene, config=config))


def required_torque(plant, q, velocity, acceleration):
    """Inverse dynamics of arm and gripper, without rotors."""
    model = plant.scene.robot.arm_model(0.04)
    return pin.rnea(model, model.createData(), q, velocity, acceleration)


@pytest.mark.parametrize("compensated", [True, False])
def test_at_rest_they_carry_the_arm_and_what_it_holds(compensated):
    plant = plant_with(CLEAN, compensated)
    q = plant.reset(0).position
    for _ in range(400):
        measurement = plant.tick(q, GripperCommand(0.0, 20.0))
    needed = required_torque(plant, measurement.position, np.zeros(7), np.zeros(7))
    assert np.abs(measurement.external_torque).max() > 0.5
    np.testing.assert_allclose(
        measurement.joint_torque + measurement.external_torque, needed, atol=0.02
    )


def test_in_motion_they_drive_the_links_but_not_the_rotors():
    plant = plant_with(CLEAN)
    start = plant.reset(0).position
    before = plant.tick(start)
    worst = largest = 0.0
    for k in range(200):
        command = start + 0.1 * (1.0 - np.cos(0.05 * k)) * np.array([1, -1, 1, -1, 1, 1, 1])
        after = plant.tick(command)
        acceleration = (after.velocity - before.velocity) / 0.005
        velocity = 0.5 * (after.velocity + before.velocity)
        position = 0.5 * (after.position + before.position)
        needed = required_torque(plant, position, velocity, acceleration)
        error = after.joint_torque + after.external_torque - needed
        worst = max(worst, float(np.abs(error).max()))
        largest = max(largest, float(np.abs(acceleration).max()))
        before = after
    rotors = min(plant.scene.config.robot.effective_armature) * largest
    assert worst < 0.3 * rotors
    assert worst < 0.5


def test_noise_and_bias_are_those_of_the_external_torque():
    bias = np.linspace(-0.3, 0.3, 7)
    noisy = plant_with(TorqueSensorConfig(cutoff=0.0, noise=(0.1,), bias=tuple(bias)))
    clean = plant_with(CLEAN)
    q = noisy.reset(3).position
    clean.reset(3)
    errors = np.array([noisy.tick(q).joint_torque - clean.tick(q).joint_torque for _ in range(400)])
    np.testing.assert_allclose(errors.mean(axis=0), -bias, atol=0.02)
    np.testing.assert_allclose(errors.std(axis=0), 0.1, rtol=0.15)


def test_both_drift():
    drifting = plant_with(dataclasses.replace(CLEAN, drift=2.0))
    clean = plant_with(CLEAN)
    q = drifting.reset(3).position
    clean.reset(3)
    for _ in range(50):
        walked, true = drifting.tick(q), clean.tick(q)
    for name in ("external_torque", "joint_torque"):
        error = getattr(walked, name) - getattr(true, name)
        assert 0.2 < np.abs(error).max() < 5.0  # After 0.25 s its deviation is 1 Nm.
