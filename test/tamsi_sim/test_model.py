"""Bad models are rejected with one error that names the body."""

import coal
import numpy as np
import pinocchio as pin
import pytest
from builders import arm_instance, body_urdf, box, engine_of, mug_instance, pose, sphere

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.multibody.collision.shapes import shape_from_coal
from contact_core.multibody.rigid_body.joints import joint_type
from contact_core.robot.scene import Instance
from contact_core.robot.surface import Surface
from tamsi_sim.simulation.model import build_model


def build(*instances):
    return build_model(instances, lambda i, link: Surface(1e4, 1.0, 0.5), lambda a, b: True)


@pytest.mark.parametrize("mass", [0.0, -1.0])
def test_mass_must_be_positive(mass):
    with pytest.raises(ModelError, match=r"thing: body 'brick' has mass"):
        build(Instance("thing", body_urdf("brick", box(1, 1, 1), mass=mass), free=True))


def test_inertia_must_be_positive_definite():
    urdf = body_urdf("brick", box(1, 1, 1), inertia=(1.0, 1.0, 0.0))
    with pytest.raises(ModelError, match=r"body 'brick' has principal inertias"):
        build(Instance("thing", urdf, free=True))


def test_a_fixed_thing_needs_no_mass():
    built = build(Instance("wall", body_urdf("brick", box(1, 1, 1), mass=0.0)))
    assert len(built.arrays.bodies.parent) == 0


def test_joint_types_that_we_do_not_know_are_named():
    with pytest.raises(ModelError, match=r"joint 'screw' is a HelicalUnaligned \(valid: revolute"):
        joint_type("screw", pin.JointModelHelicalUnaligned(np.array([0.0, 0.6, 0.8]), 0.1))


def test_missing_mesh_is_named():
    urdf = body_urdf("brick", '<mesh filename="missing.obj"/>')
    with pytest.raises(ModelError, match=r"thing: .*missing.obj"):
        build(Instance("thing", urdf, free=True))
    with pytest.warns(ModelWarning, match="meshes left out: 'missing.obj' of link 'brick'"):
        assert build(Instance("thing", urdf, free=True, repair=True)).shapes == ()


def test_mesh_without_a_volume_is_named(tmp_path):
    mesh = tmp_path / "flat.obj"
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 3 4\n")
    urdf = body_urdf("brick", f'<mesh filename="{mesh}"/>')
    with pytest.raises(ModelError, match=r"thing: collision 'brick_shape' is a mesh without a vol"):
        build(Instance("thing", urdf, free=True))
    with pytest.warns(ModelWarning, match="without a volume: left out"):
        assert build(Instance("thing", urdf, free=True, repair=True)).shapes == ()


def test_a_shape_without_a_size_is_left_out_if_asked_to():
    urdf = body_urdf("bead", '<sphere radius="0"/>')
    with pytest.raises(ModelError, match="is a sphere whose radius must be 1 positive number"):
        build(Instance("thing", urdf, free=True))
    with pytest.warns(ModelWarning, match="is a sphere whose radius .* got '0': left out"):
        assert build(Instance("thing", urdf, free=True, repair=True)).shapes == ()


def test_unknown_shape_is_named():
    with pytest.raises(ModelError, match=r"collision 'horn' is a Cone \(valid: sphere"):
        shape_from_coal(coal.Cone(0.1, 0.2), "horn")


