"""The command ``contact-stack plan``."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from contact_core.base.errors import ConfigError
from contact_core.base.results import add_json_option, at_least, write_json
from contact_core.base.sweep import Sweep, add_worker_options, chosen_workers
from contact_core.base.waiting import until_interrupted, waiting_for
from contact_stack.plan.request import (
    OnIteration,
    PlanOutcome,
    PlanRequest,
    config_of,
    plan_from_seeds,
    plan_locally,
    read_budget,
    read_count,
    read_entry,
    read_goal_entry,
    read_seed,
    states_of,
)
from contact_stack.precompile import precompile_stack
from irs_planner import SMOOTHING_MODES, IrsProblem, build_problem, example_names
from irs_planner.examples import example_settings
from irs_planner.smoothing import DEFAULT_MODE

EXIT_NO_PLAN = 1

EPILOG = """examples:
  contact-stack launch planners        (in another terminal)
  contact-stack plan pushing
  contact-stack plan pushing --local --mode zero --seed 3 --out out/pushing
  contact-stack plan pushing --starts 8 --cluster tcp://192.168.1.5:8786
  contact-stack plan push_t --global --local --seed 1 --out out/push_t
  contact-stack plan my_scene.yaml --goal box/x=0.6 box/yaw=0.5
  contact-stack plan push_box --local --goal box/x=0.6
  contact-stack plan hand_move --budget 0.5 --json plan.json

A scene is searched as with --global, from where it has objects and arm; states
of objects that have no goal do not matter, but that they stay upright.

