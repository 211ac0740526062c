"""Conversion between contact estimates and messages."""

from __future__ import annotations

import math

import numpy as np
from contact_stack_msgs.msg import Contact, ContactArray
from contact_stack_msgs.msg import ContactMode as ContactModeMessage
from contact_stack_msgs.srv import SetPayload
from shape_msgs.msg import SolidPrimitive

from contact_aware_control.contact import ContactEstimate, ContactMode, ContactReport
from contact_aware_control.estimation.base import EstimatorOutput, EstimatorStatus
from contact_aware_control.estimation.tare import TareStatus
from contact_aware_control.estimation.tool_surface import MAX_HELD_SHAPES
from contact_core.multibody.collision.shapes import PlacedShape, Shape, ShapeKind
from contact_core.robot.robot import HELD_OBJECT, Robot
from contact_ros.geometry import checked_pose, to_point, to_vector
from contact_ros.stamps import NANOSECONDS, to_duration, to_nanoseconds, to_time
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


def to_message(output: EstimatorOutput, frame: str) -> ContactArray:
    """Convert what the estimator found.

    Args:
        output: Its output; not a rejected one.
        frame: Name of the world frame.

    Returns:
        The message.
    """
    tared = output.tare is TareStatus.DONE
    message = ContactArray(
        contacts=[_to_contact(contact) for contact in output.contacts],
        state=STATES[output.status] if tared else ContactArray.UNTARED,
        external_torque_free=output.torque,
        residual=float(np.sqrt(output.residual)),
        calibrated=output.calibrated,
        undeclared_load=output.load,
    )
    message.header.stamp = to_time(output.stamp_ns)
    message.header.frame_id = frame
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


def _to_contact(contact: ContactEstimate) -> Contact:
    return Contact(
        id=contact.number,
        link=contact.link,
        point=to_point(contact.point_world),
        point_link=to_point(contact.point_link),
        normal=to_vector(contact.normal_world),
        force=to_vector(contact.force_world),
        point_covariance=contact.point_covariance.ravel(),
        force_covariance=contact.force_covariance.ravel(),
        residual=float(np.sqrt(contact.residual)),
        effective_sample_size=contact.effective_sample_size,
        spread=contact.spread,
        identifiable=contact.identifiable,
        same_wrench=contact.same_wrench,
        ambiguous=contact.ambiguous,
        age=to_duration(round(contact.age * NANOSECONDS)),
        modes=[
            ContactModeMessage(link=mode.link, point=to_point(mode.point_world), weight=mode.weight)
            for mode in contact.modes
        ],
    )


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
