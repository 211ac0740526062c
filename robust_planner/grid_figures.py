"""Names of curves, and feasibility against robustness over grids of plans (Fig. 3, 5, 7)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contact_core.base.figures import RED, new_figure
from robust_planner.evaluation.execution import FinalErrors
from robust_planner.result import RobustPlan
from robust_planner.sweep import GridPoint

# Label of a curve -> plan.
Plans = Mapping[str, RobustPlan]

# Of a curve without uncertainty.
REFERENCE: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.2}

# Of a curve with an expected residual alone.
COST_ALONE: dict[str, Any] = {"color": RED}

# Risk bounds at the ends of the colour map.
MIN_RISK, MAX_RISK = 0.45, 1.0


def label(axes: Axes, title: str, x: str, y: str) -> None:
    """Name the axes of a plot.

    Args:
        axes: The plot.
        title: Its title; names of Greek letters in it and below are shown as letters.
        x: Quantity and unit.
        y: Quantity and unit.
    """
    axes.set_title(greek(title), fontsize="medium")
    axes.set_xlabel(greek(x))
    axes.set_ylabel(greek(y))


def legend(axes: Axes, **options: Any) -> None:
    """Explain the curves of a plot.

    Args:
        axes: The plot; names of Greek letters in its labels are shown as letters.
        **options: As of matplotlib's legend.
    """
    handles, names = axes.get_legend_handles_labels()
    axes.legend(handles, [greek(name) for name in names], **{"fontsize": "small", **options})


def greek(text: str) -> str:
    """Replace the names of Greek letters by the letters, and +- by its sign.

    Args:
        text: For instance ``"sigma = 0.1"``.

    Returns:
        Text that matplotlib renders with the letters.
    """
    return re.sub(r"\b(mu|sigma|theta|beta)\b", r"$\\\1$", text.replace("+-", "±"))


def curve_style(point: GridPoint, parameter: str = "theta") -> dict[str, Any]:
    """Choose the colour of a curve by its risk bound, the same in every figure.

    Args:
        point: A point of the curve.
        parameter: The risk bound that tells the curves apart, ``"theta"`` or ``"beta"``.

    Returns:
        Options of matplotlib's plot.
    """
    risk = getattr(point, parameter)
    if risk is None:
        return COST_ALONE
    share = (risk - MIN_RISK) / (MAX_RISK - MIN_RISK)
    return {"color": colormaps["viridis"](share)}


Grid = Mapping[GridPoint, RobustPlan]

# A merit below is zero to the accuracy of the solver.
MIN_MERIT = 1e-12


def plot_trade_off(
    grid: Grid,
    reference: RobustPlan,
    measure: Callable[[RobustPlan], float],
    name: str,
    unit: str = "-",
) -> Figure:
    """Plot merit and a measure of robustness over sigma, one curve per theta (Fig. 3, 7).

    Args:
        grid: Plans; those that did not converge are left out.
        reference: The plan without uncertainty.
        measure: Measure of robustness of a plan.
        name: Its name and unit.
        unit: Unit of sigma.

    Returns:
        The figure.
    """
    figure, ((merits, robustness),) = new_figure(1, 2, (11.0, 4.2), sharex=True)
    solved = {point: plan for point, plan in grid.items() if plan.solved}
    floored = {point: max(plan.merit, MIN_MERIT) for point, plan in solved.items()}
    _curves(merits, floored, "sigma", "theta")
    _curves(robustness, {point: measure(plan) for point, plan in solved.items()}, "sigma", "theta")
    merits.axhline(max(reference.merit, MIN_MERIT), label="reference", **REFERENCE)
    robustness.axhline(measure(reference), label="reference", **REFERENCE)
    merits.set(xscale="log", yscale="log")
    floor = f"merit, eq. (4), at least {MIN_MERIT:g}"
    label(merits, "infeasibility under the mean", f"sigma [{unit}]", floor)
    label(robustness, "robustness", f"sigma [{unit}]", name)
    legend(robustness, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def plot_final_errors(
    errors: Mapping[GridPoint, FinalErrors],
    reference: FinalErrors,
    x: str,
    unit: str = "-",
    others: Mapping[str, Mapping[GridPoint, FinalErrors]] | None = None,
) -> Figure:
    """Plot mean and range of the final errors (Fig. 5).

    Args:
        errors: Grid point -> simulations of its plan; a plan without risk bounds is drawn as
            a level if ``x`` is one.
        reference: Simulations of the plan without uncertainty.
        x: ``"sigma"`` with one curve per theta, or ``"theta"`` with one curve per beta.
        unit: Unit of ``x``.
        others: Planner of one's own -> its simulations over sigma.

    Returns:
        The figure.
    """
    figure, ((mean, spread),) = new_figure(1, 2, (11.0, 4.2), sharex=True)
    parameter = "beta" if x == "theta" else "theta"
    for axes, name, measure in (
        (mean, "mean", lambda error: error.mean),
        (spread, "range", lambda error: error.range),
    ):
        values = {point: measure(error) for point, error in errors.items()}
        _curves(axes, values, x, parameter)
        for name, found in (others or {}).items():
            curve = sorted((point.sigma, measure(error)) for point, error in found.items())
            axes.plot(*zip(*curve, strict=True), "*-", label=name)
        axes.axhline(measure(reference), label="reference", **REFERENCE)
        label(axes, f"{name} of the final position error", f"{x} [{unit}]", f"{name} [m]")
    if x == "sigma":
        mean.set_xscale("log")
    spread.set_ylim(0.0, 1.05 * spread.get_ylim()[1])
    legend(spread, loc="upper left", bbox_to_anchor=(1.0, 1.0))
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


def point_name(point: GridPoint) -> str:
    """Name a grid point.

    Args:
        point: The point.

    Returns:
        For instance ``"ERM + chance, theta = 0.7, sigma = 0.1"``.
    """
    return f"{curve_name(point, 'theta')}, sigma = {point.sigma:g}"


def _curves(axes: Axes, values: Mapping[GridPoint, float], x: str, parameter: str) -> None:
    """Draw one curve per value of a risk bound; a level where x has no value."""
    groups: dict[str, list[GridPoint]] = {}
    for point in values:
        groups.setdefault(curve_name(point, parameter), []).append(point)
    for marker, (name, points) in zip(cycle("os^Dv"), groups.items(), strict=False):
        style = {**curve_style(points[0], parameter), "label": name}
        if getattr(points[0], x) is None:
            axes.axhline(values[points[0]], **style)
            continue
        curve = sorted((getattr(point, x), values[point]) for point in points)
        axes.plot(*zip(*curve, strict=True), marker=marker, markersize=5, alpha=0.8, **style)
