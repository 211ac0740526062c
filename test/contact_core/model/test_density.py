"""Links without an inertial weigh what their shapes do, if asked to."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from contact_core.base.errors import ConfigError, ModelError, ModelWarning
from contact_core.model.density import weigh_links
from tamsi_sim.simulation.world import World

BAR = """<origin xyz="0 0 0.5" rpy="0 1.5707963267948966 0"/><geometry><box size="1 0.1 0.2"/>
  </geometry>"""
BALL = '<origin xyz="0 0 1"/><geometry><sphere radius="0.1"/></geometry>'
ARM = f"""<robot name="arm"><link name="base"/><link name="bar"><collision>{BAR}</collision>
  <visual>{BALL}</visual></link>
  <link name="tip"><visual>{BALL}</visual></link><link name="frame"/>
  <link name="load"><inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial><collision>{BALL}</collision></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="at" type="fixed"><parent link="bar"/><child link="tip"/><origin xyz="0 0 1"/></joint>
  <joint name="none" type="fixed"><parent link="tip"/><child link="frame"/></joint>
  <joint name="k" type="continuous"><parent link="bar"/><child link="load"/><axis xyz="0 1 0"/>
  </joint></robot>"""


def test_a_link_weighs_what_collides_of_it_or_else_what_is_seen():
    robot = ElementTree.fromstring(ARM)
    note = weigh_links(robot, 500.0)
    assert note == (
        "links without an inertial weigh what their shapes do at 500 kg/m^3: 'bar' 10 kg, "
        "'tip' 2.09 kg"
    )
    bar, tip, load = (
        robot.find(f"link[@name='{name}']/inertial") for name in ("bar", "tip", "load")
    )
    numbers = {key: float(value) for key, value in bar.find("inertia").attrib.items()}
    # About y the bar that stands has the same inertia as when it lies.
    along, across = (0.1**2 + 0.2**2) / 1.2, (1.0 + 0.2**2) / 1.2
    assert numbers["izz"] == pytest.approx(along)
    assert numbers["iyy"] == pytest.approx(across)
    assert np.array(bar.find("origin").get("xyz").split(), float) == pytest.approx([0, 0, 0.5])
    assert float(tip.find("mass").get("value")) == pytest.approx(500.0 * 4e-3 / 3.0 * np.pi)
    assert np.array(tip.find("origin").get("xyz").split(), float) == pytest.approx([0, 0, 1])
    assert load.find("mass").get("value") == "3"
    for name in ("base", "frame"):
        assert robot.find(f"link[@name='{name}']/inertial") is None
    assert weigh_links(robot, 500.0) == ""


def test_a_world_weighs_links_if_asked_to():
    with pytest.warns(ModelWarning, match="arm: links without an inertial .* 'bar' 20 kg"):
        engine = World().add("arm", ARM, density=1000.0).build()
    mass = np.pi * 4.0 / 3.0 * 1e-3 * 1000.0
    assert engine.built.arrays.inertias.mass.tolist() == pytest.approx([20.0 + mass, 3.0])
    light = World().add("arm", ARM).build()
    assert light.built.arrays.inertias.mass.tolist() == [0.0, 3.0]


@pytest.mark.parametrize(
    ("text", "density", "kind", "message"),
    [
        (ARM, 0.0, ConfigError, "arm: density must be > 0 kg/m"),
        (ARM, "heavy", ConfigError, "arm: density must be"),
        ("<mujoco><worldbody/></mujoco>", 1.0, ModelError, "a MJCF's geoms have one"),
        (
            ARM.replace('<sphere radius="0.1"/>', '<mesh filename="/no/such.stl"/>'),
            1.0, ModelError, "arm: cannot weigh the links: .*no/such.stl",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_weighed_is_named(text, density, kind, message):
    with pytest.raises(kind, match=message):
        World().add("arm", text, density=density)
