"""A maker's model becomes a robot of the graph: written here, as makers write them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest

from contact_core.base.errors import ModelError
from contact_core.model.mjcf.model import read_mjcf
from contact_core.model.urdf import read_tree
from contact_core.multibody.collision.shapes import shape_to_coal, triangles_to_coal
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_stack import cli
from contact_stack.arm_import.check import check_arm
from contact_stack.arm_import.fit import fit_primitives
from contact_stack.arm_import.geometry import triangles_of, write_stl
from contact_stack.arm_import.gripper import changes_of
from contact_stack.arm_import.joint_values import gains, inside
from tamsi_sim.robot.plant import Plant

JOINTS = 5
LENGTH = 0.2


def box(size, center=(0.0, 0.0, 0.0)):
    """Corners and triangles of a box."""
    points, triangles = triangles_of(coal.Box(np.array(size)))
    return points + center, triangles


def bent_link():
    """Corners and triangles of a link that is a long box with a short one across its end."""
    upright, corners = box((0.06, 0.06, LENGTH), (0.0, 0.0, 0.5 * LENGTH))
    across, more = box((0.2, 0.06, 0.06), (0.07, 0.0, LENGTH - 0.03))
    return np.vstack([upright, across]), np.vstack([corners, more + len(upright)])


def link(name: str, geometry: str, mass: float = 1.0, look: str = "") -> str:
    return f"""<link name="{name}"><inertial><origin xyz="0 0 {0.5 * LENGTH}"/>
      <mass value="{mass}"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><geometry>{look or geometry}</geometry></visual>
      <collision><geometry>{geometry}</geometry></collision></link>"""


def joint(name, kind, parent, child, rest, xyz="0 0 0.2") -> str:
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <origin xyz="{xyz}"/>{rest}</joint>"""


@pytest.fixture
def maker(tmp_path: Path) -> Path:
    """A package: meshes, joints named as their links, no effort limits, two loose fingers."""
    package = tmp_path / "my_arm_description"
    (package / "meshes").mkdir(parents=True)
    write_stl(package / "meshes" / "link.stl", *bent_link())
    mesh = '<mesh filename="package://my_arm_description/meshes/link.stl"/>'
    parts = [link("base", '<box size="0.2 0.2 0.1"/>')]
    for k in range(1, JOINTS + 1):
        gone = mesh.replace("link.stl", "gone.stl") if k == 2 else ""
        parts.append(link(f"axis{k}", mesh, 2.0 / k, gone))
        turn = '<axis xyz="0 0 1"/>' if k in (1, JOINTS) else '<axis xyz="0 1 0"/>'
        limit = '<limit lower="-2" upper="2" effort="0" velocity="0"/>' if k > 1 else ""
        kind = "revolute" if k > 1 else "continuous"
        parent = f"axis{k - 1}" if k > 1 else "base"
        parts.append(joint(f"axis{k}", kind, parent, f"axis{k}", turn + limit))
    for side, sign in (("left", 1), ("right", -1)):
        parts.append(link(f"finger_{side}", '<box size="0.02 0.01 0.08"/>', 0.05))
        low, high = sorted((sign * 0.03, 0.0))
        limits = f'<axis xyz="0 1 0"/><limit lower="{low}" upper="{high}" effort="9" velocity="1"/>'
        at = f"0 {0.005 * sign} 0.25"
        parts.append(
            joint(f"{side}_slide", "prismatic", f"axis{JOINTS}", f"finger_{side}", limits, at)
        )
    file = package / "urdf" / "my_arm.urdf"
    file.parent.mkdir()
    file.write_text(f'<robot name="my_arm">{"".join(parts)}</robot>')
    return file


@pytest.fixture
def plain(maker: Path) -> Path:
    """The same with links that one box fits: where it does not matter what they look like."""
    mesh = maker.parents[1] / "meshes" / "link.stl"
    write_stl(mesh, *box((0.06, 0.06, LENGTH), (0.0, 0.0, 0.5 * LENGTH)))
    return maker


