"""Incident records as NumPy archives of plain data.

An archive holds `header` (JSON: version, reason, parameters), `objects` (one JSON object per
line: state, inputs and answers; lines refer to earlier ones by number, so that what was the same
object stays the same one) and `numbers` (the entries of all arrays in a row). Reading creates
objects of the kinds listed here only, whatever the file says.

A later version of this module that adds a field gives it a default, and still reads older
files; one that changes a meaning counts :data:`VERSION` up, and keeps the versions that it can
translate in :data:`KNOWN_VERSIONS`.
"""

from __future__ import annotations

import array
import dataclasses
import json
import time
import zipfile
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate, ContactMode, ContactReport
from contact_aware_control.controllers import ControllerState
from contact_aware_control.controllers.contact_selection import (
    ContactConstraint,
    ContactSet,
    ForceMemory,
)
from contact_aware_control.incident_log.log import Incident, TickRecord
from contact_aware_control.loop_state import LoopInputs, LoopState
from contact_aware_control.reference import (
    Assignment,
    Goal,
    Guidance,
    JointStream,
    JointTrajectory,
    PoseStream,
    PoseTrajectory,
)
from contact_aware_control.reference.stream import MotionBounds, MotionState, TargetMotion
from contact_aware_control.safety.command_gate import GateState
from contact_aware_control.safety.follow_watch import FollowState
from contact_aware_control.safety.reflex import ReflexState
from contact_aware_control.safety.state_checks import CheckState
from contact_aware_control.safety.status import Finding, LinkState, Mode, Request, Status
from contact_aware_control.safety.supervisor import (
    Activity,
    Arming,
    Latch,
    Pause,
    SupervisorState,
)
from contact_aware_control.safety.transition import TransitionState
from contact_core.base.config import flatten, from_mapping, unflatten
from contact_core.base.errors import ConfigError, ModelError, choices
from contact_core.base.files import replacement
from contact_core.robot.arm_state import ArmState, CommandMode, RobotCondition
from contact_core.robot.description import JointFrictionConfig, JointsConfig, RobotDescription

VERSION = 10
"""Of the files written; 7 to 9 kept parameters that are constants now, 5 kept no joints of the
robot, 4 lost what memories of forces are, 2 kept another state of the loop, 1 held pickled
objects."""

KNOWN_VERSIONS = (10,)
"""Versions that can be read."""

DATA: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        ArmState,
        Assignment,
        MotionBounds,
        CheckState,
        ContactConstraint,
        ContactEstimate,
        ContactMode,
        ContactReport,
        ContactSet,
        ControllerState,
        Finding,
        FollowState,
        ForceMemory,
        GateState,
        Goal,
        Guidance,
        JointFrictionConfig,
        JointsConfig,
        LoopInputs,
        LoopState,
        MotionState,
        ReflexState,
        RobotCondition,
        RobotDescription,
        SupervisorState,
        TickRecord,
        TransitionState,
    )
}
"""Dataclasses and named tuples, written field by field."""

MOTIONS: dict[str, tuple[type, tuple[str, ...]]] = {
    "TargetMotion": (TargetMotion, ("start", "velocity", "bounds", "position", "least")),
    "JointStream": (JointStream, ("approach",)),
    "JointTrajectory": (JointTrajectory, ("times", "positions", "velocities", "accelerations")),
    "PoseStream": (PoseStream, ("origin", "approach")),
    "PoseTrajectory": (PoseTrajectory, ("times", "poses", "twist")),
}
"""References: class, and the arguments it is made from."""

ENUMS: dict[str, type[Enum]] = {
    kind.__name__: kind
    for kind in (Activity, Arming, CommandMode, Latch, LinkState, Mode, Pause, Request, Status)
}

UNUSED = ("later",)
"""Fields that no tick reads: ways that were checked when a goal came."""

PAUSE_EVERY = 20
"""Objects written before the control loop's thread is let in: about every millisecond."""


