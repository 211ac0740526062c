"""The figures of the chance-constraint paper: the block's are 2 to 5, the hopper's 6 and 7."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from contact_core.base.sweep import Sweep
from contact_experiments.papers.figure import spread
from contact_experiments.papers.pictures import FigureResult
from robust_planner.config import PlannerConfig
from robust_planner.evaluation.execution import FinalErrors, final_errors
from robust_planner.examples import Example, make_example
from robust_planner.grid_figures import (
    REFERENCE,
    Grid,
    curve_style,
    plot_final_errors,
    plot_trade_off,
    point_name,
)
from robust_planner.plan_figures import (
    plot_final_blocks,
    plot_foot,
    plot_frames,
    plot_risks,
    plot_simulations,
)
from robust_planner.report import mean_foot_height
from robust_planner.result import RobustPlan
from robust_planner.sweep import OURS, PLANNERS, GridPoint, plan_grid, plan_reference

PATIENCE = 3600.0
"""Time budget of a plan; none of these needs it on a machine that is not overloaded [s]."""

RISKS = (0.51, 0.6, 0.7, 0.8, 0.9)
"""Risk bounds of the grids."""


BLOCK_SIGMAS = (0.01, 0.05, 0.1, 0.3, 1.0)
MODERATE, HIGH = 0.1, 1.0
"""The deviations that Fig. 2 and 4 compare."""
RISK = 0.7
"""beta and theta in Fig. 4 and 5a."""
EDGE = 1.0
"""Of the block [m]."""

SQUARE = tuple(GridPoint(sigma, risk, risk) for sigma in BLOCK_SIGMAS for risk in RISKS)
COST_ALONE = tuple(GridPoint(sigma) for sigma in BLOCK_SIGMAS)
CHANCE_ALONE = tuple(
    GridPoint(sigma, risk, risk, expected_residual=False)
    for sigma in (MODERATE, HIGH)
    for risk in RISKS
)
RISK_PAIRS = tuple(
    GridPoint(HIGH, beta, theta) for beta in (0.51, 0.7, 0.9) for theta in (0.51, 0.7, 0.9)
)


@dataclasses.dataclass(frozen=True)
class Study:
    """Plans of an example, and of the same example without uncertainty."""

    example: Example
    reference: RobustPlan
    plans: Grid

    @property
    def solved(self) -> Grid:
        """Those of the plans that satisfy their problem."""
        return {point: plan for point, plan in self.plans.items() if plan.solved}

    def simulate(self, plan: RobustPlan) -> FinalErrors:
        """Execute a plan of the block without feedback under all frictions."""
        example = self.example
        return final_errors(plan.trajectory, example.problem, example.test_friction)

    def errors(self, points: Iterable[GridPoint]) -> dict[GridPoint, FinalErrors]:
        """Execute the plans of some points, those that are solved."""
        return {
            point: self.simulate(self.solved[point]) for point in points if point in self.solved
        }

    def numbers(self, measure: Callable[[RobustPlan], dict[str, float]]) -> dict[str, Any]:
        """Return a plan's numbers by its name, and how many plans there are."""
        named = {point_name(point): measure(plan) for point, plan in self.solved.items()}
        return {
            "reference": measure(self.reference),
            "plans": named,
            "solved": f"{len(self.solved)} of {len(self.plans)}",
        }


def block_study(sweep: Sweep, points: Iterable[GridPoint], mode: str) -> Study:
    """Plan the sliding block.

    Args:
        sweep: Who plans.
        points: The grid.
        mode: ``"paper"`` or ``"physical"``.
    """
    example = make_example("block")
    config = dataclasses.replace(_patient(example.config), mode=mode)
    reference = plan_reference(example, config, sweep)
    return Study(example, reference, plan_grid(example, points, reference, config, sweep))


def hopper_study(sweep: Sweep, points: Iterable[GridPoint]) -> Study:
    """Plan the hopper: at every sigma one plan from the reference, the others from that plan.

    Raising the weight of the expected residual takes minutes, moving a risk bound afterwards much
    less.
    """
    example = make_example("hopper")
    config = _patient(example.config)
    reference = plan_reference(example, config, sweep)
    continuation = dataclasses.replace(
        config.continuation, chance_fractions=(), weight_fractions=(1.0,), scaffold_theta=0.0
    )
    # At the tolerance of the ladder's end products of jumps' forces, 10 kN, are too large.
    solver = dataclasses.replace(config.solver, tolerance=1e-8)
    last_stage = dataclasses.replace(config, continuation=continuation, solver=solver)
    points = list(points)
    # The highest sigma takes longest.
    sigmas = sorted({point.sigma for point in points}, reverse=True)
    first = [GridPoint(sigma, BETA, THETA_OF_FRAMES) for sigma in sigmas]
    plans = plan_grid(example, first, reference, config, sweep)
    for start in first:
        others = [point for point in points if point.sigma == start.sigma and point != start]
        if plans[start].solved:
            plans |= plan_grid(example, others, plans[start], last_stage, sweep)
        else:
            plans |= plan_grid(example, others, reference, config, sweep)
    return Study(example, reference, {point: plans[point] for point in points})


