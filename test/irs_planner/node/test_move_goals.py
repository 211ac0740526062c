"""Goals of move_objects: what is malformed is named, and every end says why."""

from __future__ import annotations

import dataclasses
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import rclpy
from contact_stack_msgs.action import MoveObjects
from contact_stack_msgs.msg import ControllerStatus
from geometry_msgs.msg import TransformStamped
from own_scenes import write_scene
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from tf2_msgs.msg import TFMessage

from contact_core.base.errors import ContactStackError
from contact_core.base.planning import PlanStatus, StopCondition
from contact_ros.geometry import to_transform
from contact_ros.stamps import to_nanoseconds, to_time
from contact_ros.validation import MAX_NAMES, MessageError
from irs_planner.closed_loop import Phase
from irs_planner.node import object_mover
from irs_planner.node.object_mover import CAMERA, MoveGoals, MoverNodeConfig, ObjectMoverNode
from irs_planner.object_mover import MoverConfig

PATIENT, SHORT = MoverNodeConfig(patience=60.0), MoverNodeConfig(patience=0.5)


def pictures(poses: dict[str, Any], stamp: int = 1, frame: str = "lbr_link_0") -> TFMessage:
    message = TFMessage()
    for name, pose in poses.items():
        item = TransformStamped(child_frame_id=name, transform=to_transform(pose))
        item.header.frame_id, item.header.stamp = frame, to_time(stamp)
        message.transforms.append(item)
    return message


class World:
    """The planner's own model in the place of camera, arm and controller."""

    def __init__(self, folder, config: MoverNodeConfig = PATIENT, **goal: float) -> None:
        """Ask for a goal."""
        self.targets: list[JointState] = []
        self.goals = MoveGoals(config, self.targets.append)
        names = [f"thing/{name}" for name in goal]
        request = MoveObjects.Goal(
            scene=str(write_scene(folder, "can")), names=names, goal=list(goal.values())
        )
        self.mover = self.goals.read(request)
        self.joint_names = self.mover.joint_names
        self.state = self.mover.problem.initial_state
        self.feedback: list[Any] = []
        self.said: list[JointState] = []  # where the arm was
        self.silent: set[str] = set()
        self.stamp = 0  # of all pictures, 0 for that of now
        self.frame = "lbr_link_0"
        self.status = ControllerStatus(mode=ControllerStatus.TRACKING)

    def speak(self) -> None:
        """Say how things are, but for who is silent."""
        poses = self.mover.problem.dynamics.object_poses(self.state)
        if "camera" not in self.silent:
            self.goals.hear_objects(pictures(poses, self.stamp or time.time_ns(), self.frame))
        if "arm" not in self.silent:
            names = list(self.joint_names)
            message = JointState(name=names, position=self.state[6:13])
            message.header.stamp = to_time(time.time_ns())
            self.goals.hear_joints(message)
            self.said.append(message)
        if "controller" not in self.silent:
            self.goals.hear_status(self.status)

    def follow(self, feedback: Any) -> None:
        """Do what was decided."""
        self.feedback.append(feedback)
        command = np.array(self.targets[-1].position)
        self.state = self.mover.problem.dynamics.step(self.state, command)

    def run(
        self, stop: StopCondition | None = None, follow: Callable[[Any], None] | None = None
    ) -> Any:
        """Return the result; meanwhile everybody speaks."""
        over = threading.Event()

        def talk() -> None:
            while not over.wait(0.01):
                self.speak()

        talking = threading.Thread(target=talk)
        talking.start()
        moved = self.goals.solve(self.mover, stop or StopCondition(), follow or self.follow)
        over.set()
        talking.join()
        return self.goals.answer(self.mover, moved).result()


def test_a_goal_is_carried_out(tmp_path) -> None:
    world = World(tmp_path, x=0.6)
    result = world.run()
    assert (result.status, result.remedy) == (MoveObjects.Result.SUCCEEDED, "")
    assert result.goal_reached
    assert result.goal_error <= 1.0
    assert result.searches > 0
    assert abs(world.state[0] - 0.6) <= 0.02
    assert {step.phase for step in world.feedback} == set(Phase)


