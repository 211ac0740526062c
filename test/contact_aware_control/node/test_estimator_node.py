"""The estimator's node hears where the fingers are and what they hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from contact_stack_msgs.msg import Contact, ContactArray
from contact_stack_msgs.srv import SetPayload
from geometry_msgs.msg import Point, Pose
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive

from contact_aware_control.node.estimator import EstimatorNode
from contact_core.base.errors import ConfigError
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import HELD_OBJECT
from contact_ros.diagnostics import Level
from contact_ros.driver_profile import DriverConfig, driver_profile
from contact_ros.entry_point import LAUNCHED
from contact_ros.geometry import to_array

Q = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 1.0, 0.5])
OPEN = 0.04
FINGERS = ("finger_left", "finger_right")
BETWEEN_OPEN_FINGERS = np.array([0.0, 0.01, 0.02])
"""In the tool frame [m]: where a table presses on their tips, 2 cm before the palm's middle."""
WEIGHT = 1.0
"""Of what is held [kg]."""
MUG = SolidPrimitive(type=SolidPrimitive.CYLINDER, dimensions=[0.1, 0.04])


class Arm:
    """An arm at rest that tells a node of itself, without a middleware in between."""

    def __init__(self, node: Any, config: DriverConfig | None = None) -> None:
        self.node = node
        self.found: list[Contact] = []
        self._robot = node._robot
        self._profile = driver_profile(
            "lbr_fri", config or DriverConfig(), 0.005, gravity=self._robot.gravity_torque
        )
        self._stamp = 10**9
        node._contacts.publish = lambda message: self.found.__setitem__(
            slice(None), message.contacts
        )

    def hear(self, topic: str, message: Any) -> None:
        """Let a message arrive."""
        (heard,) = [s for s in self.node.subscriptions if s.topic_name == f"/lbr/{topic}"]
        heard.callback(serialize_message(message))

    def move_finger(self, position: float) -> None:
        self.hear(
            "gripper/joint_states", JointState(name=[FINGERS[0] + "_joint"], position=[position])
        )

    def call(self, name: str, request: Any) -> Any:
        (service,) = [s for s in self.node.services if s.srv_name.endswith(name)]
        return service.callback(request, service.srv_type.Response())

    def feel(self, point: np.ndarray | None, force: tuple[float, ...] = (0.0, 0.0, 0.0)) -> None:
        """Be pressed for a while at a point of the tool by a force, both in the tool frame."""
        self._robot.update(Q)
        torque = np.zeros(7)
        if point is not None:
            tool = self._robot.tool_pose()
            torque = self._robot.torque_of_force(
                HELD_OBJECT, tool.act(point), tool.rotation @ np.array(force)
            )
        rng = np.random.default_rng(0)
        for _ in range(60):
            self._stamp += 5_000_000
            noisy = torque + 0.1 * rng.standard_normal(7)
            carried = self._robot.gravity_torque(Q) - noisy
            state = ArmState(self._stamp, Q, np.zeros(7), Q, noisy, carried)
            self.hear("state", self._profile.encode_state(state)["state"])

    def weight(self, mass: float) -> np.ndarray:
        """Return the weight of a mass [kg] in the tool frame (3) [N]."""
        self._robot.update(Q)
        return self._robot.tool_pose().rotation.T @ [0.0, 0.0, -9.81 * mass]

    def distance(self, point: np.ndarray) -> float:
        """Return how far the contact that was found is from a point of the tool [m]."""
        (contact,) = self.found
        found = np.array([contact.point.x, contact.point.y, contact.point.z])
        return float(np.linalg.norm(self._robot.tool_pose().actInv(found) - point))


@contextmanager
def estimator(*parameters: str, driver: DriverConfig | None = None) -> Iterator[Arm]:
    """Start a node; ``driver`` is how the arm's driver really reports."""
    given = ["errors.calibration:=exact", "robot:=iiwa14_wsg50", *parameters]
    options = [word for parameter in given for word in ("-p", parameter)]
    rclpy.init(args=["--ros-args", "-r", "__ns:=/lbr", *options])
    try:
        node = EstimatorNode()
        yield Arm(node, driver)
        node.close()
        node.destroy_node()
    finally:
        rclpy.shutdown()


@pytest.fixture
def arm(ros_domain: int) -> Iterator[Arm]:
    with estimator() as arm:
        yield arm


OBSERVED = "torque_source:=momentum_observer"
COMPENSATED = DriverConfig(joint_torque_kind="gravity_compensated")


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize(
    ("parameters", "driver"),
    [((), None), (("arm.joint_torque_kind:=gravity_compensated",), COMPENSATED)],
)
def test_the_momentum_observer_works_with_either_kind_of_torque(
    parameters: tuple[str, ...], driver: DriverConfig | None
) -> None:
    with estimator(OBSERVED, *parameters, driver=driver) as arm:
        arm.move_finger(OPEN)
        for _ in range(5):
            arm.feel(None)
        for _ in range(3):
            arm.feel(BETWEEN_OPEN_FINGERS, (0.0, 0.0, -20.0))
        assert arm.found[0].link in FINGERS
        assert arm.distance(BETWEEN_OPEN_FINGERS) < 0.03
        assert not arm.node._source.problem


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        (
            DriverConfig(joint_torque_sign=1.0),
            "measured torque has the opposite sign: set arm.joint_torque_sign to 1.0",
        ),
        (
            COMPENSATED,
            "measured torque leaves out the arm's weight: set arm.joint_torque_kind to "
            "gravity_compensated",
        ),
    ],
)
def test_no_contacts_are_made_of_a_torque_that_is_read_wrong(
    driver: DriverConfig, reason: str
) -> None:
    with estimator(OBSERVED, driver=driver) as arm:
        states: list[int] = []
        arm.node._contacts.publish = lambda message: states.append(message.state)
        for _ in range(20):
            arm.feel(None)
        assert arm.node._health().level is Level.ERROR
        assert reason in arm.node._health().message
        heard = len(states)
        arm.feel(None)
        assert len(states) == heard
        assert set(states) == {ContactArray.UNTARED}


