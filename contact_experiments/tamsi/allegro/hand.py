"""Hand and mug, and the open-loop motion that turns the mug, ``tamsi`` Sec. VI-B."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.config import nested, parameter
from contact_core.description import placement, read_urdf
from contact_core.scene import Instance
from contact_core.scene_config import SolverConfig
from contact_core.surface import Surface
from contact_experiments.tamsi.integrators.excitation import Excitation
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import BuiltModel, build_model

HAND = "hand"
MUG = "mug"
PALM = "palm"
JOINTS = 16
INDEX, RING = slice(0, 4), slice(8, 12)

# Rotor inertia 1e-6 kg m^2 behind a gear of 369; position controllers of the joints.
ARMATURE = 1e-6 * 369.0**2
STIFFNESS = 8.0  # [Nm/rad]
DAMPING = 2.0  # [Nm s/rad]

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
class AllegroHand:
    """Fingers close around a mug and rock it from the start; open loop, without gravity."""

    time_step: float = parameter(7e-4, "step h", unit="s", above=0.0, high=0.1)
    stiffness: float = parameter(1e4, "contact stiffness k", unit="N/m", above=0.0)
    dissipation: float = parameter(1.0, "contact dissipation d", unit="s/m", low=0.0)
    friction: float = parameter(0.9, "coefficient of friction", low=0.0, high=10.0)
    period: float = parameter(3.0, "of the mug's turning to and fro", unit="s", above=0.0)
    solver: SolverConfig = nested(SolverConfig)

    @property
    def surface(self) -> Surface:
        """Surface of the hand and of the mug; two of them in series have stiffness k."""
        return Surface(2.0 * self.stiffness, self.dissipation, self.friction)

    def model(self) -> BuiltModel:
        """Return the model of hand and mug."""
        mug = placement(MUG_POSITION, (MUG_ROLL, 0.0, 0.0))
        instances = [
            Instance(HAND, read_urdf("urdf/allegro_hand.urdf"), pin.SE3.Identity()),
            Instance(MUG, read_urdf("urdf/mug.urdf"), mug, free=True),
        ]
        built = build_model(
            instances, lambda instance, link: self.surface, lambda a, b: a[0] != b[0]
        )
        built.arrays.joints.armature[:JOINTS] = ARMATURE
        built.q[:JOINTS] = _hand(OPEN_FINGER, OPEN_THUMB)
        return built

    def engine(self) -> Engine:
        """Return an engine with the hand open around the mug."""
        engine = Engine(self.model(), self.time_step, self.solver)
        engine.work.drives.stiffness[:JOINTS] = STIFFNESS
        engine.work.drives.damping[:JOINTS] = DAMPING
        # A spring towards zero and the force K q_d cancel to a large part.
        engine.work.drives.effort_limit[:] = np.inf
        return engine

    def excitation(self) -> Excitation:
        """Return the forces K q_d(t) that, with the joints' springs towards zero, drive it."""
        mean, amplitude = np.zeros(JOINTS + 6), np.zeros(JOINTS + 6)
        mean[:JOINTS] = STIFFNESS * _hand(CLOSED_FINGER, CLOSED_THUMB)
        amplitude[INDEX] = STIFFNESS * np.array(ROCKING)
        amplitude[RING] = -amplitude[INDEX]
        omega = np.full(JOINTS + 6, 2.0 * np.pi / self.period)
        return Excitation(mean, amplitude, omega, np.full(JOINTS + 6, -0.5 * np.pi))

    def forces(self, steps: int) -> np.ndarray:
        """Return :meth:`excitation` at the start of each step.

        Args:
            steps: How many steps.

        Returns:
            (steps, nv) generalised forces for :meth:`Engine.roll` [Nm].
        """
        return self.excitation().at(np.arange(steps) * self.time_step)


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
