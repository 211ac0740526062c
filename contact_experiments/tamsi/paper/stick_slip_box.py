"""The box of tamsi Sec. IV-A, which sticks and slips under a harmonic force."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from contact_core.config import nested, parameter
from contact_core.description import read_urdf
from contact_core.kernel import kernel
from contact_core.scene import Instance
from contact_core.scene_config import SolverConfig
from contact_core.surface import Surface
from contact_experiments.tamsi.integrators.excitation import Excitation
from tamsi_sim.arrays.settings import FrictionLaw
from tamsi_sim.scheme.contact import friction_coefficient
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import build_model

MASS = 0.33  # of the box in its URDF [kg]
DEPTH = 1e-3  # by which its foot is pressed into the ground [m]
GRAVITY = 9.8  # the paper's value [m/s^2]
WEIGHT = MASS * GRAVITY


@dataclass(frozen=True)
class StickSlipBox:
    """m vdot = f(t) - mu~(|v| / v_s) W sgn(v), ``tamsi`` Sec. IV-A."""

    time_step: float = parameter(1e-2, "step h", unit="s", above=0.0, high=1.0)
    friction: float = parameter(1.0, "coefficient of friction", low=0.0, high=10.0)
    force: float = parameter(4.0, "amplitude of the force f(t)", unit="N", low=0.0)
    frequency: float = parameter(1.0, "its frequency", unit="Hz", above=0.0)
    solver: SolverConfig = nested(SolverConfig)

    def engine(self) -> Engine:
        """Return an engine with the box at rest."""
        box = Instance("box", read_urdf("urdf/stick_slip_box.urdf"))
        surface = Surface(2.0 * WEIGHT / DEPTH, 0.0, self.friction)
        built = build_model([box], lambda instance, link: surface, lambda a, b: True)
        return Engine(built, self.time_step, self.solver)

    def excitation(self) -> Excitation:
        """Return the force f(t) = 4 cos(2 pi t)."""
        omega = 2.0 * math.pi * self.frequency
        return Excitation(*(np.array([value]) for value in (0.0, self.force, omega, 0.0)))

    def reference(self, v: float, time: float, duration: float, step: float) -> float:
        """Return the exact flow of the velocity, Phi of Sec. IV, up to the reference's error.

        Args:
            v: Velocity [m/s].
            time: When the box has it [s].
            duration: For how long it moves [s].
            step: Step of the Runge-Kutta rule [s].
        """
        law = int(FrictionLaw[self.solver.friction_law.upper()])
        steps = max(1, round(duration / step))
        omega = 2.0 * math.pi * self.frequency
        limit = self.friction * WEIGHT
        scalars = (limit, self.solver.stiction_velocity, self.force, omega)
        return float(_runge_kutta(v, time, duration / steps, steps, law, *scalars))


@kernel
def _runge_kutta(
    v: float,
    time: float,
    h: float,
    steps: int,
    law: int,
    limit: float,
    stiction: float,
    force: float,
    omega: float,
) -> float:
    """Kutta's rule of third order."""
    for k in range(steps):
        t = time + k * h
        a = _acceleration(v, t, law, limit, stiction, force, omega)
        b = _acceleration(v + 0.5 * h * a, t + 0.5 * h, law, limit, stiction, force, omega)
        c = _acceleration(v + h * (2.0 * b - a), t + h, law, limit, stiction, force, omega)
        v += h * (a + 4.0 * b + c) / 6.0
    return v


@kernel
def _acceleration(
    v: float, t: float, law: int, limit: float, stiction: float, force: float, omega: float
) -> float:
    g, _ = friction_coefficient(law, limit, v, 0.0, stiction, 0.0)
    return (force * math.cos(omega * t) - g * v) / MASS