def _patient(config: PlannerConfig) -> PlannerConfig:
    return dataclasses.replace(config, solver=dataclasses.replace(config.solver, budget=PATIENCE))


def figure_2(sweep: Sweep) -> FigureResult:
    """Fig. 2: push and friction over time, for every risk bound."""
    study = block_study(sweep, (*COST_ALONE, *SQUARE, *CHANCE_ALONE), "paper")
    numbers = study.numbers(lambda plan: {"friction_N": _friction(plan)})
    for sigma in (MODERATE, HIGH):
        alone = [plan for point, plan in study.solved.items() if _is_chance_alone(point, sigma)]
        differences = [_difference(plan, study.reference) for plan in alone]
        key = f"chance_alone_{100 * sigma:.0f}"
        slid = np.concatenate([_sliding(plan) for plan in alone])
        numbers[key] = {"control_N": max(differences), "friction_N": spread(slid)}
    numbers["erm_1"] = _friction(study.plans[GridPoint(HIGH)])
    for risk in (min(RISKS), max(RISKS)):
        key = f"chance_{100 * risk:.0f}"
        numbers[key] = _friction(study.plans[GridPoint(HIGH, risk, risk)])
    return plot_risks(_columns(study.plans), study.reference), numbers


def figure_3(sweep: Sweep, mode: str = "paper") -> FigureResult:
    """Fig. 3: merit and largest speed over sigma, for every risk bound."""
    study = block_study(sweep, (*SQUARE, *COST_ALONE), mode)
    numbers = study.numbers(lambda plan: {"merit": plan.merit, "max_speed": _speed(plan)})
    numbers["reference"]["cost"] = study.reference.cost
    for sigma in BLOCK_SIGMAS:
        bounded = [point for point in study.solved if point.sigma == sigma and point.theta]
        speeds = [_speed(study.solved[point]) for point in bounded]
        key = f"speed_range_{100 * sigma:.0f}"
        numbers[key] = max(speeds) - min(speeds)
    numbers["erm_speed_1"] = _speed(study.plans[GridPoint(HIGH)])
    figure = plot_trade_off(study.plans, study.reference, _speed, "largest speed [m/s]")
    return figure, numbers


def figure_3_physical(sweep: Sweep) -> FigureResult:
    """Fig. 3 in the mode that is our default."""
    return figure_3(sweep, "physical")


def figure_4(sweep: Sweep) -> FigureResult:
    """Fig. 4: motions under four frictions."""
    study, named = _compared(sweep)
    figure = plot_simulations(named, study.example.problem.goal[0])
    return figure, {name: _error_entry(errors) for name, errors in named.items()}


def figure_4d(sweep: Sweep) -> FigureResult:
    """Fig. 4d: where the block comes to rest at high uncertainty."""
    study, shown = rough_blocks(sweep)
    figure = plot_final_blocks(shown, study.example.problem.goal[0], EDGE)
    return figure, {name: _error_entry(errors) for name, errors in shown.items()}


def rough_blocks(sweep: Sweep) -> tuple[Study, dict[str, FinalErrors]]:
    """Return what Fig. 4d shows: plans by their names, executed under several frictions."""
    study, named = _compared(sweep)
    return study, {name: errors for name, errors in named.items() if f"{MODERATE:g}" not in name}


def _compared(sweep: Sweep) -> tuple[Study, dict[str, FinalErrors]]:
    points = [GridPoint(sigma, risk, risk) for risk in (None, RISK) for sigma in (MODERATE, HIGH)]
    study = block_study(sweep, points, "paper")
    named = {point_name(point): errors for point, errors in study.errors(points).items()}
    return study, {"reference": study.simulate(study.reference), **named}


def figure_5a(sweep: Sweep, mode: str = "paper") -> FigureResult:
    """Fig. 5a: final errors over sigma, with and without chance constraints, and by others."""
    points = [
        *COST_ALONE,
        *(GridPoint(sigma, RISK, RISK) for sigma in BLOCK_SIGMAS),
    ]
    study = block_study(sweep, points, mode)
    errors, nominal = study.errors(points), study.simulate(study.reference)
    numbers: dict[str, Any] = {"reference": _error_entry(nominal)}
    for point, found in errors.items():
        kind = "erm" if point.theta is None else "chance"
        numbers[f"{kind}_{100 * point.sigma:.0f}"] = _error_entry(found)
    others = {}
    for name in PLANNERS:
        if name != OURS:
            plans = plan_grid(study.example, COST_ALONE, study.reference, None, sweep, name)
            others[name] = dataclasses.replace(study, plans=plans).errors(COST_ALONE)
            for point, found in others[name].items():
                numbers[f"{name}_{100 * point.sigma:.0f}"] = _error_entry(found)
    return plot_final_errors(errors, nominal, "sigma", others=others), numbers