@pytest.mark.parametrize(
    ("silent", "reason"),
    [
        ("camera", "camera/objects is silent about thing from the start: publish"),
        ("arm", "joint_states is silent about lbr_A1: publish"),
        ("controller", "controller_status is silent: activate"),
    ],
)
def test_who_is_silent_is_named(tmp_path, silent: str, reason: str) -> None:
    world = World(tmp_path, SHORT, x=0.6)
    world.silent = {silent}
    result = world.run()
    assert result.status_name == ("NOT_FOLLOWED" if silent == "controller" else "NOT_SEEN")
    assert result.remedy.startswith(reason)
    assert not result.goal_reached


def test_the_joints_of_another_driver_are_named(tmp_path) -> None:
    world = World(tmp_path, SHORT, x=0.6)
    world.joint_names = [f"iiwa_{name}" for name in world.joint_names]
    remedy = world.run().remedy
    assert remedy.startswith("joint_states is silent about lbr_A1 and tells of iiwa_lbr_A1, iiwa_")
    assert "driver:=" in remedy


def test_what_was_heard_before_a_goal_is_not_acted_on(tmp_path) -> None:
    world = World(tmp_path, SHORT, x=0.6)
    world.speak()
    world.silent = {"arm"}
    assert world.run().remedy.startswith("joint_states is silent about lbr_A1: publish")
    assert world.targets == []


@pytest.mark.parametrize("age", [0, 10**8, None], ids=["the same again", "two in turn", "none"])
def test_old_pictures_are_not_acted_on(tmp_path, age: int | None) -> None:
    """Though they show the thing at its goal."""
    world = World(tmp_path, SHORT, x=0.56)
    world.stamp = 10**9
    world.speak()
    speak, stamps = world.speak, itertools.cycle((10**9 - (age or 0), 10**9))
    world.speak = lambda: (setattr(world, "stamp", next(stamps)), speak())
    world.silent = {"camera"} if age is None else set()
    result = world.run()
    assert (result.status_name, world.targets) == ("NOT_SEEN", [])
    assert result.remedy.startswith("camera/objects is silent about thing")
    assert ("(the stamps of thing do not advance)" in result.remedy) == (age is not None)


def test_a_thing_that_is_spelt_otherwise_is_told(tmp_path) -> None:
    world = World(tmp_path, SHORT, x=0.6)
    world.silent = {"camera"}
    world.goals.hear_objects(pictures({"Thing": pin.SE3.Identity()}))
    remedy = world.run().remedy
    assert remedy.startswith("camera/objects is silent about thing from the start and tells of Thi")


def test_an_arm_that_is_seen_inside_a_thing_is_told(tmp_path) -> None:
    world = World(tmp_path, MoverNodeConfig(patience=0.5), x=0.62)
    world.state[:2] = world.state[13:15]
    world.follow = world.feedback.append  # nothing moves
    result = world.run(StopCondition(20.0))
    assert result.status_name == "GOAL_UNREACHABLE"
    assert "overlap" in result.remedy


def test_poses_in_a_frame_that_is_not_known_are_named(tmp_path) -> None:
    world = World(tmp_path, x=0.6)
    world.frame = "camera_link"
    assert "seen in an unknown frame 'camera_link' (valid: lbr_link_0, world)" in world.run().remedy


def test_what_an_earlier_camera_said_is_not_blamed(tmp_path) -> None:
    world = World(tmp_path, SHORT, x=0.6)
    world.frame = "camera_link"
    world.speak()
    world.silent = {"camera"}
    assert world.run().remedy.startswith("camera/objects is silent about thing from the start: ")


@pytest.mark.parametrize("topic", ["camera/objects", "joint_states"])
def test_what_is_refused_is_quoted(tmp_path, topic: str) -> None:
    """Only what was refused since the goal began."""
    world = World(tmp_path, SHORT, x=0.6)
    world.silent = {"camera" if topic == "camera/objects" else "arm"}
    picture = pictures({"thing": pin.SE3.Identity()})
    picture.transforms[0].transform.rotation.w = 0.0
    joints = JointState(name=["lbr_A1"], position=[np.nan])
    hear = world.goals.hear_objects if topic == "camera/objects" else world.goals.hear_joints

    def refuse() -> None:
        with pytest.raises(MessageError):
            hear(picture if topic == "camera/objects" else joints)

    refuse()
    assert "refused" not in world.run().remedy
    speak = world.speak
    world.speak = lambda: (speak(), refuse())
    remedy = world.run().remedy
    assert remedy.startswith(f"{topic} is silent about ")
    said = "norm of the quaternion" if topic == "camera/objects" else "position is [nan]"
    assert "and what it says is refused (" in remedy
    assert said in remedy


