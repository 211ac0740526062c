"""``contact-stack bench reliability``: what plans with a promise promise, and how often they fail.

The planner knows the distribution, or some values that were measured of it; the judge draws afresh
and integrates by itself: sliding in exact time, or in the plane with a round cone, touching down
with steps of ten microseconds, the rest in ``tamsi_sim``.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from contact_core.base.figures import CYCLE, ROLES, add_legend, new_figure, save
from contact_core.base.registry import Registry
from contact_core.base.results import add_json_option, at_least, write_json
from contact_core.base.seeds import generator
from contact_core.base.sweep import Sweep, add_sweep_options, chosen_workers
from contact_experiments.robust.sliding import slide, slide_in_plane
from contact_experiments.robust.touching import touch_down
from contact_stack.precompile import compile_once
from contact_stack.robust import tamsi_machine
from robust_planner import load_problem
from robust_planner.config import (
    ContinuationConfig,
    ExpectedResidualConfig,
    PlannerConfig,
    UncertaintyConfig,
)
from robust_planner.contact_model import ContactModel
from robust_planner.examples import Example, block, sled, table_approach
from robust_planner.models import sliding_block
from robust_planner.problem import RobustProblem
from robust_planner.risk.failure import FailureConfig, FailureRate
from robust_planner.risk.judging import failure_rate
from robust_planner.risk.risk_planner import plan_example
from robust_planner.risk.worlds import Distribution, Normal, Samples, Worlds, draw_worlds

OWN = Path(__file__).resolve().parents[2] / "examples" / "robust_planner"
RISKS = (0.01, 0.02, 0.05, 0.1, 0.2)
FREEDOM = 3.0
"""Degrees of freedom of Student's distribution, whose tails are heavy."""
SHOWN = 1e-4
"""Least rate in the picture."""
TIMID = 1.0 / 3.0
"""Share of the risk: a plan that fails less often may have paid for more than was asked for."""

Judge = Callable[[Example, np.ndarray, Worlds], FailureRate]
"""Counts failures of controls in worlds."""


@dataclass(frozen=True)
class Judged:
    """A problem, and who judges plans of it.

    Attributes:
        example: Builds it; what is uncertain about it is Gaussian.
        judge: Who judges.
        worlds: In how many worlds.
    """

    example: Callable[[], Example]
    judge: Judge
    worlds: int


def sliding(mass: float, inertia: float | None = None) -> Judge:
    """Return who judges a body that is pushed, in exact time.

    Args:
        mass: That presses onto the floor [kg].
        inertia: That is moved [kg]; None for the same.
    """

    def judge(example: Example, controls: np.ndarray, worlds: Worlds) -> FailureRate:
        problem = example.robust_problem
        place, speed = slide(
            controls[:-1, 0], problem.time_step, worlds.friction, mass * worlds.mass,
            (inertia or mass) * worlds.mass,
        )  # fmt: skip
        tolerance = np.array(example.failure.goal_tolerance)[[0, 2]]
        error = np.abs(np.stack([place, speed]) - np.array(problem.goal)[[0, 2], None])
        failed = (error > tolerance[:, None])[tolerance > 0.0].any(axis=0)
        return FailureRate(int(failed.sum()), len(worlds))

    return judge


def sliding_in_plane(mass: float) -> Judge:
    """Return who judges a body that is pushed in the plane.

    Args:
        mass: [kg].
    """

    def judge(example: Example, controls: np.ndarray, worlds: Worlds) -> FailureRate:
        problem = example.robust_problem
        place, _ = slide_in_plane(
            controls[:-1], problem.time_step, worlds.friction, mass * worlds.mass,
            np.array(problem.start)[3:5],
        )  # fmt: skip
        error = np.abs(place - np.array(problem.goal)[:2])
        failed = (error > np.array(example.failure.goal_tolerance)[:2]).any(axis=1)
        return FailureRate(int(failed.sum()), len(worlds))

    return judge


def touching(mass: float, half_height: float) -> Judge:
    """Return who judges a tool that is put down.

    Args:
        mass: [kg].
        half_height: Of the tool [m].
    """

    def judge(example: Example, controls: np.ndarray, worlds: Worlds) -> FailureRate:
        problem, failure = example.robust_problem, example.failure
        gap, impact = touch_down(
            controls[:-1, 0], problem.time_step, mass, problem.start[1] - half_height,
            worlds.height, problem.stiffness, problem.dissipation,
        )  # fmt: skip
        failed = (impact > failure.impact_speed) | (gap > failure.final_gap)
        return FailureRate(int(failed.sum()), len(worlds))

    return judge


