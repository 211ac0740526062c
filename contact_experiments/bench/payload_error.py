"""What a wrong payload does to the arm: one that is declared wrongly, is dropped, or is taken.

Simulator, estimator and control loop in one process, tick by tick. The arm rests, moves, or presses
its tool against a wall beside it; then the payload is not what was declared, and later it is put
right. What moves by it is compared with the nominal command, that without any contact, and against
the wall with the same run without the error.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from itertools import product
from typing import ClassVar

import numpy as np
import pinocchio as pin

from contact_aware_control.config import ControllerConfig
from contact_aware_control.reference import JointTrajectory, PoseTrajectory
from contact_aware_control.reference.motion import Motion
from contact_aware_control.safety.status import Request, Status
from contact_core.robot.robot import GRAVITY, Robot
from contact_core.robot.scene import Scene
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_experiments.control.moving_ball import Stay
from tamsi_sim.robot.plant import Plant

NAME = "payload_error"
ARMS = ("iiwa14_wsg50", "iiwa7_wsg50", "fr3_wsg50", "ur5e_wsg50")
ERRORS = (-5.0, -2.0, 2.0, 5.0)
"""Declared less true mass [kg]."""
HOWS = ("declared", "real")
"""It is declared wrongly; or what is held is dropped, or taken, and nobody says so."""
POSES: tuple[tuple[float, ...], ...] = (
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.4, 0.3, 0.2, 0.3, 0.5, 0.4),
)
"""From the arm's usual one, first joints [rad]."""
WRONG_AT, RIGHT_AT, RESET_AT, END = 4.0, 6.0, 6.5, 10.0
"""When the error comes, when it is put right, when a fault is reset, and when the run ends [s]."""
WALL_STIFFNESS, WALL_GAP, WALL_DEPTH = 3000.0, 0.01, 0.05
"""[N/m]; how far the wall is from the tool, and how far behind its surface the path leads [m]."""
TRAVEL, SPEED, RECOVERED = 0.05, 0.3, 0.01
"""How far and how fast a command may go by an error, and where it has to be after it [m], [m/s]."""

TABLE_BEGIN, TABLE_END = "<!-- payload_error: begin -->", "<!-- payload_error: end -->"
"""Between these is the table on the page of the documentation."""


class Rest(Stay):
    """The arm is to stay where it is."""

    duration: ClassVar[float] = END


class Turn(Rest):
    """All joints turn slowly, where there is no limit in the way forwards."""

    def motion(self, robot: Robot, q: np.ndarray) -> Motion:
        """Return the motion, see :meth:`Experiment.motion`."""
        turn = 0.05 * self.duration
        forwards = q + turn <= robot.position_limits[1]
        return JointTrajectory(
            [0.0, self.duration], np.array([q, q + np.where(forwards, turn, -turn)])
        )


class PressAside(Rest):
    """The tool goes aside, against a wall."""

    def motion(self, robot: Robot, q: np.ndarray) -> Motion:
        """Return the motion, see :meth:`Experiment.motion`."""
        robot.update(q)
        home = robot.tool_pose().copy()
        aside = home.translation + np.array([0.0, WALL_GAP + WALL_DEPTH, 0.0])
        there = pin.SE3(home.rotation, aside)
        return PoseTrajectory([0.0, 3.0, self.duration], [home, there, there])


SITUATIONS = {"at rest": Rest, "in motion": Turn, "in contact": PressAside}


@dataclasses.dataclass(frozen=True)
class PayloadCase:
    """One run.

    Attributes:
        arm: Its robot, a file of config/robots.
        situation: What the arm does, a key of SITUATIONS.
        how: One of HOWS.
        calibrated: Whether the estimator knows the arm's errors.
        pose: Which of POSES it starts in.
        error: Declared less true mass [kg].
    """

    arm: str
    situation: str
    how: str
    calibrated: bool
    pose: int
    error: float


@dataclasses.dataclass(frozen=True)
class Travel:
    """What an error did.

    Attributes:
        case: The run.
        command: How far the tool's commanded place went by it [m].
        speed: How fast it left the nominal one [m/s].
        usual: How fast it does so without the error, against the wall [m/s].
        arm: How far the tool went, on its springs too [m].
        reported: Statuses from the error until it was put right.
        recovers: Whether the command is back at the end.
    """

    case: PayloadCase
    command: float
    speed: float
    usual: float
    arm: float
    reported: tuple[Status, ...]
    recovers: bool

    @property
    def bounded(self) -> bool:
        """Whether the command kept its bounds."""
        return self.command <= TRAVEL and self.speed <= max(SPEED, self.usual)


class _World:
    """What acts on the arm: the weight of what is held, and a wall.

    Attributes:
        mass: Of what is held [kg].
    """

    def __init__(self, robot: Robot, q: np.ndarray, mass: float, wall: bool) -> None:
        self._robot = robot
        self._robot.update(q)
        self._surface = self._robot.tool_pose().translation[1] + WALL_GAP if wall else np.inf
        self.mass = mass

    def torque(self, q: np.ndarray) -> np.ndarray:
        """Return what it does to the joints (n) [Nm]."""
        self._robot.update(q)
        point = self._robot.tool_pose().translation
        depth = max(point[1] - self._surface, 0.0)
        force = np.array([0.0, -WALL_STIFFNESS * depth, -GRAVITY * self.mass])
        return self._robot.torque_of_force(self._robot.tool_link, point, force)


