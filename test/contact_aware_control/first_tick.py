"""Print, as JSON, which kernels the first ticks compile although they were warmed.

To be run in an interpreter of its own: another test may have compiled them before.
"""

import json
import sys

import numpy as np
from numba.core.dispatcher import Dispatcher

from contact_aware_control import precompile
from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate, ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.loop_state import LoopInputs
from contact_aware_control.reference import Goal, JointTrajectory, PoseTrajectory
from contact_aware_control.safety.status import Mode
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
NAN = np.full(7, np.nan)


def signatures() -> dict[str, int]:
    """Return how often every kernel has been compiled or loaded."""
    return {
        f"{name}.{attribute}": len(kernel.signatures)
        for name, module in sorted(sys.modules.items())
        for attribute, kernel in vars(module).items()
        if isinstance(kernel, Dispatcher) and kernel.__module__ == name
    }


def leaning(size: float) -> ContactEstimate:
    """Return a contact under the wrist."""
    point, force = np.array([0.5, 0.0, 0.5]), np.array([0.0, 0.0, size])
    return ContactEstimate(
        number=0,
        link="lbr_link_6",
        joints_moving=6,
        point_world=point,
        point_link=point,
        normal_world=force / size,
        force_world=force,
        point_covariance=1e-4 * np.eye(3),
        force_covariance=np.eye(3),
        residual=1.0,
        effective_sample_size=100.0,
        spread=0.01,
        identifiable=True,
        age=1.0,
        modes=(),
    )


def main() -> None:
    """Follow a pose, then a joint trajectory, with a contact."""
    robot = Robot.from_description(RobotDescription.load("iiwa14_wsg50"))
    robot.update(Q)
    pose = robot.tool_pose()
    precompile.precompile_controller()
    before = signatures()
    for reference in (
        PoseTrajectory([0.0, 1.0], [pose, pose]),
        JointTrajectory([0.0, 1.0], np.array([Q, Q])),
    ):
        loop = ControlLoop(robot, ControllerConfig())
        loop_state = loop.start()
        goal = Goal(reference)
        # The last one is beyond the force that is allowed.
        for now, size in enumerate((8.0, 8.0, 400.0), start=1):
            state = ArmState(now, Q, NAN, Q.copy(), NAN)
            inputs = LoopInputs(now, state, ContactReport(now, [leaning(size)]), goal)
            loop_state, _, status = loop.tick(loop_state, inputs)
        assert status.mode is Mode.TRACKING, status
    after = signatures()
    print(json.dumps([name for name in after if after[name] != before.get(name, 0)]))


if __name__ == "__main__":
    main()
