"""``contact-stack bench faults``: what every fault of a robot and its driver does to the arm."""

from __future__ import annotations

import argparse
import copy
import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from contact_aware_control.safety.status import Mode, Request, Status
from contact_core.base.results import add_json_option, write_json
from contact_core.base.sweep import Sweep, Workers
from contact_experiments.bench import payload_error
from contact_experiments.bench.fault_run import FaultRun, Tick
from contact_experiments.bench.fri_robot import FRI_FAULTS
from contact_experiments.bench.fri_robot import NAME as FRI
from contact_experiments.fake import DRIVERS, FAULTS

TRACKING = (Mode.TRACKING, Mode.CONSERVATIVE)

UNTIL_CURED = 1.0
"""How long a fault lasts that has no end of its own [s]."""
SESSION_TIME = 15.0
"""How long a robot may take to be commanded again after a fault of its session [s]."""
AFTER = 0.3
"""Time after a fault, before anybody asks for anything [s]."""
ANSWER = 0.2
"""How long each remedy may take to show [s]."""
AGAIN = 0.4
"""How long the arm is watched after it tracks again [s]."""

STEP_SHARE = 0.8
"""Largest step of a command, as a share of the joints' speed limits times the period."""
FORCE_SHARE = 1.5
"""Largest contact force after a fault, as a share of that before it."""
LOST_PERIODS = 3
"""Periods from the first state that is missing to the hold."""
LOST = (
    "dies",
    "restarts",
    "restarts_quickly",
    "outage",
    "long_outage",
    "cable_out",
    "driver_killed",
)
"""Faults in which states are missing from the first period on."""

ALL_DRIVERS = (*DRIVERS, FRI)
"""Those of others over their fakes, and ours over a cabinet."""

RESULTS = Path("out/bench/faults")
"""Where results are kept: a sweep that is interrupted goes on where it was."""

BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
"""Between these are the tables on the page of the documentation."""

THEIRS = ("foreign_commands",)
"""Faults in which somebody else moves the arm: only our commands are bounded."""

SILENT = ("kuka_drivers", "ros2_control")
"""Drivers that tell positions and torques, and nothing of session, drives, mode and connection."""

KNOWN = {
    **{(driver, False, "position_mode"): ("step",) for driver in SILENT},
    **{(driver, True, "position_mode"): ("step", "force") for driver in SILENT},
}
"""Bounds that do not hold, by driver, contact and fault; the page says why."""

REMEDIES = ((), (Request.RESUME,), (Request.RESET,), (Request.RESUME,))
"""What is tried, one after the other, until the arm tracks again."""


@dataclasses.dataclass(frozen=True)
class FaultOutcome:
    """What one fault did.

    Attributes:
        driver: The driver.
        contact: Whether the arm pressed against a wall; otherwise it moved freely.
        fault: The fault.
        hold: Time from the fault to the first tick without tracking [s]; None if there is none.
        speed: Largest joint speed after it, as a share of the joint's limit.
        step: Largest step of a command, as a share of what the joint's limit allows.
        force_before: Largest contact force in the half second before it [N].
        force: Largest contact force after it [N].
        reported: What the controller said while it lasted.
        detail: The last explanation in words.
        recovery: What it took to track again, "" for nothing, None if nothing helped.
        broken: The bounds it broke.
    """

    driver: str
    contact: bool
    fault: str
    hold: float | None
    speed: float
    step: float
    force_before: float
    force: float
    reported: tuple[Status, ...]
    detail: str
    recovery: str | None
    broken: tuple[str, ...]

    @property
    def unexpected(self) -> tuple[str, ...]:
        """The bounds that it is not known to break."""
        known = KNOWN.get((self.driver, self.contact, self.fault), ())
        return tuple(bound for bound in self.broken if bound not in known)


def faults_of(driver: str) -> Mapping[str, Any]:
    """Return what can go wrong with a robot.

    Args:
        driver: One of ALL_DRIVERS.

    Returns:
        Name -> the class of the fault.
    """
    return FRI_FAULTS if driver == FRI else FAULTS


def measure(driver: str, contact: bool, fault: str, seed: int = 0) -> FaultOutcome:
    """Let one thing go wrong, then right again, and ask for the remedies in turn.

    Args:
        driver: One of ALL_DRIVERS.
        contact: Whether the arm presses against a wall, or moves freely.
        fault: One of its faults.
        seed: Of noise and particles.

    Returns:
        What happened.
    """
    started = _started(driver, contact, seed)
    # The loop holds nothing that changes in a run, and a generator that cannot be copied.
    run = copy.deepcopy(started, {id(started.loop): started.loop})
    before = run.ticks[-round(0.5 / run.period) :]
    run.robot.inject(fault)
    lasts = faults_of(driver)[fault].lasts
    during = run.go(lasts if math.isfinite(lasts) else UNTIL_CURED)
    run.robot.cure()
    during += run.go(AFTER)
    end = run.robot.time + SESSION_TIME
    while driver == FRI and not run.robot.commanding and run.robot.time < end:
        during += run.go(AFTER)
    recovery, after = _recover(run)
    ticks = [before[-1], *during, *after]
    hold = next((k for k, tick in enumerate(during) if tick.mode not in TRACKING), None)
    arm = run.robot.arm
    speed = max(float(np.max(np.abs(t.velocity) / arm.velocity_limits)) for t in ticks)
    step = _largest_step(ticks, STEP_SHARE * arm.velocity_limits * run.period)
    force_before = max(tick.force for tick in before)
    force = max(tick.force for tick in ticks)
    reported = dict.fromkeys(t.status for t in during if t.status is not Status.OK)
    broken = []
    if speed > 1.0 and fault not in THEIRS:
        broken.append("speed")
    if step > 1.0:
        broken.append("step")
    if force > FORCE_SHARE * max(force_before, 1.0) and fault not in THEIRS:
        broken.append("force")
    if fault in LOST and (hold is None or hold > LOST_PERIODS):
        broken.append("hold")
    return FaultOutcome(
        driver,
        contact,
        fault,
        None if hold is None else hold * run.period,
        speed,
        step,
        force_before,
        force,
        tuple(reported),
        next((t.detail for t in reversed(during) if t.detail), ""),
        recovery,
        tuple(broken),
    )