def figure_5a_physical(sweep: Sweep) -> FigureResult:
    """Fig. 5a in the mode that is our default."""
    return figure_5a(sweep, "physical")


def figure_5b(sweep: Sweep) -> FigureResult:
    """Fig. 5b: final errors over the risk bounds at high uncertainty."""
    points = (GridPoint(HIGH), *RISK_PAIRS)
    study = block_study(sweep, points, "paper")
    errors, nominal = study.errors(points), study.simulate(study.reference)
    numbers: dict[str, Any] = {}
    for theta in (0.51, 0.7, 0.9):
        own = [found for point, found in errors.items() if point.theta == theta]
        numbers[f"theta_{100 * theta:.0f}"] = {
            "mean": spread([found.mean for found in own]),
            "range": spread([found.range for found in own]),
        }
    return plot_final_errors(errors, nominal, "theta"), numbers


HOPPER_SIGMAS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5)
BETA = 0.5
"""As published."""
THETA_OF_FRAMES = 0.6
"""Of the plan in Fig. 6a, beside the one without chance constraints."""
HIGHEST = tuple(
    GridPoint(HOPPER_SIGMAS[-1], beta, theta)
    for beta, theta in [(None, None), *((BETA, risk) for risk in RISKS)]
)
HOPPER_GRID = tuple(
    dataclasses.replace(point, sigma=sigma) for sigma in HOPPER_SIGMAS for point in HIGHEST
)


def figure_6a(sweep: Sweep) -> FigureResult:
    """Fig. 6a: the hopper at several times, at the highest uncertainty."""
    study = _study_of_frames(sweep)
    return plot_frames(_with_reference(study)), _foot(study)


def hopper_in_frames(sweep: Sweep) -> dict[str, RobustPlan]:
    """Return what Fig. 6a shows: plans by their names."""
    return _with_reference(_study_of_frames(sweep))


def _study_of_frames(sweep: Sweep) -> Study:
    points = [point for point in HIGHEST if point.theta in (None, THETA_OF_FRAMES)]
    return hopper_study(sweep, points)


def _with_reference(study: Study) -> dict[str, RobustPlan]:
    return {"reference": study.reference, **_named(study)}


def figure_6bc(sweep: Sweep, points: Sequence[GridPoint] = HIGHEST) -> FigureResult:
    """Fig. 6b, c: height and force of the foot, for every risk bound."""
    study = hopper_study(sweep, points)
    styles = {f"{point_name(point)} m": curve_style(point) for point in study.solved}
    figure = plot_foot(
        _with_reference(study), study.example.problem.model, {"reference": REFERENCE, **styles}
    )
    return figure, _foot(study)


def figure_7(sweep: Sweep, points: Sequence[GridPoint] = HOPPER_GRID) -> FigureResult:
    """Fig. 7: merit and mean height of the foot over sigma, for every risk bound."""
    study = hopper_study(sweep, points)
    figure = plot_trade_off(
        study.plans, study.reference, mean_foot_height, "mean foot height [m]", "m"
    )
    figure.axes[1].set_yscale("log")
    return figure, _foot(study)


def _named(study: Study) -> dict[str, RobustPlan]:
    return {f"{point_name(point)} m": plan for point, plan in study.solved.items()}


def _foot(study: Study) -> dict[str, Any]:
    numbers = study.numbers(
        lambda plan: {
            "foot_height_m": mean_foot_height(plan),
            "merit": plan.merit,
            "cost": plan.cost,
        }
    )
    highest = GridPoint(HOPPER_SIGMAS[-1])
    if highest in study.solved:
        numbers["erm_highest"] = mean_foot_height(study.solved[highest])
    return numbers


def _columns(plans: Grid) -> dict[str, Grid]:
    """Sort plans by what Fig. 2 compares."""
    columns: dict[str, Grid] = {}
    for name, cost in (("chance", False), ("ERM + chance", True)):
        for sigma in (MODERATE, HIGH):
            columns[f"{name}, sigma = {sigma:g}"] = {
                point: plan
                for point, plan in plans.items()
                if point.sigma == sigma
                and point.expected_residual is cost
                and point.beta == point.theta
            }
    return columns


def _is_chance_alone(point: GridPoint, sigma: float) -> bool:
    return point.sigma == sigma and not point.expected_residual


def _sliding(plan: RobustPlan) -> np.ndarray:
    """Friction while the block slides, without the first and last knots [N]."""
    return plan.trajectory.friction_force[2:-2, 0, 0]


def _friction(plan: RobustPlan) -> float:
    friction = plan.trajectory.friction_force[:, 0, 0]
    return float(friction[len(friction) // 2])


def _difference(plan: RobustPlan, reference: RobustPlan) -> float:
    difference = plan.trajectory.control[2:-2, 0] - reference.trajectory.control[2:-2, 0]
    return float(np.abs(difference).max())


def _speed(plan: RobustPlan) -> float:
    return float(np.abs(plan.trajectory.velocity).max())


def _error_entry(errors: FinalErrors) -> dict[str, float]:
    return {"mean": errors.mean, "range": errors.range}
