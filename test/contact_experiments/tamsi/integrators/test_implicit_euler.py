"""Implicit Euler: the equation it solves, its order, its control of convergence and error."""

import numpy as np
import pinocchio as pin
import pytest
from builders import GRAVITY, arm_instance, engine_of

from contact_core.robot.description import RobotDescription
from contact_core.robot.scene_config import SolverConfig
from contact_experiments.tamsi.cases import BOX_MASS, BOX_WEIGHT, StickSlipBox
from contact_experiments.tamsi.integrators.excitation import Excitation
from contact_experiments.tamsi.integrators.integrator import IntegratorConfig, make_integrator
from contact_experiments.tamsi.paper.box_figures import measure
from tamsi_sim.arrays.status import StepStatus

H = 5e-3
FIXED = ["ie_fn", "ie_fn_tals", "ie_qn", "ie_qn_tals"]
CONTROLLED = ["ie_fn_ec", "ie_fn_ec_tals", "ie_qn_ec", "ie_qn_ec_tals"]


def swinging_arm():
    """Return an arm without contact, friction, damping or end stops near, in fast motion."""
    engine = engine_of([arm_instance()], H, touch=lambda a, b: False)
    engine.built.arrays.joints.friction[:] = 0.0
    engine.built.arrays.joints.damping[:] = 0.0
    rng = np.random.default_rng(0)
    engine.q[:7], engine.v[:7] = rng.uniform(-1.0, 1.0, (2, 7))
    engine.q[7] = 0.03
    engine.applied[:7] = rng.uniform(-20.0, 20.0, 7)
    return engine


@pytest.mark.parametrize("name", ["ie_fn", pytest.param("ie_qn", marks=pytest.mark.verify)])
def test_the_step_solves_its_equation_by_pinocchio(name):
    """tamsi (9): M(q) (v - v0) = h (u - C(q, v) v + g), everything at the end of the step."""
    engine = swinging_arm()
    model = pin.buildModelFromXML(RobotDescription.load("iiwa14_wsg50").urdf, True)
    model.gravity.linear = np.array(GRAVITY)
    model.armature[:] = engine.built.arrays.joints.armature
    q0, v0 = engine.q.copy(), engine.v.copy()
    assert make_integrator(name, engine).step() == StepStatus.OK
    q, v = engine.q, engine.v
    np.testing.assert_allclose(q, q0 + H * v, atol=1e-14)
    force = pin.rnea(model, model.createData(), q.copy(), v.copy(), (v - v0) / H)
    np.testing.assert_allclose(force[:7], engine.applied[:7], atol=2e-2)


def test_within_stiction_the_step_is_the_linear_solution():
    """In stiction friction is a damper W / v_s, tamsi (7), and implicit Euler is exact algebra."""
    case = StickSlipBox(time_step=1e-3)
    engine = case.engine()
    push = 0.5 * BOX_WEIGHT
    moved = make_integrator("ie_fn_tals", engine, Excitation.constant(np.array([push])))
    assert moved.step() == StepStatus.OK
    expected = 1e-3 * push / (BOX_MASS + 1e-3 * BOX_WEIGHT / 1e-4)
    assert engine.v[0] == pytest.approx(expected, rel=1e-9)


def test_quadratic_law_creeps_at_its_own_speed():
    """At rest mu s (2 - s) W = f, so s = 1 - sqrt(1 - f / (mu W)); linear would be f / (mu W)."""
    creep = {}
    for law in ("linear", "quadratic"):
        case = StickSlipBox(solver=SolverConfig(friction_law=law))
        engine = case.engine()
        force = Excitation.constant(np.array([0.5 * BOX_WEIGHT]))
        assert make_integrator("ie_fn_tals", engine, force).step(50) == StepStatus.OK
        creep[law] = engine.v[0] / 1e-4
    assert creep["linear"] == pytest.approx(0.5, rel=1e-6)
    assert creep["quadratic"] == pytest.approx(1.0 - np.sqrt(0.5), rel=1e-6)


@pytest.mark.parametrize("name", FIXED)
def test_fixed_steps_converge_with_first_order(name):
    """tamsi Sec. IV-A: first order for errors near v_s and below."""
    errors = [measure(name, h, 1e-6, 0.25).error for h in (2e-4, 1e-4, 5e-5)]
    slopes = np.diff(np.log(errors)) / np.log(0.5)
    assert np.all((slopes > 0.7) & (slopes < 1.3)), errors


@pytest.mark.parametrize("name", CONTROLLED)
def test_error_control_pays_with_work_for_precision(name):
    points = [measure(name, accuracy, 1e-6, 0.5) for accuracy in (1e-3, 1e-4, 1e-5)]
    errors = [point.error for point in points]
    work = [point.evaluations for point in points]
    assert errors[0] > errors[1] > errors[2]
    assert work[0] < work[1] < work[2]
    assert errors[2] < 5e-4


def test_quasi_newton_evaluates_less_than_full_newton():
    full, quasi = (measure(name, 1e-3, 1e-6, 0.25) for name in ("ie_fn_tals", "ie_qn_tals"))
    assert quasi.evaluations < full.evaluations / 2
    assert quasi.factorizations < full.factorizations / 10
    assert quasi.error == pytest.approx(full.error, rel=0.05)


def test_convergence_control_halves_steps_that_fail_and_recovers():
    case = StickSlipBox()
    engine = case.engine()
    plain = make_integrator("ie_fn", engine, case.excitation())
    assert plain.step(17) == StepStatus.OK
    assert abs(engine.v[0]) < 1e-4
    effort = plain.effort
    assert effort.retries > 3
    assert effort.smallest_step < 1e-3
    assert plain.time == pytest.approx(0.17, abs=1e-15)
    plain.step()
    assert plain.effort.retries == effort.retries


def test_a_step_that_stays_unsolved_leaves_the_last_good_state():
    case = StickSlipBox()
    engine = case.engine()
    config = IntegratorConfig(min_step=9e-3)
    plain = make_integrator("ie_fn", engine, case.excitation(), config)
    assert plain.step(30) == StepStatus.NOT_CONVERGED
    assert plain.time == pytest.approx(0.16, abs=1e-12)
    state = engine.q.copy(), engine.v.copy()
    assert abs(engine.v[0]) > 1e-4
    assert plain.step() == StepStatus.NOT_CONVERGED
    np.testing.assert_array_equal(engine.q, state[0])
    np.testing.assert_array_equal(engine.v, state[1])


def test_a_force_that_is_not_finite_is_reported():
    engine = StickSlipBox().engine()
    moved = make_integrator("ie_fn_tals", engine, Excitation.constant(np.array([np.nan])))
    assert moved.step() == StepStatus.NOT_FINITE
    np.testing.assert_array_equal(engine.v, [0.0])
