"""Small files that move in our engine as they do in MuJoCo."""

import warnings

import numpy as np
import pytest

from contact_core.base.errors import ModelWarning
from contact_core.model.articulation import read_articulation
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.robot.description import collision_shapes
from tamsi_sim.simulation.world import World

mujoco = pytest.importorskip("mujoco")

H = 1e-6
INERTIAL = '<inertial pos="0 0.1 0" mass="1" diaginertia="0.1 0.1 0.1"/>'
PAIR = f"""<body><joint name="j" axis="0 0 1" {{}}/>{INERTIAL}</body>
  <body pos="1 0 0"><joint name="k" axis="1 0 0"/>{INERTIAL}</body>"""
TENDON = """<tendon><fixed name="t" stiffness="20"><joint joint="j" coef="2"/>
  <joint joint="k" coef="-1"/></fixed></tendon>"""


def mjcf(world, *sections, compiler=""):
    """Return a MJCF in radians."""
    return f"""<mujoco><compiler angle="radian" {compiler}/><worldbody>{world}</worldbody>
      {"".join(sections)}</mujoco>"""


FILES = {
    "a tendon's spring where the joints start elsewhere": mjcf(PAIR.format('ref="0.4"'), TENDON),
    "a tendon's spring where a joint's rests elsewhere": mjcf(
        PAIR.format('springref="0.7"'), TENDON
    ),
    "an inertia beside none of geoms": mjcf(
        PAIR.format("")
        + f'<body><joint axis="0 1 0"/>{INERTIAL}<geom size="0.1" pos="0 0 1"/></body>',
        compiler='inertiafromgeom="true"',
    ),
    "joints within frames": mjcf(
        f"""<body><frame pos="0 0.2 0" euler="0.3 0.2 0.1"><frame pos="0.1 0 0"><joint axis="1 0 0"
          pos="0 0 0.3"/></frame><joint axis="0 1 0"/></frame>{INERTIAL}</body>"""
    ),
    "names that bodies and joints without one would have": mjcf(
        f"""<body name="body_2"><joint name="body_3_joint"/>{INERTIAL}<body pos="1 0 0">
          <joint axis="1 0 0"/>{INERTIAL}<body name="body_3" pos="0 0 1"><joint axis="0 1 0"/>
          {INERTIAL}</body></body></body>"""
    ),
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_things_accelerate_as_in_mujoco(text):
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine = World().add("r", text).build(H)
    engine.step()
    np.testing.assert_allclose(engine.v / H, data.qacc, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("ratio", [1.0, -2.0])
def test_a_joint_goes_no_farther_than_what_follows_it(ratio):
    text = mjcf(
        f"""<body><joint name="a" type="slide" axis="0 0 -1" range="-5 5"/>{INERTIAL}</body>
          <body><joint name="b" type="slide" axis="0 0 -1" range="-0.2 0.3"/>{INERTIAL}</body>""",
        f'<equality><joint joint1="b" joint2="a" polycoef="0.1 {ratio}"/></equality>',
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        law = read_articulation(text).bodies[0].law
    assert (law.lower, law.upper) == pytest.approx(sorted(((-0.3) / ratio, 0.2 / ratio)))


def test_what_is_compensated_otherwise_than_what_carries_it_weighs_together():
    camera = f'<body gravcomp="0.5" name="camera">{INERTIAL}</body>'
    text = mjcf(f'<body gravcomp="1"><joint axis="0 0 1" type="slide"/>{INERTIAL}{camera}</body>')
    with pytest.warns(ModelWarning, match="'camera' has another gravcomp .*: together 0.75"):
        engine = World().add("r", text).build(H)
    engine.step()
    assert engine.v[0] / H == pytest.approx(-0.25 * 9.81)


def test_an_ellipsoid_that_is_a_ball_rolls_as_one():
    text = mjcf(f'<body><freejoint/>{INERTIAL}<geom type="ellipsoid" size="0.1 0.1 0.1"/></body>')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (shape,) = collision_shapes(text)
    assert (shape.shape.kind, shape.shape.size[0]) == (ShapeKind.SPHERE, 0.1)
