"""The paper's baseline: command what inverse kinematics asks for, whatever is in the way."""

from __future__ import annotations

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers.base import Controller, ControllerInput, ControllerOutput
from contact_aware_control.reference.base import Reference
from contact_aware_control.tracking import ReferenceConfiguration, TrackingTask, make_tracking
from contact_core.robot import Robot


class GreedyController(Controller):
    """Minimises the tracking error without contact model and force limit.

    For comparison in simulation only.
    """

    limits_force = False

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Set up; :meth:`follow` gives the reference.

        Args:
            robot: The arm, for this controller alone.
            config: Every parameter.
        """
        self._robot = robot
        self._config = config
        self._task: TrackingTask | None = None
        self._wanted: ReferenceConfiguration | None = None

    def follow(
        self, reference: Reference, command: np.ndarray, force_limits: dict[str, float]
    ) -> None:
        """Start to follow a reference; force limits are ignored, see :class:`Controller`."""
        self._task = make_tracking(self._robot, reference, command.copy(), self._config)
        self._wanted = ReferenceConfiguration(self._robot, reference)

    def step(self, inputs: ControllerInput) -> ControllerOutput:
        """Command q_cmd+ = IK(X_ref+), see :meth:`Controller.step`."""
        assert self._task is not None and self._wanted is not None
        self._robot.update(inputs.position)
        position_error, rotation_error = self._task.error(inputs.time)
        wanted = self._wanted.at(inputs.time + self._config.period, inputs.command)
        change = np.clip(wanted - inputs.command, inputs.lower, inputs.upper)
        return ControllerOutput(
            command=inputs.command + change,
            position_error=position_error,
            rotation_error=rotation_error,
        )
