"""``contact-stack bench risk``: how often plans fail that the arm executes in drawn worlds."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from contact_core.base.figures import ROLES, add_legend, new_figure, save
from contact_core.base.registry import Registry
from contact_core.base.results import Rows, add_json_option, at_least, table, write_json
from contact_core.base.sweep import Sweep, add_sweep_options, chosen_workers
from contact_experiments.robust.arm_approach import APPROACH
from contact_experiments.robust.arm_graph import run_on_graph
from contact_experiments.robust.arm_insertion import INSERTION
from contact_experiments.robust.arm_runs import SLIDE, ArmCase, ArmTask
from contact_experiments.robust.arm_sled import TRACKED_SLIDE
from contact_stack.precompile import compile_once
from robust_planner.examples import Example
from robust_planner.risk.risk_planner import RiskPlan

TASKS: Registry[ArmTask] = Registry(
    "task",
    {"sled": SLIDE, "tracked_sled": TRACKED_SLIDE, "approach": APPROACH, "insertion": INSERTION},
)
"""What the arm can be asked to do."""

ROWS: Rows = (
    ("failures, planner", "promised", 100.0, "%"),
    ("failures of the arm", "failures", 1.0, "runs"),
    ("  of", "runs", 1.0, "runs"),
    ("  95 % interval, low", "low", 100.0, "%"),
    ("  95 % interval, high", "high", 100.0, "%"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "tasks", nargs="*", metavar="TASK", default=list(TASKS),
        help="sled: by wrenches, over a table of uncertain friction; by the contact-aware "
        "controller, tracked_sled: likewise, approach: down to a table of uncertain height, "
        "insertion: into a slot of uncertain place (default all)",
    )  # fmt: skip
    parser.add_argument(
        "--runs", type=at_least(1), default=100, metavar="N",
        help="worlds in which each plan is executed (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--graph", action="store_true",
        help="run the real nodes in lock-step, a graph for each world; otherwise the same "
        "algorithms in one process, which is faster",
    )  # fmt: skip
    parser.add_argument(
        "--risk", type=float, default=0.05, help="accepted (default %(default)s), 0.001..0.5"
    )
    parser.add_argument(
        "--sigma", type=float,
        help="of the friction, or of height or place [m] (default: 0.1, or 0.005 m)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the worlds (default %(default)s)")
    add_json_option(parser)
    add_sweep_options(parser, "out/bench/risk", "plots")


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0; a broken promise is a figure like the others.
    """
    if args.graph:
        compile_once()
    tasks = {name: TASKS[name] for name in args.tasks}
    sweep = Sweep(chosen_workers(args, compile_once), args.out / "results")
    results = {}
    for name, task in tasks.items():
        sigma = task.sigma if args.sigma is None else args.sigma
        ((example, plan),) = sweep.run(plan_task, [(name, args.risk, sigma)], f"{name}, plans")
        cases = task.draw(example, plan, args.runs, args.seed)
        runs = [(name, case, args.graph) for case in cases]
        found = sweep.run(execute, runs, f"{name}, runs of the arm")
        plans = task.summarize(example, cases, found)
        plans["nominal"]["promised"] = plan.nominal_rate.rate
        plans["with risk"]["promised"] = plan.failure_rate.rate
        quantity, factor = task.drawn
        worst = (f"largest {quantity.split(' [')[0]}", "worst", factor, quantity[:-1].split("[")[1])
        print("\n".join(table(plans, (*ROWS, worst), head=name)))
        print(f"accepted: {100.0 * args.risk:g} %, {plan.status.name}")
        picture = draw(task, plans, task.bound(example))
        print(f"plot: {save(picture, args.out / f'{name}.png')}", flush=True)
        results[name] = {"risk": args.risk, "status": plan.status.name, "plans": plans}
    write_json(results, args.json)
    return 0


def plan_task(name: str, risk: float, sigma: float) -> tuple[Example, RiskPlan]:
    """Plan one of the tasks, see :meth:`ArmTask.plan`.

    Args:
        name: One of ``TASKS``.
        risk: Accepted probability of failure.
        sigma: Standard deviation of what is uncertain.
    """
    return TASKS[name].plan(risk, sigma)


def execute(name: str, case: ArmCase, graph: bool) -> np.ndarray:
    """Let the arm execute a plan.

    Args:
        name: One of ``TASKS``.
        case: Which plan, in which world.
        graph: Whether on a graph of its own.

    Returns:
        What was measured, see :meth:`ArmTask.judge`.
    """
    task = TASKS[name]
    return run_on_graph(task, case) if graph else task.execution.run(case)


def draw(task: ArmTask, plans: Mapping[str, Any], bound: float) -> Figure:
    """Draw what came of each plan in each world.

    Args:
        task: What the arm did.
        plans: See :meth:`ArmTask.summarize`.
        bound: Largest figure that is no failure [m or m/s].
    """
    figure, grid = new_figure(1, 1, (7.0, 4.0))
    axes = grid[0, 0]
    (world, scale), (drawn, factor) = task.world, task.drawn
    for marker, (name, runs) in zip("ox", plans.items(), strict=True):
        values = factor * np.array(runs["drawn"])
        label = f"{name}: {runs['failures']} of {runs['runs']} fail"
        axes.plot(scale * np.array(runs["world"]), values, marker, ms=4, label=label)
    low = -factor * bound if min(min(runs["drawn"]) for runs in plans.values()) < 0.0 else 0.0
    axes.axhspan(low, factor * bound, color=ROLES["good"], alpha=0.15, label="within the bound")
    axes.set_xlabel(world)
    axes.set_ylabel(drawn)
    add_legend(figure, axes, columns=3)
    return figure
