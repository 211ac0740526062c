"""Compile everything the planner's node runs, before the first goal arrives."""

from __future__ import annotations

import numpy as np

from robust_planner.examples import make_example
from robust_planner.risk.batch import simulate_worlds
from robust_planner.risk.worlds import draw_worlds


def precompile() -> None:
    """Simulate a block in two worlds."""
    example = make_example("block")
    worlds = draw_worlds(example.problem, example.uncertain, 2, 0, "precompile")
    simulate_worlds(example.problem, np.zeros((3, 1)), worlds)
