"""The TAMSI paper's cases: sliding box, shaken gripper, and a hand that turns a mug.

Each is a dataclass of its parameters that builds an engine at the start and the forces that
drive it; figures, benchmarks, tests and examples use them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.base.config import load, nested, parameter
from contact_core.base.files import share
from contact_core.base.kernel import kernel
from contact_core.robot.description import placement, read_urdf
from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from contact_experiments.tamsi.integrators.excitation import Excitation
from tamsi_sim.arrays.settings import FrictionLaw
from tamsi_sim.scheme.contact import friction_coefficient
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import BuiltModel, build_model

BOX_MASS = 0.33  # in its URDF [kg]
BOX_DEPTH = 1e-3  # by which its foot is pressed into the ground [m]
BOX_WEIGHT = BOX_MASS * 9.8  # with the paper's gravity [N]
BOX_FRICTION = 1.0  # coefficient of friction
BOX_FORCE, BOX_FREQUENCY = 4.0, 2.0 * math.pi  # of f(t) [N], [rad/s]

GRIPPER = "gripper"
MUG = "mug"
MOVING_MASS = 0.98888 + 2 * 0.05 + 0.1  # body, fingers and mug of the gripper case [kg]

HAND = "hand"
PALM = "palm"
HAND_JOINTS = 16
INDEX, RING = slice(0, 4), slice(8, 12)
# Rotor inertia 1e-6 kg m^2 behind a gear of 369; position controllers of the joints.
HAND_ARMATURE = 1e-6 * 369.0**2
# Hand and mug; two of them in series have the contact stiffness 1e4 N/m.
HAND_SURFACE = Surface(stiffness=2e4, dissipation=1.0, friction=0.9)
HAND_STIFFNESS = 8.0  # [Nm/rad]
HAND_DAMPING = 2.0  # [Nm s/rad]
# Joint positions [rad], by joint from the palm to the tip; those of the index finger and,
# with the first one mirrored, of the ring finger. The middle finger does not spread.
OPEN_FINGER = (0.0, 0.2, 0.2, 0.2)
OPEN_THUMB = (1.396, 0.3, 0.0, 0.0)
CLOSED_FINGER = (0.12, 0.96, 0.98, 1.1)
CLOSED_THUMB = (1.396, 0.67, 0.0, 0.61)
# How far index and ring finger rock about the closed hand, in antiphase [rad].
ROCKING = (0.0, 0.23, -0.18, -0.2)
MUG_POSITION = (0.078, 0.008, 0.008)
MUG_ROLL = np.pi / 2  # Its axis lies across the fingers.


@dataclass(frozen=True)
class Case(ABC):
    """What is simulated: an engine at the start, and the forces that drive it."""

    time_step: float

    @abstractmethod
    def engine(self) -> Engine:
        """Return an engine at the start."""

    @abstractmethod
    def excitation(self) -> Excitation:
        """Return the generalised forces as a function of time, for the integrators."""

    def forces(self, steps: int) -> np.ndarray:
        """Return :meth:`excitation` at the start of each step.

        Args:
            steps: How many steps.

        Returns:
            (steps, nv) generalised forces for :meth:`Engine.roll` [Nm or N].
        """
        return self.excitation().at(np.arange(steps) * self.time_step)


@dataclass(frozen=True)
class StickSlipBox(Case):
    """m vdot = f(t) - mu~(|v| / v_s) W sgn(v): a box sticks and slips, ``tamsi`` Sec. IV-A."""

    time_step: float = parameter(1e-2, "time step of the simulation", unit="s", above=0.0, high=1.0)
    solver: SolverConfig = nested(SolverConfig, friction_law="linear")

    def engine(self) -> Engine:
        """Return an engine with the box at rest."""
        box = Instance("box", read_urdf("urdf/stick_slip_box.urdf"))
        surface = Surface(2.0 * BOX_WEIGHT / BOX_DEPTH, 0.0, BOX_FRICTION)
        built = build_model([box], lambda instance, link: surface, lambda a, b: True)
        return Engine(built, self.time_step, self.solver)

    def excitation(self) -> Excitation:
        """Return the force f(t) = 4 cos(2 pi t)."""
        values = 0.0, BOX_FORCE, BOX_FREQUENCY, 0.0
        return Excitation(*(np.array([value]) for value in values))

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
        limit = BOX_FRICTION * BOX_WEIGHT
        scalars = (limit, self.solver.stiction_velocity, BOX_FORCE, BOX_FREQUENCY)
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
    return (force * math.cos(omega * t) - g * v) / BOX_MASS


@dataclass(frozen=True)
class ParallelGripper(Case):
    """The shaken parallel jaw gripper of ``tamsi`` Sec. VI-A; there is no gravity."""

    time_step: float = parameter(3e-3, "time step of the simulation", unit="s", above=0.0, high=0.1)
    stiffness: float = parameter(1e4, "contact stiffness k", unit="N/m", above=0.0)
    dissipation: float = parameter(10.0, "contact dissipation d", unit="s/m", low=0.0)
    friction: float = parameter(0.1, "coefficient of friction", low=0.0, high=10.0)
    shake_period: float = parameter(0.5, "period T of the shaking", unit="s", above=0.0)
    shake_amplitude: float = parameter(0.15, "amplitude A of the shaking", unit="m", low=0.0)
    grip_force: float = parameter(10.0, "force of the sliding finger", unit="N", low=0.0)
    solver: SolverConfig = nested(SolverConfig, friction_law="linear")

    @staticmethod
    def load() -> ParallelGripper:
        """Return the case as ``config/scenes/gripper.yaml`` has it."""
        return load(ParallelGripper, share("config", "scenes", "gripper.yaml"))

    def instances(self) -> list[Instance]:
        """Return the gripper and the mug between its pads."""
        gripper = read_urdf("urdf/parallel_gripper.urdf")
        mug = read_urdf("urdf/mug.urdf")
        return [Instance(GRIPPER, gripper), Instance(MUG, mug, pin.SE3.Identity(), free=True)]

    def engine(self) -> Engine:
        """Return an engine at the start: all of it moves down at the greatest speed."""
        surface = Surface(2.0 * self.stiffness, self.dissipation, self.friction)
        built = build_model(
            self.instances(), lambda instance, link: surface, lambda a, b: a[0] != b[0]
        )
        engine = Engine(built, self.time_step, self.solver)
        speed = -self.shake_amplitude * self._frequency
        engine.v[built.joints["lift"]] = speed
        engine.v[built.free_bodies[MUG][1] + 2] = speed
        return engine

    def excitation(self) -> Excitation:
        """Return the force that shakes the gripper and closes its fingers."""
        joints = self.engine().built.joints
        mean, amplitude, frequency, phase = np.zeros((4, 8))
        lift = joints["lift"]
        amplitude[lift] = MOVING_MASS * self.shake_amplitude * self._frequency**2
        frequency[lift], phase[lift] = self._frequency, -0.5 * np.pi
        mean[joints["close"]] = self.grip_force
        return Excitation(mean, amplitude, frequency, phase)

    @property
    def _frequency(self) -> float:
        return 2.0 * np.pi / self.shake_period


@dataclass(frozen=True)
class AllegroHand(Case):
    """Fingers close around a mug and rock it; open loop, without gravity, ``tamsi`` Sec. VI-B."""

    time_step: float = parameter(7e-4, "time step of the simulation", unit="s", above=0.0, high=0.1)
    period: float = parameter(
        3.0, "period in which the mug is turned to and fro", unit="s", above=0.0
    )
    solver: SolverConfig = nested(SolverConfig, friction_law="linear")

    def model(self) -> BuiltModel:
        """Return the model of hand and mug."""
        mug = placement(MUG_POSITION, (MUG_ROLL, 0.0, 0.0))
        instances = [
            Instance(HAND, read_urdf("urdf/allegro_hand.urdf"), pin.SE3.Identity()),
            Instance(MUG, read_urdf("urdf/mug.urdf"), mug, free=True),
        ]
        built = build_model(
            instances, lambda instance, link: HAND_SURFACE, lambda a, b: a[0] != b[0]
        )
        built.arrays.joints.armature[:HAND_JOINTS] = HAND_ARMATURE
        built.q[:HAND_JOINTS] = _hand(OPEN_FINGER, OPEN_THUMB)
        return built

    def engine(self) -> Engine:
        """Return an engine with the hand open around the mug."""
        engine = Engine(self.model(), self.time_step, self.solver)
        engine.work.drives.stiffness[:HAND_JOINTS] = HAND_STIFFNESS
        engine.work.drives.damping[:HAND_JOINTS] = HAND_DAMPING
        # A spring towards zero and the force K q_d cancel to a large part.
        engine.work.drives.effort_limit[:] = np.inf
        return engine

    def excitation(self) -> Excitation:
        """Return the forces K q_d(t) that, with the joints' springs towards zero, drive it."""
        nv = HAND_JOINTS + 6
        mean, amplitude = np.zeros(nv), np.zeros(nv)
        mean[:HAND_JOINTS] = HAND_STIFFNESS * _hand(CLOSED_FINGER, CLOSED_THUMB)
        amplitude[INDEX] = HAND_STIFFNESS * np.array(ROCKING)
        amplitude[RING] = -amplitude[INDEX]
        omega = np.full(nv, 2.0 * np.pi / self.period)
        return Excitation(mean, amplitude, omega, np.full(nv, -0.5 * np.pi))


def fingers_in_contact(engine: Engine) -> set[str]:
    """Return which fingers touched the mug in the last step: index, middle, ring, thumb."""
    links = {
        contact.link_a if contact.instance_a == HAND else contact.link_b
        for contact in engine.contacts()
    }
    return {link.split("_")[0] for link in links} - {PALM}


def _hand(finger: tuple[float, ...], thumb: tuple[float, ...]) -> np.ndarray:
    """Return (16) joint positions: index, middle and ring finger, thumb."""
    spread, *bend = finger
    return np.array([spread, *bend, 0.0, *bend, -spread, *bend, *thumb])
