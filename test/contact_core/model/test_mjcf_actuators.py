"""What the actuators, tendons and equalities of a MJCF say."""

import warnings

import numpy as np
import pytest
from mjcf_texts import TIED, TWO, body, mjcf

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.articulation import read_articulation
from contact_core.model.mjcf.model import read_mjcf

DRIVES = {
    "none": "",
    "general": '<general gainprm="100" biastype="affine" biasprm="3 -7 -10" gear="-2"/>',
    "without a bias": '<general gainprm="9" biasprm="2 -5 -6"/>',
    "filter": '<general dyntype="filterexact" gainprm="8" biastype="affine" biasprm="0 -8 -1"/>',
    "integrator": '<general dyntype="integrator" gainprm="8" biastype="affine" biasprm="0 -8"/>',
    "other gain": '<general gaintype="affine" gainprm="5 6 7"/>',
    "position": '<position kp="50" kv="3" ctrlrange="-3 3"/>',
    "dampratio": '<position kp="50" dampratio="0.7" gear="3"/>',
    "timeconst": '<position kp="20" timeconst="0.1"/>',
    "velocity": '<velocity kv="9"/>',
    "motor": '<motor gear="3" ctrlrange="-2 2"/>',
    "damper": '<damper kv="3" ctrlrange="0 1"/>',
    "intvelocity": '<intvelocity kp="5" kv="2"/>',
    "position, velocity": '<position kp="50" kv="3"/><velocity kv="4"/>',
    "velocity, position": '<velocity kv="4"/><position kv="2"/>',
    "position, general": '<position kp="50" kv="3"/><general gear="2"/>',
    "velocity, general": '<velocity kv="5"/><general biasprm="1"/>',
}
OWN = ["<general {}/>", '<general biasprm="1" {}/>', '<general biastype="affine" {}/>',
       "<motor {}/>", "<position {}/>", '<position kp="2" {}/>', '<position kv="2" {}/>',
       '<position dampratio="1" {}/>', "<velocity {}/>", '<velocity kv="2" {}/>']  # fmt: skip


@pytest.mark.parametrize("inner", DRIVES)
@pytest.mark.parametrize("outer", DRIVES)
def test_actuators_of_any_kind_inherit_as_in_mujoco(outer, inner):
    mujoco = pytest.importorskip("mujoco")
    classes = f'<default>{DRIVES[outer]}<default class="c">{DRIVES[inner]}</default></default>'
    drives = "".join(own.format(f'name="a{k}" joint="j" class="c"') for k, own in enumerate(OWN))
    text = mjcf(
        body(
            '<joint name="j" pos="1 0 0" axis="0 1 0" armature="0.1"/><body pos="1 0 0"><joint '
            'axis="0 1 0" ref="20"/><geom size="0.1" mass="2" pos="0.5 0 0.2"/></body>'
        ),
        classes, f"<actuator>{drives}</actuator>",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        found = read_articulation(text).actuators
    model = mujoco.MjModel.from_xml_string(text)
    for k in range(len(OWN)):
        gear, bias = model.actuator_gear[k][0], model.actuator_biasprm[k]
        bias = bias * (model.actuator_biastype[k] == mujoco.mjtBias.mjBIAS_AFFINE)
        plain = model.actuator_dyntype[k] == 0 and model.actuator_gaintype[k] == 0
        if plain and max(bias[1:3]) <= 0.0:
            ours = found[f"a{k}"]
            gain = gear * model.actuator_gainprm[k][0]
            expected = [gain, gear * bias[0], *-(gear**2) * bias[1:3]]
            given = [ours.gain, ours.offset, ours.stiffness, ours.damping]
            np.testing.assert_allclose(given, expected, rtol=1e-9, atol=1e-12)
            if model.actuator_ctrllimited[k]:
                assert ours.upper == model.actuator_ctrlrange[k][1]
        else:
            assert f"a{k}" not in found


@pytest.mark.parametrize("coefficients", ["-2", "-2 1"])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_the_range_of_a_tendon_is_inherited_as_in_mujoco(coefficients, share):
    mujoco = pytest.importorskip("mujoco")
    tied = zip("lr", coefficients.split(), strict=False)
    joints = "".join(f'<joint joint="{n}" coef="{coefficient}"/>' for n, coefficient in tied)
    text = mjcf(
        "".join(body(f'<joint name="{n}" range="-9 9"/><geom size="0.1"/>', n) for n in "lr"),
        f'<tendon><fixed name="t" range="-1 3">{joints}</fixed></tendon>',
        f'<actuator><position name="a" tendon="t" kp="3" inheritrange="{share}"/></actuator>',
    )
    found = read_articulation(text).actuators["a"]
    expected = mujoco.MjModel.from_xml_string(text).actuator_ctrlrange[0]
    np.testing.assert_allclose([found.lower, found.upper], expected)


GRIPPER = """<tendon><fixed name="t"><joint joint="l" coef="0.5"/><joint joint="r" coef="{}"/>
  </fixed></tendon><equality><joint joint1="r" joint2="l" polycoef="0.01 {}"/></equality>
  <actuator><position name="grip" tendon="t" kp="70" dampratio="0.6" gear="2"
  ctrlrange="0 1"/></actuator>"""


@pytest.mark.parametrize(("coefficient", "ratio"), [(0.5, 1.0), (-0.25, -2.0)])
def test_a_gripper_that_a_tendon_drives_is_driven_as_in_mujoco(coefficient, ratio):
    mujoco = pytest.importorskip("mujoco")
    fingers = "".join(
        f'<body name="{n}" pos="0 {y} 0"><joint name="{n}" type="slide" axis="0 1 0"/><geom '
        f'size="0.1" mass="{m}" contype="0"/></body>'
        for n, y, m in (("l", 1, 0.3), ("r", -1, 0.5))
    )
    text = mjcf(fingers, GRIPPER.format(coefficient, ratio))
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    drive = read_articulation(text).actuators["grip"]
    for command, q, v in ((0.3, 0.0, 0.0), (0.1, 0.05, 0.2)):
        data.ctrl[0] = command
        data.qpos[:], data.qvel[:] = (q, 0.01 + ratio * q), (v, ratio * v)
        mujoco.mj_forward(model, data)
        # Virtual work: the follower moves ratio times as far.
        expected = data.qfrc_actuator @ np.array([1.0, ratio])
        force = drive.gain * command + drive.offset - drive.stiffness * q - drive.damping * v
        assert force == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["t", "i"])
