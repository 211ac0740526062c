"""Every example in every mode: what ``contact-stack bench irs`` reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irs_planner.dynamics import ContactDynamics
from irs_planner.examples import build_problem, example_names, load_example
from irs_planner.irs_lqr import plan
from irs_planner.result import PlanResult
from irs_planner.settings import PlannerSettings
from irs_planner.smoothing import GradientMode


def run_examples(
    names: Sequence[str] | None = None,
    modes: Sequence[str] | None = None,
    *,
    seed: int = 0,
    workers: int = 1,
) -> dict[str, Any]:
    """Plan examples with the paper's settings and measure cost and time.

    Every mode runs one iteration first, so that compilation is not measured.

    Args:
        names: Examples; None for all of them.
        modes: Modes; None for all that an example supports.
        seed: Seed of the samples.
        workers: Threads.

    Returns:
        ``{"examples": {name: {mode: {"initial", "best", "final", "iterations", "seconds",
        "seconds_per_iteration": {"linearisation", "mpc", "rollout"}, "status",
        "mpc_failures", "costs"}}}}``, costs reported as in Fig. 9.
    """
    examples: dict[str, dict[str, Any]] = {}
    for name in names or example_names():
        config = load_example(name)
        problem = build_problem(config)
        contact = isinstance(problem.dynamics, ContactDynamics)
        examples[name] = {}
        for mode in modes or [str(mode) for mode in GradientMode]:
            if mode == GradientMode.LOG_BARRIER and not contact:
                continue
            # No convergence test: the paper runs a fixed number of iterations.
            settings = PlannerSettings(
                mode=mode,
                iterations=config.iterations,
                seed=seed,
                workers=workers,
                patience=config.iterations + 1,
            )
            plan(problem, PlannerSettings(mode=mode, iterations=1, seed=seed))
            examples[name][mode] = summarise(plan(problem, settings))
    return {"examples": examples}


def summarise(result: PlanResult) -> dict[str, Any]:
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
        "status": str(result.status),
        "mpc_failures": sum(report.mpc_failures for report in result.iterations),
        "costs": list(result.costs),
    }
