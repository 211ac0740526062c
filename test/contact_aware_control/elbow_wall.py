"""A wall in the way of the elbow, where seven torques cannot tell the place of a contact."""

from __future__ import annotations

import dataclasses

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_aware_control.loop_state import LoopInputs, LoopStatus
from contact_aware_control.reference import Goal, JointTrajectory
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from tamsi_sim.robot.plant import Plant

ELBOW = "lbr_link_4"
WALL_STIFFNESS = 4000.0
"""Force of the wall per distance that the elbow is inside [N/m]."""
START = np.array([0.0, 0.2, 0.0, -1.2, 0.0, 0.8, 0.0])
FORWARD = np.array([0.5, 0.0, 0.0])


class ElbowWall:
    """The simulated arm, its controller, and a wall ahead of the elbow.

    Attributes:
        forces: Force of the wall in every tick of the motion [N].
        statuses: LoopStatus of every tick of the motion.
        speeds: Largest joint speed of the arm in every tick of the motion [rad/s].
    """

    def __init__(self, config: ControllerConfig, *, estimator: bool = True, seed: int = 0) -> None:
        """Bring the arm up to the wall.

        Args:
            config: The controller's parameters.
            estimator: Whether there is a contact estimator; otherwise somebody reports that
                the arm is free.
            seed: Of noise and particles.
        """
        scene = Scene.load("free_space")
        robot = dataclasses.replace(scene.config.robot, initial_positions=tuple(START))
        self._scene = dataclasses.replace(
            scene, config=dataclasses.replace(scene.config, robot=robot)
        )
        self._plant = Plant(self._scene, seed)
        self._arm = Robot.from_description(scene.robot)
        self._stiffness = np.array(robot.stiffness)
        self._estimator = (
            ContactEstimator(Robot.from_description(scene.robot), EstimatorConfig())
            if estimator
            else None
        )
        self.loop = ControlLoop(Robot.from_description(scene.robot), config)
        self.loop_state = self.loop.start()
        self._report = self._plant.reset(seed)
        self._face = self._elbow(self._report.position)[0] + 0.02
        self.forces: list[float] = []
        self.statuses: list[LoopStatus] = []
        self.speeds: list[float] = []
        for _ in range(150):
            self._tick(None)

    def press(self, duration: float, depth: float = 0.3, hold: bool = False) -> None:
        """Move the shoulder towards the wall and beyond.

        Args:
            duration: Of the run [s].
            depth: How far the shoulder is to turn [rad].
            hold: Let the wall come to the held arm instead, at 0.05 m/s.
        """
        there = START + depth * np.eye(7)[1]
        goal = None if hold else self.loop_state.goal
        if goal is None and not hold:
            goal = Goal(JointTrajectory([0.0, 2.0], np.array([START, there])))
        for _ in range(round(duration / self.loop.config.period)):
            if hold:
                self._face -= 0.05 * self.loop.config.period
            force, status, speed = self._tick(goal)
            self.forces.append(force)
            self.statuses.append(status)
            self.speeds.append(speed)

    def remove(self) -> None:
        """Take the wall away."""
        self._face = np.inf

    def _elbow(self, q: np.ndarray) -> np.ndarray:
        self._arm.update(q)
        point: np.ndarray = self._arm.link_pose(ELBOW).translation
        return point

    def _tick(self, goal: Goal | None) -> tuple[float, LoopStatus, float]:
        sensed = self._report
        point = self._elbow(sensed.position)
        force = WALL_STIFFNESS * max(0.0, point[0] - self._face)
        torque = self._arm.torque_of_force(ELBOW, point, np.array([-force, 0.0, 0.0]))
        state = ArmState(
            sensed.time_ns,
            sensed.position,
            sensed.velocity,
            sensed.commanded_position,
            sensed.external_torque + torque,
        )
        contacts = () if self._estimator is None else self._estimator.update(state).contacts
        inputs = LoopInputs(state.stamp, state, ContactReport(state.stamp, contacts), goal)
        self.loop_state, passed, status = self.loop.tick(self.loop_state, inputs)
        assert passed is not None
        command = passed.position
        # A torque on a joint moves the rest position of its spring.
        after = self._plant.tick(command + torque / self._stiffness, None)
        self._report = dataclasses.replace(after, commanded_position=command)
        return force, status, float(np.abs(sensed.velocity).max())