def test_a_tendon_of_joints_that_go_their_own_ways_is_driven_as_in_mujoco(name):
    """Also one with the name of a joint."""
    mujoco = pytest.importorskip("mujoco")
    drive = f"""<actuator><position name="p" tendon="{name}" kp="70" dampratio="0.6" gear="2"
      ctrlrange="0 1" forcerange="-8 8"/></actuator>"""
    text = mjcf(
        body('<joint name="i"/>', "a") + body('<joint name="j"/>', "b"),
        TIED.format(name, ""),
        drive,
    )
    found = read_articulation(text)
    actuator = found.actuators["p"]
    tendon = found.tendons[actuator.joint]
    assert actuator.joint not in ("i", "j")
    assert dict(tendon.coefficients) == {"i": 0.5, "j": -0.25}
    assert tendon.law.effort == 16.0
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = (0.1, -0.2), (0.05, -0.02), 0.1
    mujoco.mj_forward(model, data)
    length, rate = 0.5 * 0.1 + 0.25 * 0.2, 0.5 * 0.05 + 0.25 * 0.02
    force = actuator.gain * 0.1 + actuator.offset
    force -= actuator.stiffness * length + actuator.damping * rate
    np.testing.assert_allclose(data.qfrc_actuator, [0.5 * force, -0.25 * force], rtol=1e-9)


LOCKED = """<equality><joint joint1="i" joint2="j" polycoef="0.1 2"/>
  <joint name="lock" joint1="j" polycoef="0.3"/>
  <joint name="other" joint1="i" joint2="k" polycoef="0 -1"/>
  <joint joint1="i" joint2="j" polycoef="0.2 2"/></equality>"""


def test_a_joint_may_be_kept_or_follow_several():
    """Follows: i = 0.1 + 2 j; kept: j at 0.3 beyond its start, and i + k; the last contradicts."""
    joints = "".join(body(f'<joint name="{n}" type="slide" ref="0.5"/>', f"b{n}") for n in "ijk")
    with pytest.warns(ModelWarning, match="equality joint '' contradicts others: left out"):
        found = read_articulation(mjcf(joints, LOCKED))
    (mimic,) = (b.mimic for b in found.bodies if b.mimic)
    assert (mimic.master, mimic.ratio, mimic.offset) == ("j", 2.0, pytest.approx(-0.4))
    lock, other = found.tendons["lock"], found.tendons["other"]
    assert dict(lock.coefficients) == {"j": 1.0}
    assert (lock.law.stiffness, lock.law.rest) == (np.inf, pytest.approx(0.8))
    assert dict(other.coefficients) == {"j": 2.0, "k": 1.0}
    assert (other.law.rest, other.offset) == (pytest.approx(1.0), pytest.approx(-0.4))


