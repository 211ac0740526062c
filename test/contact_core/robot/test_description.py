"""Descriptions: composition, names, the gripper's geometry, and errors that name things."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
import yaml

from contact_core.base.errors import ConfigError, ModelError, ModelWarning
from contact_core.base.files import share
from contact_core.model.visuals import read_visuals
from contact_core.multibody.collision.shapes import ShapeKind, shape_from_coal, triangles_to_coal
from contact_core.robot.description import (
    Part,
    RobotDescription,
    collision_shapes,
    compose,
    read_urdf,
)
from contact_core.robot.robot import Robot

ARM = Part(urdf="urdf/iiwa14.urdf", prefix="lbr_")
ROBOTS = share("config", "robots", "iiwa14.yaml").parent
OBJECTS = ("mug", "table", "cart", "pedestal", "parallel_gripper", "box", "slab", "pusher")


@pytest.fixture(scope="module")
def robot():
    return RobotDescription.load("iiwa14_wsg50")


def test_joints_are_named_as_on_the_hardware(robot):
    model = robot.arm_model()
    assert robot.arm_joints == tuple(f"lbr_A{i}" for i in range(1, 8))
    assert tuple(model.names)[1:] == robot.arm_joints
    assert model.existBodyName("lbr_link_0")
    assert robot.model().nv == 8


def test_reach_of_the_arm_is_the_real_robots():
    model = RobotDescription.load("iiwa14").model()
    data = model.createData()
    pin.framesForwardKinematics(model, data, np.zeros(7))
    flange = data.oMf[model.getFrameId("lbr_link_ee")]
    np.testing.assert_allclose(flange.translation, [0, 0, 0.36 + 0.42 + 0.4 + 0.126], atol=1e-9)
    np.testing.assert_allclose(flange.rotation, np.eye(3), atol=1e-9)


def test_fingers_slide_sideways_when_the_tool_points_forward(robot):
    model = robot.model()
    data = model.createData()
    q = pin.neutral(model)
    # Lower arm bent forward by 90 degrees: tool z = world x.
    q[3] = -np.pi / 2
    positions = []
    for opening in (0.0, 0.05):
        q[7] = opening
        pin.framesForwardKinematics(model, data, q)
        positions.append(data.oMf[model.getFrameId("finger_left")].translation.copy())
    tool = data.oMf[model.getFrameId("tool")]
    np.testing.assert_allclose(tool.rotation[:, 2], [1.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(positions[1] - positions[0], [0.0, 0.05, 0.0], atol=1e-9)


def test_pads_meet_at_the_tool_frame_when_closed(robot):
    model = robot.model()
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    tool = data.oMf[model.getFrameId("tool")]
    pads = [s for s in robot.shapes() if s.shape.kind == ShapeKind.SPHERE]
    assert len(pads) == 16
    for pad in pads:
        at_tool = tool.actInv(data.oMf[model.getFrameId(pad.body)] * pad.placement).translation
        assert abs(at_tool[1]) == pytest.approx(pad.shape.size[0])
        assert np.hypot(at_tool[0], at_tool[2]) == pytest.approx(0.014, abs=1e-6)


def test_wrist_links_are_capsules(robot):
    kinds = {shape.body: shape.shape.kind for shape in robot.shapes()}
    for link in ("lbr_link_5", "lbr_link_6", "lbr_link_7"):
        assert kinds[link] == ShapeKind.CAPSULE
    wrist = next(s for s in robot.shapes() if s.body == "lbr_link_6")
    ends = [wrist.placement.act(np.array([0, 0, sign * wrist.shape.size[1]])) for sign in (-1, 1)]
    np.testing.assert_allclose(
        sorted(map(tuple, ends)), [[0, 0, -0.01], [0, 0.05, 0.02]], atol=1e-5
    )


def test_gripper_weighs_on_the_last_link(robot):
    bare = RobotDescription.load("iiwa14").arm_model()
    added = robot.arm_model().inertias[7].mass - bare.inertias[7].mass
    assert added == pytest.approx(0.98888 + 0.1)


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_load(name):
    model = pin.buildModelFromXML(read_urdf(f"urdf/{name}.urdf"))
    assert model.nframes > 0


def test_every_collision_shape_has_a_name_of_its_own(robot):
    texts = [robot.urdf, *(read_urdf(f"urdf/{name}.urdf") for name in OBJECTS)]
    for text in texts:
        names = [shape.name for shape in collision_shapes(text)]
        assert len(set(names)) == len(names)
        assert all(names)


def test_comments_may_hold_dashes(tmp_path):
    """As for the parsers of others, whatever is asked of such a file."""
    file = tmp_path / "r.urdf"
    file.write_text(
        f"""<robot name="r"><!-- a -- b --><link name="l"><visual><geometry>
          <mesh filename="{tmp_path}/gone.obj"/></geometry></visual><collision><geometry>
          <sphere radius="1"/></geometry></collision></link></robot>"""
    )
    text = read_urdf(file)
    assert "--" in text.partition("<link")[0]
    (ball,) = collision_shapes(text)
    assert ball.body == "l"
    with pytest.warns(ModelWarning, match="drawn as the links collide"):
        assert len(read_visuals(pin.buildModelFromXML(text), text)) == 1
    assert '<link name="l">' in compose("r", [Part(urdf=str(file))])
    assert RobotDescription("r", text, (), "l", None, "").base_link == "l"


def test_unknown_mount_link_is_named():
    gripper = Part(urdf="urdf/wsg50.urdf", mount_link="lbr_flange")
    with pytest.raises(ModelError, match=r"'lbr_flange' \(valid: lbr_link_0"):
        compose("robot", [ARM, gripper])


def test_parts_with_the_same_names_are_refused():
    twin = Part(urdf="urdf/iiwa14.urdf", prefix="lbr_", mount_link="lbr_link_ee")
    with pytest.raises(ModelError, match="'lbr_link_0' exists already"):
        compose("robot", [ARM, twin])


def test_mount_places_the_part():
    gripper = Part(
        urdf="urdf/wsg50.urdf", mount_link="lbr_link_ee", xyz=(0.0, 0.0, 0.1), rpy=(0.0, 0.0, 0.5)
    )
    model = pin.buildModelFromXML(compose("robot", [ARM, gripper]))
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    flange, body = (data.oMf[model.getFrameId(n)] for n in ("lbr_link_ee", "gripper_body"))
    relative = flange.actInv(body)
    np.testing.assert_allclose(relative.translation, [0.0, 0.0, 0.1], atol=1e-9)
    np.testing.assert_allclose(relative.rotation, pin.rpy.rpyToMatrix(0, 0, 0.5), atol=1e-9)


def test_the_first_part_may_hang_from_a_ceiling():
    """It was left standing, without a word."""
    q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
    standing, hanging, nailed = (
        pin.buildModelFromXML(compose("robot", [part]))
        for part in (
            ARM,
            dataclasses.replace(ARM, xyz=(0.0, 0.0, 1.5), rpy=(np.pi, 0.0, 0.0)),
            dataclasses.replace(ARM, mount_link="wall"),
        )
    )
    weights = [pin.computeGeneralizedGravity(m, m.createData(), q) for m in (standing, hanging)]
    np.testing.assert_allclose(weights[1], -weights[0], atol=1e-9)
    data = hanging.createData()
    pin.framesForwardKinematics(hanging, data, q)
    base = data.oMf[hanging.getFrameId("lbr_link_0")]
    np.testing.assert_allclose(base.translation, [0.0, 0.0, 1.5])
    assert [m.frames[1].name for m in (standing, hanging, nailed)] == [
        "lbr_link_0", "base_mount", "wall",
    ]  # fmt: skip


def test_missing_files_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nothing\.urdf"):
        read_urdf("urdf/nothing.urdf")
    with pytest.raises(ConfigError, match="no_robot"):
        RobotDescription.load("no_robot")
    broken = tmp_path / "broken.urdf"
    broken.write_text("<robot>")
    with pytest.raises(ModelError, match="not valid XML"):
        read_urdf(str(broken))


def test_wrong_joint_and_link_names_are_listed(tmp_path):
    text = share("config", "robots", "iiwa14.yaml").read_text()
    path = tmp_path / "robot.yaml"
    path.write_text(text.replace("lbr_A7]", "A7]"))
    with pytest.raises(ModelError, match=r"no joint 'A7' \(valid: lbr_A1"):
        RobotDescription.load(str(path))
    path.write_text(text.replace("tool_link: lbr_link_ee", "tool_link: tip"))
    with pytest.raises(ModelError, match="no link 'tip'"):
        RobotDescription.load(str(path))
    path.write_text(text.replace("tool_link: lbr_link_ee", "tool_link: lbr_link_0"))
    with pytest.raises(ModelError, match=r"moves tool_link 'lbr_link_0' \(valid: lbr_link_1, "):
        RobotDescription.load(str(path))
    path.write_text(f"{text}\ngripper_joint: lbr_A7\n")
    with pytest.raises(ModelError, match="gripper_joint 'lbr_A7' is one of arm_joints"):
        RobotDescription.load(str(path))


@pytest.mark.parametrize(
    "name", sorted({path.stem for path in ROBOTS.glob("*.yaml")} - {"two_iiwas"})
)
def test_every_shipped_robot_says_all_of_its_joints(name):
    description = RobotDescription.load(name)
    robot, joints = Robot.from_description(description), description.joints
    lower, upper = robot.position_limits
    assert np.all((lower < joints.home) & (joints.home < upper))
    assert robot.stiffness.shape == robot.spring_torque.shape == (robot.n,)
    assert np.all(robot.spring_torque < robot.effort_limits)


def test_another_arm_is_mounted_beside_the_first():
    """What plans and simulates takes both; the controller's robot is the chain of one arm."""
    description, one = RobotDescription.load("two_iiwas"), RobotDescription.load("iiwa14_pusher")
    pair, model = description.model(), one.model()
    assert pair.nv == len(description.arm_joints) == 2 * model.nv
    assert pin.computeTotalMass(pair) == pytest.approx(2 * pin.computeTotalMass(model))
    base = pair.frames[pair.getFrameId("right_link_0")]
    np.testing.assert_allclose(base.placement.translation, [1.2, -0.1, 0.0])
    with pytest.raises(ModelError, match="'right_A1' does not follow the one before"):
        Robot.from_description(description)