def in_tamsi(example: Example, controls: np.ndarray, worlds: Worlds) -> FailureRate:
    """Judge a plan in ``tamsi_sim``.

    Args:
        example: A problem from a file.
        controls: u (N, nu).
        worlds: The worlds.
    """
    return failure_rate(
        example.robust_problem, example.failure, controls, worlds, tamsi_machine.simulate_worlds
    )


def pushed(
    name: str,
    mass: float,
    way: float,
    duration: float,
    knots: int,
    friction: float,
    force: float,
    tolerance: float,
    uncertain: Mapping[str, Distribution],
    speed: float = 0.0,
) -> Example:
    """Build the problem to push a body.

    Args:
        name: Of the problem.
        mass: [kg].
        way: [m].
        duration: [s].
        knots: N.
        friction: Mean.
        force: Largest one [N].
        tolerance: Of the place [m].
        uncertain: What is uncertain.
        speed: Largest one at the end [m/s], 0 where it does not matter.
    """
    problem = RobustProblem(
        name=name,
        model=sliding_block(mass=mass, half_height=0.05, max_force=force),
        start=(0.0, 0.05, 0.0, 0.0),
        goal=(way, 0.05, 0.0, 0.0),
        duration=duration,
        knots=knots,
        friction=friction,
        state_weight=(1.0, 1.0, 1.0, 1.0),
        control_weight=(0.2 / mass**2,),
    )
    spread = uncertain["friction"]
    config = PlannerConfig(
        uncertainty=UncertaintyConfig(
            "friction", spread.sigma if isinstance(spread, Normal) else 0
        ),
        expected_residual=ExpectedResidualConfig(weight=10.0, slip_scale=125.0),
        continuation=ContinuationConfig(penalties=(1.0, 10.0, 100.0)),
    )
    return Example(
        name, f"push {mass:g} kg by {way:g} m", problem, problem, config,
        uncertain=uncertain, failure=FailureConfig(goal_tolerance=(tolerance, 0.0, speed, 0.0)),
    )  # fmt: skip


def _puck(name: str, mass: float, knots: int, force: float, **changes: Any) -> Example:
    given: dict[str, Any] = {
        "way": 1.0, "duration": 1.5, "friction": 0.4, "tolerance": 0.1,
        "uncertain": {"friction": Normal(0.4, 0.06)},
    }  # fmt: skip
    return pushed(name, mass, knots=knots, force=force, **{**given, **changes})


def _curve() -> Example:
    """A puck that comes along one axis is to leave along the other."""
    given = _puck("curve", 3.0, 41, 60.0)
    problem = dataclasses.replace(
        given.robust_problem,
        model=sliding_block(mass=3.0, half_height=0.05, dimension=3, max_force=60.0),
        start=(0.0, 0.0, 0.05, 0.0, 1.0, 0.0),
        goal=(0.8, 0.4, 0.05, 0.0, 0.0, 0.0),
        state_weight=(1.0,) * 6,
        control_weight=given.problem.control_weight * 2,
    )
    failure = FailureConfig(goal_tolerance=(0.1, 0.1, 0.0, 0.0, 0.0, 0.0))
    return dataclasses.replace(given, problem=problem, robust_problem=problem, failure=failure)


def _cart() -> Example:
    example = load_problem(OWN / "cart" / "cart.yaml")
    spread = {**example.uncertain, "friction": Normal(0.4, 0.05)}
    return dataclasses.replace(example, uncertain=spread)


def _table(**changes: Any) -> Example:
    example = table_approach()
    problem = dataclasses.replace(example.problem, **changes)
    return dataclasses.replace(example, problem=problem, robust_problem=problem)


CARRIED = 5.0  # inertia of an arm [kg]