LAWS = """armature="1" damping="2" frictionloss="3" stiffness="4" range="-1 2"
  actuatorfrcrange="-5 5" """


@pytest.mark.parametrize(
    ("springlength", "rest", "slack"),
    [("", 0.05, 0.0), ('springlength="0.7"', 0.7, 0.0), ('springlength="0.7 0.9"', 0.7, 0.2)],
)
def test_a_tendon_says_what_it_does(springlength, rest, slack):
    joints = body('<joint name="i" type="slide" ref="-0.5" springref="0.1"/>', "a") + body(
        '<joint name="j" type="slide" ref="0.2"/>', "b"
    )
    tendon = read_articulation(mjcf(joints, TIED.format("t", LAWS + springlength))).tendons["t"]
    law = tendon.law
    assert (law.armature, law.damping, law.friction, law.stiffness) == (1.0, 2.0, 3.0, 4.0)
    assert (law.lower, law.upper, law.effort) == (-1.0, 2.0, 5.0)
    assert (law.rest, tendon.slack) == pytest.approx((rest, slack))


def test_a_tendon_follows_the_joints_that_follow_others():
    """0.5 i - 0.25 j with j = 0.1 + 4 k."""
    text = mjcf(
        "".join(body(f'<joint name="{n}" type="slide"/>', f"b{n}") for n in "ijk"),
        TIED.format("t", 'stiffness="1"'),
        '<equality><joint joint1="j" joint2="k" polycoef="0.1 4"/></equality>',
    )
    tendon = read_articulation(text).tendons["t"]
    assert dict(tendon.coefficients) == {"i": 0.5, "k": -1.0}
    assert tendon.offset == pytest.approx(-0.025)


def test_a_tendon_whose_length_cannot_change_exerts_nothing():
    text = mjcf(TWO, TIED.format("t", 'stiffness="1" range="0.1 1"') + KEPT)
    with pytest.warns(ModelWarning, match="tendon 't' is held at 0, beyond its range"):
        found = read_articulation(text)
    assert found.tendons == {}
    assert [body.mimic is not None for body in found.bodies].count(True) == 1


KEPT = '<equality><tendon tendon1="t"/></equality>'
THREE = """<tendon><fixed name="t"><joint joint="i" coef="1"/><joint joint="j" coef="2"/>
  <joint joint="k" coef="3"/></fixed><fixed name="u"><joint joint="k" coef="5"/></fixed></tendon>"""


def test_lengths_that_are_kept_are_tendons_of_their_own():
    """t = i + 2 j + 3 k stays, with 0.1 more; t less twice u = 5 k stays."""
    joints = "".join(body(f'<joint name="{n}" type="slide" ref="0.5"/>', f"b{n}") for n in "ijk")
    equalities = """<equality><tendon name="t" tendon1="t" polycoef="0.1"/>
      <tendon name="e" tendon1="t" tendon2="u" polycoef="0 2"/></equality>"""
    tendons = read_articulation(mjcf(joints, THREE, equalities)).tendons
    one, two = tendons["t_equality"], tendons["e"]
    assert dict(one.coefficients) == {"i": 1.0, "j": 2.0, "k": 3.0}
    assert (one.law.stiffness, one.law.rest) == (np.inf, pytest.approx(3.1))
    assert dict(two.coefficients) == {"i": 1.0, "j": 2.0, "k": -7.0}
    assert (two.law.stiffness, two.law.rest) == (np.inf, pytest.approx(-2.0))


ACTUATORS = [
    ('<motor joint="j" gear="10" ctrlrange="-2 2"/>', 20.0),
    ('<motor joint="j" gear="-10" forcerange="-3 3" ctrlrange="-2 2"/>', 20.0),
    ('<motor joint="j" ctrlrange="-2 2"/><position joint="j" forcerange="-1 1"/>', 3.0),
    ('<position joint="j" kp="100"/>', np.inf),
    ('<general joint="j" gainprm="5" ctrlrange="-1 1"/>', 5.0),
]


@pytest.mark.parametrize(("actuators", "effort"), ACTUATORS)
def test_actuators_limit_the_effort(actuators, effort):
    text = mjcf(body('<joint name="j"/>'), f"<actuator>{actuators}</actuator>")
    assert read_articulation(text).bodies[0].law.effort == effort