def test_a_camera_that_stops_ends_it(tmp_path) -> None:
    world = World(tmp_path, MoverNodeConfig(patience=2.0), x=0.6)
    world.follow = lambda feedback: world.silent.add("camera")
    result = world.run()
    assert result.status_name == "NOT_SEEN"
    assert result.remedy.startswith("camera/objects is silent about thing: ")


def test_a_pause_ends_nothing_and_nothing_is_sent_in_it(tmp_path) -> None:
    """The simulator repeats itself there: targets would run ahead of an arm that stands still."""
    world = World(tmp_path, MoverNodeConfig(patience=0.4), x=0.6)
    sent: list[int] = []

    def pause(feedback: Any) -> None:
        world.follow(feedback)
        if len(world.targets) == 20:
            world.silent = {"camera", "arm", "controller"}
            world.goals.hear_pause(Bool(data=True))
            sent.append(len(world.targets))
            threading.Timer(1.0, go_on).start()

    def go_on() -> None:
        sent.append(len(world.targets))
        world.silent = set()
        world.goals.hear_pause(Bool(data=False))

    result = world.run(follow=pause)
    assert result.status_name == "SUCCEEDED", result.remedy
    assert sent == [20, 20]


def test_an_arm_that_is_told_to_end_ends_where_it_is(tmp_path) -> None:
    world = World(tmp_path, x=0.6)
    start = world.state[6:13]

    def lag(feedback: Any) -> None:
        command = np.array(world.targets[-1].position)
        halfway = 0.5 * (world.state[6:13] + command)
        world.state = world.mover.problem.dynamics.step(world.state, halfway)

    def moves() -> bool:
        return bool(np.abs(world.state[6:13] - start).max() > 0.05)

    assert world.run(StopCondition(cancelled=moves), lag).status_name == "CANCELED"
    np.testing.assert_array_equal(world.targets[-1].position, world.said[-1].position)
    assert world.targets[-2].position != world.targets[-1].position


def test_joints_are_called_as_the_driver_calls_them(tmp_path) -> None:
    world = World(tmp_path, dataclasses.replace(PATIENT, driver="kuka_drivers"), x=0.6)
    world.joint_names = tuple(f"joint_{i + 1}" for i in range(7))
    begun = time.time()
    world.follow = lambda feedback: None

    def stamps() -> list[float]:
        return [1e-9 * to_nanoseconds(target.header.stamp) for target in world.targets]

    # A target has the stamp of the joint state that it follows from; two may follow from one.
    world.run(StopCondition(cancelled=lambda: len(set(stamps())) > 2))
    assert tuple(world.targets[0].name) == world.joint_names
    assert begun <= stamps()[0]
    assert stamps() == sorted(stamps())
    assert stamps()[-1] <= time.time()


def test_a_controller_that_does_not_follow_ends_it(tmp_path) -> None:
    world = World(tmp_path, x=0.6)
    world.status = ControllerStatus(
        mode=ControllerStatus.FAULT, status_name="EXTERNAL_STOP", remedy="release the button"
    )
    result = world.run()
    assert result.status_name == "NOT_FOLLOWED"
    assert result.remedy == "the controller is at EXTERNAL_STOP: release the button"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (ControllerStatus(), "the controller was told to hold: call resume"),
        (
            ControllerStatus(
                status=ControllerStatus.NOT_ARMED, status_name="NOT_ARMED", remedy="call resume"
            ),
            "the controller is at NOT_ARMED: call resume",
        ),
    ],
    ids=["hold", "not armed"],
)
def test_a_controller_that_holds_ends_it(
    tmp_path, monkeypatch, status: ControllerStatus, reason: str
) -> None:
    """It said that it pushed, for all of its budget."""
    monkeypatch.setattr(object_mover, "HELD_TOO_LONG", 0.5)
    world = World(tmp_path, x=0.6)
    status.mode = ControllerStatus.HOLD
    world.status = status
    result = world.run(StopCondition(20.0), follow=lambda _: None)
    assert (result.status_name, result.remedy) == ("NOT_FOLLOWED", reason)


def test_a_second_mover_ends_it(tmp_path) -> None:
    """Two of one name took every goal, and pushed together with up to 85 N."""
    world = World(tmp_path, x=0.6)
    world.goals._rival = lambda: "two serve it: end one"
    result = world.run()
    assert (result.status_name, result.remedy) == ("NOT_FOLLOWED", "two serve it: end one")