@pytest.mark.usefixtures("ros_domain")
def test_one_that_is_restarted_feels_what_presses_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(LAUNCHED, "true")

    def begin(*, dies: bool, push: float = 0.0, mass: float = 0.0) -> list[Contact]:
        # Of an arm that is not calibrated, so that a bias explains a good deal.
        with estimator("errors.calibration:=''") as arm:
            if mass:
                arm.call("set_payload", SetPayload.Request(mass=mass))
            for _ in range(8):
                arm.feel(np.zeros(3), tuple(np.add(arm.weight(WEIGHT), (0.0, push, 0.0))))
            arm.node._health()
            if dies:
                arm.node._memory.forget = lambda: None
            return list(arm.found)

    assert not begin(dies=True, mass=WEIGHT)
    (pressing,) = begin(dies=True, push=12.0)
    assert np.linalg.norm(to_array(pressing.force)) == pytest.approx(12.0, abs=1.0)
    assert not begin(dies=False)
    assert list(tmp_path.rglob("*.npz")) == []
    begin(dies=True, mass=WEIGHT)
    (kept,) = tmp_path.rglob("*.npz")
    kept.write_bytes(kept.read_bytes()[:100])
    begin(dies=False)


@pytest.mark.usefixtures("ros_domain")
def test_the_momentum_observer_is_refused_for_motor_currents() -> None:
    parameters = (OBSERVED, "arm.joint_torque_kind:=motor_current")
    with (
        pytest.raises(
            ConfigError,
            match=r"'motor_current' .*\(valid: gravity_included, gravity_compensated\)",
        ),
        estimator(*parameters),
    ):
        pass
    with estimator(parameters[1]) as arm:
        arm.feel(None)
        assert not arm.node._source.problem


def test_fingers_are_touched_where_the_gripper_has_them(arm: Arm) -> None:
    arm.feel(None)
    arm.move_finger(OPEN)
    arm.feel(BETWEEN_OPEN_FINGERS, (0.0, 0.0, -20.0))
    assert arm.found[0].link in FINGERS
    assert arm.distance(BETWEEN_OPEN_FINGERS) < 0.03
    assert arm.node.rejections.count == 0


def test_a_bad_message_leaves_the_fingers_where_they_were(arm: Arm) -> None:
    arm.move_finger(OPEN)
    arm.move_finger(math.nan)
    arm.hear("gripper/joint_states", JointState(name=["a", "b"], position=[0.0]))
    arm.hear("gripper/joint_states", JointState(name=["of_another_gripper"], position=[0.0]))
    assert arm.node.rejections.count == 2
    arm.feel(None)
    arm.feel(BETWEEN_OPEN_FINGERS, (0.0, 0.0, -20.0))
    assert arm.distance(BETWEEN_OPEN_FINGERS) < 0.03


def test_a_held_object_is_touched_until_it_is_put_down(arm: Arm) -> None:
    on_the_mug = np.array([0.04, 0.0, 0.1])
    mug = SetPayload.Request(shapes=[MUG], shape_poses=[Pose(position=Point(z=0.1))])
    assert arm.call("set_payload", mug).success
    arm.feel(None)
    arm.feel(on_the_mug, (-20.0, 0.0, 0.0))
    assert arm.found[0].link == HELD_OBJECT
    assert arm.distance(on_the_mug) < 0.03
    arm.feel(None)
    assert arm.call("set_payload", SetPayload.Request()).success
    arm.feel(on_the_mug, (-20.0, 0.0, 0.0))
    assert HELD_OBJECT not in [contact.link for contact in arm.found]


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (SetPayload.Request(shapes=[MUG]), "0 shape_poses for 1 shapes"),
        (SetPayload.Request(shapes=[MUG] * 5, shape_poses=[Pose()] * 5), "shapes has 5 entries"),
        (
            SetPayload.Request(shapes=[SolidPrimitive(type=4)], shape_poses=[Pose()]),
            "a shape has type 4 and 0 dimensions",
        ),
        (
            SetPayload.Request(
                shapes=[SolidPrimitive(type=2, dimensions=[-0.1])], shape_poses=[Pose()]
            ),
            "sizes must be positive",
        ),
        (
            SetPayload.Request(shapes=[MUG], shape_poses=[Pose(position=Point(x=math.nan))]),
            "position of a shape",
        ),
    ],
)
def test_shapes_that_cannot_be_held_are_refused(
    arm: Arm, request_: SetPayload.Request, reason: str
) -> None:
    answer = arm.call("set_payload", request_)
    assert not answer.success
    assert reason in answer.message


def test_diagnostics_say_beforehand_what_the_torques_can_tell(arm: Arm) -> None:
    arm.feel(None)
    values = arm.node._health().values
    assert values["identifiable_lbr_link_7"].startswith("felt from 3 N, worst 3 N")
    assert "worst inf N; place told of 0%" in values["identifiable_lbr_link_1"]
