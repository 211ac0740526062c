"""Plans of the sled executed by the simulated arm in lock-step, in one process."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from contact_core.scene import Scene
from robust_planner.examples import Example, sled
from robust_planner.risk.failure import FailureRate
from robust_planner.risk.risk_planner import RiskPlan, plan_example
from robust_planner.risk.worlds import Normal, draw_worlds
from tamsi_sim.robot.plant import Plant, cartesian_impedance

SCENE = "slide_sled"
SLIDING = "sliding"
"""The surface of sled and table."""
ALONG = 1
"""The motion is along y of the base frame, the second entry of a wrench."""
RESTING = 0.5
"""Time without a wrench in which the jaws close and the sled comes to rest [s]."""
SAME_TIME = 1e-6
"""Sums of periods have no exact representation [s]."""


@dataclass(frozen=True)
class SlideCase:
    """One plan in one world.

    Attributes:
        plan: ``"nominal"`` or ``"with risk"``.
        time: Knots (N) [s].
        force: Along the motion (N) [N].
        friction: mu between sled and table.
    """

    plan: str
    time: tuple[float, ...]
    force: tuple[float, ...]
    friction: float


def carried_mass() -> float:
    """Return the inertia of the arm along the motion, at its start [kg].

    The arm offers no stiffness there, but its links have to be accelerated. The planner is told
    that, but not that it changes on the way, nor about the friction in the arm's joints.
    """
    scene = Scene.load(SCENE)
    start = np.array(scene.config.robot.initial_positions)
    return float(cartesian_impedance(scene).tool_inertia(start)[ALONG, ALONG])


def plan_slides(risk: float, sigma: float) -> tuple[Example, RiskPlan]:
    """Plan for an uncertain friction, with and without a promise.

    Args:
        risk: Accepted probability of failure.
        sigma: Standard deviation of the friction.

    Returns:
        The problem and its plans.
    """
    example = sled(carried_mass())
    uncertain = {"friction": Normal(example.robust_problem.friction, sigma)}
    example = dataclasses.replace(example, uncertain=uncertain)
    return example, plan_example(example, risk)


def draw_slides(example: Example, plan: RiskPlan, runs: int, seed: int) -> list[SlideCase]:
    """Draw worlds, the same for both plans.

    Args:
        example: The problem.
        plan: Its plans.
        runs: Worlds for each plan.
        seed: Of the draw.
    """
    worlds = draw_worlds(example.robust_problem, example.uncertain, runs, seed, "slides of the arm")
    plans = {"nominal": plan.nominal.trajectory, "with risk": plan.trajectory}
    return [
        SlideCase(name, tuple(motion.time.tolist()), tuple(motion.control[:, 0].tolist()), friction)
        for name, motion in plans.items()
        for friction in worlds.friction.tolist()
    ]


def run_slide(case: SlideCase) -> np.ndarray:
    """Let the arm execute a plan, as the demo slide_sled does on the graph.

    Args:
        case: What in which world.

    Returns:
        Way of the sled at the start of every period, and at the end (n) [m].
    """
    scene = Scene.load(SCENE)
    surface = dataclasses.replace(scene.surfaces[SLIDING], friction=case.friction)
    plant = Plant(dataclasses.replace(scene, surfaces={**scene.surfaces, SLIDING: surface}))
    rest, period = plant.reset(0).position, scene.config.period
    push, places = np.zeros(6), []
    for tick in range(round((RESTING + case.time[-1]) / period)):
        now = tick * period - RESTING + SAME_TIME
        if now >= 0.0:
            places.append(_place(plant))
            push[ALONG] = case.force[np.searchsorted(case.time, now) - 1]
        plant.tick(rest, None, push)
    places.append(_place(plant))
    return np.array(places) - places[0]


def summarize_slides(
    example: Example, cases: list[SlideCase], ways: list[np.ndarray]
) -> dict[str, Any]:
    """Count failures.

    Args:
        example: The problem.
        cases: What was executed.
        ways: What came of each.

    Returns:
        Plan -> friction, final errors [m] and how many are larger than the tolerance.
    """
    goal, tolerance = example.robust_problem.goal[0], example.failure.goal_tolerance[0]
    plans = {}
    for name in dict.fromkeys(case.plan for case in cases):
        runs = [
            (c.friction, way[-1] - goal)
            for c, way in zip(cases, ways, strict=True)
            if c.plan == name
        ]
        friction, errors = np.array(runs).T
        rate = FailureRate(int(np.sum(np.abs(errors) > tolerance)), len(errors))
        plans[name] = {
            "friction": friction.tolist(),
            "error_m": errors.tolist(),
            "failures": rate.failures,
            "runs": rate.samples,
            "low": rate.low,
            "high": rate.high,
            "worst_m": float(np.abs(errors).max()),
        }
    return plans


def _place(plant: Plant) -> float:
    return float(plant.truth().objects[-1].position[ALONG])
