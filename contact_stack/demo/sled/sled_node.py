"""The node that streams the wrenches of a plan, and watches the sled."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
from lbr_fri_idl.msg import LBRState, LBRWrenchCommand
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_core.arm_state import ArmState, CommandMode
from contact_core.errors import CommunicationError
from contact_ros.driver_profile import DriverConfig, OverlayWriter, driver_profile
from contact_ros.geometry import frame_pose
from contact_stack.demo.client_node import CLOCK, ClientNode
from contact_stack.recording import McapRecorder

NAME = "demo"
SLED = "sled"
STATE = "state"
OBJECTS = "truth/objects"
SETTLING = 0.5
"""Time without a wrench in which the jaws close and the sled comes to rest [s]."""
SLED_HEARD: Mapping[str, type] = {CLOCK: JointState, STATE: LBRState, OBJECTS: TFMessage}
SLED_RECORDED: Mapping[str, type] = {
    "joint_states": JointState,
    "command/wrench": LBRWrenchCommand,
}
ALONG = 1
"""The motion is along y of the base frame, the second entry of a wrench."""


class SledNode(ClientNode):
    """Execute one plan on the graph, in lock-step.

    Attributes:
        times: When each position was taken, from the start of the plan [s].
        positions: (3) of the sled, world frame [m], one per tick of the plan.
        joints: (7) measured positions of the arm at the same times [rad].
        wall_time: How long the run has taken in real time [s].
    """

    def __init__(
        self,
        knots: np.ndarray,
        forces: np.ndarray,
        period: float,
        recorder: McapRecorder,
        namespace: str,
    ) -> None:
        """Connect to the graph.

        Args:
            knots: (N) times of the plan from 0 [s].
            forces: (N) force along the motion from each knot to the next [N].
            period: Time between two commands [s].
            recorder: Where every message heard is written.
            namespace: The namespace of the graph.
        """
        super().__init__(NAME, namespace, recorder, True, SLED_HEARD, SLED_RECORDED)
        self.times: list[float] = []
        self.positions: list[np.ndarray] = []
        self.joints: list[np.ndarray] = []
        self.wall_time = 0.0
        self._wall_start = time.monotonic()
        self._knots, self._forces = knots, forces
        self._first: int | None = None
        self._rest = np.zeros(7)
        self._profile = driver_profile("lbr_fri", DriverConfig(), period)
        self._writer = OverlayWriter(self, CommandMode.WRENCH, lockstep=True)

    @property
    def progress(self) -> float:
        """Simulated time since the first tick [s]."""
        return 0.0 if self._first is None else 1e-9 * (self.stamp - self._first)

    @property
    def finished(self) -> bool:
        """True when the plan is over."""
        return self._plan_time >= self._knots[-1] - 1e-9

    @property
    def _plan_time(self) -> float:
        return self.progress - SETTLING

    def _advance(self) -> None:
        state = self._profile.decode_state(STATE, self._latest(STATE))
        assert state is not None, "this driver's state is one message"
        if self._first is None:
            self._first = state.stamp
            self._rest = rest_pose(state)
        # Times are sums of periods of 5 ms, which have no exact representation.
        now = self._plan_time + 1e-6
        wrench = np.zeros(6)
        if now >= 0.0:
            self.times.append(self._plan_time)
            self.positions.append(frame_pose(self._latest(OBJECTS), SLED).translation)
            self.joints.append(state.position)
            wrench[ALONG] = self._forces[np.searchsorted(self._knots, now) - 1]
        if self.finished:
            self.wall_time = time.monotonic() - self._wall_start
            return
        self._writer.publish_command(self._rest, wrench)


def rest_pose(state: ArmState) -> np.ndarray:
    """Take the present command for the rest pose of the tool's springs.

    Args:
        state: The first state of the arm.

    Returns:
        Joint positions (7) [rad].

    Raises:
        CommunicationError: If the arm takes no wrench: a position-controlled arm would hide
            what friction does.
    """
    if state.command_mode is not CommandMode.WRENCH:
        raise CommunicationError(
            "the arm takes no wrench: set Cartesian impedance control at the robot, or as "
            "the scene's robot.control_mode"
        )
    return state.commanded_position
