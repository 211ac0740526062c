"""A contact message becomes contacts, or is rejected as a whole."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from contact_stack_msgs.msg import Contact, ContactArray, ContactMode
from geometry_msgs.msg import Point, Vector3
from rclpy.serialization import deserialize_message, serialize_message

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.contact import ContactMode as Mode
from contact_aware_control.estimation.base import EstimatorOutput, EstimatorStatus
from contact_aware_control.node import messages
from contact_aware_control.node.messages import MAX_CONTACTS, ContactsMessage, from_message
from contact_core.base.errors import ContactStackError
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.validation import MessageError


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.from_description(RobotDescription.load("iiwa14_wsg50"))


def contact(**changes: Any) -> Contact:
    return Contact(link="lbr_link_6", residual=0.5, **changes)


def test_a_contact_is_taken_over(robot: Robot) -> None:
    message = ContactArray(contacts=[contact(force=Vector3(x=1.0, y=2.0, z=3.0))])
    (found,) = from_message(message, robot, 0).contacts
    assert found.residual == 0.25
    np.testing.assert_array_equal(found.force_world, [1.0, 2.0, 3.0])


BAD = {
    "residual": 1e308,
    "spread": -1.0,
    "effective_sample_size": float("inf"),
    "force": Vector3(x=1e300),
    "normal": Vector3(z=7.0),
    "point": Point(x=float("nan")),
    "point_link": Point(y=1e200),
    "point_covariance": [1e308] * 9,
    "force_covariance": [float("nan")] * 9,
    "age": Duration(sec=-5),
    "modes": [ContactMode(weight=1e300)],
    "link": "elbow",
}


@pytest.mark.parametrize("field", BAD)
def test_an_absurd_number_rejects_the_message(robot: Robot, field: str) -> None:
    message = ContactArray(contacts=[contact(), contact()])
    setattr(message.contacts[1], field, BAD[field])
    with pytest.raises(ContactStackError, match=field.split("_")[0].removesuffix("s")):
        from_message(message, robot, 0)


def test_too_many_contacts_are_rejected_before_any_is_read(
    robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2000 of them cost the controller 169 ms in every tick."""
    most = ContactArray(contacts=[contact()] * MAX_CONTACTS)
    assert len(from_message(most, robot, 0).contacts) == 16
    message = ContactArray(contacts=[contact()] * 2000)
    with pytest.raises(MessageError, match="modes has 65 entries"):
        from_message(ContactArray(contacts=[contact(modes=[ContactMode()] * 65)]), robot, 0)
    monkeypatch.delattr(messages, "_from_contact")
    with pytest.raises(MessageError, match="contacts has 2000 entries"):
        from_message(message, robot, 0)


def output(robot: Robot, *contacts: ContactEstimate) -> EstimatorOutput:
    torque = np.arange(float(robot.n))
    return EstimatorOutput(
        2_500_000_001,
        EstimatorStatus.CONTACT,
        contacts,
        torque,
        torque,
        residual=4.0,
        load=0.5,
        least_force=3.0,
    )


def test_what_was_found_arrives_and_nothing_of_what_was_found_before(robot: Robot) -> None:
    robot.update(np.full(robot.n, 0.1))
    rng = np.random.default_rng(0)
    one, other = (
        replace(
            ContactEstimate.known(robot, link, rng.normal(size=3), rng.normal(size=3)),
            number=number,
            age=0.25 * number,
            point_covariance=np.outer(*rng.normal(size=(2, 3))),
            modes=tuple(Mode(link, rng.normal(size=3), 0.5) for _ in range(number)),
            same_wrench=number > 1,
        )
        for number, link in ((1, "lbr_link_6"), (2, "lbr_link_4"))
    )
    message = ContactsMessage("base")
    for found in ((one,), (other, one), (one,), ()):
        sent = message.fill(output(robot, *found))
        report = from_message(deserialize_message(serialize_message(sent), ContactArray), robot, 7)
        assert (sent.header.stamp.sec, sent.header.stamp.nanosec) == (2, 500_000_001)
        assert (sent.header.frame_id, sent.residual, sent.undeclared_load) == ("base", 2.0, 0.5)
        assert sent.least_force == 3.0
        np.testing.assert_array_equal(report.free_torque, np.arange(7.0))
        for got, put in zip(report.contacts, found, strict=True):
            for field in fields(ContactEstimate):
                a, b = getattr(got, field.name), getattr(put, field.name)
                if field.name == "modes":
                    a, b = ([(m.link, *m.point_world, m.weight) for m in modes] for modes in (a, b))
                np.testing.assert_array_equal(a, b, err_msg=field.name)


def test_a_force_of_which_nothing_is_known_is_told_all_the_same(robot: Robot) -> None:
    """Else the controller would refuse the whole message, and hear of no contact."""
    point = np.zeros(3)
    contact = replace(
        ContactEstimate.known(robot, "lbr_link_6", point, np.ones(3)),
        force_covariance=np.diag([1e12, 4.0, 1.0]),
        point_covariance=np.diag([1e9, 0.0, 0.0]),
    )
    report = from_message(ContactsMessage("base").fill(output(robot, contact)), robot, 7)
    (told,) = report.contacts
    np.testing.assert_allclose(told.force_covariance, np.diag([1e10, 0.04, 0.01]))
    assert np.isfinite(told.point_covariance).all()
