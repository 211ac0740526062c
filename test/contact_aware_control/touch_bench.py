"""A simulated arm over a table, calibrated and tared, that a hand may push."""

from __future__ import annotations

import dataclasses

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.estimation import EstimatorConfig, make_estimator
from contact_aware_control.loop_state import LoopInputs
from contact_aware_control.targets import StreamConfig, StreamedTargets
from contact_core.arm_state import ArmState
from contact_core.config import from_mapping
from contact_core.robot import Robot
from contact_core.scene import Scene
from contact_core.scene_config import ObjectConfig
from tamsi_sim.robot.plant import Plant


class TouchBench:
    """Ticks simulator, estimator and control loop.

    Attributes:
        commands: Of every tick so far.
    """

    def __init__(self, height=0.2, seed=0, phantom=None):
        """Begin; with a phantom the arm is not calibrated, and that contact is reported too."""
        self.phantom = phantom
        scene = Scene.load("mug_placement")
        table = ObjectConfig(urdf="urdf/table.urdf", xyz=(1.0, 0.0, height))
        scene = dataclasses.replace(scene, objects={"table": table})
        self.plant = Plant(scene, seed)
        self.arm = Robot.from_description(scene.robot)
        self._hand = Robot.from_description(scene.robot)
        self.config = ControllerConfig()
        self.loop = ControlLoop(Robot.from_description(scene.robot), self.config)
        known = from_mapping(EstimatorConfig, {"errors": {"calibration": "exact"}})
        self.estimator = make_estimator(Robot.from_description(scene.robot), known)
        self.estimator.reset(seed)
        self.loop_state = self.loop.start()
        self.bounds = StreamedTargets(self.arm, self.config, StreamConfig()).tool_bounds
        self.commands = []
        self.report = self.plant.reset(seed)
        for _ in range(200):
            self.tick(None)

    def tick(self, goal):
        sensed = self.report
        state = ArmState(
            sensed.time_ns, sensed.position, sensed.velocity, sensed.commanded_position,
            sensed.external_torque,
        )  # fmt: skip
        found = self.estimator.update(state.stamp, state.position, state.external_torque)
        phantoms = () if self.phantom is None else (self.phantom,)
        report = ContactReport(
            state.stamp, (*found.contacts, *phantoms), found.torque, calibrated=not phantoms
        )
        inputs = LoopInputs(state.stamp, state, report, goal)
        self.loop_state, passed, status = self.loop.tick(self.loop_state, inputs)
        self.commands.append(self.loop_state.command)
        command = sensed.commanded_position if passed is None else passed.position
        self.report = dataclasses.replace(self.plant.tick(command), commanded_position=command)
        return state.position, found, status

    def pressing(self):
        return sum(float(np.linalg.norm(c.force)) for c in self.plant.truth().contacts)

    def truly_pressing(self):
        """Return what the arm presses with (3) [N]."""
        forces = [-c.force for c in self.plant.truth().contacts]
        return np.sum(forces, axis=0) if forces else np.zeros(3)

    def push(self, link, force):
        """Push on the origin of a link with a force (3) [N], world frame, from now on."""
        self._hand.update(self.report.position)
        point = self._hand.link_pose(link).translation
        self.plant.push(self._hand.torque_of_force(link, point, np.array(force)))

    def velocity(self, link):
        """Return how fast the origin of a link moves (3) [m/s]."""
        self._hand.update(self.report.position)
        point = self._hand.link_pose(link).translation
        return self._hand.point_jacobian(link, point) @ self.report.velocity

    def tool(self):
        """Return where the tool is (3) [m]."""
        self._hand.update(self.report.position)
        return self._hand.tool_pose().translation.copy()

    def acceleration(self):
        """Return how fast the speed of a joint's command has grown at most [rad/s^2]."""
        speeds = np.diff(self.commands[1:], axis=0) / self.config.period
        before, after = speeds[:-1] * np.sign(speeds[1:]), np.abs(speeds[1:])
        return (after - np.maximum(before, 0.0)).max() / self.config.period
