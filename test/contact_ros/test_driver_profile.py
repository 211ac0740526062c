"""Driver profiles: what one side sends the other gets, and nothing bad gets through."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from lbr_fri_idl.msg import LBRJointPositionCommand, LBRState
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import contact_ros.driver_profile
from contact_aware_control.safety.state_checks import condition_of
from contact_core.base.errors import ConfigError
from contact_core.base.low_pass import LowPass
from contact_core.robot.arm_state import ArmState, CommandMode, RobotCondition, SoundCommand
from contact_ros.diagnostics import Level
from contact_ros.driver_profile import (
    PROFILES,
    CommandWriter,
    DriverConfig,
    MessageError,
    RobotSide,
    StateReader,
    lbr_fri,
)
from contact_ros.driver_profile.messages import joint_state
from contact_ros.driver_profile.ros2_control import STATE, TORQUE

PERIOD = 0.005
STAMP = 1_234_567_890_123
NAMES = [f"lbr_A{i}" for i in range(1, 8)]
KUKA_NAMES = [f"joint_{i}" for i in range(1, 8)]
FRI = ("lbr_fri", "fri")


driver_profile = partial(contact_ros.driver_profile.driver_profile, joints=NAMES)


def arm_state(stamp: int = STAMP) -> ArmState:
    random = np.random.default_rng(7)
    return ArmState(stamp, *random.normal(size=(4, 7)))


def transfer(name: str, config: DriverConfig, state: ArmState) -> ArmState:
    """Encode a state on the robot's side and decode it on the controller's."""
    robot, controller = driver_profile(name, config, PERIOD), driver_profile(name, config, PERIOD)
    messages = robot.encode_state(state)
    assert list(messages) == list(robot.state_topics)
    decoded = [controller.decode_state(t, messages[t]) for t in controller.needed_topics]
    assert decoded[:-1] == [None] * (len(decoded) - 1)
    assert decoded[-1] is not None
    return decoded[-1]


@pytest.mark.parametrize("torque_sign", [1.0, -1.0])
@pytest.mark.parametrize("name", PROFILES)
def test_a_state_survives_the_round_trip_bit_by_bit(name: str, torque_sign: float) -> None:
    sent = arm_state()
    received = transfer(name, DriverConfig(torque_sign=torque_sign), sent)
    assert received.stamp == sent.stamp
    np.testing.assert_array_equal(received.position, sent.position)
    np.testing.assert_array_equal(received.external_torque, sent.external_torque)


def test_each_driver_gives_what_it_knows_and_nan_for_the_rest() -> None:
    sent = arm_state()
    lbr = transfer("lbr_fri", DriverConfig(), sent)
    np.testing.assert_array_equal(lbr.commanded_position, sent.commanded_position)
    assert np.isnan(lbr.velocity).all()
    generic = transfer("ros2_control", DriverConfig(), sent)
    np.testing.assert_array_equal(generic.velocity, sent.velocity)
    assert np.isnan(generic.commanded_position).all()


@pytest.mark.parametrize("name", PROFILES)
def test_joint_torques_survive_where_there_are_any(name: str) -> None:
    sent = dataclasses.replace(arm_state(), joint_torque=np.arange(7.0))
    received = transfer(name, DriverConfig(), sent).joint_torque
    assert received is not None
    np.testing.assert_array_equal(received, np.arange(7.0))
    assert transfer(name, DriverConfig(), arm_state()).joint_torque is None


@pytest.mark.parametrize("name", PROFILES)
def test_a_command_survives_the_round_trip_bit_by_bit(name: str) -> None:
    profile = driver_profile(name, DriverConfig(), PERIOD)
    command = arm_state().position
    np.testing.assert_array_equal(profile.decode_command(profile.encode_command(command)), command)


@pytest.mark.parametrize("name", PROFILES)
def test_the_torque_on_the_wire_has_the_drivers_sign(name: str) -> None:
    state = arm_state()
    messages = driver_profile(name, DriverConfig(torque_sign=-1.0), PERIOD).encode_state(state)
    sent = messages["state"].external_torque if name in FRI else messages[TORQUE].effort
    np.testing.assert_array_equal(np.array(sent), -state.external_torque)


MEASURED = np.arange(1.0, 8.0)
SIGNS = {"lbr_fri": -1.0, "fri": -1.0, "kuka_drivers": -1.0, "ros2_control": 1.0}


def weight(position: np.ndarray) -> np.ndarray:
    """Stand for the torque of an arm's weight."""
    return 10.0 * position + 1.0


