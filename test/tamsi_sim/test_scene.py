"""Scenes: the files load, wrong keys are refused, and settings have an effect."""

import dataclasses

import coal
import numpy as np
import pinocchio as pin
import pytest
import yaml
from turning_gripper import STROKE, turning_gripper

from contact_core.base.errors import ConfigError, ModelError
from contact_core.base.files import share
from contact_core.multibody.collision.shapes import shape_to_coal
from contact_core.robot.description import collision_shapes, read_urdf
from contact_core.robot.scene import Scene
from tamsi_sim.robot.physics import build_physics


def mapping(name="mug_placement"):
    return yaml.safe_load(share("config", "scenes", f"{name}.yaml").read_text())


@pytest.mark.parametrize("name", ["mug_placement", "free_space"])
def test_scene_files_load(name):
    scene = Scene.load(name)
    assert scene.config.name == name
    assert build_physics(scene).step(1) == 0


def test_tool_starts_where_the_paper_has_it():
    tool = Scene.load("mug_placement").link_placement("tool")
    np.testing.assert_allclose(tool.translation, [0.78, 0.0, 0.55], atol=1e-6)
    # rpy(0, pi/2, 0): the tool's z axis is world x.
    np.testing.assert_allclose(tool.rotation, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-6)


def test_mug_starts_upright_between_the_pads():
    scene = Scene.load("mug_placement")
    mug = scene.object_placement("mug")
    np.testing.assert_allclose(mug.rotation, np.eye(3), atol=1e-6)
    np.testing.assert_allclose(mug.translation, [0.78, 0.0, 0.525], atol=1e-6)
    engine = build_physics(scene)
    assert engine.evaluate() == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"robott": {}}, "unknown parameter 'robott'"),
        ({"time_step": 0.0}, "time_step"),
        ({"objects": {"mug": {"urdf": "urdf/mug.urdf", "colour": "red"}}}, "objects.mug.colour"),
        ({"objects": {"mug": {"urdf": "urdf/mugg.urdf"}}, "surfaces": {}}, "mugg"),
        ({"objects": ["mug"]}, "objects must map names"),
        (
            {"objects": {"mug": {"urdf": "urdf/mug.urdf", "rpy": [0.0, 0.0, 90.0]}}},
            r"mug\.rpy\[2\]' is 90.0 \(valid: >= -6.28319 rad, <= 6.28319 rad",
        ),
        (
            {"objects": {"mug": {"urdf": "urdf/mug.urdf", "xyz": [650.0, 0.0, 0.0]}}},
            r"mug\.xyz\[0\]' is 650.0 \(valid: >= -100 m",
        ),
        ({"surfaces": {"x": {"of": ["nobody"]}}}, "'nobody' is neither a group nor a body"),
        ({"may_touch": ["robot"]}, "may_touch needs entries like"),
        (
            {"robot": mapping()["robot"] | {"initial_positions": [0, 0, 0, 0, 0, 0, -3.2]}},
            r"joint 'lbr_A7' of the robot starts at -3.2 \(valid: -3.05433 to 3.05433",
        ),
    ],
)
def test_wrong_settings_are_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        build_physics(Scene.from_mapping(mapping() | change))


@pytest.mark.parametrize(("limit", "speed"), [(2.0, STROKE / 0.55), (1.0, 1.0)])
def test_a_gripper_that_turns_takes_as_long_as_one_that_slides(limit, speed, tmp_path):
    values = turning_gripper(tmp_path, limit)
    scene = Scene.from_mapping(values)
    assert scene.robot.gripper_turns
    assert scene.config.robot.gripper.speed == pytest.approx(speed)
    values["robot"]["gripper"] = {"speed": 0.3, "initial_position": 0.5}
    said = Scene.from_mapping(values).config.robot.gripper
    assert (said.speed, said.initial_position) == (0.3, 0.5)


def test_the_stroke_of_a_wsg_50_is_what_others_are_measured_by():
    scene = Scene.load("mug_placement")
    assert not scene.robot.gripper_turns
    assert scene.robot.open_position / scene.config.robot.gripper.speed == pytest.approx(0.55)


@pytest.mark.parametrize("period", [0.0005, 0.001, 0.002, 0.0035, 0.005, 0.01])
def test_a_scene_with_another_period_has_time_steps_that_fit(period):
    scene = Scene.load("mug_placement")
    other = scene.every(period).config
    assert other.period == period
    assert other.time_step <= scene.config.time_step
    assert other.time_step > 0.5 * min(scene.config.time_step, period)
    steps = period / other.time_step
    assert steps == pytest.approx(round(steps))
    assert scene.config == Scene.load("mug_placement").config


def test_a_start_deep_inside_another_body_is_refused():
    values = mapping("push_box")
    values["objects"]["box"]["xyz"][2] -= 0.02
    message = "box/box and table/slab start 20 mm inside each other"
    with pytest.raises(ModelError, match=message):
        build_physics(Scene.from_mapping(values))