def test_a_second_source_of_joint_states_ends_it(tmp_path, monkeypatch) -> None:
    """The arm wandered for 25 s after a forgotten node said that all joints are at zero."""

    def end_beside(*others: JointState, gui: bool = True) -> tuple[str, str]:
        world = World(tmp_path, x=0.6)
        world.goals._publishers = lambda: ["/lbr/driver", "/gui"][: 1 + gui]
        speak, hear = world.speak, world.goals.hear_joints
        monkeypatch.setattr(world, "speak", lambda: (speak(), *map(hear, others)))
        result = world.run()
        return result.status_name, result.remedy

    gripper = JointState(name=["finger"], position=[0.05])
    assert end_beside(gripper) == ("SUCCEEDED", "")
    forgotten = JointState(name=[f"lbr_A{k}" for k in range(1, 8)], position=np.zeros(7))
    assert end_beside(gripper, forgotten) == (
        "NOT_FOLLOWED",
        "joint_states jump between two places (/lbr/driver and /gui): stop one of these nodes",
    )


@pytest.mark.parametrize(
    ("state", "value", "said"),
    [
        (3, 1.4, "thing/roll is seen at 1.4 rad, and is to stay within -0.1 to 0.1: if it tipped"),
        (2, 250.0, "thing/z is seen at 250 m, and is to stay within 0."),
    ],
    ids=["tipped", "in millimetres"],
)
def test_a_thing_that_is_not_seen_where_it_has_to_stay_ends_it(tmp_path, state, value, said):
    world = World(tmp_path, MoverNodeConfig(patience=2.0), x=0.6)

    def tip(feedback: Any) -> None:
        world.state = world.state.copy()
        world.state[state] = value

    world.follow = tip
    result = world.run()
    assert result.status_name == "GOAL_UNREACHABLE"
    assert result.remedy.startswith(said)
    assert "the units (m) and frame that camera/objects has" in result.remedy


@pytest.mark.parametrize(
    ("stop", "status"),
    [
        (StopCondition(cancelled=lambda: True), PlanStatus.CANCELED),
        (StopCondition(time_budget=1e-9), PlanStatus.TIME_BUDGET_REACHED),
    ],
)
def test_it_ends_when_it_is_told_to(tmp_path, stop, status) -> None:
    world = World(tmp_path, x=0.6)
    result = world.run(stop)
    assert (result.status_name, result.goal_reached) == (status.name, False)
    assert result.remedy


def test_a_thing_that_no_push_slides_is_told_of_when_time_is_up(tmp_path) -> None:
    gentle = dataclasses.replace(PATIENT, mover=MoverConfig(force=0.5))
    result = World(tmp_path, gentle, x=0.6).run(StopCondition(time_budget=1e-9))
    assert result.remedy.startswith("'thing' weighs 8 N and slides from ")
    assert "pushes are of 0.5 N at most (mover.force)" in result.remedy


def test_a_thing_that_never_rests_is_told_of(tmp_path) -> None:
    """Whoever moves it moves it away from every search, to and fro."""
    world = World(tmp_path, x=0.6)

    def carry(feedback: Any) -> None:
        world.state = world.state.copy()
        world.state[1] = -world.state[1] + 0.01

    world.follow = carry
    result = world.run(StopCondition(time_budget=3.0))
    assert world.mover.loop.disturbed > 5
    assert result.status_name == PlanStatus.TIME_BUDGET_REACHED.name
    assert result.remedy == "objects keep moving by themselves: let them come to rest"


