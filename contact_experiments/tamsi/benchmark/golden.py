"""Golden trajectories: what Drake's kTamsi computed, for the time after its removal.

``contact-stack bench tamsi --golden test/tamsi_sim/golden`` records them again, with a Drake
that still has it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from contact_core.base.errors import ConfigError
from contact_experiments.tamsi.benchmark.runners import DrakeRunner
from contact_experiments.tamsi.benchmark.scene import BenchmarkScene
from contact_experiments.tamsi.benchmark.scenes import make_scene

# Scene -> every how many steps a state is kept.
EVERY = {
    "gripper_soft": 20,
    "gripper_stiff": 20,
    "arm_mug": 40,
    "allegro": 60,
    "towers_8": 50,
    "pile_32": 10,
}


@dataclass(frozen=True)
class GoldenTrajectory:
    """States of a scene on Drake's kTamsi.

    Attributes:
        every: Steps between two states; the first state is the one after so many steps.
        positions: (m, nq) in our convention.
        velocities: (m, nv) in our convention.
        version: Drake's version.
    """

    every: int
    positions: np.ndarray
    velocities: np.ndarray
    version: str

    @staticmethod
    def load(path: Path) -> GoldenTrajectory:
        """Read a file.

        Raises:
            ConfigError: If there is no such file.
        """
        try:
            with np.load(path) as data:
                return GoldenTrajectory(
                    int(data["every"]), data["positions"], data["velocities"], str(data["version"])
                )
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}") from error

    def save(self, path: Path) -> None:
        """Write a file."""
        np.savez_compressed(
            path, every=self.every, positions=self.positions, velocities=self.velocities,
            version=self.version,
        )  # fmt: skip


def record(scene: BenchmarkScene, every: int) -> GoldenTrajectory:
    """Simulate a scene with Drake's kTamsi.

    Args:
        scene: The scene.
        every: Steps between two states that are kept.

    Returns:
        The trajectory.

    Raises:
        PeerError: If this version of Drake has no kTamsi.
    """
    runner = DrakeRunner(scene, "tamsi")
    states = []
    for step in range(every, scene.steps + 1, every):
        runner.advance(step)
        states.append(runner.state())
    positions, velocities = (np.array(rows) for rows in zip(*states, strict=True))
    return GoldenTrajectory(every, positions, velocities, metadata.version("drake"))


def record_all(folder: Path, on_scene: Callable[[str], object] = lambda name: None) -> None:
    """Record every golden trajectory.

    Args:
        folder: Where the files are written.
        on_scene: Called with each scene's name when its file is written.

    Raises:
        PeerError: If this version of Drake has no kTamsi.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, every in EVERY.items():
        record(make_scene(name), every).save(folder / f"{name}.npz")
        on_scene(name)