def test_stiffness_must_be_positive():
    values = mapping()
    values["robot"]["stiffness"] = [800, 600, 600, 600, 400, 200, 0]
    with pytest.raises(ConfigError, match=r"robot.stiffness\[6\]"):
        Scene.from_mapping(values)


def test_missing_file_is_named():
    with pytest.raises(ConfigError, match="nowhere"):
        Scene.load("nowhere")


def test_the_first_surface_that_lists_a_body_counts():
    scene = Scene.load("mug_placement")
    assert scene.surface_of("robot", "finger_left").friction == scene.surfaces["rubber"].friction
    assert scene.surface_of("table", "table").friction == scene.surfaces["hard"].friction


def test_robot_touches_objects_but_not_itself_unless_told():
    scene = Scene.load("mug_placement")
    finger, mug, table = ("robot", "finger_left"), ("mug", "mug"), ("table", "table")
    assert scene.may_touch(finger, mug)
    assert scene.may_touch(table, mug)
    assert not scene.may_touch(finger, ("robot", "lbr_link_1"))
    config = dataclasses.replace(scene.config, may_touch=("finger_left / table",))
    narrow = dataclasses.replace(scene, config=config)
    assert narrow.may_touch(table, finger)
    assert not narrow.may_touch(finger, mug)


def test_weight_is_felt_if_it_is_not_compensated():
    values = mapping("free_space") | {"gravity_compensated": False}
    engine = build_physics(Scene.from_mapping(values))
    engine.evaluate()
    assert abs(engine.work.dynamics.bias[1]) > 10.0


def test_only_link_6_is_in_the_tables_way_by_the_nominal_interference():
    """Along the nominal motion, with Coal: who would touch what, and how deep."""
    scene = Scene.load("mug_placement")
    robot = scene.robot
    model = robot.arm_model(0.04)
    data = model.createData()
    tool = model.getFrameId(robot.tool_link)
    furniture = [
        (item, scene.object_placement(name) * item.placement)
        for name in ("table", "cart")
        for item in collision_shapes(read_urdf(scene.objects[name].urdf))
    ]
    q = np.array(scene.config.robot.initial_positions)
    start = scene.link_placement(robot.tool_link)
    grasp = start.actInv(scene.object_placement("mug"))
    mug = collision_shapes(read_urdf(scene.objects["mug"].urdf))[0]
    nearest = {}
    for drop in np.linspace(0.0, 0.25, 26):
        target = start.copy()
        target.translation[2] -= drop
        for _ in range(20):
            pin.framesForwardKinematics(model, data, q)
            error = pin.log6(data.oMf[tool].actInv(target)).vector
            jacobian = pin.computeFrameJacobian(model, data, q, tool, pin.LOCAL)
            q = q + np.linalg.pinv(jacobian) @ error
        placed = [
            (s.name, s.shape, data.oMf[model.getFrameId(s.body)] * s.placement)
            for s in robot.shapes()
        ]
        placed.append(("mug", mug.shape, target * grasp))
        for name, shape, pose in placed[1:]:
            for item, where in furniture:
                distance = coal.distance(
                    shape_to_coal(shape),
                    coal.Transform3s(pose.rotation, pose.translation),
                    shape_to_coal(item.shape),
                    coal.Transform3s(where.rotation, where.translation),
                    coal.DistanceRequest(),
                    coal.DistanceResult(),
                )
                key = (name, item.name)
                nearest[key] = min(distance, nearest.get(key, np.inf))
    assert nearest.pop(("link_6_shell", "table_top")) == pytest.approx(-0.050, abs=1e-3)
    # Link 6 is 10 mm ahead of link 5 and holds it off the table.
    assert nearest.pop(("link_5_shell", "table_top")) > -0.041
    assert nearest[("mug", "cart_top")] == pytest.approx(0.01, abs=1e-3)
    assert min(nearest.values()) > 0.009


def test_another_robot_in_a_scene_has_its_own_joints():
    values = mapping("bottle_shake")
    values["robot"]["errors"] = {"mass_ratio": [1.1] * 7}
    own, other = Scene.from_mapping(values), Scene.from_mapping(values, "ur5e_wsg50")
    assert own.config.robot.stiffness[0] == 3000.0
    assert other.config.robot.stiffness == other.robot.joints.stiffness
    assert other.config.robot.initial_positions == other.robot.joints.home
    assert other.config.robot.errors.mass_ratio == (1.0,) * 6
    assert other.config.robot.gripper == own.config.robot.gripper
    assert other.config.torque_sensor.noise == other.robot.joints.torque_noise


def test_a_scene_extends_another_one():
    ours, paper = Scene.load("mug_placement_fr3"), Scene.load("mug_placement")
    assert ours.robot.name == "fr3_wsg50"
    assert ours.objects["mug"] == paper.objects["mug"]
    assert ours.objects["table"] != paper.objects["table"]
    assert ours.surfaces == paper.surfaces
