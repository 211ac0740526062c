"""Conversion between contact estimates and messages."""

from __future__ import annotations

import math
from array import array

import numpy as np
from contact_stack_msgs.msg import Contact, ContactArray
from contact_stack_msgs.msg import ContactMode as ContactModeMessage
from contact_stack_msgs.srv import SetPayload
from geometry_msgs.msg import Point, Vector3
from shape_msgs.msg import SolidPrimitive

from contact_aware_control.contact import ContactEstimate, ContactMode, ContactReport
from contact_aware_control.estimation.base import EstimatorOutput, EstimatorStatus
from contact_aware_control.estimation.tare import TareStatus
from contact_aware_control.estimation.tool_surface import MAX_HELD_SHAPES
from contact_core.multibody.collision.shapes import PlacedShape, Shape, ShapeKind
from contact_core.robot.robot import HELD_OBJECT, Robot
from contact_ros.geometry import checked_pose
from contact_ros.stamps import NANOSECONDS, to_nanoseconds
from contact_ros.validation import (
    MAX_FORCE,
    MAX_POSITION,
    MessageError,
    at_most,
    number,
    numbers,
    vector,
)

MAX_CONTACTS = 16
"""Most contacts of a message, which is rejected as a whole with more: each costs the tick time,
and who reports so many on one arm is not to be trusted with any. The estimator finds two."""

MAX_MODES = 64
"""Most places where one contact may be as well."""

MAX_SAMPLES = 1e9
"""Largest plausible effective sample size."""

MAX_NORMAL = 1.01
"""Largest component of a normal, which is a unit vector."""

HEAVIEST = 100.0
"""Largest mass on the arm that is believed, with either sign [kg]."""

MAX_HELD_SIZE = 2.0
"""Largest distance and length of a held object that are believed [m]."""

STATES = {
    EstimatorStatus.FREE: ContactArray.FREE,
    EstimatorStatus.CONTACT: ContactArray.CONVERGED,
    EstimatorStatus.CONVERGING: ContactArray.SEARCHING,
    EstimatorStatus.NOT_IDENTIFIABLE: ContactArray.UNIDENTIFIABLE,
    EstimatorStatus.AMBIGUOUS: ContactArray.AMBIGUOUS,
}


class ContactsMessage:
    """What the estimator found, as one message that is filled anew with every output.

    To make a message takes several times as long as to fill it: most fields are messages.
    """

    def __init__(self, frame: str) -> None:
        """Begin without contacts.

        Args:
            frame: Name of the world frame.
        """
        self._message = ContactArray()
        self._message.header.frame_id = frame
        self._contacts: list[tuple[Contact, list[ContactModeMessage]]] = []

    def fill(self, output: EstimatorOutput) -> ContactArray:
        """Convert an output.

        Args:
            output: What was found; not a rejected one.

        Returns:
            The message, which is the same one every time.
        """
        message, found = self._message, output.contacts
        stamp, tared = message.header.stamp, output.tare is TareStatus.DONE
        stamp.sec, stamp.nanosec = divmod(output.stamp_ns, NANOSECONDS)
        while len(self._contacts) < len(found):
            self._contacts.append((Contact(), []))
        for (own, modes), contact in zip(self._contacts, found, strict=False):
            _fill(own, modes, contact)
        message.contacts = [own for own, _ in self._contacts[: len(found)]]
        message.state = STATES[output.status] if tared else ContactArray.UNTARED
        message.external_torque_free = array("d", output.torque.tobytes())
        message.least_force = output.least_force
        message.residual = math.sqrt(output.residual)
        message.calibrated = output.calibrated
        message.undeclared_load = output.load
        return message


def from_message(message: ContactArray, robot: Robot, stamp: int) -> ContactReport:
    """Convert a message for the controller.

    Args:
        message: The message.
        robot: The arm.
        stamp: What to stamp the report with [ns].

    Returns:
        The report.

    Raises:
        MessageError: If there are too many contacts, or a number is not plausible.
        ModelError: If a contact is on a link that the robot does not have.
    """
    at_most(message.contacts, MAX_CONTACTS, "contacts")
    contacts = tuple(_from_contact(contact, robot) for contact in message.contacts)
    told = len(message.external_torque_free) == robot.n
    free_torque = (
        numbers(message.external_torque_free, "external_torque_free", MAX_FORCE) if told else None
    )
    load = number(message.undeclared_load, "undeclared_load", -HEAVIEST, HEAVIEST)
    return ContactReport(stamp, contacts, free_torque, message.calibrated, load)


