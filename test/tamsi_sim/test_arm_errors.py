"""An arm that is not as described: what moves it, and what its torque sensors say of it."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from contact_core.robot.description import JointFrictionConfig
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ArmErrorsConfig, TorqueSensorConfig
from tamsi_sim.robot.plant import Plant

HOME = np.array([0.0, 0.4, 0.0, -1.7, 0.3, -0.5, 0.2])
PERFECT = TorqueSensorConfig(cutoff=0.0, noise=(0.0,))


def plant_with(errors, friction=None, description="iiwa14_wsg50"):
    scene = Scene.load("free_space")
    arm = dataclasses.replace(
        scene.config.robot,
        description=description,
        errors=errors,
        friction=friction or JointFrictionConfig(),
        initial_positions=tuple(HOME),
    )
    values = dataclasses.replace(scene.config, robot=arm, torque_sensor=PERFECT)
    robot = type(scene.robot).load(description)
    return Plant(dataclasses.replace(scene, config=values, robot=robot))


def settled(plant, ticks=1500):
    for _ in range(ticks):
        report = plant.tick(HOME)
    return report


def test_an_arm_as_described_measures_nothing():
    report = settled(plant_with(ArmErrorsConfig()), 100)
    np.testing.assert_allclose(report.external_torque, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "errors",
    [
        ArmErrorsConfig(mass_ratio=(1.05, 0.95, 1.05, 0.97, 1.02, 1.05, 0.95)),
        ArmErrorsConfig(tool_mass_ratio=1.2),
        ArmErrorsConfig(tilt=(0.03, -0.02)),
    ],
)
def test_unknown_weight_bends_the_springs_and_shows_in_the_torque(errors):
    """Against Pinocchio, with inertias scaled and gravity turned by hand."""
    plant = plant_with(errors)
    errors = plant.scene.config.robot.errors  # one value a joint
    report = settled(plant)
    described = plant.scene.robot.arm_model()
    true = described.copy()
    arm, tool = (_last_link(name) for name in ("iiwa14", "iiwa14_wsg50"))
    for joint, ratio in enumerate(errors.mass_ratio, start=1):
        own = true.inertias[joint] if joint < 7 else arm
        scaled = pin.Inertia(ratio * own.mass, own.lever, ratio * own.inertia)
        true.inertias[joint] = scaled
    held = tool - arm
    ratio = errors.tool_mass_ratio
    true.inertias[7] += pin.Inertia(ratio * held.mass, held.lever, ratio * held.inertia)
    true.gravity.linear = pin.rpy.rpyToMatrix(*errors.tilt, 0.0).T @ described.gravity.linear
    unknown = pin.computeGeneralizedGravity(described, described.createData(), report.position)
    unknown -= pin.computeGeneralizedGravity(true, true.createData(), report.position)
    assert np.abs(unknown).max() > 0.2
    np.testing.assert_allclose(report.external_torque, unknown, atol=1e-3)
    bent = np.array(plant.scene.config.robot.stiffness) * (report.position - HOME)
    np.testing.assert_allclose(bent, unknown, atol=1e-2)


def _last_link(description):
    scene = Scene.load("free_space")
    return type(scene.robot).load(description).arm_model().inertias[7]


@pytest.mark.parametrize("presliding", [0.0, 300.0])
@pytest.mark.parametrize("seen", [False, True])
def test_friction_shows_where_it_lies_behind_the_sensors(seen, presliding):
    friction = JointFrictionConfig(
        kinetic=(0.3,) * 7, viscous=(0.5,) * 7, presliding_stiffness=(presliding,) * 7
    )
    plant = plant_with(ArmErrorsConfig(friction_seen=seen), friction)
    for k in range(200):
        report = plant.tick(HOME + 0.2 * k * 0.005)
    assert (report.velocity > 0.1).all()
    expected = -0.3 - 0.5 * report.velocity if seen else np.zeros(7)
    np.testing.assert_allclose(report.external_torque, expected, atol=1e-6)


def test_elastic_gears_turn_the_encoders_against_the_links():
    stiff = plant_with(ArmErrorsConfig(tool_mass_ratio=1.0))
    soft = plant_with(ArmErrorsConfig(gear_stiffness=(5000.0,) * 7))
    report = settled(soft)
    twist = report.position - soft.truth().joint_position[:7]
    np.testing.assert_allclose(twist, report.joint_torque / 5000.0, atol=1e-6)
    assert np.abs(twist).max() > 1e-3
    # The joints' controller sees the encoders, and so does the driver of its command.
    np.testing.assert_allclose(report.position, settled(stiff).position, atol=1e-3)
    np.testing.assert_allclose(report.commanded_position, HOME, atol=1e-9)
