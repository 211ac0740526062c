"""What URDF and SDF say of surfaces is that of their shapes, as Drake reads it."""

import warnings

import pytest

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.model_file import self_contained
from contact_core.robot.description import collision_shapes

SPHERE = '<geometry><sphere radius="1"/></geometry>'
PROXIMITY = """<drake:proximity_properties><drake:mu_dynamic value="0.3"/>
  <drake:point_contact_stiffness value="5e4"/><drake:hunt_crossley_dissipation value="2.5"/>
  </drake:proximity_properties>"""


def urdf(inside="", beside=""):
    return f"""<robot name="r"><link name="a"><collision name="one">{SPHERE}{inside}</collision>
      <collision name="two">{SPHERE}</collision></link><link name="b"/><joint name="j"
      type="fixed"><parent link="a"/><child link="b"/></joint>{beside}</robot>"""


def sdf(inside):
    return f"""<sdf version="1.9"><model name="m"><static>true</static><link name="a">
      <collision name="one"><geometry><sphere><radius>1</radius></sphere></geometry>{inside}
      </collision></link></model></sdf>"""


def surfaces(text, tmp_path):
    """Stiffness, dissipation and friction of all shapes."""
    shapes = collision_shapes(self_contained(text, "it", tmp_path))
    return [(shape.stiffness, shape.dissipation, shape.friction) for shape in shapes]


NOTHING = (None, None, None)
GAZEBO = '<gazebo reference="a"><mu1>0.4</mu1><mu2 value="0.4"/></gazebo>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (urdf(), [NOTHING, NOTHING]),
        (urdf(PROXIMITY), [(5e4, 2.5, 0.3), NOTHING]),
        (urdf(beside=GAZEBO), [(None, None, 0.4)] * 2),
        (urdf(PROXIMITY, GAZEBO), [(5e4, 2.5, 0.3), (None, None, 0.4)]),
        (urdf(beside='<gazebo reference="b"><mu>0.4</mu></gazebo>'), [NOTHING, NOTHING]),
        (sdf(""), [NOTHING]),
        (
            sdf("<surface><friction><ode><mu>0.2</mu><mu2>0.2</mu2></ode></friction></surface>"),
            [(None, None, 0.2)],
        ),
        (
            sdf("<surface><friction><bullet><friction>0.7</friction></bullet></friction></surface>"
                "<drake:proximity_properties><drake:mu_static>0.7</drake:mu_static>"
                "<drake:hunt_crossley_dissipation>3</drake:hunt_crossley_dissipation>"
                "</drake:proximity_properties>"),
            [(None, 3.0, 0.7)],
        ),
    ],
)  # fmt: skip
def test_what_a_file_says_is_read(tmp_path, recwarn, text, expected):
    assert surfaces(text, tmp_path) == expected
    assert not [w for w in recwarn if issubclass(w.category, ModelWarning)]


@pytest.mark.parametrize(
    ("text", "message", "friction"),
    [
        (
            urdf(beside='\n<gazebo reference="a"><mu1>0.4</mu1><mu2>0.1</mu2></gazebo>'),
            r"it: mu1 0.4, mu2 0.1 \(line 4\): one friction, taken as 0.1",
            0.1,
        ),
        (
            sdf("<drake:proximity_properties><drake:mu_dynamic>0.4</drake:mu_dynamic>"
                "<drake:mu_static>0.9</drake:mu_static></drake:proximity_properties>"),
            "drake:mu_static 0.9, drake:mu_dynamic 0.4 .*: one friction, taken as 0.4",
            0.4,
        ),
        (
            urdf(beside="<gazebo><mu1>0.4</mu1></gazebo>"),
            r"friction of '' \(line 3\) is that of no link",
            None,
        ),
    ],
)  # fmt: skip
def test_what_two_coefficients_become_is_said(tmp_path, text, message, friction):
    with pytest.warns(ModelWarning, match=message):
        assert surfaces(text, tmp_path)[0][2] == friction


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            urdf(beside=GAZEBO.replace(">0.4<", ">much<")),
            r"it: mu1 is 'much' \(line 3; valid",
        ),
        (urdf(PROXIMITY.replace("5e4", "0")), r"stiffness is '0' \(line 2; valid: > 0\)"),
        (urdf(PROXIMITY.replace("2.5", "-1")), r"dissipation is '-1' \(line 2; valid: >= 0\)"),
    ],
)
def test_numbers_that_are_none_are_refused(tmp_path, text, message):
    with pytest.raises(ModelError, match=message):
        self_contained(text, "it", tmp_path)


def test_drake_reads_the_same(tmp_path):
    parsing = pytest.importorskip("pydrake.multibody.parsing")
    plants = pytest.importorskip("pydrake.multibody.plant")
    from pydrake.systems.framework import DiagramBuilder

    surface = "<surface><friction><ode><mu>0.9</mu><mu2>0.2</mu2></ode></friction></surface>"
    for text, kind in ((urdf(PROXIMITY), "urdf"), (sdf(surface), "sdf")):
        plant, scene = plants.AddMultibodyPlantSceneGraph(DiagramBuilder(), 1e-3)
        parsing.Parser(plant, scene).AddModelsFromString(text, kind)
        geometry = plant.GetCollisionGeometriesForBody(plant.GetBodyByName("a"))[0]
        said = scene.model_inspector().GetProximityProperties(geometry)
        with pytest.warns(ModelWarning) if kind == "sdf" else warnings.catch_warnings():
            stiffness, dissipation, friction = surfaces(text, tmp_path)[0]
        assert friction == said.GetProperty("material", "coulomb_friction").dynamic_friction()
        if kind == "urdf":
            assert stiffness == said.GetProperty("material", "point_contact_stiffness")
            assert dissipation == said.GetProperty("material", "hunt_crossley_dissipation")
