"""The model as Drake sees it is the model as we see it."""

import numpy as np
import pytest
from builders import GRAVITY, arm_instance, body_urdf, box, ground_instance, mug_instance, pose
from pydrake.multibody.tree import MultibodyForces
from pydrake.systems.framework import DiagramBuilder

from contact_core.base.errors import ModelError
from contact_core.robot.scene import Instance
from contact_core.robot.surface import Surface
from tamsi_sim.drake.drake_plant import DrakePlant
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import build_model

SURFACE = Surface(2e4, 5.0, 0.5)


def different(a, b):
    return a[0] != b[0]


def build(instances):
    return build_model(instances, lambda instance, link: SURFACE, different)


def in_drake(built, approximation="sap"):
    builder = DiagramBuilder()
    model = DrakePlant(builder, built, lambda instance, link: SURFACE, 1e-3, approximation)
    diagram = builder.Build()
    context = model.plant.GetMyMutableContextFromRoot(diagram.CreateDefaultContext())
    return model, context


@pytest.fixture(scope="module")
def arm_and_mug():
    """Return our engine and Drake's model of an arm with a mimicking finger, and a mug."""
    built = build([arm_instance(), mug_instance(pose(0.5, 0.1, 0.9, roll=0.3, yaw=-1.0))])
    built.arrays.joints.armature[:8] = 0.3
    built.arrays.joints.friction[:] = 0.0
    engine = Engine(built, 1e-3)
    model, context = in_drake(built)
    rng = np.random.default_rng(5)
    engine.q[:7] = rng.uniform(-1.0, 1.0, 7)
    engine.q[7] = 0.03
    engine.v[:] = rng.uniform(-1.0, 1.0, len(engine.v))
    model.set_state(context, engine.q, engine.v)
    engine.evaluate()
    return engine, model, context


def test_state_survives_the_way_there_and_back(arm_and_mug):
    engine, model, context = arm_and_mug
    q, v = model.state(context)
    np.testing.assert_allclose(q, engine.q, atol=1e-14)
    np.testing.assert_allclose(v, engine.v, atol=1e-14)


def test_mass_matrix_with_mimic_joint(arm_and_mug):
    engine, model, context = arm_and_mug
    drakes = model.plant.CalcMassMatrix(context)
    ours = model.velocity_map.T @ drakes @ model.velocity_map
    np.testing.assert_allclose(ours, engine.observer.mass_matrix(), atol=1e-10)


def test_bias_with_gravity_and_joint_damping(arm_and_mug):
    engine, model, context = arm_and_mug
    forces = MultibodyForces(model.plant)
    model.plant.CalcForceElementsContribution(context, forces)
    bias = model.plant.CalcInverseDynamics(context, np.zeros(len(model.velocity_map)), forces)
    expected = engine.work.dynamics.bias + engine.built.arrays.joints.damping * engine.v
    np.testing.assert_allclose(model.velocity_map.T @ bias, expected, atol=1e-9)


def test_force_on_a_mimic_joint_acts_on_its_master(arm_and_mug):
    engine, model, _ = arm_and_mug
    force = np.zeros(len(engine.v))
    force[engine.built.joints["finger_left_joint"]] = 3.0
    there = model.generalized_force(force)
    assert np.count_nonzero(there) == 1
    np.testing.assert_allclose(model.velocity_map.T @ there, force)


def test_only_listed_pairs_may_collide(arm_and_mug):
    engine, model, _ = arm_and_mug
    inspector = model.graph.model_inspector()
    candidates = {
        frozenset(model.shape_of[geometry] for geometry in pair)
        for pair in inspector.GetCollisionCandidates()
    }
    assert candidates == {frozenset(map(int, p)) for p in engine.built.pairs}


def test_friction_in_a_joint_is_refused_by_name():
    built = build([arm_instance(), mug_instance()])
    built.arrays.joints.friction[built.joints["lbr_A3"]] = 1.0
    with pytest.raises(ModelError, match="lbr_A3"):
        in_drake(built)


def test_two_gravities_are_refused():
    cube = body_urdf("cube", box(0.1, 0.1, 0.1))
    moon = Instance("moon", cube.replace("cube", "moon"), pose(z=1.0), True, (0.0, 0.0, -1.6))
    built = build([Instance("cube", cube, pose(z=0.1), True, GRAVITY), moon, ground_instance()])
    with pytest.raises(ModelError, match="gravity"):
        in_drake(built)


def test_unknown_approximation_is_an_error():
    built = build([mug_instance(), ground_instance()])
    with pytest.raises(RuntimeError, match="approximation"):
        in_drake(built, "newton")