def run(case: PayloadCase, happens: bool) -> tuple[ClosedLoopRun, np.ndarray]:
    """Make a run.

    Args:
        case: Arm, pose, situation and error.
        happens: Whether the error does.

    Returns:
        (the run; the arm's joint positions (k, n) after every tick [rad]).
    """
    scene = Scene.load("free_space", case.arm)
    q = np.array(scene.config.robot.initial_positions)
    q[: len(POSES[case.pose])] += POSES[case.pose]
    arm = dataclasses.replace(scene.config.robot, initial_positions=tuple(q))
    scene = dataclasses.replace(scene, config=dataclasses.replace(scene.config, robot=arm))
    # What is dropped was held and declared, what is declared wrongly was declared rightly before.
    held = abs(case.error) if (case.how == "real") == (case.error > 0.0) else 0.0
    world = _World(Robot.from_description(scene.robot), q, held, case.situation == "in contact")
    nowhere = np.zeros(3)

    def before_tick(plant: Plant, moment: float) -> None:
        if happens and abs(moment - WRONG_AT) < 1e-6:
            if case.how == "real":
                world.mass -= case.error
            else:
                result.estimator.set_payload(held + case.error, nowhere, 0)
        elif happens and abs(moment - RIGHT_AT) < 1e-6:
            result.estimator.set_payload(world.mass, nowhere, 0)
        elif happens and abs(moment - RESET_AT) < 1e-6:
            result.handle(Request.RESET)

    result = ClosedLoopRun(
        ControllerConfig(),
        SITUATIONS[case.situation](),
        scene=scene,
        load=world.torque,
        calibrated=case.calibrated,
        clock_waits=True,
        before_tick=before_tick,
    )
    result.estimator.set_payload(held, nowhere, 0)
    return result, result.run().joint_position[:, : q.size]


def measure(case: PayloadCase) -> Travel:
    """Make a run with an error, and measure what the error did.

    Args:
        case: The run.
    """
    tool = Robot.from_description(Scene.load("free_space", case.arm).robot)

    def places(joints: Iterable[np.ndarray]) -> np.ndarray:
        found = []
        for q in joints:
            tool.update(q)
            found.append(tool.tool_pose().translation.copy())
        return np.array(found)

    wrong, positions = run(case, happens=True)
    period = wrong.loop.config.period
    before, righted = (round(moment / period) for moment in (WRONG_AT, RIGHT_AT))

    def leaving(of: ClosedLoopRun) -> float:
        away = places(of.commands) - places(of.nominal)
        steps = np.linalg.norm(np.diff(away[before - 1 :], axis=0), axis=1)
        # Where it is back, the nominal command becomes the command, which does not move by that.
        return float(steps[away[before:].any(axis=1)].max(initial=0.0) / period)

    path, usual = places(wrong.nominal), 0.0
    if case.situation == "in contact":
        right = run(case, happens=False)[0]
        path, usual = places(right.commands), leaving(right)
    away, arm = ((places(q) - path)[before - 1 :] for q in (wrong.commands, positions))
    away, arm = away - away[0], arm - arm[0]
    statuses = dict.fromkeys(tick.status for tick in wrong.status[before:righted])
    return Travel(
        case=case,
        command=float(np.linalg.norm(away, axis=1).max()),
        speed=leaving(wrong),
        usual=usual,
        arm=float(np.linalg.norm(arm, axis=1).max()),
        reported=tuple(status for status in statuses if status is not Status.OK),
        recovers=bool(np.linalg.norm(away[-1]) <= RECOVERED),
    )


def all_cases() -> list[PayloadCase]:
    """Return all cases of the sweep."""
    every = product(ARMS, SITUATIONS, HOWS, (True, False), range(len(POSES)), ERRORS)
    return [PayloadCase(*values) for values in every]


def render(travels: Sequence[Travel]) -> str:
    """Show outcomes as a table, the worst of errors and poses in a row.

    Args:
        travels: What was measured.

    Returns:
        Markdown.
    """
    groups: dict[tuple[str, str, str, bool], list[Travel]] = {}
    for travel in travels:
        case = travel.case
        key = case.arm, case.situation, case.how, case.calibrated
        groups.setdefault(key, []).append(travel)
    rows = "\n".join(_row(*key, rows) for key, rows in groups.items())
    return (
        "| arm | situation | error | calibrated | command | speed | arm | reported | recovers |\n"
        f"|---|---|---|---|---|---|---|---|---|\n{rows}"
    )


def page(text: str, travels: Sequence[Travel]) -> str:
    """Put the table into the page of the documentation.

    Args:
        text: The page as it is; the table is between two comments.
        travels: What was measured.

    Returns:
        The page with a new table.
    """
    before, _, rest = text.partition(TABLE_BEGIN)
    return (
        f"{before}{TABLE_BEGIN}\n\n{render(travels)}\n\n{TABLE_END}{rest.partition(TABLE_END)[2]}"
    )


def _row(arm: str, situation: str, how: str, calibrated: bool, rows: Sequence[Travel]) -> str:
    broken = "" if all(row.bounded for row in rows) else " **unbounded**"
    reported = dict.fromkeys(status.name for row in rows for status in row.reported)
    recovered = sum(row.recovers for row in rows)
    return (
        f"| {arm} | {situation} | {how}{broken} | {'yes' if calibrated else 'no'} "
        f"| {100 * max(row.command for row in rows):.1f} cm "
        f"| {max(row.speed for row in rows):.2f} m/s "
        f"| {100 * max(row.arm for row in rows):.1f} cm | {', '.join(reported) or '-'} "
        f"| {recovered} of {len(rows)} |"
    )
