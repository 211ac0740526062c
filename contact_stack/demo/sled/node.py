"""Pushing the sled: what the planner is told of the arm, and the node that streams a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from lbr_fri_idl.msg import LBRState, LBRWrenchCommand
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_core.base.errors import CommunicationError
from contact_core.robot.arm_state import ArmState, CommandMode
from contact_core.robot.scene import Scene
from contact_ros.driver_profile import OverlayWriter
from contact_ros.geometry import frame_pose
from contact_stack.demo.client_node import CLOCK, OBJECTS, ClientNode, Connection
from contact_stack.demo.setpoint_gate import SetpointGate
from tamsi_sim.robot.plant import cartesian_impedance

SCENE = "slide_sled"
SLIDING = "sliding"
"""The surface of sled and table."""
ALONG = 1
"""The motion is along y of the base frame, the second entry of a wrench."""
RESTING = 0.5
"""Time without a wrench in which the jaws close and the sled comes to rest [s]."""
SAME_TIME = 1e-6
"""Sums of periods have no exact representation [s]."""


def carried_mass() -> float:
    """Return the inertia of the arm along the motion, at its start [kg].

    The arm offers no stiffness there, but its links have to be accelerated. The planner is told
    that, but not that it changes on the way, nor about the friction in the arm's joints.
    """
    scene = Scene.load(SCENE)
    start = np.array(scene.config.robot.initial_positions)
    return float(cartesian_impedance(scene).tool_inertia(start)[ALONG, ALONG])


SLED = "sled"
STATE = "state"
SLED_HEARD: Mapping[str, type] = {CLOCK: JointState, STATE: LBRState, OBJECTS: TFMessage}
SLED_RECORDED: Mapping[str, type] = {"joint_states": JointState, "command/wrench": LBRWrenchCommand}


@dataclass(frozen=True)
class Slide:
    """What a run left.

    Attributes:
        time: (n) from the start of the plan [s].
        distance: (n) that the sled has slid along the motion [m].
        joints: (ticks, n) measured positions of the arm [rad].
        wall_time: Real time the run took [s].
    """

    time: np.ndarray
    distance: np.ndarray
    joints: np.ndarray
    wall_time: float

    @property
    def top_speed(self) -> float:
        """Largest speed of the sled [m/s]."""
        return float(np.abs(np.diff(self.distance) / np.diff(self.time)).max())


class SledNode(ClientNode[Slide]):
    """Execute one plan on the graph, in lock-step."""

    def __init__(
        self, scene: Scene, time: np.ndarray, force: np.ndarray, connection: Connection
    ) -> None:
        """Connect to the graph.

        Args:
            scene: For the limits of the arm.
            time: Knots of the plan (N) [s].
            force: Along the motion, from each of them on (N) [N].
            connection: How to take part in the graph.
        """
        super().__init__(connection, SLED_HEARD, SLED_RECORDED)
        self._knots, self._forces = time, force
        self.duration = RESTING + float(time[-1])
        self._rest = np.zeros(7)
        self._times: list[float] = []
        self._positions: list[float] = []
        self._joints: list[np.ndarray] = []
        self._profile = connection.profile
        self._gate = SetpointGate(scene)
        self._writer = OverlayWriter(self, CommandMode.WRENCH, lockstep=True)

    @property
    def finished(self) -> bool:
        """True when the plan is over."""
        return self._plan_time >= self._knots[-1] - 1e-9

    @property
    def _plan_time(self) -> float:
        return self.progress - RESTING

    def data(self) -> Slide:
        """Return where the sled went, after the end."""
        positions = np.array(self._positions)
        return Slide(
            time=np.array(self._times),
            distance=positions - positions[0],
            joints=np.array(self._joints),
            wall_time=self.wall_time,
        )

    def _advance(self) -> None:
        state = self._profile.decode_state(STATE, self._latest(STATE))
        assert state is not None, "this driver's state is one message"
        if self.start is None:
            self.start = state.stamp
            self._rest = rest_pose(state)
        now = self._plan_time + SAME_TIME
        wrench = np.zeros(6)
        if now >= 0.0:
            self._times.append(self._plan_time)
            self._positions.append(frame_pose(self._latest(OBJECTS), SLED).translation[ALONG])
            self._joints.append(state.position)
            wrench[ALONG] = self._forces[np.searchsorted(self._knots, now) - 1]
        if not self.finished:
            command = self._gate.judge(state.stamp, self._rest, self._rest)
            self._writer.publish_command(command, wrench)


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
