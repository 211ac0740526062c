"""The box of Sec. IV-A: its reference flow against scipy, and against the engine's model."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from contact_core.scene_config import SolverConfig
from contact_experiments.tamsi.integrators.registry import make_integrator
from contact_experiments.tamsi.paper.stick_slip_box import MASS, WEIGHT, StickSlipBox


@pytest.mark.parametrize("law", ["linear", "quadratic"])
@pytest.mark.parametrize(("time", "v"), [(0.0, 0.0), (0.15, 0.012), (0.5, -2e-5)])
def test_reference_flow_against_radau(law, time, v):
    """Windows that start in stiction, transit into it, and lie within it."""
    case = StickSlipBox(solver=SolverConfig(friction_law=law))

    def derivative(t, y):
        s = abs(y[0]) / 1e-4
        inside = s if law == "linear" else s * (2.0 - s)
        friction = WEIGHT * (inside if s < 1.0 else 1.0) * np.sign(y[0])
        return [(4.0 * np.cos(2.0 * np.pi * t) - friction) / MASS]

    exact = solve_ivp(
        derivative, (time, time + 0.025), [v], "Radau", rtol=1e-9, atol=1e-12, max_step=1e-4
    ).y[0, -1]
    assert case.reference(v, time, 0.025, 1e-6) == pytest.approx(exact, abs=1e-8)


def test_the_engines_box_converges_to_the_reference():
    """One model: small steps of TAMSI tend to the flow of the paper's scalar equation."""
    errors = []
    for step in (1e-4, 1e-5):
        case = StickSlipBox(time_step=step)
        engine = case.engine()
        make_integrator("tamsi", engine, case.excitation()).step(round(0.12 / step))
        errors.append(abs(engine.v[0] - case.reference(0.0, 0.0, 0.12, 1e-6)))
    assert errors[1] < 0.15 * errors[0] < 1e-4


def test_normal_force_is_the_weight():
    engine = StickSlipBox().engine()
    assert engine.evaluate() == 1
    work = engine.work
    assert work.contacts.stiffness[0] * work.contacts.depth[0] == pytest.approx(WEIGHT, rel=1e-12)
    assert engine.built.arrays.inertias.mass[0] == MASS
