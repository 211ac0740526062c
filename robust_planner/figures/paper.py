"""All figures of the paper, each from its grid of plans."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from robust_planner.evaluation.final_error import FinalErrors, final_errors
from robust_planner.figures.block_plans import plot_controls, plot_simulations
from robust_planner.figures.grids import plot_final_errors, plot_trade_off
from robust_planner.figures.hopper_plans import plot_foot, plot_frames
from robust_planner.problems.registry import make_example
from robust_planner.report import mean_foot_height
from robust_planner.result import PlanResult
from robust_planner.sweep import GridPoint, plan_reference, sweep

RISKS = (0.51, 0.6, 0.7, 0.8, 0.9)
BLOCK_SIGMAS = (0.01, 0.05, 0.1, 0.3, 1.0)
HOPPER_SIGMAS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5)
OnPlan = Callable[[GridPoint, PlanResult], None]


def draw_block(folder: Path, mode: str = "paper", on_plan: OnPlan | None = None) -> list[Path]:
    """Reproduce Fig. 2, 3, 4 and 5.

    Args:
        folder: Where the PNG files go; must exist.
        mode: ``"paper"`` as published, or ``"physical"``.
        on_plan: Called after every plan.

    Returns:
        The files.
    """
    example = make_example("block")
    config = dataclasses.replace(example.config, mode=mode)
    reference = plan_reference(example)
    square = [GridPoint(sigma, risk, risk) for sigma in BLOCK_SIGMAS for risk in RISKS]
    alone = [GridPoint(sigma) for sigma in BLOCK_SIGMAS]
    chance = [GridPoint(sigma, 0.7, 0.7, expected_residual=False) for sigma in (0.1, 1.0)]
    risks = [GridPoint(1.0, beta, theta) for beta in (0.51, 0.7, 0.9) for theta in (0.51, 0.7, 0.9)]
    points = dict.fromkeys([*square, *alone, *chance, *risks])
    plans = sweep(example, points, reference, config, on_plan)

    def errors(points: list[GridPoint]) -> dict[GridPoint, FinalErrors]:
        return {
            point: final_errors(
                plans[point].trajectory, example.problem, example.test_friction
            )
            for point in points
            if plans[point].solved
        }

    nominal = final_errors(reference.trajectory, example.problem, example.test_friction)
    shown = {
        "reference": reference,
        "chance only, sigma 1": plans[chance[1]],
        "ERM, sigma 0.1": plans[GridPoint(0.1)],
        "ERM, sigma 1": plans[GridPoint(1.0)],
        "ERM + chance 0.7, sigma 1": plans[GridPoint(1.0, 0.7, 0.7)],
    }
    simulated = {
        name: final_errors(result.trajectory, example.problem, example.test_friction)
        for name, result in shown.items()
    }
    figures = {
        "fig2_controls": plot_controls(shown),
        "fig3_trade_off": plot_trade_off(
            {point: plans[point] for point in square + alone}, reference, _speed, "max speed [m/s]"
        ),
        "fig4_simulations": plot_simulations(simulated, example.problem.goal[0]),
        "fig5a_errors_over_sigma": plot_final_errors(
            errors([p for p in square + alone if p.theta in (None, 0.7)]), nominal, "sigma"
        ),
        "fig5b_errors_over_risk": plot_final_errors(errors(risks), nominal, "theta"),
    }
    return _save(figures, folder, f"block_{mode}")


def draw_hopper(
    folder: Path,
    sigmas: tuple[float, ...] = HOPPER_SIGMAS,
    risks: tuple[float, ...] = RISKS,
    on_plan: OnPlan | None = None,
) -> list[Path]:
    """Reproduce Fig. 6 and 7; about a minute and a half per plan.

    Args:
        folder: Where the PNG files go; must exist.
        sigmas: Standard deviations of the height, the last one is shown in Fig. 6 [m].
        risks: theta; beta is 0.5, as published.
        on_plan: Called after every plan.

    Returns:
        The files.
    """
    example = make_example("hopper")
    reference = plan_reference(example)
    points = [
        GridPoint(sigma, beta, theta)
        for sigma in sigmas
        for beta, theta in [(None, None), *((0.5, risk) for risk in risks)]
    ]
    plans = sweep(example, points, reference, on_plan=on_plan)
    shown = {"reference": reference}
    for point, result in plans.items():
        if point.sigma == sigmas[-1] and result.solved:
            risk = "" if point.theta is None else f" + chance, theta {point.theta:g}"
            shown[f"ERM{risk}, sigma {point.sigma:g} m"] = result
    figures = {
        "fig6a_frames": plot_frames(shown),
        "fig6bc_foot": plot_foot(shown, example.problem.model),
        "fig7_trade_off": plot_trade_off(
            plans, reference, mean_foot_height, "mean foot height [m]"
        ),
    }
    return _save(figures, folder, "hopper")


def _speed(result: PlanResult) -> float:
    return float(np.abs(result.trajectory.velocity).max())


def _save(figures: dict[str, Figure], folder: Path, prefix: str) -> list[Path]:
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{prefix}_{name}.png")
        figure.savefig(paths[-1], dpi=110)
    return paths