def test_an_arm_of_meshes_with_clashing_names_is_simulated(maker, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["import", str(maker), "--json", "report.json"]) == 0
    file = tmp_path / "my_arm" / "my_arm.yaml"
    said = capsys.readouterr().out
    assert f"robot:={file}" in said and "gone.stl" in said and "effort limits are guessed" in said
    description = RobotDescription.load(str(file))
    assert description.arm_joints == tuple(f"axis{k}" for k in range(1, JOINTS + 1))
    assert description.gripper_joint == "left_slide"
    assert description.open_position == pytest.approx(0.03)
    for mesh in (file.parent / "meshes").iterdir():
        assert str(mesh) in description.urdf and str(maker.parent.parent) not in description.urdf
    robot = Robot.from_description(description)
    # The tool is between the fingertips and looks out of the hand.
    robot.update(np.zeros(JOINTS))
    tool = robot.tool_pose()
    assert tool.rotation[:, 2] == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
    assert tool.translation == pytest.approx([0.0, 0.0, (JOINTS + 1) * LENGTH + 0.09], abs=0.03)
    # Fingers open to both sides.
    robot.set_gripper(0.03)
    robot.update(np.zeros(JOINTS))
    left, right = (robot.link_pose(f"finger_{side}").translation for side in ("left", "right"))
    assert left - right == pytest.approx([0.0, 0.07, 0.0], abs=1e-6)
    # A hand of 20 N is held where the arm's springs hold it.
    plant = Plant(Scene.load("free_space", str(file)))
    home = np.array(description.joints.home)
    robot.update(home)
    torque = robot.torque_of_force(robot.tool_link, robot.tool_pose().translation, [0.0, 20.0, 0.0])
    plant.push(torque)
    for _ in range(400):
        report = plant.tick(home)
    assert report.position - home == pytest.approx(torque / robot.stiffness, abs=2e-3)
    report = json.loads((tmp_path / "report.json").read_text())["check"]
    assert report["mass"] == pytest.approx(sum(2.0 / k for k in range(1, JOINTS + 1)) + 0.1)
    assert report["clearance"] > 0.0


