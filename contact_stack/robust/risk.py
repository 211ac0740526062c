"""``contact-stack robust NAME --risk``: a plan that keeps a promise, how it is judged and shown."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from contact_core.base.errors import ConfigError
from contact_core.base.figures import CYCLE, add_legend, new_figure, save
from contact_core.base.results import Rows, table, write_json
from contact_stack.robust import tamsi_machine, tamsi_world
from robust_planner.evaluation.contact_step import MIN_WAY
from robust_planner.evaluation.time_stepping import BatchMotion, WorldsSimulator, simulate_worlds
from robust_planner.evaluation.violation import MIN_FORCE
from robust_planner.examples import Example
from robust_planner.problem import RobustProblem
from robust_planner.risk.failure import FailureConfig, FailureRate
from robust_planner.risk.judging import failure_rate, first_substeps
from robust_planner.risk.risk_planner import RiskPlan
from robust_planner.risk.worlds import Normal, Worlds, draw_worlds, in_world
from robust_planner.trajectory import ContactTrajectory


def judge_of(problem: RobustProblem, failure: FailureConfig) -> WorldsSimulator | None:
    """Return what executes plans of a problem in tamsi_sim, None if nothing does.

    Args:
        problem: The problem.
        failure: What counts as a failure.
    """
    if tamsi_world.can_simulate(problem):
        return simulate_in_tamsi
    return tamsi_machine.simulate_worlds if tamsi_machine.can_judge(problem, failure) else None


def simulate_in_tamsi(problem: RobustProblem, controls: np.ndarray, worlds: Worlds) -> BatchMotion:
    """Execute controls in every world, as :func:`robust_planner.simulate_worlds` does.

    Args:
        problem: A problem of a single body, see :func:`tamsi_world.can_simulate`.
        controls: u (N, nu) [N, Nm].
        worlds: The worlds (n).

    Returns:
        The motions, one sample per millisecond; without forces of friction and of limits.

    Raises:
        WorldError: If the model is no single body, or a simulation fails.
    """
    none = np.zeros((problem.knots, 1))
    plan = ContactTrajectory(
        time=problem.time_step * np.arange(problem.knots),
        position=none, velocity=none, control=controls, normal_force=none, tangent_force=none,
        slip=none, limit_force=none,
    )  # fmt: skip
    runs = [
        tamsi_world.simulate_plan(
            plan, in_world(problem, worlds, index), float(worlds.friction[index]),
            float(worlds.height[index]),
        )
        for index in tamsi_world.each(worlds)
    ]  # fmt: skip
    position = np.stack([run.position for run in runs])
    velocity = np.stack([run.velocity for run in runs])
    normal = np.stack([run.normal_force for run in runs])
    touches = normal > MIN_FORCE
    height = np.asarray(problem.model.distance(position.reshape(-1, position.shape[2]).T))
    gap = height.reshape(touches.shape) - worlds.height[:, None, None]
    begins = touches[:, 2:] & ~touches[:, 1:-1]
    impact = np.zeros_like(normal)
    impact[:, 2:] = np.where(begins, _touching_speed(gap[:, 1:-1], velocity[:, :-1, -1:]), 0.0)
    sliding = np.linalg.norm(velocity[:, :, : problem.model.dimension - 1], axis=2)
    return BatchMotion(
        position=position,
        velocity=velocity,
        normal_force=normal,
        tangent_force=np.zeros((*normal.shape[:2], 0)),
        slip=np.where(normal > 0.0, sliding[:, :, None], 0.0),
        limit_force=np.zeros((*normal.shape[:2], 0)),
        impact_speed=impact,
    )


def _touching_speed(gap: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return how fast a body is when it touches [m/s].

    Args:
        gap: Distance at the sample before the first that shows a force, negative where steps of
            equal length saw the touch late (n, m, 1) [m].
        velocity: Upwards at the sample before that one, and at all others (n, m + 1, 1) [m/s].
    """
    before, speed = -velocity[:, :-1], -velocity[:, 1:]
    share = np.clip(gap / np.maximum(tamsi_world.TIME_STEP * speed, MIN_WAY), -1.0, 1.0)
    return np.maximum(speed + share * (speed - before), 0.0)