CASES: Registry[Judged] = Registry(
    "problem",
    {
        "block": Judged(block, sliding(1.0), 100_000),
        "sled": Judged(sled, sliding(1.5), 100_000),
        "carried_sled": Judged(lambda: sled(CARRIED), sliding(1.5, 1.5 + CARRIED), 100_000),
        "puck": Judged(lambda: _puck("puck", 3.0, 61, 60.0), sliding(3.0), 100_000),
        "light_puck": Judged(lambda: _puck("light_puck", 0.5, 41, 10.0), sliding(0.5), 100_000),
        "heavy_puck": Judged(lambda: _puck("heavy_puck", 50.0, 61, 1000.0), sliding(50.0), 100_000),
        "ice": Judged(
            lambda: _puck("ice", 3.0, 61, 30.0, friction=0.1, tolerance=0.08,
                          uncertain={"friction": Normal(0.1, 0.02)}),
            sliding(3.0), 100_000,
        ),
        "carpet": Judged(
            lambda: _puck("carpet", 3.0, 61, 100.0, friction=0.8,
                          uncertain={"friction": Normal(0.8, 0.1)}),
            sliding(3.0), 100_000,
        ),
        "two_unknown": Judged(
            lambda: _puck("two_unknown", 3.0, 61, 60.0, tolerance=0.12,
                          uncertain={"friction": Normal(0.4, 0.05), "mass": Normal(1.0, 0.03)}),
            sliding(3.0), 100_000,
        ),
        "to_rest": Judged(
            lambda: _puck("to_rest", 3.0, 61, 60.0, tolerance=0.15, speed=0.3),
            sliding(3.0), 100_000,
        ),
        "curve": Judged(_curve, sliding_in_plane(3.0), 20_000),
        "table_approach": Judged(table_approach, touching(1.5, 0.05), 20_000),
        "soft_table": Judged(lambda: _table(stiffness=5e3, dissipation=2.0), touching(1.5, 0.05),
                           20_000),
        "far_table": Judged(lambda: _table(start=(0.0, 0.25, 0.0, 0.0), duration=0.8, knots=81),
                          touching(1.5, 0.05), 20_000),
        "cart": Judged(_cart, in_tamsi, 500),
        "insertion": Judged(lambda: load_problem(OWN / "insertion/insertion.yaml"), in_tamsi, 500),
    },
)  # fmt: skip
"""What is planned, and how it is judged."""


def heavy(given: Normal, probability: np.ndarray) -> np.ndarray:
    """Return quantiles of Student's distribution of the same place and width.

    Args:
        given: Mean and standard deviation.
        probability: Between 0 and 1.
    """
    scale = given.sigma / math.sqrt(FREEDOM / (FREEDOM - 2.0))
    return np.asarray(given.mean + scale * stats.t(FREEDOM).ppf(probability))


def _normal(given: Normal, probability: np.ndarray) -> np.ndarray:
    return given.quantile(probability)


FAMILIES = {"known": _normal, "measured": _normal, "heavy": heavy}
"""What the planner gets: the distribution, values of it, and values of one with heavy tails."""


def run_cell(name: str, family: str, risk: float, values: int) -> dict[str, Any]:
    """Plan, and judge the plan.

    Args:
        name: Of :data:`CASES`.
        family: Of :data:`FAMILIES`.
        risk: Accepted.
        values: Number of values that are measured of each quantity.

    Returns:
        ``status``, what is ``promised`` (the upper end of the planner's interval), the true
        ``rate`` with ``low`` and ``high``, ``cost``, and CPU time ``seconds`` of the plan.
    """
    case, quantile = CASES[name], FAMILIES[family]
    example = case.example()
    spread = {key: given for key, given in example.uncertain.items() if isinstance(given, Normal)}

    def drawn(count: int, purpose: str) -> dict[str, np.ndarray]:
        draws = {
            key: generator(0, f"reliability {purpose} {name} {key}").random(count) for key in spread
        }
        return {
            key: np.maximum(quantile(given, draws[key]), _least(key))
            for key, given in spread.items()
        }

    if family != "known":
        measured = drawn(values, family)
        samples = {key: Samples(tuple(found.tolist())) for key, found in measured.items()}
        example = dataclasses.replace(example, uncertain=samples)
    begin = time.process_time()
    plan = plan_example(example, risk)
    seconds = time.process_time() - begin
    worlds = _worlds(example, drawn(case.worlds, "judge"), case.worlds)
    rate = case.judge(example, plan.trajectory.control, worlds)
    return {
        "problem": name, "family": family, "risk": risk, "status": plan.status.name,
        "promised": plan.failure_rate.high, "rate": rate.rate, "low": rate.low, "high": rate.high,
        "cost": plan.cost, "seconds": seconds,
    }  # fmt: skip


def _worlds(example: Example, drawn: Mapping[str, np.ndarray], count: int) -> Worlds:
    """Return worlds with the given values, and everything else as planned."""
    worlds = draw_worlds(example.robust_problem, {}, count, 0, "judge")
    for key, values in drawn.items():
        model: ContactModel = example.robust_problem.model
        worlds.values(model, key)[:] = values
    return worlds


def _least(quantity: str) -> float:
    return {"friction": 0.0, "mass": 0.01}.get(quantity, -math.inf)


HEADER = (
    "| problem | planner knows | accepted | status | promised up to | true, 95 % interval | cost | "
    "CPU time |\n|---|---|---|---|---|---|---|---|"
)


