"""A guarded move ends where something pushes back, or where it may go no further."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contact_stack_msgs.action import GuardedMove
from geometry_msgs.msg import Vector3
from rclpy.action import ActionClient

from contact_stack.launch import NodeGraph

pytestmark = pytest.mark.graph


@pytest.fixture
def move(launch: Callable[..., NodeGraph], client: Any) -> Callable[..., Any]:
    """Ask for a guarded move upwards; meanwhile something may be done."""
    launch(held_mass="0.1")
    client.wait_until_ready()
    action = ActionClient(client.node, GuardedMove, "guarded_move")
    assert action.wait_for_server(10.0)

    def ask(meanwhile: Callable[[], Any] = lambda: None, **values: Any) -> Any:
        goal = GuardedMove.Goal(**{"speed": 0.02, "distance": 0.04, "force": 10.0, **values})
        goal.direction.z = 1.0
        sent = action.send_goal_async(goal)
        client.spin_until(sent.done)
        ended = sent.result().get_result_async()
        meanwhile()
        client.spin_until(ended.done)
        return ended.result().result

    return ask


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_it_ends_at_a_hand_or_at_its_distance(move: Any, client: Any, driver: str) -> None:
    free = move()
    assert (free.error_code, free.touched) == (GuardedMove.Result.SUCCESSFUL, False)
    assert free.distance == pytest.approx(0.04, abs=5e-3)
    assert np.isnan(free.surface.z)

    hand = client.node.create_publisher(Vector3, "tamsi_sim/push", 1)

    def press() -> None:
        client.spin_for(0.5)
        hand.publish(Vector3(z=-15.0))

    met = move(press, distance=0.3)
    hand.publish(Vector3())
    assert (met.error_code, met.touched) == (GuardedMove.Result.SUCCESSFUL, True)
    assert 10.0 <= met.force < 20.0
    assert met.distance < 0.2

    refused = move(force=-1.0)
    assert refused.error_code == GuardedMove.Result.INVALID_GOAL
    assert "force" in refused.error_string
