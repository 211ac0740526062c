"""How the graph's messages make what the page shows.

They may be those of ROS, or those of the same fields that a recording is decoded to. Feedback of
actions says where the motion that is followed has the arm.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin
from contact_stack_msgs.msg import ControllerStatus

from contact_aware_control.contact import within
from contact_core.base.errors import choices
from contact_core.robot.description import RobotDescription
from contact_core.robot.inverse_kinematics import InverseKinematics
from contact_core.robot.robot import Robot
from contact_ros.geometry import quaternion_to_array
from contact_ros.validation import (
    MAX_FORCE,
    MAX_NAMES,
    MAX_POSITION,
    MessageError,
    at_most,
    named_numbers,
    number,
    numbers,
    vector,
)
from contact_stack.viewer.snapshot import PageState

MODES = {
    ControllerStatus.INACTIVE: "INACTIVE",
    ControllerStatus.HOLD: "HOLD",
    ControllerStatus.TRACKING: "TRACKING",
    ControllerStatus.CONSERVATIVE: "CONSERVATIVE",
    ControllerStatus.FAULT: "FAULT",
}


MAX_POINTS = 10_000
"""Most points of a cloud that are drawn."""

POINT = 12
"""Bytes of a particle: x, y, z as float32."""


class Listener:
    """Keeps a snapshot up to date with what is heard.

    Attributes:
        now: The snapshot.
        limit: Force limit where nothing touches [N]; what the controller says of contacts goes
            before it.
    """

    def __init__(
        self,
        links: Collection[str],
        fingers: Collection[str],
        movable: Collection[str],
        limit: float,
    ) -> None:
        """Begin with an empty snapshot.

        Args:
            links: Those of the robot; what a sender calls otherwise is not shown by its name.
            fingers: Those of them that hold objects.
            movable: Objects that they may hold: this is no contact with the environment.
            limit: Force limit where nothing touches [N].
        """
        self.now, self.limit = PageState(force_limit=limit), limit
        self._links, self._fingers, self._movable = links, fingers, movable

    def hear(self, topic: str, message: Any) -> None:
        """Take a message of one of the topics :attr:`TOPICS`.

        Args:
            topic: Its topic, without the robot's namespace.
            message: The message.

        Raises:
            MessageError: If it cannot be used.
        """
        self.TOPICS[topic](self, message)

    def _joints(self, message: Any) -> None:
        self.move(named_numbers(message.name, message.position, "position", MAX_POSITION))

    def move(self, positions: Mapping[str, float]) -> None:
        """Move joints.

        Args:
            positions: Joint name -> position [rad or m].

        Raises:
            MessageError: If these are more names than any robot has.
        """
        joints = {**self.now.joints, **positions}
        at_most(joints, MAX_NAMES, "joints")
        self.now.joints = joints

    def _objects(self, message: Any) -> None:
        self.now.objects = {
            frame.child_frame_id: (
                vector(frame.transform.translation, "translation", MAX_POSITION),
                numbers(quaternion_to_array(frame.transform.rotation).tolist(), "rotation", 1.01),
            )
            for frame in message.transforms
        }

    def _true_contacts(self, message: Any) -> None:
        contacts = [
            contact
            for contact in message.contacts
            if contact.link not in self._fingers or contact.other not in self._movable
        ]
        self.now.true_points, self.now.true_forces = _points_and_forces(contacts)

    def _estimated_contacts(self, message: Any) -> None:
        contacts = message.contacts
        self.now.estimated_points, self.now.estimated_forces = _points_and_forces(contacts)
        self.now.estimated_normals = [vector(c.normal, "normal", 1.01) for c in contacts]
        # Recordings may be older than this field: they prove nothing.
        least = number(getattr(message, "least_force", 0.0), "least_force", 0.0, MAX_FORCE)
        self.now.felt = []
        for contact, force in zip(contacts, self.now.estimated_forces, strict=True):
            size, known = float(np.linalg.norm(force)), contact.identifiable or contact.same_wrench
            if not known:  # of its force only what the torques prove
                force *= min(1.0, least / max(size, 1e-9))
                size = min(size, least)
            felt = f"feels {'' if known else 'at least '}{size:.1f} N"
            self.now.felt.append(f"{felt} at {self._called(contact.link)}{_where(contact)}")

    def _particles(self, message: Any) -> None:
        count = message.width * message.height
        if (
            message.point_step != POINT
            or not count * POINT == len(message.data) <= MAX_POINTS * POINT
        ):
            raise MessageError(
                f"{count} points of {message.point_step} bytes in {len(message.data)} "
                f"(valid: at most {MAX_POINTS} of {POINT})"
            )
        points = np.frombuffer(bytes(message.data), "<f4").reshape(-1, 3)
        if not (np.abs(points) <= MAX_POSITION).all():
            raise MessageError(f"points are not within {MAX_POSITION:g} m")
        self.now.particles = points

    def _called(self, link: str) -> str:
        """Return a link's name as it is shown; a sender may call it anything."""
        return link if link in self._links else "a link that this robot does not have"

    def _status(self, message: Any) -> None:
        if message.mode not in MODES:
            raise MessageError(f"mode is {message.mode} ({choices(MODES)})")
        limits = numbers(message.force_limit, "force_limit", MAX_FORCE)
        self.now.force_limit = max(limits.tolist(), default=self.limit)
        self.now.position_error = _error(message, "position_error")
        self.now.rotation_error = _error(message, "rotation_error")
        self.now.state = MODES[message.mode]
        self.now.status = "" if message.status == ControllerStatus.OK else message.status_name
        self.now.remedy = message.remedy
        at_most(message.joint_command, MAX_NAMES, "joint_command")
        command = numbers(message.joint_command, "joint_command", MAX_POSITION)
        self.now.command = command.tolist()

    TOPICS: ClassVar[Mapping[str, Callable[[Listener, Any], None]]] = {
        "truth/joint_states": _joints,
        "joint_states": _joints,
        "gripper/joint_states": _joints,
        "truth/objects": _objects,
        "truth/contacts": _true_contacts,
        "contacts": _estimated_contacts,
        "contact_particles": _particles,
        "controller_status": _status,
    }
    """Topic -> what takes its messages."""


