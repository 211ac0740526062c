"""The gate of demos that stream commands to the arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.safety.command_gate import CommandGate, GateState
from contact_core.base.config import from_mapping
from contact_core.base.errors import CommunicationError
from contact_core.robot.arm_state import SoundCommand
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene


class SetpointGate:
    """Passes joint positions that a demo streams to the arm, past the controller."""

    def __init__(self, scene: Scene) -> None:
        """Take the limits: the joints' own speed, for a bottle is shaken fast.

        Args:
            scene: Has the arm, its stiffness and the period of commands.
        """
        limits = {"step": 0.05, "velocity_fraction": 1.0, "position_margin": 0.0}
        values = {"rate": 1.0 / scene.config.period, "limits": limits}
        joints = replace(scene.robot.joints, stiffness=scene.config.robot.stiffness)
        robot = Robot.from_description(replace(scene.robot, joints=joints))
        self._gate = CommandGate(robot, from_mapping(ControllerConfig, values))
        self._passed: GateState | None = None

    def judge(self, stamp: int, wanted: np.ndarray, measured: np.ndarray) -> SoundCommand:
        """Pass a command.

        Args:
            stamp: Time of the period [ns].
            wanted: (n) commanded joint positions [rad].
            measured: (n) measured ones; the first command has to be near them [rad].

        Returns:
            What may be sent.

        Raises:
            CommunicationError: If it breaks a rule.
        """
        before = self._passed or self._gate.start(measured)
        self._passed, command, refusal = self._gate.judge(before, stamp, wanted, measured)
        if refusal:
            raise CommunicationError(f"the gate refused a command: {refusal}")
        return command
