"""All integrators behind one interface."""

import numpy as np
import pytest

from contact_core.base.errors import ConfigError
from contact_experiments.tamsi.cases import ParallelGripper, StickSlipBox
from contact_experiments.tamsi.integrators.integrator import (
    SCHEMES,
    IntegratorConfig,
    make_integrator,
)
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.world import World


def test_an_unknown_name_is_answered_with_the_valid_ones():
    with pytest.raises(ConfigError, match=r"'newmark' \(valid: tamsi, .*ie_qn_ec_tals"):
        make_integrator("newmark", StickSlipBox().engine())


def test_loop_closures_are_refused():
    body = """<robot name="b"><link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0"
      ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>"""
    world = World().add("a", body).add("b", body, free=True)
    engine = world.weld("glue", ("a", "b"), ("b", "b")).build()
    with pytest.raises(ConfigError, match=r"only the engine steps loop closures, got glue"):
        make_integrator("tamsi", engine)


def test_there_are_eight_variants_of_implicit_euler_and_three_time_stepping_schemes():
    titles = [scheme.title for scheme in SCHEMES.values()]
    assert len(titles) == len(set(titles)) == 11
    assert SCHEMES["ie_qn_ec_tals"].title == "IE+QN+EC+TALS"


@pytest.mark.parametrize("name", [name for name in SCHEMES if name != "frictionless"])
def test_all_converge_to_the_same_motion_of_the_gripper(name):
    """Against TAMSI with a tenth of the step, over 60 ms of shaking."""
    reference = ParallelGripper(time_step=2e-5, stiffness=1e3, dissipation=3.0)
    engine = reference.engine()
    make_integrator("tamsi", engine, reference.excitation()).step(3000)
    case = ParallelGripper(time_step=2e-4, stiffness=1e3, dissipation=3.0)
    other = case.engine()
    moved = make_integrator(name, other, case.excitation(), IntegratorConfig(accuracy=1e-4))
    assert moved.step(300) == StepStatus.OK
    assert moved.time == pytest.approx(0.06, abs=1e-12)
    # First order: half a step of the fastest motion, 1.9 m/s.
    np.testing.assert_allclose(other.q, engine.q, atol=2e-4)
    np.testing.assert_allclose(other.v, engine.v, atol=6e-3)


def test_tamsi_is_the_engines_own_step():
    case = ParallelGripper()
    engines = [case.engine() for _ in range(2)]
    make_integrator("tamsi", engines[0], case.excitation()).step(50)
    engines[1].roll(case.excitation().at(3e-3 * np.arange(1, 51)))
    np.testing.assert_array_equal(engines[0].v, engines[1].v)


def test_frictionless_normals_hold_nothing():
    """tamsi Sec. V-B: the mug keeps its momentum while the gripper moves up and down."""
    case = ParallelGripper()
    engine = case.engine()
    lift, mug = engine.built.joints["lift"], engine.built.free_bodies["mug"][1] + 2
    start = engine.v[mug]
    assert make_integrator("frictionless", engine, case.excitation()).step(80) == StepStatus.OK
    # Only normals that tilt with the mug push it a little.
    assert engine.v[mug] == pytest.approx(start, abs=0.01)
    assert abs(engine.v[lift] - start) > 1.0


@pytest.mark.parametrize("name", ["tamsi", "semi_implicit", "ie_fn_tals", "ie_qn_ec"])
def test_work_is_counted(name):
    case = StickSlipBox(time_step=1e-3)
    moved = make_integrator(name, case.engine(), case.excitation())
    moved.step(20)
    effort = moved.effort
    assert effort.evaluations >= effort.steps > 0
    assert effort.factorizations > 0
    assert effort.iterations >= 20
    # 2 nv neighbours of a Jacobian, and one evaluation of an iteration.
    if name.startswith("ie_"):
        assert effort.evaluations == 2 * effort.jacobians + effort.iterations


def test_two_runs_are_bit_identical():
    results = []
    for _ in range(2):
        case = ParallelGripper()
        engine = case.engine()
        make_integrator("ie_qn_ec_tals", engine, case.excitation()).step(20)
        results.append(engine.v.tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("ie_qn_ec", "accuracy", 1e-5),
        ("ie_fn", "max_iterations", 3),
        ("ie_fn", "max_rate", 1e-6),
        ("ie_fn", "min_step", 9e-3),
    ],
)
def test_every_parameter_has_an_effect(name, field, value):
    results = []
    for config in (IntegratorConfig(), IntegratorConfig(**{field: value})):
        case = StickSlipBox()
        moved = make_integrator(name, case.engine(), case.excitation(), config)
        results.append((moved.step(20), moved.effort))
    assert results[0] != results[1]


@pytest.mark.parametrize("name", ["tamsi", "semi_implicit", "ie_fn"])
@pytest.mark.parametrize("steps", [-1, 1.5, float("nan"), "2"])
def test_steps_that_cannot_be_counted_are_refused(name, steps):
    case = StickSlipBox()
    with pytest.raises(ConfigError, match="steps"):
        make_integrator(name, case.engine(), case.excitation()).step(steps)
