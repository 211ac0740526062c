"""A control loop that drives the fake robot, period by period, as the node would."""

from __future__ import annotations

import dataclasses

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.loop_state import LoopInputs
from contact_aware_control.reference import Goal, JointTrajectory
from contact_aware_control.safety.status import Mode, Request
from contact_core.base.config import from_mapping
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_experiments.bench.fault_run import START
from contact_experiments.fake import FakeConfig, FakeRobot
from contact_ros.driver_profile import DriverConfig, MessageError, driver_profile

PERIOD = 0.005
TICK = 5_000_000
PROFILES = {"lbr_fri2": "lbr_fri"}
"""Drivers of the fake robot that one of our profiles serves under another name."""


class LinkBench:
    """Robot, driver profile and control loop; no node, no estimator: the arm moves freely.

    Attributes:
        robot: The robot.
        status: LoopStatus of every tick.
        commands: (n) or None, what was sent in every tick.
        held: (n) what the robot's command was before it took the last one [rad].
        speeds: (n) true joint velocities after every tick [rad/s].
    """

    def __init__(self, driver: str = "lbr_fri", **values: object) -> None:
        """Activate the loop."""
        self.robot = FakeRobot(FakeConfig(driver=driver, position=START, guard=False))
        name = PROFILES.get(driver, driver)
        description = RobotDescription.load("iiwa14_wsg50")
        self._profile = driver_profile(name, DriverConfig(), PERIOD, description.arm_joints)
        arm = Robot.from_description(description)
        self.velocity_limits = arm.velocity_limits
        self.loop = ControlLoop(arm, from_mapping(ControllerConfig, values))
        self.state = self.loop.start()
        self._now = 10**15
        self._arm = None
        self.goal: Goal | None = None
        self.status: list = []
        self.commands: list = []
        self.speeds: list = []
        self.held: np.ndarray | None = None

    def ask(self, request: Request) -> bool:
        """Ask something between two ticks."""
        self.state, done = self.loop.handle(self.state, request)
        return done

    def follow(self, change: np.ndarray, duration: float) -> None:
        """Begin to move every joint."""
        here = self.state.command
        self.goal = Goal(JointTrajectory([0.0, duration], np.array([here, here + change])))

    def run(self, duration: float) -> None:
        """Let time pass."""
        for _ in range(round(duration / PERIOD)):
            self._tick()

    @property
    def last(self):
        """LoopStatus of the last tick."""
        return self.status[-1]

    def names(self, since: int = 0) -> list[str]:
        """The statuses since a tick, each once, in the order of their first."""
        return list(dict.fromkeys(status.status.name for status in self.status[since:]))

    def _tick(self) -> None:
        self._now += TICK
        *earlier, self._arm = [*self._heard()] or [self._arm]
        inputs = LoopInputs(
            self._now, self._arm, ContactReport(self._now, ()), self.goal, tuple(earlier)
        )
        self.state, command, status = self.loop.tick(self.state, inputs)
        self.held = self.robot.target
        if command is not None:
            self.robot.take(self._profile.encode_command(command.position))
        self.status.append(status)
        self.commands.append(None if command is None else command.position)
        self.speeds.append(self.robot.arm.v.copy())

    def _heard(self):
        """Yield the states that arrive in a period."""
        for item in self.robot.step():
            if item.topic not in self._profile.needed_topics:
                continue
            try:
                arm = self._profile.decode_state(item.topic, item.message)
            except MessageError as error:
                self.state, _ = self.loop.handle(self.state, Request.REJECT_INPUT, str(error))
                continue
            if arm is not None:
                yield dataclasses.replace(arm, stamp=self._now, driver_stamp=arm.stamp)

    def held_after(self, since: int) -> int:
        """Number of ticks since one until the arm is not tracked any more."""
        return next(
            k
            for k, status in enumerate(self.status[since:])
            if status.mode not in (Mode.TRACKING, Mode.CONSERVATIVE)
        )
