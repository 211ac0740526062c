"""What stands about the arm, changed while it runs: friction, stiffness, an obstacle's height."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contact_core.base.config import parameter
from contact_core.base.errors import ConfigError, choices
from contact_core.robot.scene import Scene
from tamsi_sim.robot.physics import Physics
from tamsi_sim.simulation.engine import Engine

LIFTING_SPEED = 0.05
"""With which an obstacle goes up or down, as a lifting table does [m/s]."""


@dataclass(frozen=True)
class SurroundingsConfig:
    """How the surroundings differ from the scene's; nothing in the graph is told."""

    friction: float = parameter(
        1.0, "coefficients of friction, relative to the scene's", low=0.0, high=3.0, live=True
    )
    stiffness: float = parameter(
        1.0, "stiffness of surfaces, relative to the scene's", low=0.1, high=5.0, live=True
    )
    obstacle: str = parameter(
        "", "fixed object that stands higher or lower than in the scene; empty for none", live=True
    )
    height: float = parameter(
        0.0, "by how much the obstacle stands higher", unit="m", low=-0.3, high=0.3, live=True
    )


class Surroundings:
    """The surroundings of a simulated arm.

    Attributes:
        obstacles: The objects that can be moved up and down: those without a moving part.
    """

    def __init__(self, engine: Physics, scene: Scene) -> None:
        """Begin as the scene has it.

        Args:
            engine: What simulates it; its arrays are written.
            scene: The scene.
        """
        self._engine = engine
        self._config = SurroundingsConfig()
        arrays, instances = engine.built.arrays, np.array(engine.built.instances)
        self._friction = arrays.rules.friction.copy()
        self._stiffness = arrays.rules.stiffness.copy()
        self._places = arrays.geometry.position.copy()
        self._centers = arrays.hulls.center.copy()
        fixed = arrays.geometry.body < 0
        self._shapes = {
            name: instances == name
            for name in scene.objects
            if fixed[instances == name].all() and (instances == name).any()
        }
        self.obstacles = tuple(self._shapes)
        self._heights = dict.fromkeys(self.obstacles, 0.0)

    def change(self, config: SurroundingsConfig) -> None:
        """Let the surroundings be otherwise; an obstacle takes its time.

        Args:
            config: How.

        Raises:
            ConfigError: If there is no such obstacle, or Drake simulates, whose plant is as built.
        """
        if config == self._config:
            return
        if not isinstance(self._engine, Engine):
            raise ConfigError("surroundings cannot be changed with engine drake (valid: tamsi)")
        if config.obstacle not in ("", *self.obstacles):
            raise ConfigError(f"no fixed object '{config.obstacle}' ({choices(self.obstacles)})")
        rules = self._engine.built.arrays.rules
        rules.friction[:] = config.friction * self._friction
        rules.stiffness[:] = config.stiffness * self._stiffness
        self._start_anew(self._engine)
        self._config = config

    def advance(self, seconds: float) -> None:
        """Move obstacles towards where they should be.

        Args:
            seconds: For how long [s].
        """
        for name, height in self._heights.items():
            goal = self._config.height if name == self._config.obstacle else 0.0
            if height != goal:
                reach = LIFTING_SPEED * seconds
                self._lift(name, float(np.clip(goal, height - reach, height + reach)))

    def height(self, name: str) -> float:
        """Return how much higher than in the scene an object stands now [m]."""
        return self._heights.get(name, 0.0)

    def _lift(self, name: str, height: float) -> None:
        assert isinstance(self._engine, Engine)  # nothing else changes
        arrays, shapes = self._engine.built.arrays, self._shapes[name]
        arrays.geometry.position[shapes, 2] = self._places[shapes, 2] + height
        hulls = np.isin(arrays.hulls.shape, np.flatnonzero(shapes))
        arrays.hulls.center[hulls, 2] = self._centers[hulls, 2] + height
        self._heights[name] = height
        self._start_anew(self._engine)

    @staticmethod
    def _start_anew(engine: Engine) -> None:
        """Tell the watch over the energy that this was by hand."""
        engine.work.energy.v[:] = np.nan
