"""The paper's simulation cases, ready to run: tests, benchmarks and examples use them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.config import load, nested, parameter
from contact_core.description import read_urdf, share
from contact_core.scene import Instance
from contact_core.scene_config import SolverConfig
from contact_core.surface import Surface
from contact_experiments.tamsi.integrators.excitation import Excitation
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import build_model

GRIPPER = "gripper"
MUG = "mug"
MOVING_MASS = 0.98888 + 2 * 0.05 + 0.1  # body, fingers and mug of the gripper case [kg]


@dataclass(frozen=True)
class ParallelGripper:
    """The shaken parallel jaw gripper of ``tamsi`` Sec. VI-A; there is no gravity."""

    time_step: float = parameter(3e-3, "step h", unit="s", above=0.0, high=0.1)
    stiffness: float = parameter(1e4, "contact stiffness k", unit="N/m", above=0.0)
    dissipation: float = parameter(10.0, "contact dissipation d", unit="s/m", low=0.0)
    friction: float = parameter(0.1, "coefficient of friction", low=0.0, high=10.0)
    shake_period: float = parameter(0.5, "period T of the shaking", unit="s", above=0.0)
    shake_amplitude: float = parameter(0.15, "its amplitude A", unit="m", low=0.0)
    grip_force: float = parameter(10.0, "force of the sliding finger", unit="N", low=0.0)
    solver: SolverConfig = nested(SolverConfig)

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

    def forces(self, steps: int) -> np.ndarray:
        """Return the force that shakes the gripper and closes its fingers.

        Args:
            steps: How many steps.

        Returns:
            (steps, nv) generalised forces for :meth:`Engine.roll` [N].
        """
        return self.excitation().at(np.arange(steps) * self.time_step)

    def excitation(self) -> Excitation:
        """Return the same force as a function of time, for the integrators."""
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