Ctrl-C cancels the goal. Exit code: 0 if there is a plan, with --global one that
reaches the goal, else 1."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument(
        "name", metavar="NAME", help=f"one of {', '.join(example_names())}; a scene "
        "of the simulator, e.g. two_arms_lift; or FILE.yaml: such a scene, a planar one, or a "
        "problem",
    )  # fmt: skip
    parser.add_argument("--local", action="store_true", help="plan in this process, without ROS")
    parser.add_argument(
        "--global", dest="search", action="store_true",
        help="search for a motion that may let go and push elsewhere; of the settings seed, starts "
        "and budget count",
    )  # fmt: skip
    parser.add_argument("--robot-name", default="lbr", help="namespace of the robot (default lbr)")
    parser.add_argument(
        "--goal", type=read_goal_entry, nargs="+", default=(), metavar="X",
        help="goal of every state [m, rad], or of some as NAME=X, NAME=any if it does not matter "
        "(default: the problem's)",
    )  # fmt: skip
    parser.add_argument(
        "--start", type=read_entry, nargs="+", default=(), metavar="X",
        help="where it begins, likewise",
    )  # fmt: skip
    parser.add_argument(
        "--mode", choices=list(SMOOTHING_MODES), default=DEFAULT_MODE,
        help="how gradients are made (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--samples", type=read_count, default=100, help="per knot (default 100)")
    parser.add_argument(
        "--iterations",
        type=read_count,
        default=None,
        help="at most (default: as many as the paper)",
    )
    parser.add_argument("--seed", type=read_seed, default=0, help="of all samples (default 0)")
    parser.add_argument(
        "--starts", type=at_least(1), default=1, metavar="N",
        help="plan from N seeds side by side, without ROS, and keep the best (default 1)",
    )  # fmt: skip
    parser.add_argument(
        "--budget", type=read_budget, default=0.0, metavar="SECONDS",
        help="time after which the best plan so far is returned (default: none)",
    )  # fmt: skip
    add_json_option(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="write the plan and pictures here"
    )
    add_worker_options(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0, or 1 if there is no plan that may be used.

    Raises:
        ContactStackError: If the goal is refused or the planner does not answer.
    """
    if args.out is not None and args.out.is_file():
        raise ConfigError(f"--out {args.out} is a file (valid: a folder)")
    config = config_of(args.name, states_of("--goal", args.goal), states_of("--start", args.start))
    usual = example_settings(config)
    settings = replace(
        usual,
        mode=args.mode,
        iterations=args.iterations or usual.iterations,
        samples=args.samples,
        seed=args.seed,
        time_budget=args.budget,
    )
    request = PlanRequest(args.name, config, settings, args.search)
    request = replace(request, search=args.search or request.is_scene)
    problem, interrupt = build_problem(config), None
    if args.starts > 1:
        outcome = _plan_from_seeds(problem, request, args)
    else:
        steps = settings.iterations + settings.refinements
        total = None if request.search else steps
        unit, what = ("attempt", "distance") if request.search else ("iteration", "cost")
        with tqdm(total=total, desc=Path(args.name).stem, unit=unit, miniters=1) as bar:
            outcome, interrupt = _plan(request, problem, args, _show_in(bar, what))
    print(_summary_line(outcome))
    plan = args.out / "plan.json" if args.out else None
    write_json(_as_dict(request, problem, outcome), args.json, plan)
    if args.out:
        print(plan)
        plots = importlib.import_module("contact_stack.plan.plots")
        with waiting_for("draw"):
            paths = list(plots.draw(request, problem, outcome, args.out))
        for path in paths:
            print(path)
    if interrupt is not None:
        raise interrupt
    return 0 if outcome.has_plan else EXIT_NO_PLAN


def _plan(
    request: PlanRequest, problem: IrsProblem, args: argparse.Namespace, on_iteration: OnIteration
) -> tuple[PlanOutcome, KeyboardInterrupt | None]:
    if args.local:
        return until_interrupted(partial(plan_locally, problem, request, on_iteration))
    network = importlib.import_module("contact_ros.network")
    network.enter(network.LOCALHOST)
    client = importlib.import_module("contact_stack.plan.client")
    outcome: PlanOutcome = client.plan_remotely(
        request, problem.dynamics.state_size, args.robot_name, on_iteration
    )
    return outcome, None


def _plan_from_seeds(
    problem: IrsProblem, request: PlanRequest, args: argparse.Namespace
) -> PlanOutcome:
    sweep = Sweep(chosen_workers(args, precompile_stack))
    outcomes = plan_from_seeds(problem, request, args.starts, sweep)
    for seed, outcome in enumerate(outcomes, request.settings.seed):
        print(f"seed {seed}: {_summary_line(outcome)}")
    return min(outcomes, key=lambda outcome: (not outcome.has_plan, outcome.best_cost))


def _show_in(bar: tqdm[Any], what: str) -> OnIteration:
    def show(iteration: int, cost: float, best_cost: float) -> None:
        bar.set_postfix_str(f"{what} {cost:.4g}, best {best_cost:.4g}", refresh=False)
        bar.update(iteration - bar.n)

    return show


def _summary_line(outcome: PlanOutcome) -> str:
    start = outcome.costs[0] if outcome.costs else math.nan
    text = (
        f"{outcome.status}: cost {start:.6g} -> {outcome.best_cost:.6g} in {outcome.iterations} "
        f"iterations, {outcome.seconds:.2f} s"
    )
    if not len(outcome.inputs):
        text = f"{outcome.status}: no motion, {outcome.seconds:.2f} s"
    elif outcome.segments:
        parts = ", ".join(f"{part.kind} {part.stop - part.start}" for part in outcome.segments)
        text = f"{outcome.status}: {len(outcome.inputs)} steps ({parts}), {outcome.seconds:.2f} s"
    return f"{text}; {outcome.remedy}" if outcome.remedy else text


def _as_dict(request: PlanRequest, problem: IrsProblem, outcome: PlanOutcome) -> dict[str, Any]:
    dynamics = problem.dynamics
    return {
        "example": request.name,
        "mode": request.settings.mode,
        "samples": request.settings.samples,
        "seed": request.settings.seed,
        "status": outcome.status,
        "remedy": outcome.remedy,
        "goal_reached": outcome.goal_reached,
        "initial": outcome.costs[0] if outcome.costs else None,
        "best": outcome.best_cost,
        "final": outcome.costs[-1] if outcome.costs else None,
        "iterations": outcome.iterations,
        "seconds": outcome.seconds,
        "costs": list(outcome.costs),
        "time_step": request.config.time_step,
        "state_names": list(dynamics.state_names),
        "input_names": list(dynamics.input_names),
        "segments": [dataclasses.asdict(part) for part in outcome.segments],
        "states": outcome.states.tolist(),
        "inputs": outcome.inputs.tolist(),
    }
