"""The command ``contact-stack robust``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tqdm import tqdm

from contact_core.base.config import with_values
from contact_core.base.errors import ConfigError, choices
from contact_core.base.planning import PlanStatus, StopCondition
from contact_core.base.results import STANDARD_OUTPUT, add_json_option, at_least, write_json
from contact_core.base.waiting import until_interrupted, waiting_for
from contact_stack.robust.risk import (
    PLAN_FILE,
    draw_risk,
    judge_of,
    read_controls,
    risk_table,
    summarize_risk,
    with_sigma,
    write_plan,
)
from contact_stack.robust.summary import draw, summarize, table
from robust_planner.config import MODES
from robust_planner.examples import EXAMPLES
from robust_planner.planner import RobustAnswer, RobustRequest, answer
from robust_planner.problem_file import find_problem
from robust_planner.result import StageProgress
from robust_planner.risk.risk_planner import plan_example

EXIT_NOT_SOLVED = 1
NO_TOLERANCE = 0.5
RUNS = 200
"""In the simulator, that judge a plan for a risk."""

EPILOG = """examples:
  contact-stack robust block
  contact-stack robust block --sigma 1 --theta 0.7 --beta 0.7 --mode paper
  contact-stack robust sled --json out/sled.json
  contact-stack robust block --sigma 0 --json
  contact-stack robust sled --risk 0.05

