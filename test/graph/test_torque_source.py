"""The estimator finds contacts from joint torques alone, by the momentum observer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from client import GraphClient
from contact_stack_msgs.msg import Contact
from faults import goal_down

from contact_stack.launch import NodeGraph

pytestmark = pytest.mark.graph


@pytest.mark.parametrize(
    "driver", [pytest.param("lbr_fri", marks=pytest.mark.verify), "ros2_control"]
)
def test_the_wrist_is_found_on_the_table(
    launch: Callable[..., NodeGraph], client: GraphClient, driver: str
) -> None:
    # In lock-step, where a busy machine makes nothing late: halves of states that get lost are
    # rejected, and the observer needs every one.
    launch(held_mass="0.1", driver=driver, torque_source="momentum_observer", lockstep="true")
    client.wait_until_ready()
    client.send(client.pose, goal_down(client, 0.2, 3.0))

    def located() -> Contact | None:
        found = client.latest("contacts").contacts
        settled = found and found[0].identifiable and _age(found[0]) > 0.3
        return found[0] if settled else None

    estimate = client.spin_until(located)
    true = client.latest("truth/contacts").contacts[0]
    assert estimate.link == true.link == "lbr_link_6"
    difference = _array(estimate.point) - _array(true.point)
    assert np.linalg.norm(difference) < 0.03


def _array(vector: Any) -> np.ndarray:
    return np.array([vector.x, vector.y, vector.z])


def _age(contact: Contact) -> float:
    return contact.age.sec + 1e-9 * contact.age.nanosec
