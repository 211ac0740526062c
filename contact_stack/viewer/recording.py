"""A recording as the page shows it: one snapshot for each picture.

Any MCAP file will do that has our topics as CDR with their definitions, ours as well as those of
ros2 bag. Ours say what they show, see :class:`SceneModel`; of others it has to be said.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from mcap.exceptions import McapError
from mcap.records import Channel, Footer, McapRecord, Message, Metadata, Schema
from mcap_ros2.decoder import DecoderFactory
from tqdm import tqdm

from contact_aware_control.config import ControllerConfig
from contact_core.base.errors import ConfigError, ContactStackError, choices
from contact_core.base.waiting import LONG
from contact_core.robot.robot import HELD_OBJECT
from contact_stack.recording import read_recording
from contact_stack.viewer.listener import Listener
from contact_stack.viewer.scene_model import CAST, SceneModel
from contact_stack.viewer.snapshot import PageState

RATE = 30.0
"""Pictures per second."""

GAP = 60.0
"""Longer ones between two messages are left out: a clock was set, or recording was paused [s]."""

MOVING = ("TRACKING", "CONSERVATIVE")
"""States of a controller that follows a motion."""

TRUE_JOINTS, MEASURED_JOINTS = "truth/joint_states", "joint_states"
GRIPPER_JOINTS = "gripper/joint_states"
TRUE_FORCES, FELT_FORCES = "truth/contacts", "contacts"


@dataclass(frozen=True)
class Recording:
    """What a recording shows.

    Attributes:
        model: Robot and objects.
        pictures: In their order, 1 / RATE apart, from time 0 on.
        name: What the run is called.
        left_out: Gaps between two messages that were left out.
        whole: Whether the file has its end; else the run may have gone on.
    """

    model: SceneModel
    pictures: Sequence[PageState]
    name: str = ""
    left_out: int = 0
    whole: bool = True

    @property
    def duration(self) -> float:
        """Time of the last picture [s]."""
        return self.pictures[-1].time

    def at(self, time: float) -> PageState:
        """Return the picture of a time [s], the first or last one beyond them."""
        index = round(time * RATE)
        return self.pictures[min(max(index, 0), len(self.pictures) - 1)]


def load_recording(path: Path, model: SceneModel | None = None, robot_name: str = "") -> Recording:
    """Read a recording, as far as it is whole.

    Args:
        path: The file.
        model: What it shows; None if it says so itself.
        robot_name: Namespace of the robot; empty if there is only one.

    Raises:
        ConfigError: If it cannot be read, has no joint states, several robots of which none is
            named, or does not say what it shows.
    """
    contents = _survey(path)
    prefix = _namespace(path, contents, robot_name)
    heard = _heard(path, contents.topics, prefix)
    model = model or contents.model
    if model is None:
        raise ConfigError(f"{path} does not say which robot it shows: give its scene, or the robot")
    projector = _Projector(path, model, TRUE_FORCES if TRUE_FORCES in heard else FELT_FORCES)
    for record in _records(path, "show"):
        match record:
            case Schema():
                projector.schemas[record.id] = record
            case Channel():
                projector.channels[record.id] = record
            case Message():
                topic = projector.channels[record.channel_id].topic.removeprefix(prefix)
                if topic not in heard:
                    continue
                projector.advance(record.log_time)
                projector.hear(topic, record)
    projector.expose()
    return Recording(model, projector.pictures, path.stem, projector.left_out, whole=contents.whole)


class OtherRun:
    """The arm of a recorded run beside that of one that is shown, both since they began to move.

    Where the recording does not tell when that was, both count from their start.
    """

    def __init__(self, recording: Recording) -> None:
        """Begin.

        Args:
            recording: The recording.
        """
        self._recording = recording
        self._begins = next((p.time for p in recording.pictures if p.state in MOVING), None)
        self._began: float | None = None
        self._latest = 0.0
        self._peak = max(picture.largest_force for picture in recording.pictures)

    def accompany(self, now: PageState) -> None:
        """Show the other arm in a picture.

        Args:
            now: The picture; a time before the last one is a new start.
        """
        if now.time < self._latest:
            self._began = None
        self._latest = now.time
        time = now.time
        if self._begins is not None:
            if self._began is None and now.state in MOVING:
                self._began = now.time
            time = self._begins + (now.time - self._began if self._began is not None else 0.0)
        other = self._recording.at(time)
        now.beside, now.beside_name = other.joints, self._recording.name
        now.beside_force, now.beside_peak = other.largest_force, self._peak


def beside(recording: Recording, other: Recording) -> Recording:
    """Return a recording that also shows the arm of another run, see :class:`OtherRun`.

    Args:
        recording: What is shown as it is.
        other: Whose robot is shown as an outline.
    """
    run = OtherRun(other)
    pictures = [copy.copy(picture) for picture in recording.pictures]
    for picture in pictures:
        run.accompany(picture)
    return replace(recording, pictures=pictures)


class _Projector:
    """Makes pictures of messages, and decodes only those that are seen, and all that press."""

    def __init__(self, path: Path, model: SceneModel, forces: str) -> None:
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, Channel] = {}
        self._latest: dict[str, Message] = {}
        self._forces, self._peak = forces, math.nan
        self.pictures: list[PageState] = []
        self._start: int | None = None
        self._last, self.left_out = 0, 0
        tree = pin.buildModelFromXML(model.urdf)
        links = [*(frame.name for frame in tree.frames), HELD_OBJECT]
        # What neither stands still nor moves with a joint of the arm holds objects.
        rest = [0, *map(tree.getJointId, model.arm_joints)]
        fingers = [frame.name for frame in tree.frames if frame.parentJoint not in rest]
        limit = ControllerConfig().force.limit
        self._path, self._arm_joints = path, model.arm_joints
        self._joints = {*model.arm_joints, *tree.names}
        self._listener = Listener(links, fingers, model.movable, limit)
        self._listener.now.name = path.stem
        self._decoders = DecoderFactory()

    def advance(self, stamp: int) -> None:
        """Make the pictures of everything before a message [ns], but of a gap."""
        if self._start is None:
            self._start = self._last = stamp
        if abs(stamp - self._last) > GAP * 1e9:
            self._start += stamp - self._last
            self.left_out += 1
        self._last = stamp
        while 1e-9 * (stamp - self._start) * RATE > len(self.pictures):
            self.expose()

    def hear(self, topic: str, message: Message) -> None:
        """Take a message: between two pictures a force may have been larger than in both."""
        if topic == self._forces:
            self._show(topic, message)
            self._peak = float(np.fmax(self._peak, self._listener.now.force))
        else:
            self._latest[topic] = message

    def expose(self) -> None:
        """Make a picture of the latest messages."""
        for topic, message in self._latest.items():
            self._show(topic, message)
        self._latest.clear()
        now = self._listener.now
        now.time, now.peak, self._peak = len(self.pictures) / RATE, self._peak, math.nan
        self.pictures.append(copy.copy(now))

    def _show(self, topic: str, message: Message) -> None:
        channel = self.channels[message.channel_id]
        try:
            content = self._decoded(channel, message)
            if topic == MEASURED_JOINTS:
                content.name = _our_names(content.name, self._arm_joints)
            if topic in (MEASURED_JOINTS, TRUE_JOINTS) and not {*content.name} & self._joints:
                named = ", ".join(content.name) or "nothing"
                raise ConfigError(f"it tells of {named} ({choices(self._arm_joints)})")
            self._listener.hear(topic, content)
        except (ContactStackError, McapError, ValueError, AttributeError) as error:
            raise ConfigError(f"{self._path}: {channel.topic} is unusable: {error}") from error

    def _decoded(self, channel: Channel, message: Message) -> Any:
        schema = self.schemas.get(channel.schema_id)
        try:
            decode = self._decoders.decoder_for(channel.message_encoding, schema)
            content = decode and decode(message.data)
        except Exception as error:  # the decoder's own, and those of what it is built of
            raise ConfigError(f"its messages are not as their definition says: {error}") from error
        if content is None:
            raise ConfigError("it is no CDR with the definition of its messages")
        return content


def _records(path: Path, what: str) -> Iterable[McapRecord]:
    """Read a recording, with a progress bar if that takes long."""
    records = read_recording(path)
    return tqdm(records, f"{what} {path.name}", unit=" records", delay=LONG, leave=False)


@dataclass
class _Contents:
    """What is in a recording: the topics that have messages, and what it says it shows.

    A recording that is not whole was cut, is damaged, or is being written.
    """

    topics: dict[str, None] = field(default_factory=dict)
    model: SceneModel | None = None
    whole: bool = False


def _survey(path: Path) -> _Contents:
    contents = _Contents()
    channels: dict[int, str] = {}
    for record in _records(path, "look through"):
        match record:
            case Channel():
                channels[record.id] = record.topic
            case Message():
                contents.topics[channels[record.channel_id]] = None
            case Metadata() if record.name == CAST:
                contents.model = SceneModel.from_metadata(record.metadata)
            case Footer():
                contents.whole = True
    return contents


def _namespace(path: Path, contents: _Contents, robot_name: str) -> str:
    """Return what is before the names of a robot's topics, with the slash at its end."""
    ours = re.compile(rf"(.*/)(?:{'|'.join(Listener.TOPICS)})")
    found = sorted(
        {match[1] for topic in contents.topics if (match := ours.fullmatch(topic))}, key=len
    )
    # The joint states of a gripper, or the true ones, are no robot of their own.
    roots = [p for p in found if p.removesuffix("truth/").removesuffix("gripper/") == p]
    names = {root.strip("/"): root for root in roots}
    if not names and not contents.whole:
        raise ConfigError(f"{path} is damaged, or was cut before it has a message of ours")
    if not names:
        raise ConfigError(f"{path} has none of our topics ({choices(Listener.TOPICS)})")
    if robot_name.strip("/") in names:
        return names[robot_name.strip("/")]
    if robot_name or len(names) > 1:
        raise ConfigError(f"{path} has no robot '{robot_name}' ({choices(names)})")
    return roots[0]


def _heard(path: Path, topics: Collection[str], prefix: str) -> set[str]:
    """Return what is shown of a robot's topics: its true joints rather than the measured ones."""
    heard = {topic for topic in Listener.TOPICS if prefix + topic in topics}
    if TRUE_JOINTS in heard:
        return heard - {MEASURED_JOINTS, GRIPPER_JOINTS}
    if MEASURED_JOINTS not in heard:
        valid = choices([prefix + TRUE_JOINTS, prefix + MEASURED_JOINTS])
        raise ConfigError(f"{path} has no joint states ({valid})")
    return heard


def _our_names(names: Sequence[str], arm_joints: Sequence[str]) -> list[str]:
    """Return the names in our URDF of joints whose driver may call them otherwise.

    Drivers count their joints from the base, e.g. ``left_joint_1``.
    """
    if len(names) != len(arm_joints) or set(names) & set(arm_joints):
        return list(names)
    order = sorted(names, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
    return [arm_joints[order.index(name)] for name in names]