def test_a_thing_that_is_put_out_of_reach_is_told_of(tmp_path) -> None:
    world = World(tmp_path, MoverNodeConfig(patience=0.3), x=0.6)

    def carry(feedback: Any) -> None:
        world.state = world.state.copy()
        world.state[0] = 3.0

    world.follow = carry
    result = world.run(StopCondition(time_budget=10.0))
    assert result.status_name == PlanStatus.GOAL_UNREACHABLE.name
    assert "nothing carries 'thing' at the start: it falls (" in result.remedy
    assert "place it on something" in result.remedy


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"names": ["thing/x", "thing/x"], "goal": [0.6, 0.6]}, "names has 'thing/x' twice"),
        ({"names": ["thing/x"], "goal": []}, "goal has 0 values for 1 names"),
        ({"names": ["thing/x"], "goal": [0.6], "tolerance": [0.1, 0.1]}, "tolerance has 2 values"),
        ({"names": ["thing/x"], "goal": [0.6], "tolerance": [0.0]}, "tolerance of thing/x is 0"),
        ({"names": ["thing/x"], "goal": [0.6], "tolerance": [np.nan]}, "tolerance of thing/x is"),
        ({"names": ["can/x"], "goal": [0.6]}, "unknown state 'can/x' (valid: thing/x"),
        ({"names": ["thing/x"], "goal": [np.nan]}, "goal: nothing has one"),
        ({"names": ["thing/x"], "goal": [1e12]}, "goal is 1e+12"),
        ({"scene": "nowhere", "names": ["thing/x"], "goal": [0.6]}, "unknown scene 'nowhere'"),
        ({"scene": "push_t", "names": ["tee/y"], "goal": [0.6]}, "does not say where"),
    ],
)
def test_what_is_malformed_is_named(tmp_path, fields: dict[str, Any], reason: str) -> None:
    scene = str(write_scene(tmp_path, "can"))
    with pytest.raises(ContactStackError) as caught:
        MoveGoals(SHORT, print).read(MoveObjects.Goal(**{"scene": scene, **fields}))
    assert reason in str(caught.value)


def test_tolerances_are_taken_over_and_what_may_be_anything_has_none(tmp_path) -> None:
    goal = MoveObjects.Goal(
        scene=str(write_scene(tmp_path, "roll")),
        names=["thing/x", "thing/roll"], goal=[0.6, np.nan], tolerance=[0.005, 1.0],
    )  # fmt: skip
    mover = MoveGoals(SHORT, print).read(goal)
    assert mover.wanted == ("thing/x", "thing/z", "thing/pitch")
    assert mover.problem.tolerance[0] == 0.005


@pytest.mark.parametrize(
    "change",
    [
        {"translation.x": np.nan},
        {"translation.y": 1e9},
        {"rotation.w": np.inf},
        {f"rotation.{axis}": 0.0 for axis in "xyzw"},
    ],
)
def test_a_pose_that_is_none_is_refused(tmp_path, change: dict[str, float]) -> None:
    world = World(tmp_path, x=0.6)
    message = pictures(world.mover.problem.dynamics.object_poses(world.state))
    for path, value in change.items():
        part, axis = path.split(".")
        setattr(getattr(message.transforms[0].transform, part), axis, value)
    with pytest.raises(MessageError, match="thing"):
        world.goals.hear_objects(message)
    assert world.goals._seen == {}


def test_names_that_are_heard_of_no_more_are_forgotten(tmp_path) -> None:
    """Perception may number what it sees, joints may come and go."""
    world, pose = World(tmp_path, x=0.6), pin.SE3.Identity()
    for i in range(3 * MAX_NAMES):
        world.goals.hear_objects(pictures({f"track_{i}": pose, "kept": pose}, i + 1))
        world.goals.hear_joints(JointState(name=[f"joint_{i}", "kept"], position=[0.0, 1.0]))
    world.speak()
    assert {"kept", "thing"} < world.goals._seen.keys()
    assert {"kept", *world.joint_names} < world.goals._joints.keys()
    assert len(world.goals._seen) == len(world.goals._joints) == MAX_NAMES
    with pytest.raises(MessageError, match="transforms has 257 entries"):
        world.goals.hear_objects(pictures({f"track_{i}": pose for i in range(MAX_NAMES + 1)}))


@pytest.mark.graph
def test_perception_may_send_a_message_for_each_object(
    ros_domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the node has something else to do."""
    monkeypatch.setattr(object_mover, "precompile", lambda: None)
    rclpy.init()
    mover, camera = ObjectMoverNode(), rclpy.create_node("camera")
    try:
        topic = camera.create_publisher(TFMessage, CAMERA, 10)
        end, names = time.monotonic() + 20.0, {"one", "two", "three"}
        while not topic.get_subscription_count():
            assert time.monotonic() < end
            time.sleep(0.01)
        for name in names:
            topic.publish(pictures({name: pin.SE3.Identity()}))
        while mover._goals._seen.keys() < names and time.monotonic() < end:
            rclpy.spin_once(mover, timeout_sec=0.05)
        assert mover._goals._seen.keys() == names
    finally:
        mover.close()
        for node in (mover, camera):
            node.destroy_node()
        rclpy.shutdown()