def row(cell: Mapping[str, Any]) -> str:
    """Return a cell as a row of the table.

    Args:
        cell: Of :func:`run_cell`.
    """
    true = f"{100 * cell['rate']:.2f} ({100 * cell['low']:.2f} .. {100 * cell['high']:.2f}) %"
    return (
        f"| {cell['problem']} | {cell['family']} | {100 * cell['risk']:g} % | {cell['status']} | "
        f"{100 * cell['promised']:.2f} % | {true} | {cell['cost']:.3g} | {cell['seconds']:.0f} s |"
    )


def summary(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Count what was kept.

    Args:
        cells: Of :func:`run_cell`.

    Returns:
        Numbers of cells: all, ``promised``, of these ``kept`` (the upper end of the true rate's
        interval is no more than was accepted), ``broken`` (its lower end is), ``timid``.
    """
    promised = [cell for cell in cells if cell["status"] == "SUCCEEDED"]
    return {
        "cells": len(cells),
        "promised": len(promised),
        "kept": sum(cell["high"] <= cell["risk"] for cell in promised),
        "broken": sum(cell["low"] > cell["risk"] for cell in promised),
        "timid": sum(cell["rate"] < TIMID * cell["risk"] for cell in promised),
        "seconds": max(cell["seconds"] for cell in cells),
    }


def draw(cells: list[dict[str, Any]]) -> Figure:
    """Draw true rates below what was accepted, problem by problem.

    Args:
        cells: Of :func:`run_cell`.
    """
    risks = sorted({cell["risk"] for cell in cells})
    figure, grid = new_figure(1, 1, (9.0, 4.4))
    axes = grid[0, 0]
    for place, risk in enumerate(risks):
        width = np.array([place - 0.45, place + 0.45])
        axes.fill_between(
            width, 100 * TIMID * risk, 100 * risk, color=ROLES["good"], alpha=0.12, lw=0
        )
        label = "accepted" if place == 0 else None
        axes.plot(width, np.full(2, 100 * risk), color="black", lw=1.0, label=label)
    for index, (family, marker) in enumerate(zip(FAMILIES, "osD", strict=True)):
        own = [c for c in cells if c["family"] == family and c["status"] == "SUCCEEDED"]
        names = list(dict.fromkeys(c["problem"] for c in cells))
        x = [
            risks.index(c["risk"]) - 0.42 + 0.84 * (names.index(c["problem"]) + 0.25 * index + 0.25)
            / len(names) for c in own
        ]  # fmt: skip
        rate, low, high = (
            100 * np.array([max(c[key], SHOWN) for c in own]) for key in ("rate", "low", "high")
        )
        axes.errorbar(
            x, rate, [rate - low, high - rate], fmt=marker, ms=3.5, lw=1.0, color=CYCLE[index],
            label=family,
        )  # fmt: skip
    axes.set(yscale="log", ylabel="true rate of failures [%]", xlabel="accepted [%]")
    axes.set_xticks(range(len(risks)), [f"{100 * risk:g}" for risk in risks])
    ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(100 * min(risks) / 8, 100 * max(risks) * 1.5)
    add_legend(figure, axes, columns=4)
    return figure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--problem", nargs="+", choices=list(CASES), metavar="NAME", default=list(CASES),
        help=f"only these: {', '.join(CASES)}",
    )  # fmt: skip
    parser.add_argument(
        "--family", nargs="+", choices=list(FAMILIES), metavar="NAME", default=list(FAMILIES),
        help="what the planner gets: the distribution (known), values of it (measured), and of "
        "one with heavy tails (heavy); default all",
    )  # fmt: skip
    parser.add_argument(
        "--risk", nargs="+", type=float, default=list(RISKS), metavar="P",
        help="accepted (default 1, 2, 5, 10 and 20 %%)",
    )  # fmt: skip
    parser.add_argument(
        "--values", type=at_least(10), default=1000, metavar="N",
        help="values that are measured of each quantity (default %(default)s)",
    )  # fmt: skip
    add_json_option(parser)
    add_sweep_options(parser, "out/bench/reliability", "the picture")


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0; a broken promise is a figure like the others.
    """
    sweep = Sweep(chosen_workers(args, compile_once), args.out / "results")
    tasks = [
        (name, family, risk, args.values)
        for name in args.problem for risk in args.risk for family in args.family
    ]  # fmt: skip
    cells = sweep.run(run_cell, tasks, "plans")
    print("\n".join([HEADER, *map(row, cells)]))
    found = summary(cells)
    print(
        f"\n{found['promised']} of {found['cells']} cells are promised; in {found['kept']} of them "
        f"the true rate is below the risk with its interval, in {found['broken']} it is above, in "
        f"{found['timid']} below a third of it; a plan takes at most {found['seconds']:.0f} s"
    )
    print(f"picture: {save(draw(cells), args.out / 'reliability.png')}")
    write_json({"summary": found, "cells": cells}, args.json)
    return 0
