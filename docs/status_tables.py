"""Fills pages from the code: statuses, their remedies, errors, and what the cabinet invents."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import tomllib
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from contact_core.base.errors import ContactStackError, ModelWarning

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "root_packages"
]

MOTIONS = (
    "FollowPoseTrajectory",
    "GuardedMove",
    "CompliantMove",
    "Insert",
    "Wipe",
    "HandGuide",
)
PLANNERS = ("PlanThroughContact", "PlanRobustContact", "MoveObjects")

ADVICE = {
    "SUCCESSFUL": "",
    "INVALID_GOAL": "correct the value that `error_string` names",
    "INVALID_JOINTS": "give the arm's joints, by the names that `error_string` lists",
    "START_TOO_FAR": "begin where the arm is: read `joint_states` just before",
    "OLD_HEADER_TIMESTAMP": "stamp it with a time to come, or with 0 to start now",
    "PATH_TOLERANCE_VIOLATED": "go slower, widen the tolerance, or keep clear of what "
    "`error_string` says was touched",
    "GOAL_TOLERANCE_VIOLATED": "`error_string` says what held the arm: move that, allow it a force "
    "in `planned_contact`, or more time in `goal_time_tolerance`",
    "NOT_TOUCHED": "let it go further, or look whether what it should touch is there",
    "HOLE_NOT_FOUND": "search farther, or look whether the hole is where it is said to be",
    "JAMMED": "look whether it fits and is held firmly; push harder, or ask for less depth",
    "FORCE_NOT_HELD": "begin nearer to the surface, or give it more time; look whether what it "
    "presses on gives way or ends",
    "FAULT": "look up the status of the controller above, then call `reset`",
}
"""Error code of a motion -> what to do; `error_string` has the numbers."""

ENUMS = {
    "estimator": "contact_aware_control.estimation.base.EstimatorStatus",
    "tare": "contact_aware_control.estimation.tare.TareStatus",
    "fri": "contact_stack.fri.session.SessionStatus",
    "datagrams": "contact_stack.fri.wire.Refusal",
    "gripper": "contact_stack.wsg50.device.GripperStatus",
    "grip": "contact_ros.gripper.Ending",
    "step": "tamsi_sim.arrays.status.StepStatus",
    "simulation": "tamsi_sim.simulation.observer.WarningKind",
    "plan_warnings": "robust_planner.plan_warnings.PlanWarningKind",
    "placement": "contact_stack.demo.bottle_shake.procedure.PlacementVerdict",
    "reach": "contact_core.robot.inverse_kinematics.InverseKinematicsStatus",
    "programs": "contact_core.quadratic_program.problem.QuadraticProgramStatus",
}
"""Place on the page -> an enumeration whose members say themselves what to do."""

CONSTANT = re.compile(r"^u?int\d+ (\w+) *= *(-?\d+) *(?:# *(.*))?$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put the tables where the page asks for them; called by mkdocs.

    Args:
        markdown: Text of a page.
        page: Unused.
        config: Unused.
        files: Unused.

    Returns:
        The text with the tables.
    """
    if "<!-- statuses: " not in markdown:
        return markdown
    for place, rows in tables().items():
        markdown = markdown.replace(f"<!-- statuses: {place} -->", rows)
    return markdown


def tables() -> dict[str, str]:
    """Return every table of the page by its place."""
    from contact_aware_control.safety.status import Status
    from contact_core.base.planning import PlanStatus

    status = constants("msg/ControllerStatus.msg")
    named = [name for name in status if name in Status.__members__]
    made = {
        "modes": _table(
            ("mode, link", "what it means"), ((name, status[name]) for name in _modes(status))
        ),
        "controller": _table(
            ("status", "what it means", "what to do"),
            ((name, status[name], Status[name].remedy) for name in named),
        ),
        "motions": _table(("error code", "what it means", "what to do"), _motion_rows()),
    }
    answers = {action: constants(f"action/{action}.action") for action in PLANNERS}
    for action, meanings in answers.items():
        rows = (
            (name, text, PlanStatus[name].remedy.removeprefix("none needed; "))
            for name, text in meanings.items()
        )
        made[action] = _table(("status", "what it means", "what to do"), rows)
    silent = set(PlanStatus.__members__).difference(*answers.values())
    made["plans"] = _texts(PlanStatus[name] for name in sorted(silent))
    for place, path in ENUMS.items():
        made[place] = _texts(_find(path))
    made["invented"] = _table(("what", "value", "what it stands for", "why"), _invented_rows())
    made["cabinet_faults"] = _table(("fault", "what goes wrong"), _cabinet_faults())
    header = ("error", "what it means", "what to do")
    made["errors"] = _table(header, ((error.__name__, *told(error)) for error in errors()))
    return made


