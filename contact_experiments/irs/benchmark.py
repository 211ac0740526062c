"""Every example in every mode: what ``contact-stack bench irs`` reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from contact_experiments.irs.second_order import SecondOrderDynamics
from irs_planner.examples import build_problem, example_names, example_settings, load_example
from irs_planner.irs_lqr import plan
from irs_planner.problem import PlannerSettings
from irs_planner.result import IrsPlan
from irs_planner.smoothing import mode_names


def run_examples(
    names: Sequence[str] | None = None,
    modes: Sequence[str] | None = None,
    *,
    seed: int = 0,
    workers: int = 1,
    paper: bool = False,
) -> dict[str, Any]:
    """Plan examples and measure cost and time.

    All of them run a fixed number of iterations, without a convergence test. Every mode runs
    one iteration first, so that compilation is not measured.

    Args:
        names: Examples; None for all of them.
        modes: Modes; None for all that an example supports. Second-order dynamics have no
            log barrier, and their first-order bundle, slow, has to be asked for.
        seed: Seed of the samples.
        workers: Threads.
        paper: Algorithm 1 alone, as the paper has it: no accept/reject phase after it.

    Returns:
        ``{"examples": {name: {mode: {"initial", "best", "final", "iterations", "seconds",
        "seconds_per_iteration": {"linearisation", "mpc", "rollout"}, "status",
        "mpc_failures", "costs"}}}}``, costs reported as in Fig. 9.
    """
    examples: dict[str, dict[str, Any]] = {}
    for name in names or example_names():
        config = load_example(name)
        problem = build_problem(config)
        examples[name] = {}
        slow = isinstance(problem.dynamics, SecondOrderDynamics)
        usable = mode_names(problem.dynamics)
        for mode in [mode for mode in modes or usable if mode in usable]:
            if mode == "first" and slow and not modes:
                continue
            settings = replace(
                example_settings(config),
                mode=mode,
                seed=seed,
                workers=workers,
                patience=config.iterations + config.refinements + 1,
                refinements=0 if paper else config.refinements,
            )
            plan(problem, PlannerSettings(mode=mode, iterations=1, samples=2, seed=seed))
            examples[name][mode] = summarise(plan(problem, settings))
    return {"examples": examples}


ORDERS = {"quasi_dynamic": "pushing", "second_order": "pushing_second_order"}
"""Order of the dynamics -> example of the same push."""


def seconds_per_iteration(
    name: str, mode: str, seed: int = 0, iterations: int = 0, horizon: int = 0
) -> float:
    """Measure an iteration of Algorithm 1, after one that compiles.

    Args:
        name: The example.
        mode: How gradients are made.
        seed: Seed of the samples.
        iterations: How many to average over; 0 for as many as the example states.
        horizon: Number of steps; 0 for that of the example.

    Returns:
        The time of one [s].
    """
    config = load_example(name)
    config = replace(config, horizon=horizon or config.horizon)
    problem, count = build_problem(config), iterations or config.iterations
    plan(problem, PlannerSettings(mode=mode, iterations=1, samples=2, seed=seed))
    result = plan(
        problem, PlannerSettings(mode=mode, iterations=count, seed=seed, patience=count + 1)
    )
    return result.seconds / len(result.iterations)


def compare_orders(mode: str = "zero", seed: int = 0) -> dict[str, Any]:
    """Plan the same push with quasi-dynamic and with second-order dynamics (Sec. VI-E).

    Args:
        mode: How gradients are made.
        seed: Seed of the samples.

    Returns:
        ``{"mode", "quasi_dynamic", "second_order", "ratio"}``: seconds per iteration of
        Algorithm 1, and how many times longer second-order planning takes.
    """
    seconds = {order: seconds_per_iteration(name, mode, seed) for order, name in ORDERS.items()}
    ratio = seconds["second_order"] / seconds["quasi_dynamic"]
    return {"mode": mode, **seconds, "ratio": ratio}


HORIZONS = (40, 200)
"""Numbers of steps whose costs are compared."""


def compare_horizons(mode: str = "first", seed: int = 0) -> dict[str, Any]:
    """Plan with a short and with a long horizon: the cost should be linear in it.

    Args:
        mode: How gradients are made.
        seed: Seed of the samples.

    Returns:
        ``{"example", "mode", "horizons", "seconds", "ratio"}``: seconds per iteration of
        Algorithm 1 with every horizon, and how many times longer the longest one takes.
    """
    name = "hand_move"
    seconds = [seconds_per_iteration(name, mode, seed, 4, horizon) for horizon in HORIZONS]
    return {
        "example": name,
        "mode": mode,
        "horizons": list(HORIZONS),
        "seconds": seconds,
        "ratio": seconds[-1] / seconds[0],
    }


def summarise(result: IrsPlan) -> dict[str, Any]:
    """Return the figures of one plan, ready for JSON.

    Args:
        result: The plan.
    """
    count = max(len(result.iterations), 1)
    times = [report.times for report in result.iterations]
    return {
        "initial": result.costs[0],
        "best": result.cost,
        "final": result.costs[-1],
        "iterations": len(result.iterations),
        "seconds": result.seconds,
        "seconds_per_iteration": {
            "linearisation": sum(t.linearisation for t in times) / count,
            "mpc": sum(t.mpc for t in times) / count,
            "rollout": sum(t.rollout for t in times) / count,
        },
        "status": result.status.name,
        "mpc_failures": sum(report.mpc_failures for report in result.iterations),
        "costs": list(result.costs),
    }