def test_a_robot_extends_another_one_and_files_lie_beside_it(tmp_path):
    own = RobotDescription.load("iiwa14").urdf
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "arm.urdf").write_text(own)
    base = {
        "extends": "iiwa14", "name": "mine", "arm": {"urdf": "arm.urdf", "prefix": ""},
        "joints": {"stiffness": 300},
    }  # fmt: skip
    (tmp_path / "mine" / "base.yaml").write_text(yaml.safe_dump(base))
    top = {"extends": "mine/base.yaml", "joints": {"damping_ratio": 0.9}}
    (tmp_path / "top.yaml").write_text(yaml.safe_dump(top))
    robot = RobotDescription.load(str(tmp_path / "top.yaml"))
    assert (robot.name, robot.tool_link) == ("mine", "lbr_link_ee")
    assert robot.joints.stiffness == (300.0,) * 7
    assert robot.joints.damping_ratio == 0.9
    assert robot.joints.home == RobotDescription.load("iiwa14").joints.home


def test_robots_that_extend_each_other_are_refused(tmp_path):
    (tmp_path / "a.yaml").write_text("extends: b.yaml")
    (tmp_path / "b.yaml").write_text("extends: a.yaml")
    with pytest.raises(ConfigError, match=r"circle: a.yaml -> b.yaml -> a.yaml"):
        RobotDescription.load(str(tmp_path / "a.yaml"))


