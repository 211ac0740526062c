"""A model agrees with its reference, and whatever is changed in one of both is found."""

import warnings

import pytest

from contact_core.model.articulation import read_articulation
from contact_experiments.models.check import Fate, check, compare
from contact_experiments.models.references import (
    INSTANCE,
    DrakeReference,
    MujocoReference,
    PinocchioReference,
)
from tamsi_sim.simulation.world import World

URDF = """<robot name="r"><link name="base"/>
  <link name="a"><inertial><origin xyz="0 0.1 0.2"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision></link>
  <link name="b"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="i" type="revolute"><origin xyz="0 0 1"/><parent link="base"/><child link="a"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="30" velocity="4"/>
    <dynamics damping="0.5" friction="0.25"/></joint>
  <joint name="j" type="continuous"><origin xyz="0.5 0 0" rpy="0.1 0.2 0.3"/><parent link="a"/>
    <child link="b"/><axis xyz="1 0 0"/><mimic joint="i" multiplier="-2" offset="0.1"/>
    <limit effort="5" velocity="6"/></joint></robot>"""
SDF = """<sdf version="1.9"><model name="m"><link name="a"><pose>0 0 1 0.1 0 0</pose>
  <inertial><pose>0 0.1 0 0 0 0</pose><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy>
    <izz>0.15</izz></inertia></inertial>
  <collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link>
  <link name="b"><pose relative_to="a">0.5 0 0 0 0.2 0</pose><inertial><mass>1</mass></inertial>
  </link><joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz>
    <limit><lower>-1</lower><upper>2</upper><effort>30</effort><velocity>4</velocity></limit>
    <dynamics><damping>0.5</damping></dynamics></axis></joint></model></sdf>"""
MJCF = """<mujoco><worldbody><geom type="plane" size="1 1 1" friction="0.3"/>
  <body pos="0 0 1"><freejoint/><geom name="c" size="0.1" mass="2" friction="0.2"/>
    <body pos="0.5 0 0"><joint name="j" axis="0 1 0" range="-60 120" damping="0.5" armature="0.2"
      frictionloss="0.25" stiffness="3" springref="20"/><geom type="box" size="0.1 0.2 0.3"/>
      <body><joint name="k" type="ball"/><geom size="0.1" pos="0.3 0 0"/></body></body></body>
  </worldbody><actuator><position name="m" joint="j" kp="7" gear="2" ctrlrange="-0.5 0.5"/>
  </actuator></mujoco>"""
KINDS = {"urdf": (URDF, PinocchioReference), "sdf": (SDF, DrakeReference)}
KINDS["xml"] = MJCF, MujocoReference


@pytest.fixture(autouse=True)
def oracles(monkeypatch, tmp_path):
    pytest.importorskip("mujoco")
    pytest.importorskip("pydrake")
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log there.


def written(tmp_path, kind, text):
    path = tmp_path / f"model.{kind}"
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_agrees_with_its_reference(tmp_path, kind):
    outcome = check(written(tmp_path, kind, KINDS[kind][0]))
    assert (outcome.fate, outcome.reason, outcome.differences) == (Fate.LOADED, "", {})


@pytest.mark.parametrize(
    ("kind", "old", "new", "quantity"),
    [
        ("urdf", 'mass value="2"', 'mass value="2.00001"', "mass matrix"),
        ("urdf", 'xyz="0.5 0 0"', 'xyz="0.5 0.00001 0"', "poses"),
        ("urdf", 'upper="2"', 'upper="2.1"', "upper"),
        ("urdf", 'effort="30"', 'effort="31"', "effort"),
        ("urdf", 'velocity="4"', 'velocity="5"', "velocity"),
        ("urdf", 'damping="0.5"', 'damping="0"', "damping"),
        ("urdf", 'friction="0.25"', 'friction="0"', "friction"),
        ("urdf", "<collision>", "<collision><geometry><sphere/></geometry></collision><collision>",
         "shapes"),
        ("urdf", 'joint name="i"', 'joint name="h"', "joints"),
        ("sdf", "<mass>2</mass>", "<mass>2.00001</mass>", "mass matrix"),
        ("sdf", "0.5 0 0 0 0.2 0", "0.5 0.00001 0 0 0.2 0", "poses"),
        ("sdf", "<lower>-1<", "<lower>-1.1<", "lower"),
        ("sdf", "<effort>30<", "<effort>31<", "effort"),
        ("sdf", "<damping>0.5<", "<damping>0.6<", "damping"),
        ("xml", 'mass="2"', 'mass="2.01"', "mass matrix"),
        ("xml", 'pos="0.5 0 0"', 'pos="0.51 0 0"', "poses"),
        ("xml", "-60 120", "-60 121", "upper"),
        ("xml", 'armature="0.2"', 'armature="0.3"', "armature"),
        ("xml", 'frictionloss="0.25"', "", "friction"),
        ("xml", 'stiffness="3"', 'stiffness="4"', "stiffness"),
        ("xml", 'springref="20"', 'springref="30"', "rest"),
        ("xml", 'kp="7"', 'kp="8"', "actuators"),
        ("xml", 'friction="0.2"', 'friction="0.4"', "contact friction"),
        ("xml", 'name="c"', 'name="c" contype="0" conaffinity="0"', "shapes"),
    ],
)  # fmt: skip
def test_what_is_read_otherwise_is_found(tmp_path, kind, old, new, quantity):
    text, reference = KINDS[kind]
    assert old in text
    engine = World().add(INSTANCE, text).build()
    articulation = read_articulation(engine.built.texts[INSTANCE])
    path = written(tmp_path, kind, text)
    assert compare(engine, articulation, reference(path)) == {}
    path.write_text(
        text.replace(old, new, 1).replace(
            'joint="i"', 'joint="h"' if new[12:-1] == "h" else 'joint="i"'
        )
    )
    assert quantity in compare(engine, articulation, reference(path))


LONE = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1"
  izz="{}" ixy="0" ixz="0" iyz="0"/></inertial>{}</link></robot>"""
LIMITS = 'effort="0" velocity="4"'


@pytest.mark.parametrize(
    ("text", "fate", "reason"),
    [
        (LONE.format(1, ""), Fate.LOADED, ""),
        (LONE.format(3, ""), Fate.REPAIRED, "none can be greater"),
        (LONE.format(1, "<collision><geometry><cone/></geometry></collision>"), Fate.REFUSED,
         "is a cone"),
        ("<robot/>", Fate.NO_MODEL, ""),
    ],
)  # fmt: skip
def test_what_becomes_of_a_file(tmp_path, text, fate, reason):
    """One without joints floats: its inertia counts."""
    outcome = check(written(tmp_path, "urdf", text))
    assert outcome.fate is fate
    assert reason in outcome.reason
    assert outcome.silent == ()


def test_a_difference_that_is_said_is_not_silent(tmp_path):
    path = written(tmp_path, "urdf", URDF.replace('effort="30" velocity="4"', LIMITS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = check(path)
    assert "effort" in outcome.differences
    assert outcome.silent == ()
    assert any("limits of zero" in text for text in outcome.warnings)
