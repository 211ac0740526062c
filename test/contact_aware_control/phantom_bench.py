"""An arm in free space whose torque sensors claim what is not there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_aware_control.loop_state import LoopInputs, LoopStatus
from contact_aware_control.reference import Goal, JointTrajectory
from contact_core.base.config import from_mapping
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from tamsi_sim.robot.plant import Plant

WATCHED = ("lbr_link_4", "lbr_link_6")
"""Their frames are at the elbow and at the wrist."""
SIZES = np.array([25.0, 25.0, 20.0, 20.0, 10.0, 6.0, 4.0])
"""Of the torques that are claimed [Nm]."""


class PhantomBench:
    """The simulated arm and its controller; nothing is in its way.

    Attributes:
        statuses: LoopStatus of every tick since the torque began.
        home: (7) where the arm is at first [rad].
        softness: (7) of the joint springs [rad/Nm].
        away: Largest distance of elbow, wrist and tool to their path in each of these ticks [m].
    """

    def __init__(
        self,
        claimed: Callable[[float], np.ndarray],
        *,
        goal: Callable[[np.ndarray], Goal | None],
        load: np.ndarray | None = None,
        calibrated: bool = False,
        seed: int = 0,
        **values: object,
    ) -> None:
        """Bring the arm to rest, tared.

        Args:
            claimed: From the time [s] to the torque (7) in the signal alone [Nm].
            goal: From the arm's start (7) [rad] to what it is to follow.
            load: (7) a torque that is real, from the start of the goal on [Nm].
            calibrated: What the reports say.
            seed: Of noise and particles.
            values: Parameters of the controller.
        """
        scene = Scene.load("free_space")
        self.plant = Plant(scene, seed)
        self.arm = Robot.from_description(scene.robot)
        self._estimator = ContactEstimator(Robot.from_description(scene.robot), EstimatorConfig())
        self._estimator.reset(seed)
        self.loop = ControlLoop(
            Robot.from_description(scene.robot), from_mapping(ControllerConfig, values)
        )
        self.loop_state = self.loop.start()
        self.softness = 1.0 / np.array(scene.config.robot.stiffness)
        self._report = self.plant.reset(seed)
        self._calibrated = calibrated
        self.home = self._report.commanded_position
        for _ in range(100):
            self._tick(np.zeros(7), np.zeros(7), None)
        self._claimed = claimed
        self._goal = goal(self.home)
        self._load = np.zeros(7) if load is None else load
        self.statuses: list[LoopStatus] = []
        self.away: list[float] = []

    def run(self, duration: float) -> None:
        """Let time pass.

        Args:
            duration: How much [s].
        """
        period = self.loop.config.period
        for _ in range(round(duration / period)):
            time = len(self.statuses) * period
            status = self._tick(self._claimed(time), self._load, self._goal)
            path = self.home
            if self._goal is not None:
                path = self._goal.reference.sample(status.reference_time)
            where = self.points(self._report.position) - self.points(path)
            self.away.append(float(np.linalg.norm(where, axis=1).max()))
            self.statuses.append(status)

    @property
    def names(self) -> set[str]:
        """Names of the statuses so far."""
        return {status.status.name for status in self.statuses}

    def points(self, q: np.ndarray) -> np.ndarray:
        """Return elbow, wrist and tool (3, 3), one a row [m], at joint positions q (7) [rad]."""
        self.arm.update(q)
        watched = [self.arm.link_pose(link).translation for link in WATCHED]
        return np.array([*watched, self.arm.tool_pose().translation])

    def _tick(self, claimed: np.ndarray, load: np.ndarray, goal: Goal | None) -> LoopStatus:
        sensed = self._report
        state = ArmState(
            sensed.time_ns,
            sensed.position,
            sensed.velocity,
            sensed.commanded_position,
            sensed.external_torque + claimed + load,
        )
        found = self._estimator.update(state).contacts
        report = ContactReport(state.stamp, found, calibrated=self._calibrated)
        inputs = LoopInputs(state.stamp, state, report, goal)
        self.loop_state, passed, status = self.loop.tick(self.loop_state, inputs)
        # Without a new command the robot holds the last one.
        command = sensed.commanded_position if passed is None else passed.position
        after = self.plant.tick(command + load * self.softness, None)
        self._report = dataclasses.replace(after, commanded_position=command)
        return status


def stay(home: np.ndarray) -> Goal:
    """Ask the arm to stay."""
    return Goal(JointTrajectory([0.0, 60.0], np.array([home, home])))


def sweep(home: np.ndarray) -> Goal:
    """Ask for a slow motion of several joints, back and forth."""
    there = home + np.array([0.4, 0.2, 0.3, 0.3, 0.2, 0.2, 0.0])
    return Goal(JointTrajectory([0.0, 4.0, 8.0], np.array([home, there, home])))


def course(seed: int) -> Callable[[float], np.ndarray]:
    """Return a random course of torques: they come, stay, vary, jump and drift.

    Args:
        seed: Of the course.
    """
    random = np.random.default_rng(seed)
    joints = random.random(7) < 0.6
    size = random.uniform(0.2, 1.0) * SIZES * joints
    levels = random.uniform(-1.0, 1.0, (6, 7)) * size
    starts = np.sort(random.uniform(0.0, 6.0, 6))
    ramp = random.choice([0.01, 0.2, 2.0])
    wave, rate = random.uniform(-0.5, 0.5, 7) * size, random.uniform(0.2, 3.0)
    drift = random.uniform(-0.1, 0.1, 7) * size

    def claimed(time: float) -> np.ndarray:
        level = np.zeros(7)
        for start, target in zip(starts, levels, strict=True):
            level += (target - level) * np.clip((time - start) / ramp, 0.0, 1.0)
        return level + wave * np.sin(2.0 * np.pi * rate * time) * (time > 0.5) + drift * time

    return claimed