def test_a_joint_limits_the_effort_of_its_actuators():
    text = mjcf(
        body('<joint name="j" actuatorfrcrange="-7 7"/>'),
        '<actuator><motor joint="j" gear="10" ctrlrange="-2 2"/></actuator>',
    )
    assert read_articulation(text).bodies[0].law.effort == 7.0


def test_a_linear_equality_of_joints_is_a_mimic_joint():
    text = mjcf(
        body('<joint name="i" type="slide" ref="0.5"/>', "a") + body('<joint name="j"/>', "b"),
        '<equality><joint joint1="j" joint2="i" polycoef="0.1 -2"/></equality>',
    )
    mimic = read_articulation(text).bodies[1].mimic
    assert (mimic.master, mimic.ratio, mimic.offset) == ("i", -2.0, pytest.approx(0.1 + 2 * 0.5))


def test_the_range_of_a_tendon_is_that_of_the_one_joint_it_depends_on():
    """Also by a joint that follows it; -0.2 <= 2 (j + i) <= 0.4 with j = 1 + i."""
    text = mjcf(
        body('<joint name="i" type="slide" range="-1 1"/>', "a")
        + body('<joint name="j" type="slide"/>', "b"),
        """<tendon><fixed name="s" range="-0.2 0.4"><joint joint="i" coef="-0.5"/></fixed>
          <fixed name="t" range="-0.2 0.4"><joint joint="i" coef="2"/><joint joint="j" coef="2"/>
          </fixed></tendon><equality><joint joint1="j" joint2="i" polycoef="1 1"/></equality>""",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        law = read_articulation(text).bodies[0].law
    assert (law.lower, law.upper) == pytest.approx((-0.55, -0.4))
    with pytest.raises(ModelError, match="joint 'i' has no position within the ranges of its"):
        read_articulation(text.replace('range="-1 1"', 'range="0 1"'))


def test_actuators_of_plugins_are_named():
    plugin = """<extension><plugin plugin="mujoco.pid"><instance name="pid"/></plugin></extension>
      <actuator><plugin name="m" joint="j" plugin="mujoco.pid" instance="pid"/></actuator>"""
    with pytest.warns(ModelWarning, match="plugin 'm' not read: not affine"):
        assert read_articulation(mjcf(body('<joint name="j"/>'), plugin)).actuators == {}


@pytest.mark.parametrize("constant", ["", 'polycoef="0.1"'])
def test_a_tendon_whose_length_is_kept_couples_its_two_joints_as_in_mujoco(constant):
    mujoco = pytest.importorskip("mujoco")
    text = mjcf(
        body('<joint name="i" type="slide" ref="0.5"/>', "a") + body('<joint name="j"/>', "b"),
        f"""<tendon><fixed name="t"><joint joint="i" coef="-0.5"/><joint joint="j" coef="0.25"/>
          </fixed></tendon><equality><tendon tendon1="t" {constant}/></equality>""",
    )
    mimic = read_articulation(text).bodies[1].mimic
    assert (mimic.master, mimic.ratio) == ("i", 2.0)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for q in (0.5, -0.3):
        data.qpos[:] = q, mimic.ratio * q + mimic.offset
        mujoco.mj_forward(model, data)
        assert data.efc_pos[0] == pytest.approx(0.0, abs=1e-12)


def test_equalities_of_bodies_hold_them_where_the_file_places_them():
    """Also where their joints do not start at zero; one that is not active is left out."""
    text = mjcf(
        body('<joint name="i" type="slide" axis="1 0 0" ref="0.5"/>', "a", pos="1 2 3")
        + body('<joint name="j" ref="90"/>', "b", pos="0 0 1", euler="0 0 90"),
        """<equality><connect name="c" body1="a" body2="b" anchor="0 0 0.5"/><weld body1="b"/>
        <weld body1="a" body2="b" active="false"/></equality>""",
    )
    held = read_mjcf(text).held
    assert list(held) == ["c", "weld_1"]
    assert (held["c"].bodies, held["c"].weld) == (("a", "b"), False)
    np.testing.assert_allclose(held["c"].frames[0].translation, [0.0, 0.0, 0.5])
    np.testing.assert_allclose(held["c"].frames[1].translation, [2.0, -1.0, 2.5], atol=1e-12)
    assert (held["weld_1"].bodies, held["weld_1"].weld) == (("b", "world"), True)
    np.testing.assert_allclose(held["weld_1"].frames[0].translation, [0.0, 0.0, -1.0], atol=1e-12)
