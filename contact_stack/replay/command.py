"""The command ``contact-stack replay``: a record beside what is computed again, and its table."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contact_aware_control.incident_log import Incident, ReplayedTick, load, replay
from contact_core.base.results import add_json_option, at_least, write_json
from contact_core.base.waiting import waiting_for

EXIT_DIFFERENT = 1

TOLERANCE = 1e-9
"""Largest difference of two commands that count as the same [rad]."""

EPILOG = """examples:
  contact-stack replay ~/.ros/log/flight/20260301_120000_FORCE_EXCEEDED.npz
  contact-stack replay FILE --json

A record holds everything the controller was given: states, contacts, goals, requests and
parameters. Nothing moves and no ROS graph is needed. The exit code is 1 if a status or a
command differs from the recorded one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("file", type=Path, metavar="FILE", help="incident record (.npz)")
    parser.add_argument(
        "--tolerance",
        type=at_least(0.0),
        default=TOLERANCE,
        metavar="RAD",
        help="largest difference of two commands that count as the same (default: %(default)g)",
    )
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0 if the replay agrees with the record, else 1.
    """
    record = load(args.file)
    with waiting_for("compute the record again"):
        result: ReplayComparison = compare(record, replay(record), args.tolerance)
    print(render(result))
    write_json(result.as_dict(), args.json)
    return 0 if result.agrees else EXIT_DIFFERENT


@dataclass(frozen=True)
class Stretch:
    """Consecutive ticks with the same mode and status in the record.

    Attributes:
        start: Time of the first one, from the start of the record [s].
        ticks: Their number.
        mode: Recorded mode.
        status: Recorded status.
        replayed: The statuses computed again, without repetition.
        command_difference: Largest difference of recorded and computed command [rad].
        different: Number of ticks that differ.
    """

    start: float
    ticks: int
    mode: str
    status: str
    replayed: tuple[str, ...]
    command_difference: float
    different: int


@dataclass(frozen=True)
class ReplayComparison:
    """A record beside its replay.

    Attributes:
        reason: Why the record was written.
        tolerance: Largest difference of commands that counts as none [rad].
        stretches: What happened, in order.
    """

    reason: str
    tolerance: float
    stretches: tuple[Stretch, ...]

    @property
    def agrees(self) -> bool:
        """Whether there are ticks and none differs."""
        return bool(self.stretches) and not any(s.different for s in self.stretches)

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        return {
            "agrees": self.agrees,
            "ticks": sum(s.ticks for s in self.stretches),
            "different": sum(s.different for s in self.stretches),
            **dataclasses.asdict(self),
        }


def compare(
    record: Incident, replayed: Iterable[ReplayedTick], tolerance: float
) -> ReplayComparison:
    """Compare a record with its replay.

    Args:
        record: The record.
        replayed: Its ticks, computed again.
        tolerance: Largest difference of commands that counts as none [rad].

    Returns:
        The comparison.
    """
    stretches: list[list[ReplayedTick]] = []
    for tick in replayed:
        key = tick.recorded.mode, tick.recorded.status
        if stretches and (stretches[-1][0].recorded.mode, stretches[-1][0].recorded.status) == key:
            stretches[-1].append(tick)
        else:
            stretches.append([tick])
    origin = record.ticks[0].inputs.now if record.ticks else 0
    return ReplayComparison(
        record.reason, tolerance, tuple(_stretch(s, origin, tolerance) for s in stretches)
    )


def render(comparison: ReplayComparison) -> str:
    """Show a comparison to a person.

    Args:
        comparison: The comparison.

    Returns:
        A table and a verdict.
    """
    lines = [
        f"written because of: {comparison.reason}",
        "",
        f"{'time [s]':>9} {'ticks':>6}  {'mode':12} {'status':22} {'replayed':22} "
        f"{'difference [rad]':>16}",
    ]
    for s in comparison.stretches:
        mark = f"  <- {s.different} differ" if s.different else ""
        lines.append(
            f"{s.start:9.3f} {s.ticks:6d}  {s.mode:12} {s.status:22} {', '.join(s.replayed):22} "
            f"{s.command_difference:16.2e}{mark}"
        )
    verdict = "the replay agrees" if comparison.agrees else "the replay differs"
    return "\n".join([*lines, "", verdict])


def _stretch(ticks: list[ReplayedTick], origin: int, tolerance: float) -> Stretch:
    first = ticks[0].recorded
    return Stretch(
        start=1e-9 * (first.inputs.now - origin),
        ticks=len(ticks),
        mode=first.mode.name,
        status=first.status.name,
        replayed=tuple(dict.fromkeys(tick.status.name for tick in ticks)),
        command_difference=max(tick.command_difference for tick in ticks),
        different=sum(not tick.agrees(tolerance) for tick in ticks),
    )
