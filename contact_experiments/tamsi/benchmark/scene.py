"""What a scene of the benchmark is: a model, a start, and what drives it, the same for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import BuiltModel

GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class BenchmarkScene:
    """One scene.

    The joints are driven by springs towards zero, dampers and a given force; a target
    q_d(t) is a spring and the force K q_d(t). So every simulator can step the same law
    without a controller around it.

    Attributes:
        name: Name of the scene.
        built: The model.
        surface: Surface of every shape.
        time_step: h [s].
        q: (nq) positions at the start.
        v: (nv) velocities at the start.
        stiffness: (nv) K of the joints [Nm/rad or N/m].
        damping: (nv) D of the joints, on top of the model's [Nm s/rad or N s/m].
        forces: (n, nv) generalised force of each step [Nm or N].
        left_out: Simulator -> why it does not take part.
    """

    name: str
    built: BuiltModel
    surface: Surface
    time_step: float
    q: np.ndarray
    v: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    forces: np.ndarray
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """Number of steps n."""
        return len(self.forces)

    @property
    def duration(self) -> float:
        """Simulated time [s]."""
        return self.steps * self.time_step

    def surface_of(self, instance: str, link: str) -> Surface:
        """Return the surface of a link."""
        return self.surface

    def engine(self, solver: SolverConfig) -> Engine:
        """Return an engine at the start.

        Args:
            solver: Settings of the scheme.
        """
        engine = Engine(self.built, self.time_step, solver)
        engine.work.drives.stiffness[:] = self.stiffness
        engine.work.drives.damping[:] = self.damping
        # A spring towards zero and the force K q_d cancel to a large part.
        engine.work.drives.effort_limit[:] = np.inf
        self.restart(engine)
        return engine

    def restart(self, engine: Engine) -> None:
        """Put an engine of this scene back to the start."""
        engine.q[:] = self.q
        engine.v[:] = self.v
        engine.work.counters[:] = 0


def passive(
    name: str,
    engine: Engine,
    surface: Surface,
    forces: np.ndarray,
    left_out: Mapping[str, str] | None = None,
) -> BenchmarkScene:
    """Return a scene without springs and dampers that starts where an engine is.

    Args:
        name: Name of the scene.
        engine: Its model, time step and state.
        surface: Surface of every shape.
        forces: (n, nv) generalised force of each step [Nm or N].
        left_out: Simulator -> why it does not take part.
    """
    none = np.zeros(len(engine.v))
    return BenchmarkScene(
        name, engine.built, surface, engine.time_step, engine.q.copy(), engine.v.copy(),
        none, none, forces, left_out or {},
    )  # fmt: skip
