"""Moves by touch, skills, and hand guiding: a hand pushes the simulated arm meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from client import GraphClient, shared_graph
from contact_stack_msgs.action import CompliantMove, GuardedMove, HandGuide, Insert, Wipe
from contact_stack_msgs.srv import Reset
from faults import ask_until_granted
from geometry_msgs.msg import Vector3
from rclpy.action import ActionClient
from std_srvs.srv import Trigger

from contact_aware_control.reference import JointTrajectory
from contact_core.base.errors import CommunicationError
from contact_core.robot.description import RobotDescription
from contact_stack.calibrate.recording import ignore, record_on_graph

pytestmark = pytest.mark.graph


@pytest.fixture(scope="module")
def arm(driver: str) -> Iterator[GraphClient]:
    """In lock-step: on a busy machine a hand pushes for as long as on another one."""
    with shared_graph(driver, gripper=False, scene="insert_dowel", lockstep="true") as client:
        yield client


class Hand:
    """Runs an action while a hand pushes the tool for a while."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._push = client.node.create_publisher(Vector3, "tamsi_sim/push", 1)

    def leads(self, action: Any, name: str, goal: Any, push: Vector3 | None) -> tuple[Any, Any]:
        """Return the last feedback, of while the hand pushes if it does, and the result."""
        feedback: list[Any] = []
        server = ActionClient(self._client.node, action, name)
        assert server.wait_for_server(10.0)
        ask_until_granted(self._client, "resume")
        sent = server.send_goal_async(goal, lambda message: feedback.append(message.feedback))
        self._client.spin_until(sent.done)
        ended = sent.result().get_result_async()
        if push is not None:
            self._push.publish(push)
            self._client.wait_simulated(1.2)
            self._push.publish(Vector3())
            led = feedback[-1] if feedback else None
            self._client.spin_until(ended.done)
            return led, ended.result().result
        try:
            self._client.spin_until(ended.done, 200.0)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {feedback[-1:]}") from None
        return feedback[-1] if feedback else None, ended.result().result


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_a_hand_bends_a_spring_and_leads_the_arm(arm: GraphClient, driver: str) -> None:
    client, hand = arm, Hand(arm)
    names = client.latest("truth/joint_states").name

    soft = CompliantMove.Goal(compliance=Vector3(x=0.002, y=0.002), duration=2.5)
    bent, released = hand.leads(CompliantMove, "compliant_move", soft, Vector3(y=12.0))
    assert released.error_code == CompliantMove.Result.SUCCESSFUL, released.error_string
    assert -14.0 < bent.force.y < -9.0
    assert 0.01 < bent.offset.y < 0.025
    assert abs(released.offset.y) < 0.5 * bent.offset.y

    stiff = CompliantMove.Goal(force=Vector3(z=-5.0), duration=1.0)
    _, refused = hand.leads(CompliantMove, "compliant_move", stiff, None)
    assert refused.error_code == CompliantMove.Result.INVALID_GOAL
    assert "compliance" in refused.error_string

    first = [name for name in names if name.endswith("A1")]
    start = client.latest("truth/joint_states").position
    guide = HandGuide.Goal(joints=first, duration=2.0)
    _, left = hand.leads(HandGuide, "hand_guide", guide, Vector3(y=20.0))
    assert left.error_code == HandGuide.Result.SUCCESSFUL
    turned = {
        name: position - start[names.index(name)]
        for name, position in zip(left.joint_names, left.positions, strict=True)
    }
    assert turned.pop(first[0]) > 0.05
    assert max(map(abs, turned.values())) < 0.02

    wrong = HandGuide.Goal(joints=["elbow"])
    _, refused = hand.leads(HandGuide, "hand_guide", wrong, None)
    assert refused.error_code == HandGuide.Result.INVALID_JOINTS