def save(incident: Incident, path: Path) -> None:
    """Write a record, all of it or none.

    Args:
        incident: The record.
        path: The file; its folder is created.

    Raises:
        ModelError: If it holds a reference of a kind that cannot be written.
        OSError: If the file cannot be written.
    """
    writer = _Writer()
    header = {
        "version": VERSION,
        "reason": incident.reason,
        "config": _controller_parameters(incident.config),
        "robot": writer.encode(incident.robot),
        "state": writer.encode(incident.state),
        "ticks": [writer.encode(tick) for tick in incident.ticks],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacement(path) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(
            file,
            allow_pickle=False,
            header=_bytes(json.dumps(header)),
            objects=_bytes("\n".join(writer.objects)),
            numbers=np.array(writer.numbers),
        )


def load(path: Path) -> Incident:
    """Read a record.

    Args:
        path: The file.

    Returns:
        The record.

    Raises:
        ConfigError: If the file is missing, is no incident record, or one of a version that
            cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays["header"].tobytes())
        version = header["version"] if "version" in header else header["format"]
        if version not in KNOWN_VERSIONS:
            raise ConfigError(
                f"{path}: version {version} of the incident log is unknown "
                f"({choices(KNOWN_VERSIONS)})"
            )
        reader = _Reader(arrays["numbers"])
        for line in arrays["objects"].tobytes().splitlines():
            reader.add(json.loads(line))
        return Incident(
            reason=header["reason"],
            robot=reader.decode(header["robot"]),
            config=from_mapping(ControllerConfig, unflatten(header["config"])),
            state=reader.decode(header["state"]),
            ticks=[reader.decode(tick) for tick in header["ticks"]],
        )
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, EOFError, ValueError, KeyError, TypeError, IndexError) as error:
        raise ConfigError(f"{path} is no incident record, or not all of one") from error


class _Writer:
    """Turns plain data into JSON and numbers.

    Attributes:
        objects: JSON of every object, what it refers to before it.
        numbers: The entries of all arrays.
    """

    def __init__(self) -> None:
        self.objects: list[str] = []
        self.numbers = array.array("d")
        self._known: dict[int, tuple[int, Any]] = {}

    def encode(self, value: Any) -> Any:
        """Return what stands for a value in JSON."""
        if value is None or isinstance(value, str) or type(value) in (bool, int, float):
            return value
        if isinstance(value, Enum):
            return {"enum": type(value).__name__, "name": value.name}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return {"array": self._place(value), "shape": list(value.shape)}
        if isinstance(value, pin.SE3):
            return {"pose": self._place(value.homogeneous)}
        if type(value) in (list, tuple):
            return [self.encode(item) for item in value]
        if isinstance(value, Mapping):
            return {"mapping": {str(key): self.encode(item) for key, item in value.items()}}
        return {"object": self._object(value)}

    def _place(self, values: np.ndarray) -> int:
        start = len(self.numbers)
        self.numbers.frombytes(np.asarray(values, dtype=float).tobytes())
        return start

    def _object(self, value: Any) -> int:
        """Write an object once; return its number."""
        if id(value) not in self._known:
            name = type(value).__name__
            fields: tuple[str, ...]
            if DATA.get(name) is type(value):
                fields = _fields(DATA[name])
            elif name in MOTIONS and MOTIONS[name][0] is type(value):
                fields = MOTIONS[name][1]
            else:
                raise ModelError(f"cannot write a {name} ({choices([*DATA, *MOTIONS])})")
            content = {field: self.encode(getattr(value, field)) for field in fields}
            self.objects.append(json.dumps({"kind": name, **content}))
            if len(self.objects) % PAUSE_EVERY == 0:
                time.sleep(0.0)
            # The object is kept, so that no other one gets its id.
            self._known[id(value)] = len(self.objects) - 1, value
        return self._known[id(value)][0]


class _Reader:
    """Turns JSON and numbers back into plain data."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers = numbers
        self._objects: list[Any] = []

    def add(self, content: dict[str, Any]) -> None:
        """Make one object; what it refers to has been made."""
        name = content.pop("kind")
        made = DATA[name] if name in DATA else MOTIONS[name][0]
        self._objects.append(made(**{key: self.decode(value) for key, value in content.items()}))

    def decode(self, value: Any) -> Any:
        """Return the value that stands behind JSON."""
        if isinstance(value, list):
            return tuple(self.decode(item) for item in value)
        if not isinstance(value, dict):
            return value
        if "object" in value:
            return self._objects[value["object"]]
        if "array" in value:
            return self._array(value["array"], tuple(value["shape"]))
        if "pose" in value:
            pose = self._array(value["pose"], (4, 4))
            return pin.SE3(pose[:3, :3], pose[:3, 3])
        if "enum" in value:
            return ENUMS[value["enum"]][value["name"]]
        return {key: self.decode(item) for key, item in value["mapping"].items()}

    def _array(self, start: int, shape: tuple[int, ...]) -> np.ndarray:
        size = int(np.prod(shape))
        return self._numbers[start : start + size].reshape(shape).copy()


def _controller_parameters(config: ControllerConfig) -> dict[str, Any]:
    """Return the parameters of the controller alone, without those of its node."""
    known = flatten(ControllerConfig())
    return {name: value for name, (value, _) in flatten(config).items() if name in known}


def _fields(kind: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        written = (field for field in dataclasses.fields(kind) if field.name not in UNUSED)
        return tuple(field.name for field in written if field.init)
    fields: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return fields


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)
