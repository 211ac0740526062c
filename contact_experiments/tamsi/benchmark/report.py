"""The benchmark's figures as a table, as JSON and as a picture of the cost per step."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import ScalarFormatter

from contact_core.base.figures import METHODS, new_figure, save
from contact_experiments.tamsi.benchmark.measure import SceneResult
from contact_experiments.tamsi.benchmark.runners import (
    DRAKE_SAP,
    DRAKE_TAMSI,
    MUJOCO,
    MUJOCO_DEFAULT,
    OURS,
    PARITY_RUN,
)

PEERS = (DRAKE_TAMSI, DRAKE_SAP, MUJOCO, MUJOCO_DEFAULT)
LABELS = {
    DRAKE_TAMSI: "Drake kTamsi",
    DRAKE_SAP: "Drake kSap",
    MUJOCO: "MuJoCo",
    MUJOCO_DEFAULT: "MuJoCo default",
}
UNEQUAL = "*"
DISTRIBUTIONS = ("drake", "mujoco", "numba", "numpy")

# Simulator -> label, colour, marker.
STYLE = {
    DRAKE_TAMSI: (LABELS[DRAKE_TAMSI], METHODS["drake_tamsi"], "D"),
    DRAKE_SAP: (LABELS[DRAKE_SAP], METHODS["drake_sap"], "^"),
    MUJOCO: (LABELS[MUJOCO], METHODS["mujoco"], "s"),
    MUJOCO_DEFAULT: (LABELS[MUJOCO_DEFAULT], METHODS["mujoco"], "x"),
    OURS: ("tamsi_sim", METHODS["tamsi"], "o"),
}


def machine() -> dict[str, Any]:
    """Describe the machine, what runs on it besides us, and the versions of the peers."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in DISTRIBUTIONS},
    }


def machine_line(about: dict[str, Any]) -> str:
    """Return in a line what :func:`machine` says."""
    versions = ", ".join(f"{name} {version or '-'}" for name, version in about["versions"].items())
    return f"{about['processor']}, load {about['load']:.1f}; {versions}"


def scene_json(result: SceneResult) -> dict[str, Any]:
    """Return a scene's cost per step [us] and peer's cost over ours; None if missing."""
    figures: dict[str, Any] = {"ours_us": result.cost(OURS)}
    for peer in PEERS:
        figures[f"{peer}_us"] = result.cost(peer)
    for peer in PEERS:
        ratios = result.ratios(peer)
        figures[f"ratio_{peer}"] = None if ratios is None else float(np.median(ratios))
    figures["contacts"] = result.contacts[OURS]
    figures["nv"] = result.nv
    return figures


def details_json(result: SceneResult) -> dict[str, Any]:
    """Return what else is known about a scene: spread, agreement, contacts, rounds."""
    spread = {}
    for peer in PEERS:
        ratios = result.ratios(peer)
        if ratios is not None:
            spread[peer] = [float(ratios.min()), float(ratios.max())]
    return {
        "bodies": result.bodies,
        "pairs": result.pairs,
        "rounds": len(result.microseconds[OURS]),
        "ours_parity_us": result.cost(PARITY_RUN),
        "ratio_spread": spread,
        "contacts": {k: None if math.isnan(n) else n for k, n in result.contacts.items()},
        "velocity_error_parity": result.velocity_error,
        "position_error": result.position_error,
        "mujoco_fit": None
        if result.fit is None
        else {**asdict(result.fit), "equal": result.fit.equal},
        "missing": result.missing,
    }


HEADER = (
    f"{'scene':<14}{'nv':>5}{'contacts':>10}{'ours':>9}{'parity':>9}"
    + "".join(f"{LABELS[peer]:>15}{'ratio (spread)':>22}" for peer in PEERS)
    + f"{'|dv| kTamsi':>13}"
)
UNITS = f"{'':<24}{'':>5}" + f"{'us/step':>9}{'us/step':>9}" + f"{'us/step':>15}{'':>22}" * 4


