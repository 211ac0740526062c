"""Where joints start, and how fast."""

import numpy as np
import pytest

from contact_core.base.errors import ModelError
from contact_core.model.articulation import read_articulation
from contact_core.multibody.rigid_body.joints import BALL, REVOLUTE

BALL_TEXT = """<mujoco><worldbody><body name="a"><joint name="b" type="ball"/><geom size="0.1"/>
  <body pos="1 0 0"><joint name="h" range="-90 90"/><geom size="0.1"/></body></body></worldbody>
  <keyframe><key name="up" qpos="0 2 0 0 0.5"/></keyframe></mujoco>"""


def test_a_ball_joint_starts_at_roll_pitch_and_yaw_or_a_keyframes_quaternion():
    articulation = read_articulation(BALL_TEXT)
    assert [body.kind for body in articulation.bodies] == [BALL, REVOLUTE]
    assert articulation.start({}) == {"b": (0.0, 0.0, 0.0, 1.0), "h": (0.0,)}
    yaw = articulation.start({"b": (0.0, 0.0, np.pi / 2)})["b"]
    assert yaw == pytest.approx((0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)))
    assert articulation.at("up").start({})["b"] == pytest.approx((1.0, 0.0, 0.0, 0.0))
    for wrong in (0.3, (0.1, 0.2), (0.0, 0.0, np.nan), "up"):
        with pytest.raises(ModelError, match=r"'b' \(roll, pitch, yaw\) must be 3 finite"):
            articulation.start({"b": wrong})


def test_velocities_have_as_many_numbers_as_the_joint_has_degrees_of_freedom():
    articulation = read_articulation(BALL_TEXT)
    found = articulation.velocity({"b": [1, 2, 3]})
    assert found == {"b": (1.0, 2.0, 3.0), "h": (0.0,)}
    assert articulation.velocity({"h": 2.0})["h"] == (2.0,)
    with pytest.raises(ModelError, match=r"velocity of joint 'b' must be 3 finite .*, got 1.0"):
        articulation.velocity({"b": 1.0})
    with pytest.raises(ModelError, match=r"no joint 'j' to move at 1.0 \(valid: b, h\)"):
        articulation.velocity({"j": 1.0})
