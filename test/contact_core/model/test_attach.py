"""A MJCF that attaches others is the model that MuJoCo makes of it, or refused."""

import pytest

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.mjcf.model import read_mjcf
from contact_core.robot.description import read_urdf
from contact_experiments.models.check import Fate, check

ARM = """<mujoco><compiler angle="radian" meshdir="there"/><option timestep="1"/>
  <default><geom density="700" contype="2"/><joint damping="0.3"/><motor gear="3"/>
    <default class="tip"><geom size="0.05" friction="0.2"/></default></default>
  <worldbody><geom name="foot" type="box" size="0.1 0.2 0.3" euler="0.1 0.2 0.3"/>
    <body name="upper" pos="0 0 1"><joint name="i" axis="0 1 0" range="-1 2"/><geom size="0.1"/>
      <body name="lower" pos="0 0 0.5" childclass="tip">
        <joint name="j" class="main" armature="0.1"/><geom pos="0.1 0 0"/></body></body></worldbody>
  <equality><joint joint1="j" joint2="i" polycoef="0 0.5"/></equality>
  <tendon><fixed name="t"><joint joint="i" coef="2"/></fixed></tendon>
  <actuator><motor name="m" joint="i"/><position name="p" tendon="t" kp="4"/></actuator>
  {}</mujoco>"""
WHOLE = """<mujoco><compiler angle="radian"/><default><default class="soft"><geom density="9"/>
  </default></default><asset><model name="arm" file="parts/arm.xml"/></asset>
  <worldbody><geom name="floor" type="plane" size="1 1 1"/>
    <frame pos="0 1 2" euler="0 0 0.4"><attach model="arm" prefix="left_" {}/></frame>
    <body name="base" pos="0 -1 2"><freejoint/><geom size="0.3"/>
      <attach model="arm" prefix="right_" body="upper"/></body></worldbody></mujoco>"""


def written(tmp_path, arm=ARM, whole=WHOLE):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(arm.replace("{}", ""))
    (tmp_path / "whole.xml").write_text(whole.replace("{}", ""))
    return tmp_path / "whole.xml"


def test_models_are_attached_as_in_mujoco(tmp_path, monkeypatch):
    """Twice one arm: as a whole and its bodies alone; each with names and classes of its own."""
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    outcome = check(written(tmp_path))
    assert (outcome.fate, outcome.differences, outcome.warnings) == (Fate.LOADED, {}, ())
    model = read_mjcf(read_urdf(tmp_path / "whole.xml"))
    assert set(model.starts) == {"left_i", "left_j", "right_i", "right_j"}
    assert set(model.actuators) == {"left_m", "left_p", "right_m", "right_p"}


def test_a_part_may_say_what_holds_anyway(tmp_path):
    said = '<compiler angle="degree" autolimits="true"/>'
    part = ARM.replace('<compiler angle="radian" meshdir="there"/>', said)
    whole = WHOLE.replace('<compiler angle="radian"/>', "")
    assert said in part
    assert "compiler" not in whole
    assert "left_i" in read_mjcf(read_urdf(written(tmp_path, part, whole))).starts


def test_keyframes_of_attached_models_are_named(tmp_path):
    keys = '<keyframe><key name="up" qpos="1 0.5"/></keyframe>'
    path = written(tmp_path, ARM.format(keys))
    with pytest.warns(ModelWarning, match=r"whole.xml: attach \(line 4\): its keyframes are not"):
        assert read_mjcf(read_urdf(path)).keyframes == {}


@pytest.mark.parametrize(
    ("arm", "whole", "message"),
    [
        (ARM.replace('"radian"', '"degree"'), WHOLE,
         r"attach \(line 4\): its compiler has .*degree"),
        (ARM, WHOLE.replace("<default><default", "<default><geom mass='1'/><default"),
         r"attach \(line 4\): the main default has content"),
        (ARM, WHOLE.replace('model="arm" prefix="left', 'model="leg" prefix="left'),
         r"attach \(line 4\): no model 'leg' \(valid: arm\)"),
        (ARM, WHOLE.replace('body="upper"', 'body="hand"'), "no body 'hand' in its model"),
        (ARM, WHOLE.replace("parts/arm", "arm"), "cannot find the attached file 'arm.xml'"),
        (ARM, WHOLE.format('frame="f"'), r"attach/@frame \(line 4\)"),
        (WHOLE.replace("parts/arm", "arm"), WHOLE, "attaches itself: the attached file 'arm.xml'"),
    ],
)  # fmt: skip
def test_what_cannot_be_attached_is_refused(tmp_path, arm, whole, message):
    path = written(tmp_path, arm, whole)
    with pytest.raises(ModelError, match=message):
        read_urdf(path)
