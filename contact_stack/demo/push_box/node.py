"""The node that has pushes planned and executed until the box is where it should be.

It sees the box as a camera would (truth/objects) and the arm by its encoders. Planning takes
no simulated time in lock-step: the tick in which the plan is asked for ends when it has come.
A push is executed as a whole; before the next one the arm goes to where that has to begin. A
plan without contact is followed by one from another place, and so is a motion that the
controller refuses: either costs an attempt, no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin
from contact_stack_msgs.action import FollowPoseTrajectory, PlanThroughContact
from contact_stack_msgs.msg import LinkForceLimit

from contact_aware_control.reference import PoseTrajectory
from contact_aware_control.reference.motion import tool_pose
from contact_core.base.errors import TrajectoryError
from contact_core.robot.robot import Robot
from contact_ros.geometry import frame_pose, to_se3
from contact_ros.stamps import NANOSECONDS
from contact_stack.demo.client_node import (
    CLOCK,
    LEAD_TIME,
    OBJECTS,
    SILENCE_LIMIT,
    ClientNode,
    Connection,
    force_on,
    pose_goal,
)
from contact_stack.demo.contact_tracking.experiments import SETTLING
from contact_stack.demo.push_box.motions import PushPlace, approach, push_motion, push_places
from contact_stack.demo.push_box.task import BOX, EXAMPLE, PUSHER, BoxTask, Miss
from irs_planner.examples import load_example
from irs_planner.smoothing import DEFAULT_MODE, SMOOTHING_MODES

PLAN = "plan_through_contact"
FOLLOW = "follow_pose_trajectory"
PLANNING_LIMIT = 600.0
"""A planner that has not answered for this long has failed [s]."""
SAMPLES = 100
STARTS = 2
"""Independent plans for the first push, the best is taken: it decides what comes after."""
GOOD_OR_REFUSED = (
    FollowPoseTrajectory.Result.SUCCESSFUL,
    FollowPoseTrajectory.Result.INVALID_GOAL,
    FollowPoseTrajectory.Result.OLD_HEADER_TIMESTAMP,
)
"""Error codes after which the arm is at rest where it should be, or where it was."""


@dataclass
class PushAttempt:
    """One plan and what became of it.

    Attributes:
        start: Stamp of the start of the motion [ns].
        end: Stamp of the look at the box afterwards [ns].
        plan: The action's result.
        before: How far the box was from its goal.
        after: How far it is at the end, None before.
    """

    start: int
    end: int
    plan: Any
    before: Miss
    after: Miss | None = field(default=None)

    @property
    def planned_end(self) -> pin.SE3:
        """Where the plan would have left the box, world frame."""
        return to_se3(self.plan.objects[0].poses[-1])

    @property
    def force_limits(self) -> dict[str, float]:
        """Link -> what the controller may press with there, from the plan's forces [N]."""
        return {item.link: item.force_limit for item in self.plan.planned_contact}


@dataclass(frozen=True)
class PushData:
    """What a run left, ground truth; times count from the start of the first push.

    Attributes:
        pushes: What has been done.
        start: Stamp of the first push [ns].
        time: (n) of the joints and of the box [s].
        joints: (ticks, n) positions of the arm [rad].
        box: (n) poses of the box, world frame.
        force_time: (m) of the forces [s].
        force: (m) on the pusher [N].
        wall_time: Real time the run took [s].
    """

    pushes: list[PushAttempt]
    start: int
    time: np.ndarray
    joints: np.ndarray
    box: list[pin.SE3]
    force_time: np.ndarray
    force: np.ndarray
    wall_time: float

    def seconds(self, stamp: int) -> float:
        """Return the time of a stamp [s]."""
        return (stamp - self.start) / NANOSECONDS


