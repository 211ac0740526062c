"""The bottle's handling stage by stage, by what the arm's and gripper's drivers report.

Force feedback does three things: it tells a grasp from empty fingers, makes the grip follow the
load, and tells by the load when the table carries the bottle. Without feedback the grip stays
that of the first touch, and the bottle is put down where the table should be.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from contact_aware_control.reference.motion import tool_pose
from contact_core.base.low_pass import LowPass
from contact_core.robot.robot import Robot
from contact_stack.demo.bottle_shake.task import BottleStage, BottleTask, JointPath, JointSetpoint

CLOSED, OPEN = 0.0, 0.055
"""Positions of a finger that close and open the gripper [m]."""
OPENING_FORCE = 20.0
FIRST_GRIP, MAX_GRIP = 5.0, 40.0
"""Force of a finger at the first touch, and at most, for the bottle's sake [N]."""
FRICTION, MARGIN = 0.6, 2.0
"""Believed friction of finger and bottle, and the force beyond what that needs."""
RELAXATION = 2.0
"""Time constant with which the grip follows a load that falls [s]."""
CUTOFF = 20.0
"""Of the low-pass on the load [Hz]."""
GRASPED_SHARE, GRASPED_TIME = 0.8, 0.1
"""Part of the commanded force that has to be felt, and for how long [s]."""
LOST_SHARE = 0.5
"""A grip that is felt less than this part of what is commanded has lost the bottle."""
GRASP_TIME, RELEASE_TIME = 2.0, 1.0
"""Longest time that closing may take, and time that opening has [s]."""
WEIGHING_TIME = 0.3
"""At the end of the carrying, in which the bottle is weighed [s]."""
DOWN = 0
"""The axis of the tool frame that points down."""
CARRIED_SHARE = 0.5
"""The bottle stands when less than this part of its weight is felt."""
EFFORT_STEP = 0.25
"""Smallest change of the grip that is commanded [N]."""


NEXT = dict(itertools.pairwise(BottleStage))
HELD = (BottleStage.LIFT, BottleStage.SHAKE, BottleStage.CARRY)


class PlacementVerdict(StrEnum):
    """What the forces say about the placement."""

    PLACED = "placed: the table took the weight, and the hand left without it"
    NOT_GRASPED = "not grasped: the fingers felt nothing between them"
    DROPPED = "dropped: the fingers lost the bottle on the way"
    NO_SUPPORT = "not placed: no table was felt under the bottle"
    STUCK = "not placed: the hand still carries something"
    UNKNOWN = "not judged: nobody looked at the forces"


@dataclass(frozen=True)
class Observation:
    """What the drivers report at the end of a period.

    Attributes:
        stamp: When [ns].
        position: (7) joint positions [rad].
        external_torque: (7) [Nm].
        grip: Force with which each finger presses [N].
    """

    stamp: int
    position: np.ndarray
    external_torque: np.ndarray
    grip: float


@dataclass(frozen=True)
class GripperGoal:
    """A new command of the gripper.

    Attributes:
        position: Of a finger [m].
        effort: Largest force of a finger [N].
    """

    position: float
    effort: float


@dataclass(frozen=True)
class Decision:
    """What is to be done in the coming period.

    Attributes:
        setpoint: For the joints.
        gripper: For the gripper, None if its last command stays.
    """

    setpoint: JointSetpoint
    gripper: GripperGoal | None


