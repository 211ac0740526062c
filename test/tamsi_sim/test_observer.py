"""Questions about the current state: poses, energy, warnings as data."""

import numpy as np
import pinocchio as pin
import pytest
from builders import GRAVITY, arm_instance, body_urdf, engine_of, ground_instance, pose, sphere

from contact_core.base.errors import ModelError
from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from tamsi_sim.simulation.observer import WarningKind
from tamsi_sim.simulation.world import World


def ball_engine(z=0.5, stiffness=2e4):
    ball = Instance("ball", body_urdf("ball", sphere(0.05)), pose(z=z), True, GRAVITY)
    return engine_of([ball, ground_instance()], 1e-3, Surface(stiffness, 0.0, 0.5))


def test_energy_of_a_ball():
    engine = ball_engine(z=0.049)
    engine.v[:] = [1.0, 2.0, 2.0, 3.0, 0.0, 4.0]
    energy = engine.observer.energy()
    assert energy.kinetic == pytest.approx(0.5 * 9.0 + 0.5 * 1e-3 * 25.0)
    assert energy.potential == pytest.approx(9.81 * 0.049)
    assert energy.elastic == pytest.approx(0.5 * 1e4 * 1e-6)
    assert energy.total == energy.kinetic + energy.potential + energy.elastic


SPRINGS = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="j" type="slide"
  axis="1 0 0" {joint}/><inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/></body>
  <body><joint name="k" type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="2"
  diaginertia="1 1 1"/></body></worldbody>{tendon}</mujoco>"""


@pytest.mark.parametrize(
    "springs",
    [
        {"joint": 'stiffness="50" springref="0.2"', "tendon": ""},
        {
            "joint": "",
            "tendon": """<tendon><fixed name="t" stiffness="50" springlength="0.1 0.2"><joint
              joint="j" coef="1"/><joint joint="k" coef="-0.5"/></fixed></tendon>""",
        },
    ],
    ids=["spring", "tendon"],
)
def test_energy_goes_into_springs_and_comes_back(springs):
    world = World(gravity=(0.0, 0.0, 0.0)).add("pair", SPRINGS.format(**springs))
    engine = world.build(1e-4, accuracy=1e-7)
    engine.v[0] = -0.5
    energy = []
    for _ in range(4000):
        engine.step()
        energy.append(engine.observer.energy())
    totals = [e.total for e in energy]
    assert max(e.elastic for e in energy) > 0.3 * totals[0]
    assert totals == pytest.approx([totals[0]] * len(totals), rel=0.02)


def test_an_end_stop_stores_energy():
    springs = SPRINGS.format(joint='range="0 1" limited="true"', tendon="")
    engine = World(gravity=(0.0, 0.0, 0.0)).add("pair", springs).build()
    engine.q[0] = -1e-3
    stiffness = engine.built.arrays.joints.limit_stiffness[0]
    assert engine.observer.energy().elastic == pytest.approx(0.5 * stiffness * 1e-6)


def test_energy_of_the_arm_against_pinocchio():
    engine = engine_of([arm_instance()], touch=lambda a, b: False)
    rng = np.random.default_rng(0)
    engine.q[:7], engine.v[:7] = rng.uniform(-1, 1, 7), rng.uniform(-1, 1, 7)
    model = pin.buildModelFromXML(arm_instance().urdf)
    data = model.createData()
    coupling = np.vstack([np.eye(8), np.eye(8)[7]])
    energy = engine.observer.energy()
    q, v = coupling @ engine.q, coupling @ engine.v
    assert energy.kinetic == pytest.approx(pin.computeKineticEnergy(model, data, q, v), rel=1e-12)
    assert energy.potential == pytest.approx(pin.computePotentialEnergy(model, data, q), rel=1e-12)


def test_poses_are_those_of_now_and_the_last_steps_contacts_stay():
    engine = ball_engine(z=0.0495)
    engine.step(1)
    forces = [c.force for c in engine.contacts()]
    engine.q[0] = 0.7
    assert engine.observer.pose("ball").translation[0] == 0.7
    assert engine.observer.pose("ground", "ground").translation[2] == -0.5
    np.testing.assert_array_equal([c.force for c in engine.contacts()], forces)


def test_unknown_link_is_named():
    with pytest.raises(ModelError, match=r"no link 'ball/handle' \(valid: ball/ball, ground/"):
        ball_engine().observer.pose("ball", "handle")


def test_deep_penetration_is_a_warning():
    engine = ball_engine(z=0.01, stiffness=10.0)
    (warning,) = engine.observer.warnings()
    assert warning.kind is WarningKind.DEEP_PENETRATION
    assert warning.subject == "ball/ball and ground/ground"
    assert warning.value == pytest.approx(0.04)
    assert "stiffness" in warning.kind.value


def test_a_joint_beyond_its_velocity_limit_is_a_warning():
    engine = engine_of([arm_instance()], touch=lambda a, b: False)
    assert engine.observer.warnings() == []
    engine.v[0] = -2.0
    (warning,) = engine.observer.warnings()
    assert (warning.kind, warning.subject) == (WarningKind.TOO_FAST, "lbr_A1")
    assert warning.limit == pytest.approx(np.deg2rad(85.0), abs=1e-3)


def test_little_room_for_contacts_is_a_warning():
    ball = Instance("ball", body_urdf("ball", sphere(0.05)), pose(z=0.0499), True, GRAVITY)
    engine = engine_of([ball, ground_instance()], solver=SolverConfig(max_contacts=1))
    assert [w.kind for w in engine.observer.warnings()] == [WarningKind.CONTACTS_NEARLY_FULL]


def test_what_is_too_fast_for_its_size_is_told():
    bead = Instance("bead", body_urdf("bead", sphere(0.0025), 5e-4, (1e-9,) * 3), pose(z=1.0), True)
    engine = engine_of([bead, ground_instance()])
    assert engine.observer.warnings() == []
    engine.v[2] = -10.0
    (warning,) = engine.observer.warnings()
    assert warning.kind is WarningKind.MAY_PASS
    assert warning.subject == "bead/bead"
    assert (warning.value, warning.limit) == (pytest.approx(0.01), pytest.approx(0.005))
    careful = engine_of([bead, ground_instance()], solver=SolverConfig(accuracy=1e-3))
    careful.v[2] = -10.0
    assert careful.observer.warnings() == []
