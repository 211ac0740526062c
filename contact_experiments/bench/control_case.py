"""A control loop that is busy, and how long its ticks take, one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pinocchio as pin

from contact_aware_control import (
    ContactEstimate,
    ContactReport,
    ControllerConfig,
    ControlLoop,
    Goal,
    LoopInputs,
    PoseTrajectory,
)
from contact_core.base.errors import ConfigError
from contact_core.base.seeds import generator
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot

ROBOT = "iiwa14_wsg50"
START = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
MOTION_TIME = 4.0
MOTION = 0.15
LINKS = ("lbr_link_4", "lbr_link_5", "lbr_link_6", "lbr_link_7")
MAX_CONTACTS = len(LINKS)
MAX_COSINE = 0.8
"""Contacts whose joint torques are closer to parallel would be merged to one."""

WARM_UP = 300

Item = TypeVar("Item")


@dataclass(frozen=True)
class Timing:
    """Percentiles of durations.

    Attributes:
        count: Number of durations.
        p50_us: Median [us].
        p99_us: 99th percentile [us].
        p999_us: 99.9th percentile [us].
        max_us: Largest [us].
    """

    count: int
    p50_us: float
    p99_us: float
    p999_us: float
    max_us: float

    @classmethod
    def of(cls, nanoseconds: np.ndarray) -> Timing:
        """Summarise durations.

        Args:
            nanoseconds: Durations [ns], at least one.

        Returns:
            Their percentiles.
        """
        p50, p99, p999, largest = np.percentile(nanoseconds, (50, 99, 99.9, 100)) * 1e-3
        return cls(len(nanoseconds), float(p50), float(p99), float(p999), float(largest))


def durations(call: Callable[[Item], object], items: Iterable[Item]) -> np.ndarray:
    """Time a call for each of many arguments.

    Args:
        call: What is timed.
        items: Its arguments.

    Returns:
        The duration of each call [ns].
    """
    measured = []
    for item in items:
        start = time.perf_counter_ns()
        call(item)
        measured.append(time.perf_counter_ns() - start)
    return np.array(measured)


class ControlCase:
    """Ticks of the control loop with a number of contacts; the arm follows its commands."""

    def __init__(
        self, contacts: int, seed: int = 0, config: ControllerConfig | None = None
    ) -> None:
        """Set up.

        Args:
            contacts: Number of contacts, 0 ... MAX_CONTACTS.
            seed: Seed of places, forces and noise.
            config: The controller's parameters.
        """
        description = RobotDescription.load(ROBOT)
        self._loop = ControlLoop(Robot.from_description(description), config or ControllerConfig())
        self._robot = Robot.from_description(description)
        self._rng = generator(seed, "bench control")
        self._places = self._choose(contacts)
        self._period = round(self._loop.config.period * 1e9)
        self._now = 0
        self._q = START.copy()
        self._goal: Goal | None = None
        self._state = self._loop.start()
        self.tick(self.inputs())
        self._goal = self._new_goal()

    def inputs(self) -> tuple[ArmState, ContactReport]:
        """Make what the next tick is given."""
        self._now += self._period
        if self._goal is not None and self._now % round(2e9 * MOTION_TIME) < self._period:
            self._goal = self._new_goal()
        position = self._q + self._rng.normal(scale=2e-5, size=self._q.size)
        unknown = np.full(self._q.size, np.nan)
        state = ArmState(self._now, position, unknown, self._q, unknown)
        return state, ContactReport(self._now, tuple(self._contacts()))

    def tick(self, inputs: tuple[ArmState, ContactReport]) -> tuple[str, ...]:
        """Run one tick.

        Args:
            inputs: From :meth:`inputs`.

        Returns:
            The links whose force the controller limits.
        """
        self._state, command, status = self._loop.tick(
            self._state, LoopInputs(self._now, *inputs, self._goal)
        )
        assert command is not None
        self._q = command.position
        return status.output.contact_links

    def many(self, count: int) -> Iterator[tuple[ArmState, ContactReport]]:
        """Yield the inputs of many ticks; each has to be handled before the next is made."""
        for _ in range(count):
            yield self.inputs()

    def _new_goal(self) -> Goal:
        """Return a goal that leads down and back up, from where the tool is."""
        self._robot.update(self._q)
        start = self._robot.tool_pose()
        down = pin.SE3(start.rotation, start.translation - np.array([0.0, 0.0, MOTION]))
        times = [0.0, MOTION_TIME, 2.0 * MOTION_TIME]
        return Goal(PoseTrajectory(times, [start, down, start]))

    def _choose(self, count: int) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Return links, points in the link and directions that are told apart by the joints."""
        if not 0 <= count <= MAX_CONTACTS:
            raise ConfigError(f"{count} contacts (valid: 0 to {MAX_CONTACTS})")
        self._robot.update(START)
        places: list[tuple[str, np.ndarray, np.ndarray]] = []
        rows: list[np.ndarray] = []
        while len(places) < count:
            link = LINKS[-1 - len(places)]
            point = self._rng.uniform(-0.05, 0.05, size=3)
            direction = self._rng.normal(size=3)
            direction /= np.linalg.norm(direction)
            world = self._robot.link_pose(link).act(point)
            row = self._robot.torque_of_force(link, world, direction)
            row /= np.linalg.norm(row)
            if all(abs(row @ other) < MAX_COSINE for other in rows):
                places.append((link, point, direction))
                rows.append(row)
        return places

    def _contacts(self) -> Iterator[ContactEstimate]:
        if not self._places:
            return
        self._robot.update(self._q)
        for number, (link, point, direction) in enumerate(self._places):
            yield ContactEstimate(
                number=number,
                link=link,
                joints_moving=self._robot.joints_moving(link),
                point_world=self._robot.link_pose(link).act(point),
                point_link=point,
                normal_world=direction,
                force_world=self._rng.uniform(8.0, 17.0) * direction,
                point_covariance=np.eye(3) * 1e-4,
                force_covariance=np.eye(3),
                residual=1.0,
                effective_sample_size=300.0,
                spread=0.01,
                identifiable=True,
                age=1.0,
                modes=(),
            )


def time_ticks(contacts: int, count: int) -> Timing:
    """Time the whole tick of the control loop.

    Args:
        contacts: Number of contacts.
        count: Number of ticks.

    Returns:
        The durations.
    """
    case = ControlCase(contacts)
    durations(case.tick, case.many(WARM_UP))
    return Timing.of(durations(case.tick, case.many(count)))