class Procedure:
    """Goes from stage to stage by time, and by force.

    Attributes:
        stage: What is being done.
        load: (3) force of what is held on the fingers, tool frame [N].
        verdict: The judgement; None before the end.
    """

    def __init__(
        self, robot: Robot, task: BottleTask, q_start: np.ndarray, period: float, feedback: bool
    ) -> None:
        """Plan the motions up to the placement.

        Args:
            robot: The arm, for this procedure's own use.
            task: What to do.
            q_start: (7) where the arm is commanded to be [rad].
            period: Time between two observations [s].
            feedback: Whether forces are used.

        Raises:
            TrajectoryError: If a keyframe is out of reach or a motion too fast.
        """
        self.stage = BottleStage.APPROACH
        self.load = np.zeros(3)
        self.verdict: PlacementVerdict | None = None
        self._robot, self._task, self._period, self._feedback = robot, task, period, feedback
        self._paths: dict[BottleStage, JointPath] = {}
        q = np.array(q_start)
        for stage, keyframes in task.keyframes(feedback).items():
            self._paths[stage] = JointPath(robot, q, keyframes)
            q = self._paths[stage].end
        self._sensor = LoadSensor(robot, period)
        self._regulator = GripRegulator(period)
        self._began: int | None = None
        self._resting = np.array(q_start)
        self._felt = 0.0
        self._weights: list[float] = []
        self._commanded: GripperGoal | None = None

    @property
    def finished(self) -> bool:
        """True when there is nothing left to do."""
        return self.stage is BottleStage.END

    @property
    def grip(self) -> float:
        """Force that each finger is commanded to press with [N]; 0 with the gripper open."""
        closed = self._commanded is not None and self._commanded.position == CLOSED
        return self._commanded.effort if closed and self._commanded else 0.0

    @property
    def weight(self) -> float:
        """What the bottle weighed in the end of the carrying [N]."""
        return float(np.mean(self._weights)) if self._weights else 0.0

    def update(self, seen: Observation) -> Decision:
        """Decide what to do next.

        Args:
            seen: What the drivers report; one per period.
        """
        if self._began is None:
            self._began = seen.stamp
        self.load = self._sensor.sample(seen.position, seen.external_torque)
        elapsed = 1e-9 * (seen.stamp - self._began)
        self._weigh(elapsed)
        if self._lost(seen):
            self._end(PlacementVerdict.DROPPED, elapsed)
        elif self._stage_is_over(elapsed, seen):
            self._advance(seen.stamp, elapsed)
            elapsed = 0.0
        # A command counts for the end of the period that begins now.
        return Decision(self._setpoint(elapsed + self._period), self._gripper_goal())

    def _lost(self, seen: Observation) -> bool:
        """Tell whether the fingers have closed on nothing."""
        if not self._feedback or self.stage not in HELD:
            return False
        weak = seen.grip < LOST_SHARE * self.grip
        self._felt = self._felt + self._period if weak else 0.0
        return self._felt > GRASPED_TIME

    def _stage_is_over(self, elapsed: float, seen: Observation) -> bool:
        match self.stage:
            case BottleStage.GRASP:
                return self._grasped(elapsed, seen)
            case BottleStage.LOWER:
                return self._standing() or elapsed >= self._paths[BottleStage.LOWER].duration
            case BottleStage.RELEASE:
                return elapsed >= RELEASE_TIME
            case BottleStage.END:
                return False
        return elapsed >= self._paths[self.stage].duration

    def _weigh(self, elapsed: float) -> None:
        """Feel the weight while nothing moves any more."""
        carrying = self.stage is BottleStage.CARRY
        if carrying and elapsed >= self._paths[BottleStage.CARRY].duration - WEIGHING_TIME:
            self._weights.append(float(np.linalg.norm(self.load)))

    def _grasped(self, elapsed: float, seen: Observation) -> bool:
        """Tell whether the fingers hold something; without feedback, whether they had time to."""
        if not self._feedback:
            return elapsed >= 0.5 * GRASP_TIME
        felt = seen.grip >= GRASPED_SHARE * self.grip
        self._felt = self._felt + self._period if felt and self.grip > 0.0 else 0.0
        return self._felt > GRASPED_TIME or elapsed >= GRASP_TIME

    def _standing(self) -> bool:
        """Tell whether something else carries the bottle's weight."""
        return self._feedback and bool(self.load[DOWN] < CARRIED_SHARE * self.weight)

    def _advance(self, stamp: int, elapsed: float) -> None:
        """Begin the next stage, or end with what the forces say."""
        over = self.stage
        if self._feedback and over is BottleStage.GRASP and self._felt <= GRASPED_TIME:
            self._end(PlacementVerdict.NOT_GRASPED, elapsed)
        elif self._feedback and over is BottleStage.LOWER and not self._standing():
            self._end(PlacementVerdict.NO_SUPPORT, elapsed)
        elif over is BottleStage.RETREAT:
            self._end(self._judge(), elapsed)
        else:
            if over is BottleStage.LOWER:
                self._resting = self._setpoint(elapsed).position
            elif over in self._paths:
                self._resting = self._paths[over].end
            self.stage, self._began, self._felt = NEXT[over], stamp, 0.0
            if self.stage is BottleStage.RETREAT:
                tool = tool_pose(self._robot, self._resting)
                keyframes = self._task.leaving(tool)
                self._paths[BottleStage.RETREAT] = JointPath(self._robot, self._resting, keyframes)

    def _judge(self) -> PlacementVerdict:
        if not self._feedback:
            return PlacementVerdict.UNKNOWN
        free = float(np.linalg.norm(self.load)) < CARRIED_SHARE * self.weight
        return PlacementVerdict.PLACED if free else PlacementVerdict.STUCK

    def _end(self, verdict: PlacementVerdict, elapsed: float) -> None:
        """Hold still where the arm is led to now, with the gripper as it is."""
        self._resting = self._setpoint(elapsed).position
        self.verdict, self.stage = verdict, BottleStage.END

    def _setpoint(self, elapsed: float) -> JointSetpoint:
        if self.stage in self._paths:
            return self._paths[self.stage].sample(elapsed)
        return JointSetpoint.at_rest(self._resting)

    def _gripper_goal(self) -> GripperGoal | None:
        """Return a new command of the gripper if it has to change."""
        match self.stage:
            case BottleStage.END:
                return None
            case BottleStage.APPROACH | BottleStage.RELEASE | BottleStage.RETREAT:
                wanted = GripperGoal(OPEN, OPENING_FORCE)
            case _ if self._feedback and self.stage is not BottleStage.GRASP:
                wanted = GripperGoal(CLOSED, self._regulator.update(self.load))
            case _:
                wanted = GripperGoal(CLOSED, self._regulator.force)
        last = self._commanded
        same = last is not None and last.position == wanted.position
        if last is not None and same and abs(wanted.effort - last.effort) < EFFORT_STEP:
            return None
        self._commanded = wanted
        return wanted


