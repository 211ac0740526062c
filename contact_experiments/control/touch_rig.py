"""An arm that touches on purpose: simulator, estimator and control loop, calibrated and tared.

What it follows is decided tick by tick, from what is measured; nothing here is ROS.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate, ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.estimation import EstimatorConfig, EstimatorOutput, make_estimator
from contact_aware_control.loop_state import LoopInputs, LoopStatus
from contact_aware_control.reference import Goal
from contact_aware_control.targets import StreamConfig, StreamedTargets
from contact_core.base.config import from_mapping
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from tamsi_sim.robot.plant import Plant

TARE_TICKS = 200
"""In free space, in which the estimator tares."""


class TouchRig:
    """Ticks simulator, estimator and control loop.

    Attributes:
        plant: The simulator.
        arm: For what is followed to measure with.
        config: The controller's parameters.
        loop: The control loop.
        loop_state: What it remembers.
        estimator: Of contacts.
        bounds: Of the tool's motion where forces lead it.
        commands: Of every tick so far.
        report: What was measured last.
        phantom: A contact that is reported besides, by an arm that is not calibrated then.
        silent: Whether contacts are reported no more; the loop has the last ones then.
    """

    def __init__(self, scene: Scene, seed: int = 0, phantom: ContactEstimate | None = None) -> None:
        """Begin, and tare.

        Args:
            scene: What stands where.
            seed: Of the sensor noise and of the particles.
            phantom: See the attributes.
        """
        self.phantom, self.silent = phantom, False
        self._contacts: ContactReport | None = None
        self.plant = Plant(scene, seed)
        self.arm, self._hand, loops, estimators = (
            Robot.from_description(scene.robot) for _ in range(4)
        )
        self.config = ControllerConfig()
        self.loop = ControlLoop(loops, self.config)
        known = from_mapping(EstimatorConfig, {"errors": {"calibration": "exact"}})
        self.estimator = make_estimator(estimators, known)
        self.estimator.reset(seed)
        self.loop_state = self.loop.start()
        self.bounds = StreamedTargets(self.arm, self.config, StreamConfig()).tool_bounds
        self.commands: list[np.ndarray | None] = []
        self.report = self.plant.reset(seed)
        for _ in range(TARE_TICKS):
            self.tick(None)

    def tick(self, goal: Goal | None) -> tuple[np.ndarray, EstimatorOutput, LoopStatus]:
        """Advance by one period.

        Args:
            goal: What is followed.

        Returns:
            (measured q (n) [rad] that the tick began with, the contacts there, what the loop did).
        """
        sensed = self.report
        state = ArmState(
            sensed.time_ns, sensed.position, sensed.velocity, sensed.commanded_position,
            sensed.external_torque,
        )  # fmt: skip
        found = self.estimator.update(state)
        if not self.silent:
            phantoms = () if self.phantom is None else (self.phantom,)
            self._contacts = ContactReport(
                state.stamp, (*found.contacts, *phantoms), found.torque, calibrated=not phantoms
            )
        inputs = LoopInputs(state.stamp, state, self._contacts, goal)
        self.loop_state, passed, status = self.loop.tick(self.loop_state, inputs)
        self.commands.append(self.loop_state.command)
        command = sensed.commanded_position if passed is None else passed.position
        self.report = dataclasses.replace(self.plant.tick(command), commanded_position=command)
        return state.position, found, status

    @property
    def command(self) -> np.ndarray:
        """The present command q_cmd (n) [rad]."""
        assert self.loop_state.command is not None
        return self.loop_state.command

    def truly_pressing(self, body: str = "") -> np.ndarray:
        """Return what the arm presses with (3) on one body, or on all if none is named [N]."""
        forces = [-c.force for c in self.plant.truth().contacts if body in ("", c.body)]
        return np.sum(forces, axis=0) if forces else np.zeros(3)

    def tool(self) -> np.ndarray:
        """Return where the tool is (3) [m]."""
        self._hand.update(self.report.position)
        return self._hand.tool_pose().translation.copy()