def test_names_differ_also_with_those_of_their_instances():
    """One took the place of the other in silence."""
    turn = """<robot name="r"><link name="base"/><joint name="{}" type="{}"><parent link="base"/>
      <child link="bar"/><axis xyz="0 0 1"/></joint><link name="bar"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""

    def things(kind):
        names = (("a", "b/j"), ("c", "b/j"), ("a/b", "j"), ("d", "j"))
        return [Instance(name, turn.format(joint, kind)) for name, joint in names]

    assert list(build(*things("continuous")[1:]).joints) == ["b/j", "a/b/j", "d/j"]
    with pytest.raises(ModelError, match="2 joints, actuators or tendons are 'a/b/j'"):
        build(*things("continuous"))
    with pytest.raises(ModelError, match="two bodies that float are 'a/b/j'"):
        build(*things("floating"))


@pytest.mark.parametrize("mass", ["nan", "inf"])
def test_mass_must_be_a_number(mass):
    with pytest.raises(ModelError, match=r"body 'brick' has mass"):
        build(Instance("thing", body_urdf("brick", box(1, 1, 1), mass=mass), free=True))


def test_links_have_poses_and_joints_velocity_limits():
    built = build(arm_instance())
    assert built.velocities[0] == pytest.approx(np.deg2rad(85.0), abs=1e-3)
    assert built.links["robot", "lbr_link_0"][0] == -1
    assert built.links["robot", "lbr_link_1"][0] == 0


def test_text_that_is_no_urdf():
    with pytest.raises(ModelError, match="thing"):
        build(Instance("thing", "<robot/>"))


def test_joints_of_one_name_are_told_apart_by_their_instances():
    built = build(arm_instance(), Instance("second", arm_instance().urdf, pose(x=2.0)))
    assert built.joints["robot/lbr_A1"] == built.joint_dofs["robot", "lbr_A1"] == 0
    assert built.joints["second/lbr_A1"] == built.joint_dofs["second", "lbr_A1"] == 8
    assert "lbr_A1" not in built.joints


def test_a_mimic_joint_adds_its_own_damping_and_friction_to_its_masters():
    links = "".join(
        f'''<link name="{name}"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'''
        for name in "abc"
    )
    joints = "".join(
        f'''<joint name="{name}" type="continuous"><parent link="a"/><child link="{child}"/>
        <axis xyz="0 0 1"/><dynamics damping="{d}" friction="{f}"/>{law}</joint>'''
        for name, child, d, f, law in [
            ("follower", "b", 7, 4, '<mimic joint="master" multiplier="-2" offset="0.5"/>'),
            ("master", "c", 3, 1, ""),
        ]
    )
    engine = engine_of([Instance("r", f'<robot name="r">{links}{joints}</robot>')])
    assert engine.built.joints == {"master": 0}
    assert engine.built.arrays.joints.damping == pytest.approx([3 + 4 * 7])
    assert engine.built.arrays.joints.friction == pytest.approx([1 + 2 * 4])
    engine.q[0] = 0.3
    engine.evaluate()
    assert engine.observer.mass_matrix()[0] == pytest.approx([1 + 4 * 1])
    turns = [np.arctan2(r[1, 0], r[0, 0]) for r in engine.work.kinematics.rotation]
    assert turns == pytest.approx([-2 * 0.3 + 0.5, 0.3])


def test_a_link_on_a_floating_joint_is_a_free_body():
    urdf = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="fly" type="floating"><parent link="a"/><child link="b"/>
      <origin xyz="0 0 1"/></joint></robot>"""
    engine = engine_of([Instance("r", urdf, pose(z=2.0), gravity=(0.0, 0.0, -10.0))])
    assert engine.built.free_bodies == {"r/fly": (0, 0)}
    assert engine.q[:3].tolist() == [0.0, 0.0, 3.0]
    engine.step(10)
    assert engine.v[2] == pytest.approx(-0.1)


def test_pairs_that_cannot_move_relative_to_each_other_are_left_out():
    ball = body_urdf("ball", sphere(0.1))
    built = build(Instance("a", ball), Instance("b", ball), Instance("c", ball, free=True))
    assert sorted(map(sorted, built.pairs.tolist())) == [[0, 2], [1, 2]]


def test_mimic_finger_shares_its_masters_degree_of_freedom():
    engine = engine_of([arm_instance()], touch=lambda a, b: False)
    assert len(engine.v) == 8
    engine.q[7] = 0.03
    engine.evaluate()
    left, right = engine.work.kinematics.position[7:9]
    assert np.linalg.norm(left - right) == pytest.approx(0.06)


def test_limits_damping_and_names_come_from_the_urdf():
    built = build(arm_instance(), mug_instance())
    assert list(built.joints)[:2] == ["lbr_A1", "lbr_A2"]
    assert built.free_bodies == {"mug": (8, 8)}
    assert built.arrays.joints.upper[1] == pytest.approx(np.deg2rad(120.0), abs=1e-5)
    assert built.arrays.joints.damping[0] == 0.5
    assert np.isinf(built.arrays.joints.upper[9])