def held_shapes(request: SetPayload.Request) -> tuple[PlacedShape, ...]:
    """Convert what a request says of where a held object may be touched.

    Args:
        request: The request.

    Returns:
        The shapes, in the frame of the tool.

    Raises:
        MessageError: If there are too many, not as many poses, or one is of another kind.
    """
    shapes, poses = request.shapes, request.shape_poses
    at_most(shapes, MAX_HELD_SHAPES, "shapes")
    if len(shapes) != len(poses):
        raise MessageError(f"{len(poses)} shape_poses for {len(shapes)} shapes")
    pairs = zip(shapes, poses, strict=True)
    return tuple(
        PlacedShape("held", HELD_OBJECT, _shape(s), checked_pose(p, "a shape", MAX_HELD_SIZE))
        for s, p in pairs
    )


def _shape(message: SolidPrimitive) -> Shape:
    sizes = numbers(message.dimensions, "dimensions [m]", MAX_HELD_SIZE).tolist()
    match message.type, sizes:
        case SolidPrimitive.BOX, [x, y, z]:
            return Shape(ShapeKind.BOX, (0.5 * x, 0.5 * y, 0.5 * z))
        case SolidPrimitive.SPHERE, [radius]:
            return Shape(ShapeKind.SPHERE, (radius, 0.0, 0.0))
        case SolidPrimitive.CYLINDER, [height, radius]:
            return Shape(ShapeKind.CYLINDER, (radius, 0.5 * height, 0.0))
    raise MessageError(
        f"a shape has type {message.type} and {len(sizes)} dimensions (valid: BOX and 3, SPHERE "
        "and 1, CYLINDER and 2)"
    )


def _fill(message: Contact, modes: list[ContactModeMessage], contact: ContactEstimate) -> None:
    """Write a contact into a message, and its modes into messages of which more are made."""
    while len(modes) < len(contact.modes):
        modes.append(ContactModeMessage())
    for own, mode in zip(modes, contact.modes, strict=False):
        own.link, own.weight = mode.link, mode.weight
        _set(own.point, mode.point_world)
    message.modes = modes[: len(contact.modes)]
    message.id, message.link = contact.number, contact.link
    _set(message.point, contact.point_world)
    _set(message.point_link, contact.point_link)
    _set(message.normal, contact.normal_world)
    _set(message.force, contact.force_world)
    message.point_covariance[:] = _bounded(contact.point_covariance, MAX_POSITION)
    message.force_covariance[:] = _bounded(contact.force_covariance, MAX_FORCE)
    message.residual = math.sqrt(contact.residual)
    message.effective_sample_size = contact.effective_sample_size
    message.spread = contact.spread
    message.identifiable = contact.identifiable
    message.same_wrench = contact.same_wrench
    message.ambiguous = contact.ambiguous
    age = message.age
    age.sec, age.nanosec = divmod(round(contact.age * NANOSECONDS), NANOSECONDS)


def _bounded(covariance: np.ndarray, largest: float) -> np.ndarray:
    """Return the entries (9) of a covariance, scaled to what :func:`_covariance` takes."""
    excess = np.abs(covariance).max() / largest**2
    entries: np.ndarray = covariance.ravel() / max(excess, 1.0)
    return entries


def _set(message: Point | Vector3, values: np.ndarray) -> None:
    message.x, message.y, message.z = values.tolist()


def _from_contact(message: Contact, robot: Robot) -> ContactEstimate:
    at_most(message.modes, MAX_MODES, "modes")
    return ContactEstimate(
        number=message.id,
        link=message.link,
        joints_moving=robot.joints_moving(message.link),
        point_world=vector(message.point, "point", MAX_POSITION),
        point_link=vector(message.point_link, "point_link", MAX_POSITION),
        normal_world=vector(message.normal, "normal", MAX_NORMAL),
        force_world=vector(message.force, "force", MAX_FORCE),
        point_covariance=_covariance(message, "point_covariance", MAX_POSITION),
        force_covariance=_covariance(message, "force_covariance", MAX_FORCE),
        residual=number(message.residual, "residual", 0.0, MAX_FORCE) ** 2,
        effective_sample_size=number(
            message.effective_sample_size, "effective_sample_size", 0.0, MAX_SAMPLES
        ),
        spread=number(message.spread, "spread", 0.0, MAX_POSITION),
        identifiable=message.identifiable,
        same_wrench=message.same_wrench,
        ambiguous=message.ambiguous,
        age=number(to_nanoseconds(message.age) / NANOSECONDS, "age", 0.0, math.inf),
        modes=tuple(
            ContactMode(
                mode.link,
                vector(mode.point, "point of a mode", MAX_POSITION),
                number(mode.weight, "weight of a mode", 0.0, MAX_SAMPLES),
            )
            for mode in message.modes
        ),
    )


def _covariance(message: Contact, field: str, largest: float) -> np.ndarray:
    """Return a covariance (3, 3) of numbers that are at most so large."""
    return numbers(getattr(message, field).tolist(), field, largest**2).reshape(3, 3)
