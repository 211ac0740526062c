"""The systems of Fig. 9, and one plan of one of them in one mode.

Outside the package of the figures, so that a word changed there does not have plans made again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from contact_core.base.errors import ConfigError, choices
from contact_core.base.sweep import Sweep
from irs_planner.dynamics import Dynamics
from irs_planner.examples import build_problem, example_settings, load_example
from irs_planner.irs_lqr import plan
from irs_planner.problem import IrsProblem
from irs_planner.smooth_dynamics import Quadrotor, cross_mixer
from irs_planner.smoothing import SMOOTHING_MODES, mode_names

SEEDS = range(5)
SAMPLES = 100
"""Per knot in all experiments of the paper, Sec. VI-A."""


@dataclass(frozen=True)
class System:
    """A system of Fig. 9.

    Attributes:
        title: Above its panel.
        example: Name of the example.
        goal: (n) another goal state; empty for the example's.
        cross: Whether a quadrotor has the rotors of the authors' code.
        iterations: As many as the authors recorded; 0 for as many as the example states.
    """

    title: str
    example: str
    goal: tuple[float, ...] = ()
    cross: bool = False
    iterations: int = 0

    def problem(self) -> IrsProblem:
        """Build the planning problem."""
        config = load_example(self.example)
        if self.goal:
            config = replace(config, goal_state=self.goal)
        dynamics: Dynamics | None = Quadrotor(config.time_step, cross_mixer) if self.cross else None
        return build_problem(config, dynamics)


SYSTEMS: Mapping[str, System] = {
    "pendulum": System("pendulum", "pendulum"),
    "dubins_easy": System("Dubins' car, easy", "dubins_easy"),
    "dubins_hard": System(
        "Dubins' car, hard", "dubins_hard", (-3.0, -1.0, -math.pi / 2, 0.0, 0.0), iterations=26
    ),
    "quadrotor": System("quadrotor", "quadrotor", cross=True, iterations=6),
    "hand": System("planar hand", "hand_move"),
    "pushing": System("planar pushing", "pushing"),
    "pivoting": System("box pivoting", "pivoting_no_contact"),
    "plate": System("plate pickup", "plate"),
    "second_order": System("pushing, second order", "pushing_second_order"),
}
"""Those of Fig. 9, and the one of Sec. VI-E."""


@dataclass(frozen=True)
class PlanRun:
    """One plan.

    Attributes:
        costs: Of the first guess and of every iterate, as reported in Fig. 9.
        states: (T + 1, n) the best iterate.
        status: Why planning stopped.
        mpc_failures: MPC problems that were not solved to optimality.
    """

    costs: tuple[float, ...]
    states: np.ndarray
    status: str
    mpc_failures: int

    @property
    def best(self) -> float:
        """Lowest cost."""
        return min(self.costs)

    @property
    def final(self) -> float:
        """Cost of the last iterate."""
        return self.costs[-1]


def run_system(system: str, mode: str, seed: int, samples: int = SAMPLES) -> PlanRun:
    """Plan with Algorithm 1 alone, for a fixed number of iterations.

    Args:
        system: One of SYSTEMS.
        mode: One of SMOOTHING_MODES.
        seed: Seed of the samples.
        samples: N per knot.

    Raises:
        ConfigError: If there is no such system or mode.
    """
    if system not in SYSTEMS:
        raise ConfigError(f"unknown system '{system}' ({choices(SYSTEMS)})")
    wanted = SYSTEMS[system]
    settings = example_settings(load_example(wanted.example))
    iterations = wanted.iterations or settings.iterations
    settings = replace(
        settings, mode=mode, seed=seed, samples=samples, iterations=iterations,
        patience=iterations + 1, refinements=0,
    )  # fmt: skip
    found = plan(wanted.problem(), settings)
    failures = sum(report.mpc_failures for report in found.iterations)
    return PlanRun(found.costs, found.states, found.status.name, failures)


def run_all(
    sweep: Sweep,
    systems: Sequence[str],
    modes: Sequence[str] = (),
    seeds: Sequence[int] = SEEDS,
    samples: int = SAMPLES,
) -> dict[str, dict[str, list[PlanRun]]]:
    """Plan systems in modes; those that take samples from several seeds.

    Args:
        sweep: Runs the tasks.
        systems: Of SYSTEMS.
        modes: Of SMOOTHING_MODES; none for all that fit a system.
        seeds: Seeds of modes that take samples; the others have no more than the first.
        samples: N per knot.

    Returns:
        System -> mode -> one run per seed.
    """
    tasks = [
        (system, mode, seed, samples)
        for system in systems
        for mode in modes or mode_names(SYSTEMS[system].problem().dynamics)
        for seed in (seeds if SMOOTHING_MODES[mode].sampled else seeds[:1])
    ]
    found: dict[str, dict[str, list[PlanRun]]] = {system: {} for system in systems}
    for task, run in zip(tasks, sweep.run(run_system, tasks, "plans"), strict=True):
        found[task[0]].setdefault(task[1], []).append(run)
    return found