class PushNode(ClientNode[PushData]):
    """Plan, push, look, until the box is at its goal or the attempts are used up.

    Attributes:
        pushes: What has been done.
    """

    def __init__(
        self, task: BoxTask, attempts: int, mode: str, seed: int, connection: Connection
    ) -> None:
        """Connect to the graph.

        Args:
            task: Where the box has to go.
            attempts: Largest number of plans.
            mode: How gradients are made.
            seed: Of the samples; every plan has its own.
            connection: How to take part in the graph.
        """
        super().__init__(connection)
        self.pushes: list[PushAttempt] = []
        self._finished = False
        self._task, self._attempts, self._seed = task, attempts, seed
        self._robot = Robot.from_description(task.model.scene.scene.robot)
        self._first_mode = self._mode = mode
        self._places: Iterator[PushPlace] = iter(())
        self._plans = 0
        self._motion_end = 0
        self._use({PLAN: PlanThroughContact, FOLLOW: FollowPoseTrajectory})

    @property
    def finished(self) -> bool:
        """True when the box is at its goal, or the attempts are used up."""
        return self._finished

    def data(self) -> PushData:
        """Return what was heard between the first push and the end of the last."""
        start, end = self.pushes[0].start, self.pushes[-1].end
        truth, contacts = self.heard[CLOCK], self.heard["truth/contacts"]
        stamps = [stamp for stamp in truth.stamps if start <= stamp <= end]
        touches = contacts.between(start, contacts.stamps[-1])
        return PushData(
            pushes=self.pushes,
            start=start,
            time=(np.array(stamps) - start) / NANOSECONDS,
            joints=np.array([sample.position for sample in truth.between(start, end)]),
            box=[frame_pose(self.heard[OBJECTS].at(stamp), BOX) for stamp in stamps],
            force_time=np.array([s - start for s in contacts.stamps if s >= start]) / NANOSECONDS,
            force=np.array([force_on(PUSHER, m) for m in touches]),
            wall_time=self.wall_time,
        )

    def _box(self) -> pin.SE3:
        """Return the pose of the box now, world frame."""
        return frame_pose(self._latest(OBJECTS), BOX)

    def _advance(self) -> None:
        if self.pushes:
            self.start = self.pushes[0].start
            distance = 1e3 * self._task.miss(self._box()).distance
            self.activity = f"push {len(self.pushes)}, {distance:.0f} mm to go"
        if self._awaited or self.finished or self.stamp < self._motion_end:
            return
        if not self.pushes:
            if self._at_rest():
                self._ask_for_plan()
        elif self.pushes[-1].after is None:
            self._update()
        else:
            self._ask_for_plan()

    def _update(self) -> None:
        """See what became of the push, and whether there has to be another one."""
        self.pushes[-1].after = miss = self._task.miss(self._box())
        self._finished = self._task.reached(miss) or self._plans == self._attempts
        if not self.finished:
            self._places = iter(push_places(self._task, self._box()))
            self._go_to_next_place()

    def _go_to_next_place(self) -> None:
        """Go beside the box, where no plan has begun yet; stay if there is no such place."""
        command = np.array(self._latest("controller_status").joint_command)
        motion = approach(
            self._task, self._robot, self._joints(), command, self._box(), self._places
        )
        if motion is not None:
            self._follow(motion)

    def _ask_for_plan(self) -> None:
        """Ask for a push from where arm and box are."""
        goal = PlanThroughContact.Goal(
            example=EXAMPLE,
            initial_state=self._task.state(self._box(), self._joints()),
            mode=self._mode,
            starts=STARTS if SMOOTHING_MODES[self._mode].sampled and not self.pushes else 1,
            samples=SAMPLES,
            iterations=load_example(EXAMPLE).iterations,
            seed=self._seed * self._attempts + self._plans,
        )
        self.activity = f"planning push {len(self.pushes) + 1}"
        self.silence_limit = PLANNING_LIMIT
        self._send_goal(PLAN, goal, self._execute, await_result=True)

    def _execute(self, plan: Any) -> None:
        """Send the COMMANDED positions of a plan: the predicted ones would press on nothing."""
        self.silence_limit = SILENCE_LIMIT
        self._plans += 1
        if not plan.commanded.points or plan.status > PlanThroughContact.Result.CANCELED:
            self._without_plan(plan)
            return
        self._mode = self._first_mode
        before = self._task.miss(self._box())
        commands = np.array([point.positions for point in plan.commanded.points])
        motion = push_motion(self._robot, commands, self._task.model.time_step)
        start = self._follow(motion, plan.planned_contact)
        self.pushes.append(PushAttempt(start, self._motion_end, plan, before))

    def _follow(
        self, motion: PoseTrajectory, planned_contact: Sequence[LinkForceLimit] = ()
    ) -> int:
        """Ask for a motion of the tool; return the stamp at which it begins [ns]."""
        start = self.stamp + round(LEAD_TIME * NANOSECONDS)
        self._motion_end = start + round((motion.times[-1] + SETTLING) * NANOSECONDS)
        # Without a stamp it begins once checked: in real time a simulator may fall behind.
        goal = pose_goal(motion, 0 if self._participant is None else start)
        goal.planned_contact = list(planned_contact)
        self._send_goal(FOLLOW, goal, _check_motion)
        return start

    def _without_plan(self, plan: Any) -> None:
        """Try again with samples, after a push from another place, or give up."""
        if self._plans < self._attempts:
            self._mode = DEFAULT_MODE
            self._go_to_next_place()
        elif self.pushes:
            self._finished = True
        else:
            raise TrajectoryError(f"no plan: {plan.status_name}: {plan.remedy}")

    def _joints(self) -> np.ndarray:
        """Return the (n) joint positions of the arm [rad]."""
        return np.array(self._latest(CLOCK).position[: self._robot.n])


def pusher_path(task: BoxTask, joints: np.ndarray) -> np.ndarray:
    """Return the path of the pusher (ticks, 3), world frame [m], at joint positions (ticks, n)."""
    robot = Robot.from_description(task.model.scene.scene.robot)
    return np.array([tool_pose(robot, q[: robot.n]).translation for q in joints])


def _check_motion(result: FollowPoseTrajectory.Result) -> None:
    """Go on after a motion, also after a refused one: the next plan begins where the arm is."""
    if result.error_code not in GOOD_OR_REFUSED:
        raise TrajectoryError(f"{FOLLOW}: {result.error_string}")
