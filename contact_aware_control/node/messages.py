"""Conversion between contact estimates and messages."""

from __future__ import annotations

import numpy as np
from contact_stack_msgs.msg import Contact, ContactArray
from contact_stack_msgs.msg import ContactMode as ContactModeMessage

from contact_aware_control.contact import ContactEstimate, ContactMode, ContactReport
from contact_aware_control.estimation.estimator import EstimatorOutput, EstimatorStatus
from contact_aware_control.estimation.tare import TareStatus
from contact_core.robot import Robot
from contact_ros.geometry import to_array, to_point, to_vector
from contact_ros.stamps import NANOSECONDS, to_duration, to_nanoseconds, to_time

STATES = {
    EstimatorStatus.FREE: ContactArray.FREE,
    EstimatorStatus.CONTACT: ContactArray.CONVERGED,
    EstimatorStatus.CONVERGING: ContactArray.SEARCHING,
    EstimatorStatus.NOT_IDENTIFIABLE: ContactArray.UNIDENTIFIABLE,
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
        ModelError: If a contact is on a link that the robot does not have.
    """
    contacts = tuple(_from_contact(contact, robot) for contact in message.contacts)
    told = len(message.external_torque_free) == robot.n
    free_torque = np.array(message.external_torque_free) if told else None
    return ContactReport(stamp, contacts, free_torque)


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
        age=to_duration(round(contact.age * NANOSECONDS)),
        modes=[
            ContactModeMessage(link=mode.link, point=to_point(mode.point_world), weight=mode.weight)
            for mode in contact.modes
        ],
    )


def _from_contact(message: Contact, robot: Robot) -> ContactEstimate:
    return ContactEstimate(
        number=message.id,
        link=message.link,
        joints_moving=robot.joints_moving(message.link),
        point_world=to_array(message.point),
        point_link=to_array(message.point_link),
        normal_world=to_array(message.normal),
        force_world=to_array(message.force),
        point_covariance=np.array(message.point_covariance).reshape(3, 3),
        force_covariance=np.array(message.force_covariance).reshape(3, 3),
        residual=message.residual**2,
        effective_sample_size=message.effective_sample_size,
        spread=message.spread,
        identifiable=message.identifiable,
        age=to_nanoseconds(message.age) / NANOSECONDS,
        modes=tuple(
            ContactMode(mode.link, to_array(mode.point), mode.weight) for mode in message.modes
        ),
    )