PLAN_FILE = "plan.json"
"""Motion and controls of a plan, to the last bit; another plan may start from it."""

SHOWN, FINE = 200, 8
"""Worlds in the picture, and steps of their simulation in one that a plan begins with."""

ROWS: Rows = (
    ("failures", "rate", 100.0, "%"),
    ("  95 % interval, low", "low", 100.0, "%"),
    ("  95 % interval, high", "high", 100.0, "%"),
    ("  with steps of", "step", 1e3, "ms"),
    ("  measured values", "measured", 1.0, ""),
    ("  in tamsi_sim", "tamsi.rate", 100.0, "%"),
    ("  95 % interval, low", "tamsi.low", 100.0, "%"),
    ("  95 % interval, high", "tamsi.high", 100.0, "%"),
    ("cost", "cost", 1.0, ""),
    ("largest control", "max_control", 1.0, "N or Nm"),
    ("largest speed, planned", "max_speed", 1.0, "m/s or rad/s"),
)


def write_plan(trajectory: ContactTrajectory, path: Path) -> None:
    """Write motion and controls.

    Args:
        trajectory: The plan.
        path: The file.

    Raises:
        OSError: If it cannot be written.
    """
    names = ("time", "position", "velocity", "control")
    write_json({name: getattr(trajectory, name).tolist() for name in names}, path)


def read_controls(path: Path) -> np.ndarray:
    """Read the controls of a plan.

    Args:
        path: A file of :func:`write_plan`.

    Returns:
        u (N, nu) [N, Nm].

    Raises:
        ConfigError: If there is no such file, or it is no plan.
    """
    try:
        controls = np.array(json.loads(path.read_text())["control"], dtype=float)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is no plan to start from: {error}") from error
    if controls.ndim != 2 or not np.isfinite(controls).all():
        raise ConfigError(f"{path} is no plan to start from: its controls are not (N, nu) numbers")
    return controls


def with_sigma(example: Example, sigma: float) -> Example:
    """Return an example with another standard deviation of its friction or its height.

    Args:
        example: The example.
        sigma: In the unit of the quantity.

    Raises:
        ConfigError: If neither of them is Gaussian, or both are.
    """
    found = {
        name: dataclasses.replace(spread, sigma=sigma)
        for name, spread in example.uncertain.items()
        if name in ("friction", "height") and isinstance(spread, Normal)
    }
    if len(found) != 1:
        raise ConfigError(
            f"--sigma is of friction or height where one of them is Gaussian, in '{example.name}' "
            f"{' and '.join(found) or 'none'} is: leave it out"
        )
    return dataclasses.replace(example, uncertain={**example.uncertain, **found})


def summarize_risk(example: Example, plan: RiskPlan, tamsi_runs: int) -> dict[str, Any]:
    """Judge a plan beside the nominal one.

    Args:
        example: The example.
        plan: Its plan.
        tamsi_runs: Worlds that are drawn for tamsi_sim; 0 for none.

    Returns:
        JSON content in SI units.
    """
    problem = example.robust_problem
    tamsi: dict[str, FailureRate | None] = {"nominal": None, "risk": None}
    judge = judge_of(problem, example.failure)
    if tamsi_runs and judge:
        # Other worlds than those of the planner and of its check.
        worlds = draw_worlds(problem, example.uncertain, tamsi_runs, 0, "judge in tamsi_sim")
        for name, trajectory in (("nominal", plan.nominal.trajectory), ("risk", plan.trajectory)):
            tamsi[name] = failure_rate(problem, example.failure, trajectory.control, worlds, judge)
    return {
        "problem": problem.name,
        "risk": plan.risk,
        "status": plan.status.name,
        "remedy": plan.remedy,
        "warnings": [str(warning) for warning in plan.warnings],
        "seconds": plan.seconds,
        "plans": {
            "nominal": _entry(plan.nominal, plan.nominal_rate, tamsi["nominal"]),
            "with risk": _entry(plan, plan.failure_rate, tamsi["risk"]),
        },
    }


