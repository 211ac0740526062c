"""Flight records as compressed NumPy archives."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.control_loop import ContactReport
from contact_aware_control.goal import Goal
from contact_aware_control.incident_log.record import FlightRecord, TickRecord
from contact_aware_control.incident_log.snapshot import dump_plain, load_plain
from contact_aware_control.reference.base import Reference
from contact_aware_control.safety.request import Request
from contact_aware_control.safety.status import Mode, Status
from contact_core.arm_state import ArmState
from contact_core.config import flatten, from_mapping, unflatten
from contact_core.description import RobotDescription
from contact_core.errors import ConfigError

FORMAT = 1
ABSENT = -1

STATE_FIELDS = ("position", "velocity", "commanded_position", "external_torque")
CONTACT_VECTORS = {
    "point_world": (3,),
    "point_link": (3,),
    "normal_world": (3,),
    "force_world": (3,),
    "point_covariance": (3, 3),
    "force_covariance": (3, 3),
}
CONTACT_NUMBERS = ("residual", "effective_sample_size", "spread", "age")
CONTACT_INTEGERS = ("number", "joints_moving", "identifiable")


def save(record: FlightRecord, path: Path) -> None:
    """Write a record.

    Args:
        record: The record.
        path: The file; its folder is created. Other modes of a contact are left out.
    """
    inputs: list[Any] = list({id(item): item for item in _inputs(record)}.values())
    index = {id(item): i for i, item in enumerate(inputs)}
    ticks = record.ticks
    states = [item for item in inputs if isinstance(item, ArmState)]
    reports = [item for item in inputs if isinstance(item, ContactReport)]
    goals = [item for item in inputs if isinstance(item, Goal)]
    references = [item for item in inputs if isinstance(item, Reference)]
    joints = len(record.robot.arm_joints)
    header = {
        "format": FORMAT,
        "reason": record.reason,
        "robot": dataclasses.asdict(record.robot),
        "config": _controller_parameters(record.config),
        "known": [index[id(item)] for item in record.known],
        "kinds": [_kind(item) for item in inputs],
        "goals": [
            {
                "reference": index[id(goal.reference)],
                "force_limits": dict(goal.force_limits),
                "refreshed": goal.refreshed,
            }
            for goal in goals
        ],
    }
    arrays: dict[str, np.ndarray] = {
        "header": _bytes(json.dumps(header).encode()),
        "snapshot": _bytes(record.snapshot),
        "references": _bytes(dump_plain(references)),
        "now": np.array([tick.now for tick in ticks], dtype=np.int64),
        "mode": np.array([tick.mode for tick in ticks], dtype=np.int8),
        "status": np.array([tick.status for tick in ticks], dtype=np.int8),
        "command": _rows([tick.command for tick in ticks], joints),
        "requests": np.array(
            [(k, request) for k, tick in enumerate(ticks) for request in tick.requests],
            dtype=np.int32,
        ).reshape(-1, 2),
        "state_stamp": np.array([state.stamp for state in states], dtype=np.int64),
        **_contact_arrays(reports),
    }
    for name in STATE_FIELDS:
        vectors = [getattr(state, name) for state in states]
        arrays[f"state_{name}"] = _ragged(vectors)
        arrays[f"state_{name}_size"] = np.array([np.size(v) for v in vectors], dtype=np.int32)
    for name in ("state", "report", "goal"):
        arrays[f"tick_{name}"] = np.array(
            [index.get(id(getattr(tick, name)), ABSENT) for tick in ticks], dtype=np.int32
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load(path: Path) -> FlightRecord:
    """Read a record.

    Args:
        path: The file.

    Returns:
        The record.

    Raises:
        ConfigError: If the file is missing or is no flight record.
        ModelError: If it was written by another version of the controller.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays["header"].tobytes())
        if header["format"] != FORMAT:
            raise ConfigError(f"{path}: format {header['format']} is unknown (valid: {FORMAT})")
        return _record(header, arrays)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, EOFError, ValueError, KeyError, TypeError, IndexError) as error:
        raise ConfigError(f"{path} is no flight record: {error}") from error