class LoadSensor:
    """The force on the tool, from the external torques tau = J' f of the arm."""

    def __init__(self, robot: Robot, period: float) -> None:
        """Set the sensor up.

        Args:
            robot: The arm; every sample updates it.
            period: Time between two samples [s].
        """
        self._robot = robot
        self._period = period
        self._low_pass = LowPass(CUTOFF)

    def sample(self, q: np.ndarray, external_torque: np.ndarray) -> np.ndarray:
        """Return the force of what is held on the fingers (3), tool frame [N].

        It is taken to act at the tool's origin, between the fingers.

        Args:
            q: (n) joint positions [rad].
            external_torque: (n) [Nm].
        """
        self._robot.update(q)
        jacobian = self._robot.tool_jacobian()[:3]
        force = np.linalg.lstsq(jacobian.T, external_torque, rcond=None)[0]
        return self._low_pass.update(np.asarray(force), self._period)


class GripRegulator:
    """Tightens at once with the load, and relaxes slowly: the next shake may be as strong."""

    def __init__(self, period: float) -> None:
        """Begin with the force of the first touch.

        Args:
            period: Time between two samples [s].
        """
        self._decay = math.exp(-period / RELAXATION)
        self.force = FIRST_GRIP

    def update(self, load: np.ndarray) -> float:
        """Return the force that each finger should press with [N].

        Two fingers hold a load by friction as long as 2 mu N exceeds it.

        Args:
            load: (3) force of what is held, tool frame; the fingers press along y [N].
        """
        needed = MARGIN * needed_grip(load, FRICTION)
        self.force = min(max(needed, self._decay * self.force, FIRST_GRIP), MAX_GRIP)
        return self.force


def needed_grip(load: np.ndarray, friction: float) -> float:
    """Return the least force of each of two fingers that holds a load by friction mu [N].

    The load (3) is in the tool frame [N], where the fingers press along y.
    """
    return float(np.hypot(load[0], load[2])) / (2.0 * friction)