@pytest.fixture
def move(arm: GraphClient) -> Callable[..., Any]:
    """Ask for a guarded move upwards; meanwhile something may be done."""
    client = arm
    action = ActionClient(client.node, GuardedMove, "guarded_move")
    assert action.wait_for_server(10.0)
    ask_until_granted(client, "resume")

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
def test_another_robot_is_not_calibrated(arm: GraphClient, driver: str) -> None:
    """It moved by the masses of another one, and was calibrated to them."""

    def moved(start: np.ndarray) -> JointTrajectory:
        raise AssertionError("it would have moved")

    other = RobotDescription.load("iiwa14")
    with pytest.raises(CommunicationError, match=r"means robot iiwa14_dowel .* means iiwa14 "):
        record_on_graph(driver, other, "lbr", moved, ignore)


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_it_ends_at_a_hand_or_at_its_distance(move: Any, arm: GraphClient, driver: str) -> None:
    client = arm
    free = move()
    assert (free.error_code, free.touched) == (0, False), free.error_string
    assert free.distance == pytest.approx(0.04, abs=5e-3)
    assert np.isnan(free.surface.z)
    missed = move(distance=0.01, must_touch=True)
    assert missed.error_code == GuardedMove.Result.NOT_TOUCHED
    assert "nothing pushed back with 10 N within 0.0" in missed.error_string
    refused = move(distance=-1.0)
    assert refused.error_code == GuardedMove.Result.INVALID_GOAL
    assert np.isnan([refused.surface.z, refused.contact.z]).all()

    hand = client.node.create_publisher(Vector3, "tamsi_sim/push", 1)

    def press() -> None:
        client.wait_simulated(0.5)
        hand.publish(Vector3(z=-15.0))

    met = move(press, distance=0.3)
    hand.publish(Vector3())
    assert (met.error_code, met.touched) == (GuardedMove.Result.SUCCESSFUL, True)
    assert 10.0 <= met.force < 20.0
    assert met.distance < 0.2

    # What is wrong with a goal is said even where the arm would not move.
    hold = client.node.create_client(Trigger, "contact_aware_controller/hold")
    assert hold.wait_for_service(10.0)
    held = hold.call_async(Trigger.Request())
    client.spin_until(held.done)
    refused = move(force=-1.0)
    assert refused.error_code == GuardedMove.Result.INVALID_GOAL
    assert "force" in refused.error_string
    held_back = move()
    assert held_back.error_code == GuardedMove.Result.INVALID_GOAL
    assert "call resume" in held_back.error_string


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_a_dowel_is_inserted_and_a_surface_is_wiped(arm: GraphClient, driver: str) -> None:
    hand = Hand(arm)
    assert arm.call(Reset, "tamsi_sim/reset", Reset.Request()).success
    arm.wait_simulated(0.5)  # until it is held where it has jumped to
    ask_until_granted(arm, "resume")
    arm.wait_until_ready(gripper=False)

    asked: dict[str, Any] = {"speed": 0.05, "distance": 0.06, "force": 15.0}
    down = Vector3(z=-1.0)
    wipe = Wipe.Goal(**asked, direction=down, lift=0.03)
    # Away from the hole and back.
    wipe.path = [Vector3(y=-0.02), Vector3()]
    feedback, wiped = hand.leads(Wipe, "wipe", wipe, None)
    assert (wiped.error_code, wiped.error_string) == (Wipe.Result.SUCCESSFUL, "")
    assert wiped.wiped == pytest.approx(0.04)
    assert feedback.phase in ("approach", "wipe", "lift")

    wipe.distance, wipe.direction = 0.01, Vector3(z=1.0)
    _, missed = hand.leads(Wipe, "wipe", wipe, None)
    assert missed.error_code == Wipe.Result.NOT_TOUCHED
    wipe.path = []
    _, refused = hand.leads(Wipe, "wipe", wipe, None)
    assert refused.error_code == Wipe.Result.INVALID_GOAL
    assert "corners" in refused.error_string

    insert = Insert.Goal(**asked, direction=down, diameter=0.019, radius=0.012, depth=0.015)
    _, inserted = hand.leads(Insert, "insert", insert, None)
    assert (inserted.error_code, inserted.error_string) == (Insert.Result.SUCCESSFUL, "")
    assert inserted.depth == pytest.approx(0.015, abs=3e-3)
    assert np.hypot(inserted.tip.x - 0.622, inserted.tip.y - 0.003) < 3e-3

    insert.diameter = 0.0
    _, refused = hand.leads(Insert, "insert", insert, None)
    assert refused.error_code == Insert.Result.INVALID_GOAL
    assert "diameter" in refused.error_string