--sigma 0 plans as if nothing was uncertain. Otherwise a robust plan follows, with an expected
residual cost and, with --theta or --beta, with chance constraints. --risk asks for a plan that
fails, as the problem defines it, at most that often. Exit code: 0, or 1 if the best plan found
does not satisfy its problem or keep the promise."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument(
        "name", metavar="NAME", help=f"the problem ({choices(EXAMPLES)}, or a file .yaml)"
    )
    parser.add_argument(
        "--sigma", type=float,
        help="standard deviation of friction [-] or height [m] (default: the problem's)",
    )  # fmt: skip
    parser.add_argument(
        "--theta", type=float,
        help="accepted probability of a force without contact, 0.5..0.999 (default: no bound; "
        "0.5 with --beta)",
    )  # fmt: skip
    parser.add_argument(
        "--beta", type=float,
        help="accepted probability of leaving the friction cone or penetrating, 0.5..0.999 "
        "(default: no bound; 0.5 with --theta)",
    )  # fmt: skip
    parser.add_argument(
        "--risk", type=float,
        help="accepted probability that the plan fails, as the problem defines it, 0.001..0.5",
    )  # fmt: skip
    parser.add_argument(
        "--start", type=Path, metavar="FILE",
        help=f"with --risk: the {PLAN_FILE} of a previous plan, to start from",
    )  # fmt: skip
    parser.add_argument(
        "--judge", type=at_least(0), metavar="RUNS",
        help=f"with --risk: runs in tamsi_sim that judge the plan, 0 for none (default {RUNS})",
    )  # fmt: skip
    parser.add_argument(
        "--mode", choices=MODES, default=MODES[0],
        help="deviation of the friction cone: proportional to the normal force, or constant as "
        "published (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--budget", type=float, help="wall time after which the best plan is shown [s]"
    )
    parser.add_argument(
        "--out", type=Path, default=None, help="folder of the results (default out/robust/NAME)"
    )
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0, or 1 if the plan does not satisfy its problem.

    Raises:
        ContactStackError: If the problem, a parameter or the solver does not exist.
    """
    request = make_request(args)
    out = args.out or Path("out") / "robust" / Path(args.name).stem
    alone = [name for name in ("start", "judge") if getattr(args, name) is not None]
    if args.risk is None and alone:
        raise ConfigError(f"--{alone[0]} is of plans with --risk: give it too, or leave this out")
    if args.risk is not None:
        return _keep_promise(args, request, out)
    planned, interrupt = _plan(request)
    summary = summarize(request.example, planned.problem, request.config, planned.result)
    with waiting_for("draw"):
        plots = draw(request, planned, out)
    if args.json != STANDARD_OUTPUT:
        _show(request, planned, summary)
        print(f"results: {out}: {', '.join(('summary.json', *(path.name for path in plots)))}")
    write_json(summary, out / "summary.json", args.json)
    if interrupt is not None:
        raise interrupt
    return 0 if planned.result.solved else EXIT_NOT_SOLVED


def _keep_promise(args: argparse.Namespace, request: RobustRequest, out: Path) -> int:
    """Plan for a risk; see :func:`main`."""
    if args.theta is not None or args.beta is not None:
        raise ConfigError("--risk is about outcomes: leave out --theta and --beta")
    example = request.example
    if args.sigma is not None:
        example = with_sigma(example, args.sigma)
    if args.judge and judge_of(example.robust_problem, example.failure) is None:
        raise ConfigError(
            f"--judge {args.judge}: tamsi_sim does not execute this problem (valid: 0; or a model "
            "from a file, a time step of a multiple of 5 ms, no limit on the speed of impacts)"
        )
    start = None if args.start is None else read_controls(args.start)
    with waiting_for("plan, and judge what is planned"):
        budget = request.config.solver.budget
        plan, interrupt = until_interrupted(
            lambda cancelled: plan_example(
                example, args.risk, request.config, start=start,
                stop=StopCondition(budget, cancelled),
            )
        )  # fmt: skip
    write_plan(plan.trajectory, out / PLAN_FILE)
    summary = summarize_risk(example, plan, RUNS if args.judge is None else args.judge)
    with waiting_for("draw"):
        plots = draw_risk(example, plan, out)
    if args.json != STANDARD_OUTPUT:
        print(risk_table(summary))
        names = ("summary.json", PLAN_FILE, *(path.name for path in plots))
        print(f"results: {out}: {', '.join(names)}")
    write_json(summary, out / "summary.json", args.json)
    if interrupt is not None:
        raise interrupt
    return 0 if plan.status is PlanStatus.SUCCEEDED else EXIT_NOT_SOLVED


def make_request(args: argparse.Namespace) -> RobustRequest:
    """Translate the command line.

    Args:
        args: The parsed command line.

    Returns:
        The request, checked.

    Raises:
        ContactStackError: If there is no such problem, or a value is out of range.
    """
    example = find_problem(args.name)
    changes: dict[str, Any] = {"mode": args.mode}
    if args.sigma is not None:
        changes["uncertainty.sigma"] = args.sigma
    if args.budget is not None:
        changes["solver.budget"] = args.budget
    if args.theta is not None or args.beta is not None:
        changes["risk.enabled"] = True
        changes["risk.beta"] = NO_TOLERANCE if args.beta is None else args.beta
        changes["risk.theta"] = NO_TOLERANCE if args.theta is None else args.theta
    return RobustRequest(example, with_values(example.config, changes))


def _plan(request: RobustRequest) -> tuple[RobustAnswer, KeyboardInterrupt | None]:
    """Plan in a thread: a signal raised inside the solver's callback would be lost there."""
    bar_format = "{desc:60} {bar} {n}/{total} stages [{elapsed}]"
    with tqdm(total=request.stages, bar_format=bar_format) as bar:
        return until_interrupted(lambda cancelled: answer(request, _bar_updater(bar), cancelled))


def _bar_updater(bar: tqdm) -> Callable[[str, StageProgress], None]:
    """Count a stage when the next one begins: one that did not converge is solved again."""
    seen: list[str] = []

    def show(phase: str, progress: StageProgress) -> None:
        if progress.stage not in seen:
            bar.update(len(seen) - bar.n)
            seen.append(progress.stage)
        bar.set_description_str(
            f"{phase}, {progress.stage}: iteration {progress.iterations}, "
            f"residual {progress.residual:.1e}"
        )
        if progress.finished and len(seen) == bar.total:
            bar.update(bar.total - bar.n)

    return show


def _show(request: RobustRequest, planned: RobustAnswer, summary: Mapping[str, Any]) -> None:
    """Print the table, the reference first, and what a person should know."""
    columns = {"plan": summary}
    if planned.reference is not planned.result:
        reference = summarize(
            request.example, request.example.problem, request.config, planned.reference
        )
        columns = {"reference": reference, "robust": summary}
    print(table(columns))
    result = planned.result
    for warning in result.warnings:
        print(f"warning: {warning}")
    if not result.solved:
        print(f"{result.status.name}: {result.status.remedy}")
        print(f"largest residual: {result.residuals.worst:.3g}")