def _points_and_forces(contacts: Sequence[Any]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    at_most(contacts, MAX_NAMES, "contacts")
    return (
        [vector(contact.point, "point", MAX_POSITION) for contact in contacts],
        [vector(contact.force, "force", MAX_FORCE) for contact in contacts],
    )


def _where(contact: Any) -> str:
    """Return how exactly the place of a contact is known, in words."""
    if contact.identifiable:
        entries = numbers(contact.point_covariance, "point_covariance", MAX_POSITION**2)
        return f", within {math.ceil(100.0 * within(entries.reshape(3, 3)))} cm"
    return ", somewhere on the arrow's line" if contact.same_wrench else ", or elsewhere"


def _error(message: Any, field: str) -> float:
    """Return an error of the status, NaN where there is no reference."""
    value = float(getattr(message, field))
    return value if math.isnan(value) else number(value, field, 0.0, MAX_POSITION)


OVER = 0.5
"""After how long without news the motion has ended [s]."""
TOLERANCE, STEPS = 1e-3, 20
"""Of the arm that is drawn at a pose of the tool [m, rad], and how hard it is sought."""


class ShownReference:
    """The latest reference, of a pose of the tool or of the joints."""

    def __init__(self, robot: RobotDescription) -> None:
        """Begin without one.

        Args:
            robot: The arm.
        """
        self._joints = robot.arm_joints
        self._search = InverseKinematics(
            Robot.from_description(robot),
            position_tolerance=TOLERANCE,
            rotation_tolerance=TOLERANCE,
            iterations=STEPS,
        )
        self._latest: pin.SE3 | dict[str, float] | None = None
        self._heard = -np.inf

    def hear(self, topic: str, message: Any) -> None:
        """Take the feedback of an action.

        Args:
            topic: Where it comes from.
            message: The message.

        Raises:
            MessageError: If it cannot be used.
        """
        desired = message.feedback.desired
        if topic.startswith("follow_pose"):
            xyz = vector(desired.position, "desired.position", MAX_POSITION)
            values = quaternion_to_array(desired.orientation).tolist()
            turn = pin.Quaternion(numbers(values, "desired.orientation", 1.01))
            self._latest = pin.SE3(turn.normalized().matrix(), xyz)
        else:
            names, values = message.feedback.joint_names, desired.positions
            self._latest = named_numbers(names, values, "desired.positions", MAX_POSITION)
        self._heard = time.monotonic()

    def arm(self, joints: Mapping[str, float]) -> Sequence[float]:
        """Return joint positions (n) of the reference [rad], by our names; empty without one.

        Args:
            joints: Where the robot is now; of all arms with that pose of the tool, one near it.
        """
        if time.monotonic() - self._heard > OVER or self._latest is None:
            return ()
        if isinstance(self._latest, pin.SE3):
            start = np.array([joints.get(name, 0.0) for name in self._joints])
            positions: list[float] = self._search.solve(self._latest, start).q.tolist()
            return positions
        # Drivers may call the joints otherwise, but count them from the base as we do.
        return [
            self._latest.get(name, value)
            for name, value in zip(self._joints, self._latest.values(), strict=False)
        ]
