"""What the simulator says on the wire is what the driver it plays would say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from contact_core.robot.arm_state import CommandMode
from contact_core.robot.gripper import GripperCommand
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import TorqueSensorConfig
from contact_ros.driver_profile import DriverConfig, driver_profile
from tamsi_sim.node.simulator import _arm_state
from tamsi_sim.robot.plant import Plant

CLEAN = TorqueSensorConfig(cutoff=0.0, noise=(0.0,))


@pytest.mark.parametrize(
    ("driver", "sign"), [("lbr_fri", -1.0), ("kuka_drivers", -1.0), ("ros2_control", 1.0)]
)
def test_at_rest_the_weight_is_a_measured_torque_of_the_drivers_sign(
    driver: str, sign: float
) -> None:
    """FRI: measured = tau_ext - g, with Pinocchio's g of arm and gripper."""
    scene = Scene.load("mug_placement")
    scene = dataclasses.replace(
        scene, config=dataclasses.replace(scene.config, torque_sensor=CLEAN)
    )
    plant = Plant(scene, 0)
    start = plant.reset(0).position
    plant.push(np.array([0.0, 5.0, 0.0, -3.0, 0.0, 1.0, 0.0]))
    for _ in range(400):
        report = plant.tick(start, GripperCommand(0.0, 20.0))
    profile = driver_profile(driver, DriverConfig(), 0.005, scene.robot.arm_joints)
    messages = profile.encode_state(_arm_state(report, 1, True, CommandMode.POSITION))
    model, rest = scene.robot.arm_model(0.04), np.zeros(7)
    gravity = pin.rnea(model, model.createData(), report.position, rest, rest)
    expected = sign * (gravity - report.external_torque)
    assert np.abs(gravity).max() > 20.0 and np.abs(report.external_torque).max() > 4.0
    np.testing.assert_allclose(messages["joint_states"].effort, expected, atol=0.02)
    if driver == "lbr_fri":
        np.testing.assert_allclose(messages["state"].measured_torque, expected, atol=0.02)
        np.testing.assert_allclose(messages["state"].external_torque, report.external_torque)