def constants(file: str) -> dict[str, str]:
    """Return the constants of an interface and what is said of each.

    Args:
        file: Its path below ``msgs``.
    """
    text = (ROOT / "msgs" / file).read_text()
    return {name: meaning for name, _, meaning in CONSTANT.findall(text)}


def errors() -> list[type[Exception]]:
    """Return every error and warning that the packages raise on purpose, by name."""
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        for module in pkgutil.walk_packages(path, f"{package}."):
            # Only these are imported: some modules need libraries that are extras.
            if re.search(r"^class \w+Error\(", _source(module.name), re.MULTILINE):
                importlib.import_module(module.name)
    found = {kind for kind in _derived(ContactStackError) if not kind.__name__.startswith("_")}
    return sorted({*found, ModelWarning}, key=lambda kind: kind.__name__)


def told(error: type[Exception]) -> tuple[str, str]:
    """Return what an error means, and what to do: the first paragraphs of its docstring.

    Args:
        error: Its class.
    """
    meaning, _, rest = (inspect.getdoc(error) or "").partition("\n\n")
    remedy = rest.partition("\n\n")[0]
    return meaning, " ".join(remedy.split())


def text_of(member: Enum) -> str:
    """Return what a member of an enumeration says to a person.

    Args:
        member: The member.
    """
    return str(getattr(member, "remedy", member.value))


def _modes(status: Iterable[str]) -> list[str]:
    from contact_aware_control.safety.status import LinkState, Mode

    return [name for name in status if name in {*Mode.__members__, *LinkState.__members__}]


def _motion_rows() -> Iterator[tuple[str, str, str]]:
    """Say of every error code what it means, and of which action where they differ."""
    meanings: dict[str, dict[str, list[str]]] = {name: {} for name in ADVICE}
    for action in MOTIONS:
        for name, meaning in constants(f"action/{action}.action").items():
            if meaning != "not used":
                meanings[name].setdefault(meaning or "it ended as it should", []).append(action)
    for name, told_by in meanings.items():
        parts = (f"{text} (`{'`, `'.join(actions)}`)" for text, actions in told_by.items())
        yield name, "; ".join(told_by if len(told_by) == 1 else parts), ADVICE[name]


def _invented_rows() -> Iterator[tuple[str, ...]]:
    from tamsi_sim.cabinet import INVENTED

    return ((name, item.value, item.meaning, item.reason) for name, item in INVENTED.items())


def _cabinet_faults() -> Iterator[tuple[str, str]]:
    from contact_experiments.fake.cabinet_faults import CABINET_FAULTS

    return ((name, fault.summary()) for name, fault in CABINET_FAULTS.items())


def _derived(kind: type[Exception]) -> Iterator[type[Exception]]:
    for child in kind.__subclasses__():
        yield child
        yield from _derived(child)


def _source(module: str) -> str:
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text()


def _find(path: str) -> type[Enum]:
    module, _, name = path.rpartition(".")
    found: type[Enum] = getattr(importlib.import_module(module), name)
    return found


def _texts(members: Iterable[Enum]) -> str:
    rows = ((member.name, text_of(member)) for member in members)
    return _table(("", "what it means, and what to do"), rows)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header)]
    lines += [(f"`{name}`", *(cell.replace("|", "\\|") for cell in rest)) for name, *rest in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