def measured_on_wire(messages: dict[str, object]) -> list[np.ndarray]:
    """Return every measured joint torque of a state's messages; none where the field is empty."""
    state = messages.get("state")
    found = [np.array(messages[STATE].effort)]
    return found if state is None else [*found, state.measured_torque, state.commanded_torque]


@pytest.mark.parametrize("sign", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("name", PROFILES)
def test_the_measured_torque_on_the_wire_has_the_drivers_sign(name: str, sign: float) -> None:
    """In every message of it; commands are positive where they accelerate, as ever."""
    config = DriverConfig(joint_torque_sign=sign)
    state = dataclasses.replace(arm_state(), joint_torque=MEASURED)
    for sent in measured_on_wire(driver_profile(name, config, PERIOD).encode_state(state)):
        np.testing.assert_array_equal(sent, (sign or SIGNS[name]) * MEASURED)
    received = transfer(name, config, state).joint_torque
    assert received is not None
    np.testing.assert_array_equal(received, MEASURED)


@pytest.mark.parametrize("name", PROFILES)
def test_a_torque_without_the_arms_weight_gets_it_from_the_model(name: str) -> None:
    config = DriverConfig(joint_torque_kind="gravity_compensated")
    state = dataclasses.replace(arm_state(), joint_torque=MEASURED)
    robot, reader = (driver_profile(name, config, PERIOD, gravity=weight) for _ in range(2))
    messages = robot.encode_state(state)
    for sent in measured_on_wire(messages):
        np.testing.assert_allclose(sent, SIGNS[name] * (MEASURED - weight(state.position)))
    received = [reader.decode_state(topic, messages[topic]) for topic in reader.needed_topics][-1]
    assert received is not None and received.joint_torque is not None
    np.testing.assert_allclose(received.joint_torque, MEASURED)
    listener = driver_profile(name, config, PERIOD)
    received = [listener.decode_state(topic, messages[topic]) for topic in reader.needed_topics][-1]
    assert received is not None and received.joint_torque is None


@pytest.mark.parametrize("name", PROFILES)
def test_a_motor_current_is_no_joint_torque(name: str) -> None:
    state = dataclasses.replace(arm_state(), joint_torque=MEASURED)
    messages = driver_profile(name, DriverConfig(), PERIOD).encode_state(state)
    config = DriverConfig(joint_torque_kind="motor_current")
    reader = driver_profile(name, config, PERIOD, gravity=weight)
    received = [reader.decode_state(topic, messages[topic]) for topic in reader.needed_topics][-1]
    assert received is not None and received.joint_torque is None
    for sent in measured_on_wire(driver_profile(name, config, PERIOD).encode_state(state)):
        assert not np.isfinite(sent).any()


# Numbers of the Fast Robot Interface with which an arm that is sound otherwise follows joint
# positions from joint impedance control; -1, and what lies beyond the last one, it never sends.
FIT = {
    "session_state": {4},
    "connection_quality": {2, 3},
    "safety_state": {0},
    "drive_state": {2},
    "control_mode": {2},
    "client_command_mode": {1},
    "overlay_type": {1},
}


@pytest.mark.parametrize("number", range(-1, 7))
@pytest.mark.parametrize("field", FIT)
def test_an_lbr_is_fit_only_where_every_enumeration_says_so(field: str, number: int) -> None:
    profile = driver_profile("lbr_fri", DriverConfig(), PERIOD)
    message = profile.encode_state(arm_state())["state"]
    setattr(message, field, number)
    state = profile.decode_state("state", message)
    assert state is not None
    assert (condition_of(state) is None) == (number in FIT[field])


@pytest.mark.parametrize(
    ("number", "mode"),
    [
        (-1, CommandMode.UNKNOWN),
        (0, CommandMode.NONE),
        (1, CommandMode.POSITION),
        (2, CommandMode.WRENCH),
        (3, CommandMode.TORQUE),
        (4, CommandMode.POSE),
        (5, CommandMode.UNKNOWN),
    ],
)
def test_what_an_lbr_is_commanded_by_is_told_from_its_number(
    number: int, mode: CommandMode
) -> None:
    profile = driver_profile("lbr_fri", DriverConfig(), PERIOD)
    message = profile.encode_state(arm_state())["state"]
    message.client_command_mode = number
    state = profile.decode_state("state", message)
    assert state is not None
    assert state.command_mode is mode
    found = condition_of(state)
    if mode is not CommandMode.POSITION:
        assert found is not None and mode.value in found.detail


def test_the_interpolator_of_an_lbr_holds_the_arm_where_its_session_found_it() -> None:
    """The motion under the commands is known only while they overlay it."""
    robot = driver_profile("lbr_fri", DriverConfig(), PERIOD)

    def told(commanded: float, commanding: bool = True) -> LBRState:
        state = dataclasses.replace(
            arm_state(),
            commanded_position=np.full(7, commanded),
            condition=RobotCondition(commanding=commanding),
        )
        return robot.encode_state(state)["state"]

    for sessions_start in (0.1, 0.7):
        for commanded in (sessions_start, 0.2, 0.3):
            message = told(commanded)
            np.testing.assert_array_equal(message.ipo_joint_position, sessions_start)
            np.testing.assert_array_equal(message.commanded_joint_position, commanded)
            assert message.tracking_performance == 1.0
            assert (message.overlay_type, message.client_command_mode) == (1, 1)
        monitored = told(0.5, commanding=False)
        assert np.isnan(monitored.ipo_joint_position).all()
        assert monitored.tracking_performance == 0.0
        assert (monitored.overlay_type, monitored.client_command_mode) == (0, 0)


def test_lbr_reports_its_send_period_and_names_its_joints() -> None:
    messages = driver_profile("lbr_fri", DriverConfig(), PERIOD).encode_state(arm_state())
    assert messages["state"].sample_time == PERIOD
    assert messages["joint_states"].name == NAMES


def test_an_lbr_that_sends_at_another_period_is_refused() -> None:
    """Its driver's default is 10 ms; mock hardware states no period at all."""
    slow = driver_profile("lbr_fri", DriverConfig(), 0.01).encode_state(arm_state())["state"]
    profile = driver_profile("lbr_fri", DriverConfig(), PERIOD)
    with pytest.raises(MessageError, match=r"every 10 ms instead of every 5 ms: set .*update_rate"):
        profile.decode_state("state", slow)
    slow.sample_time = 0.0
    assert profile.decode_state("state", slow) is not None


@pytest.mark.parametrize("period", [np.nan, np.inf, -PERIOD])
def test_an_lbr_whose_period_cannot_be_one_is_refused(period: float) -> None:
    state = driver_profile("lbr_fri", DriverConfig(), PERIOD).encode_state(arm_state())["state"]
    state.sample_time = period
    with pytest.raises(MessageError, match=r"the robot sends every"):
        driver_profile("lbr_fri", DriverConfig(), PERIOD).decode_state("state", state)


@pytest.mark.parametrize("period", [0.001, PERIOD, 0.01])
@pytest.mark.parametrize("name", PROFILES)
def test_a_listener_takes_states_of_any_period(name: str, period: float) -> None:
    messages = driver_profile(name, DriverConfig(), period).encode_state(arm_state())
    listener = driver_profile(name, DriverConfig())
    states = [listener.decode_state(topic, messages[topic]) for topic in listener.needed_topics]
    assert states[-1] is not None


def test_a_listener_can_be_neither_the_robot_nor_its_master() -> None:
    with pytest.raises(ConfigError, match="'lbr_fri' was set up to listen"):
        driver_profile("lbr_fri", DriverConfig()).encode_state(arm_state())
    with pytest.raises(ConfigError, match="'kuka_drivers' was set up to listen"):
        driver_profile("kuka_drivers", DriverConfig()).encode_command(np.zeros(7))


def test_an_lbr_says_whether_it_follows_commands() -> None:
    state = dataclasses.replace(arm_state(), condition=RobotCondition(commanding=False))
    assert not transfer("lbr_fri", DriverConfig(), state).condition.commanding
    assert transfer("lbr_fri", DriverConfig(), arm_state()).condition.commanding


@pytest.mark.parametrize("field", ["drives_on", "safe", "impedance", "connected_well", "overlay"])
def test_an_lbr_says_what_is_wrong_with_it(field: str) -> None:
    """The others do not tell."""
    condition = dataclasses.replace(RobotCondition(), **{field: False})
    state = dataclasses.replace(arm_state(), condition=condition)
    received = dataclasses.asdict(transfer("lbr_fri", DriverConfig(), state).condition)
    assert [name for name, value in received.items() if value is False] == [field]
    assert transfer("kuka_drivers", DriverConfig(), state).condition == RobotCondition()


def test_lbr_without_a_commanded_position_does_not_take_that_of_the_interpolator() -> None:
    """It is that of the motion which the commands overlay: where the arm was at their start."""
    profile = driver_profile("lbr_fri", DriverConfig(), PERIOD)
    message = profile.encode_state(arm_state())["state"]
    message.commanded_joint_position = np.full(7, np.nan)
    message.ipo_joint_position = np.arange(7.0)
    state = profile.decode_state("state", message)
    assert state is not None
    assert np.isnan(state.commanded_position).all()


def test_joints_in_another_order_and_other_joints_between_are_sorted_out() -> None:
    profile = driver_profile("ros2_control", DriverConfig(), PERIOD)
    state = arm_state()
    order = np.array([6, 0, 5, 1, 4, 2, 3])
    names = [NAMES[i] for i in order]
    position = np.insert(state.position[order], 3, np.pi)
    joints = joint_state(STAMP, [*names[:3], "finger", *names[3:]], position=position)
    torque = joint_state(STAMP, names, effort=state.external_torque[order])
    assert profile.decode_state(TORQUE, torque) is None
    received = profile.decode_state(STATE, joints)
    assert received is not None
    np.testing.assert_array_equal(received.position, state.position)
    np.testing.assert_array_equal(received.external_torque, state.external_torque)
    assert np.isnan(received.velocity).all()


def test_a_state_is_only_made_of_messages_of_one_stamp() -> None:
    profile = driver_profile("ros2_control", DriverConfig(), PERIOD)
    first, second = profile.encode_state(arm_state(1)), profile.encode_state(arm_state(2))
    assert profile.decode_state(STATE, first[STATE]) is None
    assert profile.decode_state(TORQUE, second[TORQUE]) is None
    # What gets lost on the way is no fault of its sender; what never comes is.
    assert profile.decode_state(TORQUE, profile.encode_state(arm_state(3))[TORQUE]) is None
    third = profile.encode_state(arm_state(3))[STATE]
    assert profile.decode_state(STATE, second[STATE]) is None
    state = profile.decode_state(STATE, third)
    assert state is not None
    assert state.stamp == 3
    late = 1_100_000_000
    states, torques = (
        [profile.encode_state(arm_state(late + k))[topic] for k in (0, 2, 4)]
        for topic in (STATE, TORQUE)
    )
    assert profile.decode_state(STATE, states[0]) is None  # After a pause there are none.
    assert profile.decode_state(TORQUE, torques[1]) is None
    with pytest.raises(MessageError, match="no stamp in common for 1 s"):
        profile.decode_state(STATE, states[2])


def bad(values: np.ndarray, value: float) -> np.ndarray:
    values = values.copy()
    values[3] = value
    return values


def trajectory(names: list[str], position: np.ndarray) -> JointTrajectory:
    return JointTrajectory(joint_names=names, points=[JointTrajectoryPoint(positions=position)])


BAD_JOINT_STATES = {
    "joints lbr_A1 are not among": joint_state(1, ["x", *NAMES[1:]], position=np.zeros(7)),
    "position has 6 values for 7": joint_state(1, NAMES, position=np.zeros(6)),
    "position has 0 values for 7": joint_state(1, NAMES),
    "joint is named twice": joint_state(1, [*NAMES, "lbr_A1"], position=np.zeros(8)),
    "position is not finite": JointState(name=NAMES, position=bad(np.zeros(7), np.nan).tolist()),
}


@pytest.mark.parametrize("reason", BAD_JOINT_STATES)
def test_a_bad_joint_state_is_rejected_and_does_not_spoil_the_next(reason: str) -> None:
    profile = driver_profile("ros2_control", DriverConfig(), PERIOD)
    with pytest.raises(MessageError, match=reason):
        profile.decode_state(STATE, BAD_JOINT_STATES[reason])
    messages = profile.encode_state(arm_state())
    assert profile.decode_state(STATE, messages[STATE]) is None
    assert profile.decode_state(TORQUE, messages[TORQUE]) is not None


@pytest.mark.parametrize("field", ["measured_joint_position", "external_torque"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_lbr_state_that_is_not_finite_is_rejected(field: str, value: float) -> None:
    profile = driver_profile("lbr_fri", DriverConfig(), PERIOD)
    with pytest.raises(MessageError, match=f"{field} is not finite"):
        profile.decode_state("state", LBRState(**{field: bad(np.zeros(7), value)}))


@pytest.mark.parametrize(
    ("name", "message", "reason"),
    [
        (
            "lbr_fri",
            LBRJointPositionCommand(joint_position=bad(np.zeros(7), np.nan)),
            "joint_position is not finite",
        ),
        ("ros2_control", Float64MultiArray(data=[0.0] * 6), "data has 6 values instead of 7"),
        ("ros2_control", Float64MultiArray(), "data has 0 values instead of 7"),
        ("ros2_control", Float64MultiArray(data=[np.inf] * 7), "data is not finite"),
        ("kuka_drivers", JointTrajectory(), "has 1 point, got 0"),
        ("kuka_drivers", trajectory(["x"] * 7, np.zeros(7)), "joints joint_1, .* are not among"),
        ("kuka_drivers", trajectory(KUKA_NAMES, np.zeros(6)), "positions has 6 values for 7"),
        ("kuka_drivers", trajectory(KUKA_NAMES, bad(np.zeros(7), np.nan)), "is not finite"),
    ],
)
def test_a_bad_command_is_rejected(name: str, message: object, reason: str) -> None:
    with pytest.raises(MessageError, match=reason):
        driver_profile(name, DriverConfig(), PERIOD).decode_command(message)


def test_an_unknown_driver_is_named_with_the_valid_ones() -> None:
    with pytest.raises(
        ConfigError, match=r"'kuka' \(valid: lbr_fri, fri, kuka_drivers, ros2_control\)"
    ):
        driver_profile("kuka", DriverConfig(), PERIOD)


def test_kuka_drivers_streams_trajectories_of_one_point_a_period_ahead() -> None:
    command = driver_profile("kuka_drivers", DriverConfig(), PERIOD).encode_command(np.arange(7.0))
    assert command.joint_names == KUKA_NAMES
    (point,) = command.points
    assert list(point.positions) == list(range(7))
    assert point.time_from_start.nanosec == 5_000_000
    assert command.header.stamp.sec == command.header.stamp.nanosec == 0


def test_a_trajectory_may_name_the_joints_in_another_order() -> None:
    profile = driver_profile("kuka_drivers", DriverConfig(), PERIOD)
    command = profile.decode_command(trajectory(KUKA_NAMES[::-1], np.arange(7.0)))
    np.testing.assert_array_equal(command, np.arange(7.0)[::-1])


def test_a_state_of_fri_2_has_no_command() -> None:
    """Its message has no such field."""
    profile = driver_profile("lbr_fri", DriverConfig(), PERIOD)
    message = profile.encode_state(arm_state())["state"]
    fields = set(LBRState.get_fields_and_field_types()) - {"commanded_joint_position"}
    state = profile.decode_state(
        "state", SimpleNamespace(**{name: getattr(message, name) for name in fields})
    )
    assert np.isnan(state.commanded_position).all()
    np.testing.assert_array_equal(state.position, arm_state().position)


def test_a_state_is_encoded_for_fri_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the installed message has no field for the command, none is set."""
    monkeypatch.setattr(lbr_fri, "REPORTS_COMMAND", False)
    message = driver_profile("lbr_fri", DriverConfig(), PERIOD).encode_state(arm_state())["state"]
    assert not message.commanded_joint_position.any()
    np.testing.assert_array_equal(message.measured_joint_position, arm_state().position)


@pytest.mark.parametrize("name", PROFILES)
def test_joints_have_the_drivers_names_unless_configured_otherwise(name: str) -> None:
    own = tuple(f"axis_{i}" for i in range(7))
    assert driver_profile(name, DriverConfig(joint_names=own), PERIOD).joint_names == own
    expected = KUKA_NAMES if name == "kuka_drivers" else NAMES
    assert list(driver_profile(name, DriverConfig(), PERIOD).joint_names) == expected


@pytest.mark.parametrize(
    ("config", "node", "prefix"),
    [
        (DriverConfig(), "/left", "left_"),
        (DriverConfig(), "/", ""),
        (DriverConfig(namespace="/"), "/left", ""),
        (DriverConfig(namespace="/right"), "/left", "right_"),
    ],
)
def test_kuka_drivers_put_their_namespace_before_the_joints(
    config: DriverConfig, node: str, prefix: str
) -> None:
    profile = driver_profile("kuka_drivers", config, PERIOD, namespace=node)
    assert list(profile.joint_names) == [prefix + name for name in KUKA_NAMES]
    own = replace(config, joint_names=tuple(NAMES))
    assert list(driver_profile("kuka_drivers", own, namespace=node).joint_names) == NAMES


@pytest.mark.parametrize("name", PROFILES)
def test_a_driver_in_a_namespace_of_its_own(name: str) -> None:
    profile = driver_profile(name, DriverConfig(namespace="/cell/arm"), PERIOD)
    assert profile.topic("joint_states") == "/cell/arm/joint_states"
    assert driver_profile(name, DriverConfig(), PERIOD).topic("joint_states") == "joint_states"
    root = driver_profile(name, DriverConfig(namespace="/"), PERIOD)
    assert root.topic("joint_states") == "/joint_states"


def test_a_torque_that_the_driver_does_not_filter_is_filtered_here() -> None:
    """First-order low-pass: 63 % of a step after 1 / (2 pi cutoff), nothing at the start."""
    low_pass = LowPass(cutoff=1.0 / (2.0 * np.pi * 20 * PERIOD))
    np.testing.assert_array_equal(low_pass.update(np.ones(7), PERIOD), np.ones(7))
    for periods in (1, 3, 16):  # some samples got lost
        filtered = low_pass.update(np.zeros(7), periods * PERIOD)
    np.testing.assert_allclose(filtered, np.exp(-1.0))


@pytest.mark.parametrize("names", [("a", "a"), ("a",) * 7])
@pytest.mark.parametrize("name", PROFILES)
def test_joint_names_that_are_not_distinct_are_refused(name: str, names: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="joint_names"):
        driver_profile(name, DriverConfig(joint_names=names), PERIOD)


def test_an_lbr_has_seven_joints() -> None:
    with pytest.raises(ConfigError, match="7 joints, joint_names has 6"):
        driver_profile("lbr_fri", DriverConfig(joint_names=tuple(NAMES[:6])), PERIOD)


@pytest.mark.graph
@pytest.mark.parametrize("lockstep", [True, False])
@pytest.mark.parametrize("name", PROFILES)
def test_both_sides_talk_over_the_wire(graph, name: str, lockstep: bool) -> None:
    """States and commands arrive; a command that the driver does not report stays unknown."""
    config = DriverConfig()
    commands: list[np.ndarray] = []
    states: list[ArmState] = []
    robot = RobotSide(
        graph.node("robot"), driver_profile(name, config, PERIOD), lockstep, commands.append
    )
    profile = driver_profile(name, config, PERIOD)
    controller = graph.node("controller")
    writer = CommandWriter(controller, profile, lockstep)
    reader = StateReader(controller, profile, lockstep, states.append)
    sent = arm_state()

    def until_state(stamp: int) -> ArmState:
        def arrived() -> bool:
            if not lockstep:  # best effort: a sample may be lost while they discover each other
                robot.publish_state(arm_state(stamp))
            return bool(states) and states[-1].stamp == stamp

        if lockstep:
            robot.publish_state(arm_state(stamp))
        graph.spin_until(arrived)
        return states[-1]

    first = until_state(1)
    np.testing.assert_array_equal(first.position, sent.position)
    known = name in FRI
    expected = sent.commanded_position if known else np.full(7, np.nan)
    np.testing.assert_array_equal(first.commanded_position, expected)

    def command_arrived() -> bool:
        if not lockstep:
            writer.publish_command(SoundCommand(np.arange(7.0)))
        return bool(commands)

    if lockstep:
        writer.publish_command(SoundCommand(np.arange(7.0)))
    graph.spin_until(command_arrived)
    np.testing.assert_array_equal(commands[0], np.arange(7.0))
    np.testing.assert_array_equal(until_state(2).commanded_position, expected)
    if lockstep:
        assert len(commands) == 1
        assert [state.stamp for state in states] == [1, 2]
    assert reader.rejections.count == 0


@pytest.mark.graph
def test_bad_messages_are_counted_with_their_reason_and_not_passed_on(graph) -> None:
    config = DriverConfig()
    profile = driver_profile("lbr_fri", config, PERIOD)
    commands: list[np.ndarray] = []
    states: list[ArmState] = []
    robot_node, controller = graph.node("robot"), graph.node("controller")
    robot = RobotSide(robot_node, profile, True, commands.append)
    writer = CommandWriter(controller, profile, True)
    reader = StateReader(controller, profile, True, states.append)
    state = arm_state()
    writer.publish_command(SoundCommand(bad(state.position, np.nan)))
    robot.publish_state(ArmState(1, bad(state.position, np.nan), *[state.velocity] * 3))
    graph.spin_until(lambda: robot.rejections.count == 1 and reader.rejections.count == 1)
    assert robot.rejections.reason.startswith("command/joint_position: joint_position is not")
    assert reader.rejections.reason.startswith("state: measured_joint_position is not finite")
    robot.publish_state(state)
    graph.spin_until(lambda: len(states) == 1)
    assert not commands


@pytest.mark.graph
def test_a_reader_filters_the_torque_if_it_is_told_to(graph) -> None:
    """And nothing else of the state."""
    config = DriverConfig(torque_cutoff=10.0)
    robot_profile = driver_profile("kuka_drivers", config, PERIOD)
    states: list[ArmState] = []
    robot = RobotSide(graph.node("robot"), robot_profile, True, lambda command: None)
    listener = driver_profile("kuka_drivers", config)
    reader = StateReader(graph.node("reader"), listener, True, states.append)
    first, later = arm_state(), arm_state(STAMP + round(1e9 * PERIOD))
    second = dataclasses.replace(later, external_torque=np.zeros(7))
    restarted = dataclasses.replace(first, external_torque=np.ones(7))
    for state in (first, second, restarted):
        robot.publish_state(state)
    graph.spin_until(lambda: len(states) == 3)
    np.testing.assert_array_equal(states[0].external_torque, first.external_torque)
    kept = np.exp(-2.0 * np.pi * 10.0 * PERIOD)
    np.testing.assert_allclose(states[1].external_torque, kept * first.external_torque)
    np.testing.assert_array_equal(states[1].position, second.position)
    # A clock that jumps back tells nothing about the time that has passed.
    np.testing.assert_array_equal(states[2].external_torque, states[1].external_torque)
    assert reader.rejections.count == 0


@pytest.mark.graph
def test_a_reader_reports_how_well_states_arrive(graph, capfd) -> None:
    """None, good ones, only bad ones, and good ones again; the log says the same."""
    robot_profile = driver_profile("lbr_fri", DriverConfig(), PERIOD)
    states: list[ArmState] = []
    robot = RobotSide(graph.node("robot"), robot_profile, True, lambda command: None)
    node = graph.node("listener")
    reader = StateReader(node, driver_profile("lbr_fri", DriverConfig()), True, states.append)
    assert reader.health().level is Level.STALE
    bad_state = dataclasses.replace(arm_state(), position=bad(arm_state().position, np.nan))

    robot.publish_state(bad_state)
    graph.spin_until(lambda: reader.rejections.count == 1)
    health = reader.health()
    assert health.level is Level.ERROR
    reason = "message rejected: state: measured_joint_position is not finite"
    assert health.message.startswith(reason)
    assert health.values["rejected_messages"] == 1
    assert f"[WARN] [listener]: {reason}" in _without_times(capfd.readouterr().err)

    robot.publish_state(arm_state())
    graph.spin_until(lambda: len(states) == 1)
    assert reader.health().level is Level.OK
    robot.publish_state(bad_state)
    graph.spin_until(lambda: reader.rejections.count == 2)
    assert [reader.health().level for _ in range(2)] == [Level.WARN, Level.OK]


def _without_times(log: str) -> str:
    return re.sub(r" \[\d+\.\d+\]", "", log)