def _entry(plan: Any, rate: FailureRate, tamsi: FailureRate | None) -> dict[str, Any]:
    trajectory = plan.trajectory
    return {
        **_rate(rate),
        "tamsi": _rate(tamsi) if tamsi else None,
        "cost": plan.cost,
        "max_control": float(np.abs(trajectory.control).max()),
        "max_speed": float(np.abs(trajectory.velocity).max()),
    }


def _rate(rate: FailureRate) -> dict[str, Any]:
    return {
        "rate": rate.rate, "low": rate.low, "high": rate.high, "samples": rate.samples,
        "undecided": rate.undecided, "step": rate.step, "measured": rate.measured,
    }  # fmt: skip


def risk_table(summary: Mapping[str, Any]) -> str:
    """Return the summary as text.

    Args:
        summary: See :func:`summarize_risk`.
    """
    plans = summary["plans"]
    given = plans["nominal"]
    absent = ["" if given["tamsi"] else "tamsi.", "" if given["measured"] else "measured"]
    rows = [row for row in ROWS if not any(name and row[1].startswith(name) for name in absent)]
    lines = [*table(plans, rows), f"accepted: {100.0 * summary['risk']:g} %, {summary['status']}"]
    if summary["remedy"]:
        lines.append(summary["remedy"])
    lines += [f"warning: {warning}" for warning in summary["warnings"]]
    judged = plans["with risk"]["tamsi"]
    if summary["status"] == "SUCCEEDED" and judged and judged["low"] > summary["risk"]:
        lines.append("warning: tamsi_sim says that it fails more often; do not rely on the promise")
    return "\n".join(lines)


def draw_risk(example: Example, plan: RiskPlan, folder: Path) -> list[Path]:
    """Draw what both plans do in some worlds.

    Args:
        example: The example.
        plan: Its plan.
        folder: Where the PNG file goes.

    Returns:
        The files.
    """
    title = f"Executed without feedback in {SHOWN} worlds"
    return [save(_figure(example, plan), folder / "worlds.png", title)]


def _figure(example: Example, plan: RiskPlan) -> Figure:
    problem = example.robust_problem
    worlds = draw_worlds(problem, example.uncertain, SHOWN, 0, "picture")
    substeps = FINE * first_substeps(problem, example.failure, example.search)
    ways = np.abs(np.subtract(problem.goal, problem.start))[: problem.model.coordinates]
    moving = int(np.argmax(ways))
    figure, grid = new_figure(2, 2, (10.0, 6.4), sharex=True, sharey="row", height_ratios=(2, 3))
    plans = (
        ("nominal", plan.nominal.trajectory, plan.nominal_rate),
        ("with risk", plan.trajectory, plan.failure_rate),
    )
    for (push, motion), (name, trajectory, rate) in zip(grid.T, plans, strict=True):
        for index, control in enumerate(problem.model.control_names):
            values = trajectory.control[:-1, index]
            push.step(trajectory.time[:-1], values, where="post", label=control)
        runs = simulate_worlds(problem, trajectory.control, worlds, substeps)
        motion.plot(
            trajectory.time, runs.position[:, :, moving].T, color=CYCLE[0], lw=0.4, alpha=0.4
        )
        motion.plot(trajectory.time, trajectory.position[:, moving], color="black", lw=1.2)
        push.set_title(f"{name}: {100.0 * rate.rate:.2g} % fail", fontsize="medium")
        motion.set_xlabel("time [s]")
    grid[0, 0].set_ylabel("control [N, Nm]")
    grid[1, 0].set_ylabel(f"{problem.model.position_names[moving]} [m, rad]")
    add_legend(figure, grid[0, 0], columns=4)
    return figure