def _record(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> FlightRecord:
    robot = header["robot"]
    references = load_plain(arrays["references"].tobytes())
    sources = {
        "state": iter(_states(arrays)),
        "report": iter(_reports(arrays)),
        "goal": iter(header["goals"]),
        "reference": iter(references),
    }
    inputs = [next(sources[kind]) for kind in header["kinds"]]
    inputs = [
        Goal(inputs[item["reference"]], item["force_limits"], item["refreshed"])
        if kind == "goal"
        else item
        for kind, item in zip(header["kinds"], inputs, strict=True)
    ]
    requests: dict[int, list[Request]] = {}
    for k, request in arrays["requests"].tolist():
        requests.setdefault(k, []).append(Request(request))
    ticks = [
        TickRecord(
            now=int(now),
            requests=tuple(requests.get(k, ())),
            state=_chosen(inputs, arrays["tick_state"][k]),
            report=_chosen(inputs, arrays["tick_report"][k]),
            goal=_chosen(inputs, arrays["tick_goal"][k]),
            command=command if np.isfinite(command).all() else None,
            mode=Mode(arrays["mode"][k]),
            status=Status(arrays["status"][k]),
        )
        for k, (now, command) in enumerate(zip(arrays["now"], arrays["command"], strict=True))
    ]
    return FlightRecord(
        reason=header["reason"],
        robot=RobotDescription(**{**robot, "arm_joints": tuple(robot["arm_joints"])}),
        config=from_mapping(ControllerConfig, unflatten(header["config"])),
        snapshot=arrays["snapshot"].tobytes(),
        known=[inputs[i] for i in header["known"]],
        ticks=ticks,
    )


def _chosen(inputs: Sequence[Any], index: int) -> Any:
    return None if index == ABSENT else inputs[index]


def _inputs(record: FlightRecord) -> Iterable[object]:
    """Yield everything the loop was given; references also on their own."""
    for item in record.known:
        yield item
        if isinstance(item, Goal):
            yield item.reference
    for tick in record.ticks:
        if tick.goal is not None:
            yield tick.goal.reference
        yield from (item for item in (tick.state, tick.report, tick.goal) if item is not None)


def _kind(item: object) -> str:
    kinds = {ArmState: "state", ContactReport: "report", Goal: "goal"}
    return kinds.get(type(item), "reference")


def _controller_parameters(config: ControllerConfig) -> dict[str, Any]:
    """Return the parameters of the controller alone, without those of its node."""
    known = flatten(ControllerConfig())
    return {name: value for name, (value, _) in flatten(config).items() if name in known}


def _bytes(data: bytes) -> np.ndarray:
    return np.frombuffer(data, dtype=np.uint8)


def _rows(vectors: Sequence[np.ndarray | None], size: int) -> np.ndarray:
    """Return (len, size), NaN for None."""
    missing = np.full(size, np.nan)
    return np.array([missing if v is None else v for v in vectors]).reshape(-1, size)


def _ragged(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """Return all numbers in a row: a rejected state may have a wrong length."""
    return np.concatenate([np.zeros(0), *(np.ravel(v) for v in vectors)])


def _states(arrays: dict[str, np.ndarray]) -> list[ArmState]:
    columns = [
        np.split(arrays[f"state_{name}"], np.cumsum(arrays[f"state_{name}_size"])[:-1])
        for name in STATE_FIELDS
    ]
    return [
        ArmState(stamp, *vectors)
        for stamp, *vectors in zip(arrays["state_stamp"].tolist(), *columns, strict=False)
    ]


def _contact_arrays(reports: Sequence[ContactReport]) -> dict[str, np.ndarray]:
    """Return the contacts of all reports in a row."""
    contacts = [contact for report in reports for contact in report.contacts]
    arrays: dict[str, np.ndarray] = {
        "report_stamp": np.array([report.stamp for report in reports], dtype=np.int64),
        "report_size": np.array([len(report.contacts) for report in reports], dtype=np.int32),
        "contact_link": np.array([contact.link for contact in contacts], dtype=np.str_),
    }
    for name in CONTACT_VECTORS:
        arrays[f"contact_{name}"] = np.array([getattr(c, name) for c in contacts], dtype=float)
    for name in CONTACT_NUMBERS:
        arrays[f"contact_{name}"] = np.array([getattr(c, name) for c in contacts], dtype=float)
    for name in CONTACT_INTEGERS:
        arrays[f"contact_{name}"] = np.array([getattr(c, name) for c in contacts], dtype=np.int64)
    return arrays


def _reports(arrays: dict[str, np.ndarray]) -> list[ContactReport]:
    contacts = []
    for i, link in enumerate(arrays["contact_link"]):
        numbers: dict[str, Any] = {}
        for name, shape in CONTACT_VECTORS.items():
            numbers[name] = arrays[f"contact_{name}"][i].reshape(shape)
        for name in CONTACT_NUMBERS:
            numbers[name] = float(arrays[f"contact_{name}"][i])
        for name in CONTACT_INTEGERS:
            numbers[name] = int(arrays[f"contact_{name}"][i])
        numbers["identifiable"] = bool(numbers["identifiable"])
        contacts.append(ContactEstimate(link=str(link), modes=(), **numbers))
    ends = np.cumsum(arrays["report_size"])
    return [
        ContactReport(stamp, tuple(contacts[end - size : end]))
        for stamp, size, end in zip(
            arrays["report_stamp"].tolist(), arrays["report_size"], ends, strict=True
        )
    ]
