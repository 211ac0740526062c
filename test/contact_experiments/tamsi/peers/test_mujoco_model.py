"""The model as MuJoCo sees it is the model as we see it."""

import numpy as np
import pytest
from builders import GRAVITY, body_urdf, box, ground_instance, mug_instance, pose, sphere

from contact_core.base.errors import ModelError
from contact_core.robot.description import read_urdf
from contact_core.robot.scene import Instance
from contact_core.robot.surface import Surface
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import build_model

mujoco = pytest.importorskip("mujoco")

from contact_experiments.tamsi.peers import mujoco_model  # noqa: E402

SURFACE = Surface(2e4, 5.0, 0.5)


def build(instances, touch=lambda a, b: a[0] != b[0]):
    return build_model(instances, lambda instance, link: SURFACE, touch)


def in_mujoco(built):
    zeros = np.zeros(len(built.arrays.joints.q))
    model = mujoco_model.mujoco_model(built, 1e-3, SURFACE.friction, zeros, zeros)
    return model, mujoco.MjData(model)


@pytest.fixture(scope="module")
def hand_and_mug():
    hand = Instance("hand", read_urdf("urdf/allegro_hand.urdf"), gravity=GRAVITY)
    built = build([hand, mug_instance(pose(0.3, 0.1, 0.9, roll=0.3, yaw=-1.0))])
    built.arrays.joints.armature[:16] = 0.136
    engine = Engine(built, 1e-3)
    rng = np.random.default_rng(7)
    engine.q[:16] = rng.uniform(0.0, 1.0, 16)
    engine.v[:] = rng.uniform(-1.0, 1.0, len(engine.v))
    engine.evaluate()
    model, data = in_mujoco(built)
    data.qpos, data.qvel = mujoco_model.mujoco_state(built, engine.q, engine.v)
    mujoco.mj_forward(model, data)
    return engine, model, data


def test_state_survives_the_way_there_and_back(hand_and_mug):
    engine, _, data = hand_and_mug
    q, v = mujoco_model.our_state(engine.built, data.qpos, data.qvel)
    np.testing.assert_allclose(q, engine.q, atol=1e-14)
    np.testing.assert_allclose(v, engine.v, atol=1e-14)


def test_mass_matrix_of_the_hand(hand_and_mug):
    """The hand's part; free bodies turn about other axes there."""
    engine, model, data = hand_and_mug
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    np.testing.assert_allclose(full[:16, :16], engine.observer.mass_matrix()[:16, :16], atol=1e-9)


def test_kinetic_energy_with_the_mug(hand_and_mug):
    engine, model, data = hand_and_mug
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    ours = engine.v @ engine.observer.mass_matrix() @ engine.v
    assert data.qvel @ full @ data.qvel == pytest.approx(ours, rel=1e-9)


def test_bias_of_the_hand_with_gravity(hand_and_mug):
    engine, _, data = hand_and_mug
    np.testing.assert_allclose(data.qfrc_bias[:16], engine.work.dynamics.bias[:16], atol=1e-9)


def test_falling_ball_lands_where_gravity_takes_it():
    ball = Instance("ball", body_urdf("ball", sphere(0.05)), pose(z=1.0), True, GRAVITY)
    built = build([ball, ground_instance()])
    model, data = in_mujoco(built)
    data.qpos, data.qvel = mujoco_model.mujoco_state(built, built.q, np.zeros(6))
    for _ in range(300):
        mujoco.mj_step(model, data)
    assert data.qpos[2] == pytest.approx(1.0 - 0.5 * 9.81 * 0.3**2, abs=2e-3)
    for _ in range(2700):
        mujoco.mj_step(model, data)
    assert data.qpos[2] == pytest.approx(0.05, abs=2e-3)


def chain(count):
    """Boxes of one link name, of which each may only touch the next."""
    instances = [
        Instance(str(n), body_urdf("cube", box(0.1, 0.1, 0.1)), pose(z=n), True, GRAVITY)
        for n in range(count)
    ]
    return build(instances, lambda a, b: abs(int(a[0]) - int(b[0])) == 1)


def test_bits_tell_apart_what_may_touch():
    model, _ = in_mujoco(chain(4))
    for a in range(4):
        for b in range(a):
            meet = model.geom_contype[a] & model.geom_conaffinity[b]
            assert bool(meet) == (a - b == 1)


def test_more_classes_of_shapes_than_bits_are_refused():
    with pytest.raises(ModelError, match="40 classes of shapes"):
        in_mujoco(chain(40))


def test_mimic_joints_are_refused():
    urdf = read_urdf("urdf/wsg50.urdf")
    with pytest.raises(ModelError, match="mimic"):
        in_mujoco(build([Instance("gripper", urdf, gravity=GRAVITY), mug_instance()]))