def row(result: SceneResult) -> str:
    """Show a scene as one row of a table."""
    cells = [f"{result.name:<14}{result.nv:>5}{result.contacts[OURS]:>10.1f}"]
    cells += [f"{result.cost(OURS):>9.1f}{result.cost(PARITY_RUN):>9.1f}"]
    for peer in PEERS:
        ratios = result.ratios(peer)
        if ratios is None:
            cells.append(f"{'-':>15}{'-':>22}")
            continue
        spread = f"{np.median(ratios):.2f} ({ratios.min():.2f}..{ratios.max():.2f})"
        if peer == MUJOCO and result.fit is not None and not result.fit.equal:
            spread += UNEQUAL
        cells.append(f"{result.cost(peer):>15.1f}{spread:>22}")
    error = result.velocity_error
    cells.append(f"{'-':>13}" if error is None else f"{error:>13.1e}")
    return "".join(cells)


def missing_lines(results: Iterable[SceneResult]) -> list[str]:
    """Say which simulators have no figures on which scene, and why."""
    return [
        f"{result.name}: {LABELS.get(simulator, simulator)}: {why}"
        for result in results
        for simulator, why in result.missing.items()
    ]


def fit_lines(results: Iterable[SceneResult]) -> list[str]:
    """Say how alike the contacts of MuJoCo and ours are, scene by scene."""
    lines = []
    for result in results:
        if result.fit is not None:
            its, ours = result.fit.contacts, result.fit.target
            lines.append(
                f"{result.name}: median depth {1e3 * its.depth:.3f} mm of MuJoCo, "
                f"{1e3 * ours.depth:.3f} mm of ours, on {its.count:.0f} and {ours.count:.0f} "
                f"contact points (solref {1e3 * result.fit.time_constant:.2f} ms)"
                + ("" if result.fit.equal else f" {UNEQUAL}")
            )
    return lines


def plot_cost(results: Sequence[SceneResult], growth: Sequence[SceneResult], path: Path) -> Path:
    """Draw CPU time per step, of every scene and against the size of a scene.

    Args:
        results: The scenes.
        growth: Scenes of one kind by growing size; may be empty.
        path: Image to write.

    Returns:
        The path.
    """
    figure, ((left, right),) = new_figure(1, 2, (12.0, 5.0), sharey=True, width_ratios=(1.7, 1.0))
    left.set_yscale("log")
    _draw_scenes(left, results)
    _draw_growth(right, growth)
    left.set_ylabel("CPU time per step [µs]")
    left.legend(frameon=False, loc="upper left")
    return save(figure, path)


def _draw_scenes(axes: Axes, results: Sequence[SceneResult]) -> None:
    ordered = sorted(results, key=lambda result: result.cost(OURS) or 0.0)
    places = np.arange(len(ordered))
    for place, result in enumerate(ordered):
        costs = [cost for name in STYLE if (cost := result.cost(name)) is not None]
        axes.plot([place, place], [min(costs), max(costs)], color="0.85", lw=6, zorder=0)
    _draw_markers(axes, places, ordered, "")
    labels = [f"{r.name}\n{r.contacts[OURS]:.0f} contacts\n{r.bodies} bodies" for r in ordered]
    axes.set_xticks(places, labels, fontsize=8)


def _draw_growth(axes: Axes, growth: Sequence[SceneResult]) -> None:
    bodies = np.array([result.bodies for result in growth])
    axes.set(xscale="log", xlabel="blocks in towers of four, 4 contact points each")
    _draw_markers(axes, bodies, growth, "-")
    axes.set_xticks(bodies)
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.minorticks_off()


def _draw_markers(
    axes: Axes, places: np.ndarray, results: Sequence[SceneResult], line: str
) -> None:
    for simulator, (label, color, marker) in STYLE.items():
        costs = [result.cost(simulator) for result in results]
        heights = np.array([np.nan if cost is None else cost for cost in costs])
        axes.plot(
            places, heights, marker=marker, linestyle=line, color=color, label=label, ms=8, lw=1.3,
            mec="white", mew=0.7,
        )  # fmt: skip


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.processor()


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