def test_numbers_of_other_joints_are_named(tmp_path):
    (tmp_path / "a.yaml").write_text("extends: ur5e\njoints: {stiffness: [1, 2, 3, 4, 5, 6, 7]}")
    with pytest.raises(ConfigError, match=r"a.yaml.*'joints.stiffness' .*6 joints, got 7"):
        RobotDescription.load(str(tmp_path / "a.yaml"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"home": [0.0, 9.0, 0.0, -1.2, 0.0, 1.0, 0.0]}, "joints.home has joint 'lbr_A2' at 9 rad"),
        ({"spring_torque": 400.0}, "joints.spring_torque of 'lbr_A1' is 400 Nm"),
    ],
)
def test_what_the_joints_cannot_do_is_refused(tmp_path, change, reason):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"extends": "iiwa14", "name": "mine", "joints": change}))
    with pytest.raises(ModelError, match=reason):
        RobotDescription.load(str(path))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('effort="176"', 'effort="0"', "effort limit of 0 Nm"),
        ('type="revolute"', 'type="continuous"', "'lbr_A1' has no end stops: make it revolute"),
        ('type="revolute"', 'type="prismatic"', "'lbr_A1' is not revolute"),
    ],
)
def test_joints_that_no_arm_has_are_named(tmp_path, old, new, reason):
    urdf = share("description", "urdf", "iiwa14.urdf").read_text().replace(old, new, 1)
    (tmp_path / "mine.urdf").write_text(urdf)
    path = tmp_path / "mine.yaml"
    path.write_text("extends: iiwa14\nname: mine\narm: {urdf: mine.urdf}\n")
    with pytest.raises(ModelError, match=reason):
        Robot.from_description(RobotDescription.load(str(path)))


