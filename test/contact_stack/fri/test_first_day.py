"""The report of the first day: signs, times and sessions as they were."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from lbr_fri_idl.msg import LBRState

from contact_core.base.results import write_json
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_stack.preflight.first_day import FirstDay

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.from_description(RobotDescription.load("iiwa14_wsg50"))


def state(robot: Robot, sign: float, k: int, session: int) -> LBRState:
    robot.update(Q)
    external = np.full(7, 0.3)
    return LBRState(
        sample_time=0.005,
        session_state=session,
        connection_quality=min(3, k),
        time_stamp_sec=1_700_000_000,
        time_stamp_nano_sec=5_000_000 * k,
        measured_joint_position=Q,
        commanded_joint_position=Q + 0.001,
        ipo_joint_position=Q - 0.002,
        measured_torque=sign * (robot.gravity_torque(Q) - external),
        external_torque=external,
        tracking_performance=0.9 if session == 4 else 0.0,
    )


@pytest.mark.parametrize(("sign", "name"), [(1.0, "positive_accelerates"), (-1.0, "negated")])
def test_what_was_seen_is_in_the_file(robot: Robot, tmp_path: Path, sign: float, name: str) -> None:
    day = FirstDay(robot)
    for k, session in enumerate((1, 2, 3, 4, 4)):
        day.hear(state(robot, sign, k, session))
    day.hear(state(robot, sign, 8, 4))
    day.hear_driver({"lost_messages": "3", "answer_p99_us": "312"})
    write_json(day.report(), tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["states"] == 6 and report["states_missing_by_stamps"] == 3
    assert report["send_period_ms"] == 5.0 and report["period_by_stamps_ms"]["max"] == 20.0
    assert [each["session"] for each in report["sessions"]][-1] == "commanding_active"
    assert report["qualities"] == {"poor": 1, "fair": 1, "good": 1, "excellent": 3}
    begin = report["start_of_the_first_motion"]
    assert begin["commanded_less_measured_rad"] == pytest.approx([0.001] * 7)
    assert begin["interpolator_less_measured_rad"] == pytest.approx([-0.002] * 7)
    assert report["least_tracking_performance"] == 0.9
    torque = report["measured_torque"]
    assert torque["sign"] == name and torque["unexplained_nm"][name] < 1e-9
    assert report["driver"]["lost_messages"] == "3"


def test_nothing_was_heard(robot: Robot) -> None:
    assert FirstDay(robot).report()["states"] == 0