def test_nothing_is_replaced_and_nothing_half_done_is_left(plain, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_arm").mkdir()
    (tmp_path / "my_arm" / "mine").write_text("")
    assert cli.main(["import", str(plain)]) == cli.EXIT_ERROR
    assert "--force" in capsys.readouterr().err
    assert cli.main(["import", str(plain), "--out", "other", "--tip", "axis9"]) == cli.EXIT_ERROR
    assert "did you mean axis" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my_arm", "my_arm_description"]
    assert cli.main(["import", str(plain), "--force", "--tolerance", "0.05"]) == 0
    made = {path.name for path in (tmp_path / "my_arm").iterdir()}
    # What is not the import's own stays.
    assert {"mine", "my_arm.yaml", "my_arm.urdf"} <= made


@pytest.mark.parametrize("out", ["urdf", "link"])
def test_what_is_imported_is_not_replaced(plain, out, monkeypatch, capsys):
    before = plain.read_bytes()
    monkeypatch.chdir(plain.parents[1])
    Path("link").symlink_to("urdf")
    assert cli.main(["import", str(plain), "--out", out, "--force"]) == cli.EXIT_ERROR
    assert "valid: another --out" in capsys.readouterr().err
    assert plain.read_bytes() == before


def test_links_without_an_inertial_weigh_something_if_asked_to(
    plain, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    text = plain.read_text()
    fingers = re.compile(r'(<link name="finger_\w+">)<inertial>.*?</inertial>', re.DOTALL)
    bare, count = fingers.subn(r"\1", text)
    assert count == 2
    plain.write_text(bare)
    assert cli.main(["import", str(plain), "--density", "2000", "--json", "report.json"]) == 0
    assert "at 2000 kg/m^3: 'finger_left' 0.032 kg" in capsys.readouterr().out
    report = json.loads((tmp_path / "report.json").read_text())["check"]
    assert report["mass"] == pytest.approx(sum(2.0 / k for k in range(1, JOINTS + 1)) + 0.064)


def test_what_weighs_nothing_is_named_and_an_arm_without_masses_refused(
    plain, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    text = plain.read_text()
    inertial = re.compile(r"<inertial>.*?</inertial>", re.DOTALL)
    plain.write_text(inertial.sub("", text, count=3))  # Of the base, axis1 and axis2.
    assert cli.main(["import", str(plain)]) == 0
    assert "weigh nothing: axis1, axis2 (valid: --density)" in capsys.readouterr().out
    plain.write_text(inertial.sub("", text))
    assert cli.main(["import", str(plain), "--force"]) == cli.EXIT_ERROR
    said = capsys.readouterr().err
    assert "joint 'axis1' moves no mass" in said and "or --density for links without one" in said


def test_links_whose_meshes_are_missing_are_refused(maker, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (maker.parents[1] / "meshes" / "link.stl").rename(tmp_path / "elsewhere.stl")
    assert cli.main(["import", str(maker)]) == cli.EXIT_ERROR
    said = capsys.readouterr().err
    # The remedy comes before the paths, of which there are three and not ten.
    names, _, paths = said.partition("(valid: --package-path FOLDER with their packages): ")
    assert names.endswith("no mesh of links axis1, axis2, axis3 and 2 more can be read, so nothing "
                          "could touch them ")  # fmt: skip
    assert "meshes/link.stl of link 'axis1'" in paths and paths.endswith(" and 7 more\n")
    assert paths.count(".stl") == 3


def test_two_arms_and_none_are_refused_by_name(maker, capsys):
    text = maker.read_text()
    one = text[text.index('<link name="axis1') : text.index("</robot>")]
    other = one.replace('"axis', '"other').replace("finger_", "thumb_").replace("_slide", "_shift")
    maker.write_text(text.replace("</robot>", f"{other}</robot>"))
    assert cli.main(["import", str(maker), "--force"]) == cli.EXIT_ERROR
    assert "several arms: choose --tip LINK (valid: axis5, other5)" in capsys.readouterr().err
    maker.write_text(text.replace('"revolute"', '"fixed"'))
    assert cli.main(["import", str(maker), "--force"]) == cli.EXIT_ERROR
    assert "no chain of 4 or more revolute joints" in capsys.readouterr().err


MJCF = """<mujoco model="arm"><compiler angle="radian"/><worldbody>{bodies}</worldbody>
  <tendon><fixed name="grip"><joint joint="f1" coef="0.5"/><joint joint="f2" coef="0.5"/></fixed>
  </tendon><equality><joint joint1="f1" joint2="f2"/></equality>
  <actuator>{motors}<position name="gripper" tendon="grip" kp="100" forcerange="-30 30"
  ctrlrange="0 0.04"/></actuator>
  <keyframe><key name="home" qpos="0.1 0.5 0.6 0.7 0.02 0.02"/></keyframe></mujoco>"""


def mjcf() -> str:
    body = """<body name="palm" pos="0 0 0.2"><geom type="capsule" fromto="0 -.05 0 0 .05 0"
      size=".02"/><body name="pad1" pos="0 0 .05"><joint name="f1" type="slide" axis="0 1 0"
      range="0 .04"/><geom type="box" size=".01 .005 .03" pos="0 .005 .03"/></body>
      <body name="pad2" pos="0 0 .05"><joint name="f2" type="slide" axis="0 -1 0" range="0 .04"/>
      <geom type="box" size=".01 .005 .03" pos="0 -.005 .03"/></body></body>"""
    for k in (4, 3, 2, 1):
        axis = "0 0 1" if k in (1, 4) else "0 1 0"
        body = f"""<body name="l{k}" pos="0 0 0.2"><joint name="j{k}" axis="{axis}" range="-2 2"
          armature="0.05" damping="0.3" frictionloss="0.1"/>
          <geom type="capsule" fromto="0 0 0 0 0 0.15" size="0.04"/>{body}</body>"""
    motors = "".join(
        f'<motor joint="j{k}" ctrlrange="-40 40" ctrllimited="true"/>' for k in range(1, 5)
    )
    return MJCF.format(bodies=body, motors=motors)


def test_a_mjcf_with_a_gripper_of_tendons_keeps_its_masses(tmp_path, capsys):
    file = tmp_path / "arm.xml"
    file.write_text(mjcf())
    assert cli.main(["import", str(file), "--out", str(tmp_path / "out")]) == 0
    description = RobotDescription.load(str(tmp_path / "out" / "arm.yaml"))
    assert description.joints.home == pytest.approx((0.1, 0.5, 0.6, 0.7))
    assert description.joints.effective_armature == pytest.approx((0.05,) * 4)
    assert description.gripper_joint in ("f1", "f2")
    assert description.open_position == pytest.approx(0.04)
    original, model = read_mjcf(mjcf()).tree, description.model()
    q = {name: 0.3 for name in description.arm_joints}
    inertias = []
    for tree in (original, model):
        position = pin.neutral(tree)
        for name, value in q.items():
            position[tree.joints[tree.getJointId(name)].idx_q] = value
        index = [tree.joints[tree.getJointId(name)].idx_v for name in q]
        matrix = np.triu(pin.crba(tree, tree.createData(), position))
        inertias.append((matrix + np.triu(matrix, 1).T)[np.ix_(index, index)])
    # Pinocchio adds the armature of joints, which is in the robot's file here.
    armature = np.diag([0.05] * 4)
    assert inertias[0] - armature == pytest.approx(inertias[1], abs=1e-6)
    # Fingers with equal and opposite axes follow one joint, both from closed on.
    robot = Robot.from_description(description)
    robot.set_gripper(0.04)
    robot.update(np.zeros(4))
    apart = robot.link_pose("pad1").translation - robot.link_pose("pad2").translation
    assert apart == pytest.approx([0.0, 0.08, 0.0], abs=1e-6)


def test_springs_and_tendons_of_a_mjcf_are_named(tmp_path, capsys):
    file = tmp_path / "arm.xml"
    text = mjcf().replace('name="j1" axis', 'name="j1" stiffness="1" axis')
    tendon = """<fixed name="tie" stiffness="1"><joint joint="j1" coef="1"/>
      <joint joint="j2" coef="1"/></fixed></tendon>"""
    file.write_text(text.replace("</tendon>", tendon))
    assert cli.main(["import", str(file), "--out", str(tmp_path / "out")]) == 0
    assert "the springs of j1 and the tendons tie are left out" in capsys.readouterr().out


def test_a_loop_in_a_gripper_is_held_and_one_in_the_arm_refused(tmp_path, capsys):
    file, words = tmp_path / "arm.xml", ["--out", str(tmp_path / "out")]
    connect = '<connect name="link" body1="pad1" body2="{}" anchor="0 0 0"/></equality>'
    file.write_text(mjcf().replace("</equality>", connect.format("pad2")))
    assert cli.main(["import", str(file), *words]) == cli.EXIT_ERROR
    assert "'link' closes a loop of f1, f2 (valid: --no-gripper" in capsys.readouterr().err
    assert cli.main(["import", str(file), "--no-gripper", *words]) == 0
    description = RobotDescription.load(str(tmp_path / "out" / "arm.yaml"))
    assert description.arm_joints == ("j1", "j2", "j3", "j4") and not description.gripper_joint
    file.write_text(mjcf().replace("</equality>", connect.format("l3")))
    assert cli.main(["import", str(file), "--no-gripper", "--force", *words]) == cli.EXIT_ERROR
    assert "'link' closes a loop of f1, j4 (valid: a serial arm)" in capsys.readouterr().err


@pytest.mark.parametrize("tolerance", [0.02, 0.01])
def test_primitives_stand_off_a_mesh_by_no_more_than_asked(tolerance):
    points, triangles = bent_link()
    fit = fit_primitives(points, triangles, tolerance)
    assert fit.excess <= tolerance
    mesh = triangles_to_coal(points, triangles)
    here, ask = coal.Transform3s(), coal.DistanceRequest()
    for shape, pose in fit.shapes:
        corners, faces = triangles_of(shape_to_coal(shape))
        spots = np.vstack([corners, corners[faces].mean(axis=1)])
        for spot in spots @ pose.rotation.T + pose.translation:
            ball = coal.Transform3s(np.eye(3), spot)
            away = coal.distance(mesh, here, coal.Sphere(1e-6), ball, ask, coal.DistanceResult())
            inside = (np.abs(spot[:2]) <= 0.03).all() and 0.0 <= spot[2] <= LENGTH
            assert inside or away <= tolerance + 2e-3
    for corner in points:
        nearest = min(
            coal.distance(
                shape_to_coal(shape), coal.Transform3s(pose.rotation, pose.translation),
                coal.Sphere(1e-6), coal.Transform3s(np.eye(3), corner), ask, coal.DistanceResult(),
            )
            for shape, pose in fit.shapes
        )  # fmt: skip
        assert nearest <= 0.5 * tolerance + 2e-3


def test_contacts_are_located_where_torques_tell_them():
    robot = Robot.from_description(RobotDescription.load("iiwa14"))
    links = {link.joints: link for link in check_arm(robot, robot.joints.home).links}
    # One torque says nothing of five unknowns, and the first joint feels no force on its axis.
    assert links[1].located == 0.0 and links[1].felt < 0.5
    assert links[2].located == 0.0 and links[7].felt == 1.0
    assert links[7].anywhere > 0.8 > links[4].anywhere


def slim(*more: str) -> str:
    """A URDF of four joints and primitives, quick to import, with more elements."""
    limit = '<limit lower="-2" upper="2" effort="50" velocity="2"/>'
    parts = [link("base", '<box size="0.2 0.2 0.1"/>')]
    for k, axis in enumerate(("0 0 1", "0 1 0", "0 1 0", "1 0 0"), 1):
        parts.append(link(f"l{k}", '<cylinder radius="0.04" length="0.2"/>'))
        rest = f'<axis xyz="{axis}"/>{limit}'
        parts.append(joint(f"j{k}", "revolute", f"l{k - 1}" if k > 1 else "base", f"l{k}", rest))
    return f'<robot name="slim">{"".join(parts)}{"".join(more)}</robot>'


def imported(folder: Path, text: str, *words: str) -> int:
    """Import a model to folder/out; the exit code of the command."""
    file = folder / ("arm.xml" if text.startswith("<mujoco") else "arm.urdf")
    file.write_text(text)
    return cli.main(["import", str(file), "--out", str(folder / "out"), "--force", *words])


INERTIAL = re.compile(r'(<link name="l4">)<inertial>.*?</inertial>', re.DOTALL)
FINGER = (
    link("finger", '<box size="0.02 0.01 0.08"/>', 0.05),
    joint("slide", "prismatic", "l4", "finger",
          '<axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="9" velocity="1"/>'),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (INERTIAL.sub(r"\1", slim()), [], "joint 'j4' moves no mass, as link 'l4' has none"),
        (slim().replace('mass value="1.0"', 'mass value="-1"', 3), [],
         "'base' has a mass of -1 kg"),
        (re.sub('"0.01" iyy="0.01" izz="0.003"', '"0" iyy="0" izz="0"', slim()), [],
         "body 'l1' has principal inertias [0 0 0]"),
        (slim().replace('axis xyz="1 0 0"', 'axis xyz="0 0 0"'), [], "'j4' has the axis '0 0 0'"),
        (slim().replace('lower="-2" upper="2"', 'lower="0" upper="0"', 2), [],
         "the limits of joints j1, j2 leave no range"),
        (slim(), ["--tip", "base"], "'base' is the end of no arm of the graph: it is moved by"),
        (slim(), ["--tip", "l1", "--no-gripper"], "it is moved by j1 (valid: a chain of 4 or more"),
        (slim(), ["--tip", "l3"], "it is moved by j1, j2, j3 (valid: a chain of 4 or more"),
        (slim(), ["--home", "0.1", "0.2"], "--home has 2 positions (valid: 4, of joints j1, j2"),
        (slim(), ["--home", "0", "9", "0", "0"], "joint 'j2' at 9 rad (valid: -2 to 2 rad)"),
        (slim(), ["--home", "0", "0", "nan", "0"], "joint 'j3' at nan rad"),
        (slim(link("x", ""), joint("j2", "fixed", "l4", "x", "")), [], "joint 'j2' is there twice"),
        (slim(link("l2", "")), [], "link 'l2' is there twice"),
        (slim(joint("up", "fixed", "l4", "l5", "")), [], "joint 'up': no link 'l5' (valid: base"),
        (slim(joint("up", "fixed", "l4", "l2", "")), [], "child of joint 'j2' and of joint 'up'"),
        (slim(joint("up", "fixed", "l4", "base", "")), [], "circle: 'j1', 'up', 'j4', 'j3', 'j2'"),
        (slim(), ["--package-path", "nope"], "--package-path nope is no folder"),
        (slim(), ["--name", ""], "'' is no name of a robot (valid: --name with letters"),
        ("<html/>", [], "begins with <html> (valid: robot, sdf, mujoco)"),
        (slim().replace('<cylinder radius="0.04" length="0.2"/>', '<sphere radius="0"/>'), [],
         "visual sphere radius='0' of link 'l1'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_before_any_shape_is_fitted(
    text, words, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("contact_stack.arm_import.build._replace_collisions", None)
    assert imported(tmp_path, text, *words) == cli.EXIT_ERROR
    assert message in capsys.readouterr().err


def test_geoms_of_a_mjcf_have_a_density_of_their_own(tmp_path, capsys):
    assert imported(tmp_path, mjcf(), "--density", "1000") == cli.EXIT_ERROR
    assert "(a MJCF's geoms have one)" in capsys.readouterr().err
    assert imported(tmp_path, mjcf().replace('axis="0 1 0"', 'axis="0 1 0" pos="0 0 0.01"')) == 0
    assert "weigh nothing" not in capsys.readouterr().out


def test_a_base_that_leans_in_the_model_is_named(tmp_path, capsys):
    mount = '<origin xyz="0 0 1" rpy="1.5708 0 0"/>'
    fixed = joint("mount", "fixed", "torso", "base", "").replace('<origin xyz="0 0 0.2"/>', mount)
    text = slim(link("torso", '<box size="0.1 0.1 0.1"/>'), fixed)
    assert imported(tmp_path, text, "--base", "base") == 0
    shown = capsys.readouterr().out
    assert "in the model 'base' leans by 90 deg" in shown
    assert "leans with rpy: [1.5708, 0.0, 0.0] beside" in " ".join(shown.split())
    assert imported(tmp_path, text.replace(mount, ""), "--base", "base") == 0
    assert "leans by" not in capsys.readouterr().out


def test_a_keyframe_of_zeros_is_a_home_and_one_beyond_limits_moved_inside(tmp_path, capsys):
    text, home = mjcf(), "0.1 0.5 0.6 0.7"
    assert imported(tmp_path, text.replace(home, "0 0 0 0")) == 0
    description = RobotDescription.load(str(tmp_path / "out" / "arm.yaml"))
    assert description.joints.home == (0.0,) * 4
    assert imported(tmp_path, text.replace(home, "0.1 0.5 3 0.7")) == 0
    assert "keyframe, which has j3 (at 3 rad) beyond limits" in capsys.readouterr().out
    description = RobotDescription.load(str(tmp_path / "out" / "arm.yaml"))
    assert description.joints.home == pytest.approx((0.1, 0.5, 2.0, 0.7), abs=2e-3)


def test_guesses_are_within_the_ranges_of_a_robot_file():
    assert gains(np.array([20.0, 5e4]), np.zeros(2))["spring_torque"] == [12.0, 1e4]
    assert inside(np.array([0.5, 9.0]), np.array([[0.12345, 0.0], [0.12345, 1.0]])) == [
        0.12345, 0.999
    ]  # fmt: skip


def test_a_held_joint_that_follows_is_held_where_the_other_one_puts_it(tmp_path, capsys):
    limit = '<axis xyz="0 1 0"/><limit lower="0.7" upper="2" effort="5" velocity="2"/>'
    mimic = '<mimic joint="neck" multiplier="-1" offset="0.9"/>'
    head = joint("neck", "revolute", "base", "head", limit)
    beak = joint("bite", "revolute", "head", "beak", limit + mimic)
    box = '<box size="0.02 0.02 0.02"/>'
    assert imported(tmp_path, slim(link("head", box), head, link("beak", box), beak)) == 0
    assert "joints neck (at 0.7), bite (at 0.2) are held" in capsys.readouterr().out
    model = read_tree((tmp_path / "out" / "arm.urdf").read_text())
    beak = model.frames[model.getFrameId("beak")].placement.rotation
    assert pin.log3(beak) == pytest.approx([0.0, 0.9, 0.0], abs=1e-6)


def test_fingers_that_cannot_move_are_held(tmp_path, capsys):
    stiff = [part.replace('upper="0.04"', 'upper="0"') for part in FINGER]
    assert imported(tmp_path, slim(*stiff)) == 0
    assert "gripper joints slide are held" in capsys.readouterr().out
    assert not RobotDescription.load(str(tmp_path / "out" / "arm.yaml")).gripper_joint


def test_a_fixed_joint_may_have_the_name_of_its_link(tmp_path):
    hand = [
        link("hand", '<box size="0.05 0.05 0.05"/>', 0.1),
        joint("hand", "fixed", "l4", "hand", ""),
    ]
    assert (
        imported(tmp_path, slim(*hand, *(part.replace('"l4"', '"hand"') for part in FINGER))) == 0
    )
    assert RobotDescription.load(str(tmp_path / "out" / "arm.yaml")).gripper_joint == "slide"


@pytest.mark.parametrize(
    ("name", "master"), [("j2", "j1"), ("j3", "j2"), ("j4", "j3"), ("j5", "j4")]
)
@pytest.mark.parametrize("tip", ["", "tool0"])
def test_an_arm_with_a_joint_that_follows_another_one_is_refused(
    name, master, tip, tmp_path, capsys
):
    more = [
        link("l5", '<cylinder radius="0.04" length="0.2"/>'),
        joint("j5", "revolute", "l4", "l5",
              '<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="2"/>'),
        link("l6", '<cylinder radius="0.04" length="0.2"/>'),
        joint("j6", "revolute", "l5", "l6",
              '<axis xyz="1 0 0"/><limit lower="-2" upper="2" effort="50" velocity="2"/>'),
        '<link name="tool0"/>', joint("end", "fixed", "l6", "tool0", ""),
    ]  # fmt: skip
    start = f'<joint name="{name}" type="revolute">'
    text = slim(*more).replace(start, f'{start}<mimic joint="{master}" multiplier="-1"/>')
    words = ["--tip", tip] if tip else []
    assert imported(tmp_path, text, *words) == cli.EXIT_ERROR
    said = capsys.readouterr().err
    assert f"joint '{name}' follows joint '{master}' (mimic) in the chain of the arm" in said
    assert ("--tip l4 --no-gripper ends it before" in said) == (name == "j5")
    if name == "j5":
        assert imported(tmp_path, text, "--tip", "l4", "--no-gripper") == 0
        assert "joints j5, j6 are held" in capsys.readouterr().out


def limits(folder: Path) -> dict[str, tuple[float, float]]:
    """Position limits of the arm that was imported to folder/out."""
    robot = Robot.from_description(RobotDescription.load(str(folder / "out" / "arm.yaml")))
    return dict(zip(robot.joint_names, map(tuple, robot.position_limits.T), strict=True))


def test_soft_limits_narrow_the_limits_and_those_that_make_no_sense_are_named(tmp_path, capsys):
    def soft(text: str, name: str, rest: str) -> str:
        start = f'<joint name="{name}" type="revolute">'
        return text.replace(start, f"{start}<safety_controller {rest}/>")

    text = slim(FINGER[0], FINGER[1].replace("</joint>", '<safety_controller k_velocity="1" '
                'soft_lower_limit="0" soft_upper_limit="0.03"/></joint>'))  # fmt: skip
    text = soft(text, "j1", 'k_velocity="10"')
    text = soft(text, "j2", 'soft_lower_limit="-0.5" soft_upper_limit="2.5"')
    text = soft(text, "j3", 'soft_lower_limit="1" soft_upper_limit="-1"')
    text = soft(text, "j4", 'soft_lower_limit="-2" soft_upper_limit="2"')
    text = text.replace('<joint name="j1" type="revolute">', '<joint name="j1" type="continuous">')
    assert imported(tmp_path, text) == 0
    said = capsys.readouterr().out
    assert "joint j2 has limits of -0.5 to 2 rad by its soft ones, else -2 to 2" in said
    assert "joint j3 has soft limits of 1 to -1 rad, which leave no range: not read" in said
    assert "joint slide has limits of 0 to 0.03 m by its soft ones, else 0 to 0.04" in said
    assert "joint j4 has" not in said and "joint j1 has" not in said
    found = limits(tmp_path)
    assert found["j2"] == (-0.5, 2.0) and found["j3"] == found["j4"] == (-2.0, 2.0)
    assert RobotDescription.load(str(tmp_path / "out" / "arm.yaml")).open_position == 0.03
    assert imported(tmp_path, text, "--home", "0", "-1", "0", "0") == cli.EXIT_ERROR
    assert "joint 'j2' at -1 rad (valid: -0.5 to 2 rad)" in capsys.readouterr().err
    assert imported(tmp_path, soft(slim(), "j2", 'soft_upper_limit="far"')) == cli.EXIT_ERROR
    said = capsys.readouterr().err
    assert "joint 'j2': safety_controller soft_upper_limit='far' (valid: a number)" in said


def test_only_what_has_no_end_stops_turns_without_end(tmp_path, capsys):
    text = slim().replace('lower="-2" upper="2"', 'lower="-6.2831853" upper="6.2831853"', 1)
    text = text.replace('lower="-2" upper="2"', 'lower="-7.85" upper="7.85"', 1)
    text = text.replace('lower="-2" upper="2"', 'lower="-1e16" upper="1e16"', 1)
    assert imported(tmp_path, text) == 0
    said = re.findall(r"joint (\w+) turns without end", capsys.readouterr().out)
    assert said == ["j3"]
    found = limits(tmp_path)
    assert found["j1"] == pytest.approx((-6.2831853, 6.2831853))
    assert found["j2"] == (-7.85, 7.85) and found["j3"] == (-6.283, 6.283)


def test_how_a_gripper_counts_otherwise_than_its_makers_is_said(tmp_path, capsys):
    shape = '<box size="0.02 0.01 0.08"/>'
    text = slim(
        link("left", shape, 0.05),
        joint("drive", "prismatic", "l4", "left", '<axis xyz="0 1 0"/>'
              '<limit lower="0.01" upper="0.05" effort="9" velocity="1"/>', "0 -0.055 0.2"),
        link("right", shape, 0.05),
        joint("second", "prismatic", "l4", "right", '<axis xyz="0 -1 0"/><mimic joint="drive"/>'
              '<limit lower="0.01" upper="0.05" effort="9" velocity="1"/>', "0 0.055 0.2"),
    )  # fmt: skip
    law = "run against the maker's, q = 0.05 - q of the maker's: drive, second"
    assert imported(tmp_path, text) == 0
    assert f"gripper joints that {law}" in capsys.readouterr().out
    file = tmp_path / "out" / "arm.yaml"
    assert f"# gripper joints that {law}\n" in file.read_text()
    # It is as wide open at the maker's 0.02 as at 0.03 here.
    robot = Robot.from_description(RobotDescription.load(str(file)))
    robot.set_gripper(0.03)
    robot.update(np.zeros(4))
    apart = robot.link_pose("right").translation - robot.link_pose("left").translation
    assert apart == pytest.approx([0.0, 0.07, 0.0], abs=1e-6)
    text = text.replace('lower="0.01" upper="0.05"', 'lower="0" upper="0.04"')
    text = re.sub('"0 (-?)0.055 0.2"', r'"0 \g<1>0.005 0.2"', text)
    text = text.replace('0 1 0"/><limit lower="0"', '0 -1 0"/><limit lower="0"')
    assert imported(tmp_path, text.replace('0 -1 0"/><mimic', '0 1 0"/><mimic')) == 0
    assert "the maker's" not in capsys.readouterr().out + file.read_text()


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ((0.0, 1.0), []),
        ((0.0, -1.0), ["run against the maker's, q = -q of the maker's"]),
        ((-0.3, -0.5), ["run against the maker's, q = -0.3 - q of the maker's"]),
        ((-0.3, 0.5), ["start elsewhere than the maker's, q = q of the maker's + 0.3"]),
        ((0.3, 0.0), ["start elsewhere than the maker's, q = q of the maker's - 0.3"]),
    ],
)
def test_zeros_and_directions_of_fingers_are_converted(law, said):
    assert changes_of({"finger": law}) == [f"gripper joints that {how}: finger" for how in said]


def test_an_effort_limit_that_cannot_hold_the_arm_is_guessed_as_a_missing_one(tmp_path, capsys):
    words = ["--home", "0", "1.5", "0", "0", "--json", str(tmp_path / "report.json")]
    text = slim().replace('effort="50"', 'effort="3"', 3)
    assert imported(tmp_path, text.replace('effort="50"', 'effort="40"'), *words) == 0
    said = capsys.readouterr().out
    found = re.search(r"limit of j2 \(([\d.]+) of 3 Nm\), j3 \(([\d.]+) of 3 Nm\), so it", said)
    level = [9.81 * sum(LENGTH * (k + 0.5) for k in range(n)) * np.sin(1.5) for n in (3, 2)]
    assert [float(torque) for torque in found.groups()] == pytest.approx(level, rel=2e-3)
    assert "so it cannot be true; the same number at j1 neither" in said
    assert "effort limits are guessed: j1, j2, j3\n" in said
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["check"]["load"] < 0.5
    robot = Robot.from_description(RobotDescription.load(str(tmp_path / "out" / "arm.yaml")))
    assert robot.effort_limits[3] == 40.0 and (robot.effort_limits[:3] > 3.0 * level[1]).all()
    assert robot.spring_torque == pytest.approx(0.6 * robot.effort_limits)
    assert robot.stiffness == pytest.approx(4.0 * robot.effort_limits)
    # As if they were missing.
    assert imported(tmp_path, text.replace('effort="3"', "").replace("50", "40"), *words) == 0
    missing = Robot.from_description(RobotDescription.load(str(tmp_path / "out" / "arm.yaml")))
    assert missing.effort_limits == pytest.approx(robot.effort_limits)


def test_what_a_killed_import_left_is_removed_by_the_next_one_of_that_name(
    tmp_path, monkeypatch, capsys
):
    made = []

    def fail(source, options, folder):
        made.append(folder.parent)
        raise ModelError("enough")

    monkeypatch.setattr("contact_stack.arm_import.command.build_robot", fail)
    assert imported(tmp_path, slim()) == cli.EXIT_ERROR
    assert capsys.readouterr().out == f"importing {tmp_path}/arm.urdf as 'arm'\n"
    (ours,) = made
    assert not ours.exists() and f".arm_{os.getpid()}_" in ours.name
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    stay = [
        ours,  # As if this process were another import that runs.
        tmp_path / ".arm_settings",
        tmp_path / f".arm_two_{dead.pid}_abcd1234",
        tmp_path / f".arm_{dead.pid}_{os.getpid()}_abcd1234",
    ]
    gone = tmp_path / f".arm_{dead.pid}_abcd1234"
    for path in (*stay, gone):
        path.mkdir()
        (path / "arm.yaml").write_text("")
    assert imported(tmp_path, slim()) == cli.EXIT_ERROR
    assert not gone.exists() and all(path.exists() for path in stay)


def test_an_import_that_is_terminated_leaves_nothing(tmp_path):
    (tmp_path / "arm.urdf").write_text(slim())
    code = (
        "import os, signal, sys\n"
        "from contact_stack import cli\n"
        "from contact_stack.arm_import import command\n"
        "command.build_robot = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.exit(cli.main(['import', 'arm.urdf']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert done.returncode == 128 + signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["arm.urdf"]
