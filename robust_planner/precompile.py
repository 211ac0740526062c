"""Compile or load everything the planner's node runs, before the first goal arrives."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from contact_core.base.planning import StopCondition
from robust_planner.examples import make_example
from robust_planner.risk.settings import ShootingConfig
from robust_planner.risk.shooting import Shooting
from robust_planner.risk.worlds import draw_worlds


def precompile() -> None:
    """Take one step of a search for a block that slides in two worlds."""
    example = make_example("block")
    problem = dataclasses.replace(example.problem, duration=0.02, knots=3)
    worlds = draw_worlds(problem, example.uncertain, 2, 0, "precompile")
    shooting = Shooting(problem, example.failure, worlds, 0.0, ShootingConfig(iterations=1))
    shooting.improve(np.full((3, 1), 10.0), 10.0, 1.0, StopCondition(math.inf))