@cache
def _started(driver: str, contact: bool, seed: int) -> FaultRun:
    """Return a run that is in motion, or in contact; every fault begins with a copy of it."""
    run = FaultRun(driver, contact, seed)
    run.start()
    return run


def _recover(run: FaultRun) -> tuple[str | None, list[Tick]]:
    """Ask for the remedies until the arm tracks; return which it took, and what happened."""
    asked: list[str] = []
    ticks: list[Tick] = []
    for requests in REMEDIES:
        for request in requests:
            if run.ask(request):
                asked.append(request.name.lower())
        ticks += run.go(ANSWER)
        if ticks[-1].mode in TRACKING:
            ticks += run.go(AGAIN)
            return ", ".join(asked), ticks
    return None, ticks


def _largest_step(ticks: Sequence[Tick], allowed: np.ndarray) -> float:
    """Return the largest step of a command that the driver follows, over what is allowed.

    A step no larger than the one before it is always allowed: the arm may be braking.
    """
    largest, before = 0.0, np.full(allowed.size, np.inf)
    for tick in ticks:
        if tick.command is None or not tick.commanding:
            before = np.zeros(allowed.size)
            continue
        step = np.abs(tick.command - tick.held)
        bound = np.maximum(allowed, np.where(np.isfinite(before), before, allowed))
        largest = max(largest, float(np.max((step - 1e-9) / bound)))
        before = step
    return largest


def render(outcomes: Sequence[FaultOutcome]) -> str:
    """Show outcomes as tables, one for each driver and situation.

    Args:
        outcomes: What was measured.

    Returns:
        Markdown.
    """
    parts = []
    for driver, contact in dict.fromkeys((o.driver, o.contact) for o in outcomes):
        rows = [o for o in outcomes if (o.driver, o.contact) == (driver, contact)]
        parts.append(
            f"## {driver}, {'in contact' if contact else 'in motion'}\n\n"
            "| fault | held after | speed | step | force | reported | goes on |\n"
            "|---|---|---|---|---|---|---|\n" + "\n".join(_row(o) for o in rows)
        )
    return "\n\n".join(parts)


def _row(outcome: FaultOutcome) -> str:
    hold = "-" if outcome.hold is None else f"{1e3 * outcome.hold:.0f} ms"
    force = "-"
    if outcome.contact:
        force = f"{outcome.force_before:.0f} to {outcome.force:.0f} N"
    reported = ", ".join(status.name for status in outcome.reported) or "-"
    goes_on = {None: "never", "": "by itself"}.get(outcome.recovery, outcome.recovery)
    broken = f" **{', '.join(outcome.broken)}**" if outcome.broken else ""
    return (
        f"| `{outcome.fault}`{broken} | {hold} | {100 * outcome.speed:.0f} % "
        f"| {100 * outcome.step:.0f} % | {force} | {reported} | {goes_on} |"
    )


def page(text: str, outcomes: Sequence[FaultOutcome]) -> str:
    """Put the tables into the page of the documentation.

    Args:
        text: The page as it is; its tables are between two comments.
        outcomes: What was measured.

    Returns:
        The page with new tables.
    """
    faults = "\n".join(f"| `{name}` | {FAULTS[name].summary()} |" for name in FAULTS)
    listed = f"## The faults\n\n| fault | what happens |\n|---|---|\n{faults}"
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{listed}\n\n{render(outcomes)}\n\n{END}{after}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--driver", choices=ALL_DRIVERS, action="append", help="only this one (repeatable)"
    )
    parser.add_argument(
        "--fault",
        choices=(*dict.fromkeys((*FAULTS, *FRI_FAULTS)), payload_error.NAME),
        action="append",
        metavar="NAME",
        help="only this one (repeatable); see contact-stack fake --list-faults, and payload_error, "
        "which is a sweep of its own",
    )
    add_json_option(parser)
    parser.add_argument("--page", type=Path, metavar="FILE", help="page to put the tables into")
    parser.add_argument(
        "--processes",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="how many runs at a time (default: one per core)",
    )


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0 if no bound is broken that holds as far as we know, else 1.
    """
    names = args.fault or [*dict.fromkeys((*FAULTS, *FRI_FAULTS)), payload_error.NAME]
    faults = [name for name in names if name != payload_error.NAME]
    sweep = Sweep(Workers(args.processes), RESULTS)
    travels: list[payload_error.Travel] = []
    if payload_error.NAME in names:
        wrong = [(case,) for case in payload_error.all_cases()]
        travels = sweep.run(payload_error.measure, wrong, payload_error.NAME)
        print(payload_error.render(travels))
        if args.page:
            text = args.page.read_text()
            args.page.write_text(payload_error.page(text, travels))
    outcomes: list[FaultOutcome] = []
    if faults:
        cases = [
            case
            for case in product(args.driver or ALL_DRIVERS, (False, True), faults)
            if case[2] in faults_of(case[0])
        ]
        outcomes = sweep.run(measure, cases, "faults")
        print(render(outcomes))
        if args.page:
            args.page.write_text(page(args.page.read_text(), outcomes))
    results = [*map(dataclasses.asdict, travels), *map(dataclasses.asdict, outcomes)]
    write_json(results, args.json)
    return int(any(o.unexpected for o in outcomes) or not all(t.bounded for t in travels))
