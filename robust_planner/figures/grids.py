"""Feasibility against robustness over sigma and the risk bounds (Fig. 3, 5, 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robust_planner.evaluation.final_error import FinalErrors
from robust_planner.figures.style import label, new_figure
from robust_planner.result import PlanResult
from robust_planner.sweep import GridPoint

Grid = Mapping[GridPoint, PlanResult]


def plot_trade_off(
    grid: Grid,
    reference: PlanResult,
    measure: Callable[[PlanResult], float],
    name: str,
) -> Figure:
    """Plot merit and a measure of robustness over sigma, one curve per theta (Fig. 3, 7).

    Args:
        grid: Plans; those that did not converge are left out.
        reference: The plan without uncertainty.
        measure: Measure of robustness of a plan.
        name: Its name and unit.

    Returns:
        The figure.
    """
    figure = new_figure(1, 2, height=4.0)
    merits, robustness = figure.axes
    _curves(merits, grid, lambda plan: plan.merit)
    _curves(robustness, grid, measure)
    merits.axhline(max(reference.merit, 1e-12), color="black", linestyle=":", label="reference")
    robustness.axhline(measure(reference), color="black", linestyle=":")
    merits.set_yscale("log")
    for axes in (merits, robustness):
        axes.set_xscale("log")
    label(merits, "infeasibility under the mean, eq. (4)", "sigma", "merit")
    label(robustness, "robustness", "sigma", name)
    merits.legend(fontsize="small")
    return figure


def plot_final_errors(
    errors: Mapping[GridPoint, FinalErrors], reference: FinalErrors, x: str
) -> Figure:
    """Plot mean and range of the final errors (Fig. 5).

    Args:
        errors: Grid point -> simulations of its plan.
        reference: Simulations of the plan without uncertainty.
        x: ``"sigma"``, or ``"theta"`` with one curve per beta.

    Returns:
        The figure.
    """
    figure = new_figure(1, 2, height=4.0)
    for axes, name, measure in (
        (figure.axes[0], "mean", lambda error: error.mean),
        (figure.axes[1], "range", lambda error: error.range),
    ):
        groups: dict[str, list[tuple[float, float]]] = {}
        for point, error in errors.items():
            key = curve_name(point, "beta" if x == "theta" else "theta")
            groups.setdefault(key, []).append((getattr(point, x), measure(error)))
        for key, values in groups.items():
            axes.plot(*zip(*sorted(values), strict=True), marker="o", alpha=0.6, label=key)
        axes.axhline(measure(reference), color="black", linestyle=":", label="reference")
        label(axes, f"{name} of the final position error", x, f"{name} [m]")
        if x == "sigma":
            axes.set_xscale("log")
    figure.axes[1].set_ylim(bottom=0.0)
    figure.axes[0].legend(fontsize="small")
    return figure


def curve_name(point: GridPoint, parameter: str) -> str:
    """Name the curve a grid point belongs to.

    Args:
        point: The point.
        parameter: ``"theta"`` or ``"beta"``.

    Returns:
        For instance ``"ERM + chance, theta = 0.7"``.
    """
    cost = "ERM" if point.expected_residual else ""
    value = getattr(point, parameter)
    chance = "" if value is None else f"chance, {parameter} = {value:g}"
    return " + ".join(part for part in (cost, chance) if part)


def _curves(axes: Axes, grid: Grid, measure: Callable[[PlanResult], float]) -> None:
    groups: dict[str, list[tuple[float, float]]] = {}
    for point, plan in grid.items():
        if plan.solved:
            group = groups.setdefault(curve_name(point, "theta"), [])
            group.append((point.sigma, measure(plan)))
    for name, values in groups.items():
        axes.plot(*zip(*sorted(values), strict=True), marker="o", label=name)
