"""What cannot be followed is refused before the arm moves."""

import numpy as np
import pinocchio as pin
import pytest
from loop_bench import WRIST, Q, line

from contact_aware_control.config import ControllerConfig
from contact_aware_control.reference import Goal, JointTrajectory, PoseTrajectory
from contact_aware_control.safety.command_limits import GoalChecker
from contact_core.errors import TrajectoryError


def test_a_goal_has_to_start_at_the_command_with_sound_force_limits(robot):
    checker = GoalChecker(robot, ControllerConfig())
    checker.check(line(Q), Q)
    with pytest.raises(TrajectoryError, match="starts"):
        checker.check(Goal(JointTrajectory([0.0], Q[None] + 0.2)), Q)
    with pytest.raises(TrajectoryError, match="lbr_link_9"):
        checker.check(Goal(JointTrajectory([0.0], Q[None]), {"lbr_link_9": 5.0}), Q)
    with pytest.raises(TrajectoryError, match="-5"):
        checker.check(Goal(JointTrajectory([0.0], Q[None]), {WRIST: -5.0}), Q)
    robot.update(Q)
    far = robot.tool_pose() * pin.SE3(np.eye(3), np.array([0.1, 0.0, 0.0]))
    with pytest.raises(TrajectoryError, match=r"starts 0\.100 m"):
        checker.check(Goal(PoseTrajectory([0.0], [far])), Q)