@pytest.mark.parametrize(
    ("follower", "master", "left_out"),
    [("A5", "A4", ""), ("A5", "A4", "lbr_A5"), ("A1", "A7", "")],
)
def test_an_arm_with_a_joint_that_follows_another_one_is_refused(
    tmp_path, follower, master, left_out
):
    text = share("description", "urdf", "iiwa14.urdf").read_text()
    start = text.index(f'<joint name="{follower}"')
    end = text.index("</joint>", start)
    text = f'{text[:end]}<mimic joint="{master}" multiplier="-1"/>{text[end:]}'
    (tmp_path / "mine.urdf").write_text(text)
    path = tmp_path / "mine.yaml"
    path.write_text("extends: iiwa14\nname: mine\narm: {urdf: mine.urdf}\n")
    names = RobotDescription.load("iiwa14").arm_joints
    if left_out:
        path.write_text(
            f"{path.read_text()}arm_joints: {[name for name in names if name != left_out]}\n"
            "joints: {home: 0.0, stiffness: 100, spring_torque: 10, effective_armature: 0.1}\n"
        )
    reason = f"joint 'lbr_{follower}' follows joint 'lbr_{master}'"
    with pytest.raises(ModelError, match=f"mine.yaml: {reason}"):
        RobotDescription.load(str(path))
    with pytest.raises(ModelError, match=reason):
        Robot(compose("mine", [Part(str(tmp_path / "mine.urdf"), "lbr_")]), names, "lbr_link_7")


def test_a_gripper_is_not_opened_by_a_finger_that_follows(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("extends: iiwa14_wsg50\nname: mine\ngripper_joint: finger_right_joint\n")
    with pytest.raises(ModelError, match="'finger_right_joint' follows joint 'finger_left_joint'"):
        RobotDescription.load(str(path))


def test_a_mesh_is_called_one():
    with pytest.raises(ModelError, match="collision 'shell' is a mesh"):
        shape_from_coal(triangles_to_coal(np.eye(3), np.array([[0, 1, 2]])), "shell")


def test_noise_and_friction_say_how_wrong_torques_may_be(tmp_path):
    path = tmp_path / "mine.yaml"
    joints = {"torque_noise": 0.1, "friction": {"kinetic": 0.2, "static_ratio": 1.5}}
    path.write_text(yaml.safe_dump({"extends": "iiwa14", "name": "mine", "joints": joints}))
    robot = Robot.from_description(RobotDescription.load(str(path)))
    np.testing.assert_allclose(robot.torque_error, 0.3 + 4.0 * 0.1)


def test_installed_share_folder_is_found(tmp_path, monkeypatch):
    folder = tmp_path / "share" / "contact_stack" / "description"
    folder.mkdir(parents=True)
    (folder / "only_here.urdf").write_text("<robot name='x'/>")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert share("description", "only_here.urdf") == folder / "only_here.urdf"


def test_a_robot_may_have_capsules_of_its_own(tmp_path):
    arm = tmp_path / "arm.urdf"
    arm.write_text(
        '<robot name="a" version="1.2"><link name="l"><collision><geometry>'
        '<capsule radius="0.1" length="0.2"/></geometry></collision></link></robot>'
    )
    (shape,) = collision_shapes(compose("r", [Part(urdf=str(arm))]))
    assert shape.shape.kind is ShapeKind.CAPSULE and shape.shape.size[:2] == (0.1, 0.1)
