"""The node that serves ``move_objects``: objects are brought to a goal in closed loop.

It hears where objects and joints are, and streams ``target_joint`` to the controller.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin
from builtin_interfaces.msg import Time
from contact_stack_msgs.action import MoveObjects
from contact_stack_msgs.msg import ControllerStatus
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from tf2_msgs.msg import TFMessage

from contact_core.base.config import nested, parameter
from contact_core.base.errors import ConfigError
from contact_core.base.planning import PlanStatus, StopCondition
from contact_ros.driver_profile import DriverConfig, driver_profile
from contact_ros.entry_point import freeze_garbage_collector, run
from contact_ros.geometry import BaseFrames, checked_pose
from contact_ros.guarded_node import GuardedNode
from contact_ros.identity import PAUSED_TOPIC
from contact_ros.parameters import read
from contact_ros.planning_goal import check_numbers
from contact_ros.planning_server import GoalPlanner, PlanAnswer, PlanningServer
from contact_ros.qos import LATCHED, WAITING, signal_publisher, signal_subscription
from contact_ros.rivals import PositionOrder, publishers
from contact_ros.stamps import to_nanoseconds
from contact_ros.validation import (
    MAX_NAMES,
    MAX_POSITION,
    MAX_REASON,
    MessageError,
    at_most,
    joint_positions,
    remembered,
)
from irs_planner.examples import build_problem
from irs_planner.feasibility import hardest_slide
from irs_planner.object_mover import MoverConfig, ObjectMover
from irs_planner.object_tracker import is_news
from irs_planner.precompile import precompile
from irs_planner.scene_problems import scene_problem

NAME = "object_mover"
ACTION = "move_objects"
CAMERA, JOINTS = "camera/objects", "joint_states"
FOLLOWS = (ControllerStatus.HOLD, ControllerStatus.TRACKING, ControllerStatus.CONSERVATIVE)
"""Modes in which the controller follows what is streamed."""
PUT_BACK = (
    "if it tipped or was lifted, put it back upright; if not, see to the units (m) and frame that "
    f"{CAMERA} has"
)
HELD_TOO_LONG = 5.0
"""A controller that holds so long does not follow [s]; a lost link may come back before."""
SHOWN_NAMES = 3
"""How many joints or objects a remedy names."""
DISTURBED = 3
"""Searches in a row that are given up until it is told that things never rest."""


@dataclass(frozen=True)
class MoverNodeConfig:
    """Moving objects in the graph."""

    patience: float = parameter(
        1.0,
        "how long camera, arm or controller may be silent, or an object lie tilted, until the "
        "goal ends",
        unit="s",
        low=0.1,
        high=60.0,
    )
    mover: MoverConfig = nested(MoverConfig)
    driver: str = parameter("lbr_fri", "driver profile the robot or simulator speaks")
    arm: DriverConfig = nested(DriverConfig)


@dataclass(frozen=True)
class Seen:
    """An object as it was heard of.

    Attributes:
        frame: What the pose is relative to.
        stamp: When it was seen [ns].
        pose: Of the object's own frame.
        heard: When that was heard of, by the monotonic clock [s].
    """

    frame: str
    stamp: int
    pose: pin.SE3
    heard: float


@dataclass(frozen=True)
class Moved:
    """How a goal ended.

    Attributes:
        status: Why.
        remedy: What to do about it, empty on success.
        seconds: Wall time [s].
    """

    status: PlanStatus
    remedy: str
    seconds: float


class MoveGoals(GoalPlanner[ObjectMover, Moved]):
    """Brings objects to goals; every look takes what was heard last."""

    def __init__(
        self,
        config: MoverNodeConfig,
        send: Callable[[JointState], None],
        namespace: str = "/",
        take: Callable[[], object] = lambda: None,
        rival: Callable[[], str] = str,
        publishers: Callable[[], Sequence[str]] = list,
    ) -> None:
        """Take the parameters.

        Args:
            config: How to move, and how long anything may be silent.
            send: Sends where the joints are to be now [rad], with the stamp of the joint state
                that it follows from.
            namespace: Of the node; some drivers call their joints after it.
            take: Lets messages in that wait for a look.
            rival: Tells of another node that takes the same goals; empty for none.
            publishers: Names those who publish joint states.
        """
        self._publishers = publishers
        self._rival = rival
        self._config, self._send, self._namespace, self._take = config, send, namespace, take
        self._seen: dict[str, Seen] = {}
        self._known: tuple[ObjectMover, BaseFrames] | None = None
        self._joints: dict[str, float] = {}
        self._order = PositionOrder()
        self._stamp = Time()
        self._status: ControllerStatus | None = None
        self._joints_heard = self._upright = self._sensible = -math.inf
        self._status_heard = self._followed = -math.inf
        self._refused: dict[str, tuple[float, str]] = {}  # topic -> when, and why
        self._paused_at, self._paused_for = math.nan, 0.0

    def hear_objects(self, message: TFMessage) -> None:
        """Remember where objects are seen.

        Args:
            message: Poses; the child frames are the names of the objects.

        Raises:
            MessageError: If one is not plausible; nothing of it is used then.
        """
        with self._noting(CAMERA):
            self._seen = remembered(self._seen, self._read_objects(message))

    def _read_objects(self, message: TFMessage) -> dict[str, Seen]:
        at_most(message.transforms, MAX_NAMES, "transforms")
        seen: dict[str, Seen] = {}
        for item in message.transforms:
            name = item.child_frame_id
            pose = checked_pose(item.transform, name, MAX_POSITION)
            stamp, before = to_nanoseconds(item.header.stamp), self._seen.get(name)
            if before is None or is_news(stamp, before.stamp):
                seen[name] = Seen(item.header.frame_id, stamp, pose, self._now())
            else:
                seen[name] = before
                self._refused[CAMERA] = self._now(), f"the stamps of {name} do not advance"
        return seen

    def hear_joints(self, message: JointState) -> None:
        """Remember where the arm is.

        Args:
            message: Joint positions [rad].

        Raises:
            MessageError: If one is not plausible.
        """
        with self._noting(JOINTS):
            known, self._joints = self._joints, joint_positions(message, self._joints)
        if known.keys() != self._joints.keys():
            self._order = PositionOrder()
        where = np.array([self._joints[name] for name in sorted(self._joints)])
        self._order.heard(where, self._now())
        self._stamp = message.header.stamp
        self._joints_heard = self._now()

    def hear_status(self, message: ControllerStatus) -> None:
        """Remember what the controller does.

        Args:
            message: Its status.
        """
        self._status, self._status_heard = message, self._now()
        if message.mode != ControllerStatus.HOLD:
            self._followed = self._status_heard

    def hear_pause(self, message: Bool) -> None:
        """Wait where the simulator does: in a pause nothing is seen, and nothing is late.

        Args:
            message: Whether simulated time stands still.
        """
        if message.data != self._paused:
            now = self._now()
            self._paused_for = time.monotonic() - now  # first, for looks go by both
            self._paused_at = now if message.data else math.nan

    @property
    def _paused(self) -> bool:
        return math.isfinite(self._paused_at)

    def _now(self) -> float:
        """Return a time that stands still in a simulator's pause [s]."""
        if self._paused:
            return self._paused_at
        return time.monotonic() - self._paused_for

    def read(self, goal: Any) -> ObjectMover:
        """Check a goal, see :meth:`GoalPlanner.read`."""
        check_numbers(goal)
        names = list(goal.names)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"names has '{twice}' twice")
        for field in ("goal", "tolerance"):
            size = len(getattr(goal, field))
            if size != len(names) and (field == "goal" or size > 0):
                raise ConfigError(f"{field} has {size} values for {len(names)} names")
        values = [None if math.isnan(value) else value for value in goal.goal]
        problem = build_problem(scene_problem(goal.scene, dict(zip(names, values, strict=True))))
        tolerance = problem.tolerance.copy()
        for name, value in zip(names, goal.tolerance, strict=False):
            if not 0.0 < value < math.inf:
                raise ConfigError(f"tolerance of {name} is {value:g} (valid: finite, > 0)")
            i = problem.dynamics.state_names.index(name)
            tolerance[i] = value if math.isfinite(tolerance[i]) else tolerance[i]
        config, joints = self._config, problem.dynamics.input_names
        profile = driver_profile(config.driver, config.arm, None, joints, self._namespace)
        problem = replace(problem, tolerance=tolerance)
        asked = [name for name, value in zip(names, values, strict=True) if value is not None]
        return ObjectMover(problem, config.mover, goal.seed, profile.joint_names, asked)

    def solve(
        self, problem: ObjectMover, stop: StopCondition, publish: Callable[[Any], None]
    ) -> Moved:
        """Look and move until it is over, see :meth:`GoalPlanner.solve`."""
        begun, due = self._now(), time.monotonic()
        period = self._config.mover.period
        self._take()  # what has waited until now is old
        heard = self._joints_heard
        while (end := self._end(problem, stop, begun)) is None:
            news = self._joints_heard > heard and not self._paused
            if news and self._hears_all(problem, begun):
                heard = self._joints_heard
                self._update(problem)
                publish(_feedback(problem, stop.elapsed))
                problem.search()
            # A look that comes late is made up for, but not more than one.
            due = max(due + period, time.monotonic() - period)
            time.sleep(max(due - time.monotonic(), 0.0))
            self._take()
        if self._hears_all(problem, begun) and not self._silent(problem, begun):
            self._lead(problem, self._where(problem))  # it ends there, not at the last target
        return Moved(*end, stop.elapsed)

    def answer(self, problem: ObjectMover, plan: Moved) -> PlanAnswer:
        """Fill the result, see :meth:`GoalPlanner.answer`."""
        message = MoveObjects.Result(elapsed=plan.seconds, **_progress(problem))
        message.goal_reached = bool(message.goal_error <= 1.0)
        done = plan.status is PlanStatus.SUCCEEDED
        return PlanAnswer(plan.status, plan.remedy, message, done)

    def no_plan(self) -> Any:
        """Return a result of nothing, see :meth:`GoalPlanner.no_plan`."""
        return MoveObjects.Result(goal_error=math.nan)

    def _frames(self, mover: ObjectMover) -> BaseFrames:
        """Return the frames in which objects may be seen; to find them takes a while."""
        if self._known is None or self._known[0] is not mover:
            self._known = mover, BaseFrames(mover.robot)
        return self._known[1]

    def _update(self, mover: ObjectMover) -> None:
        frames = self._frames(mover)
        for name, seen in self._seen.items():
            if name in mover.object_names:
                mover.see(name, seen.stamp, frames.pose(seen.frame) * seen.pose)
        self._lead(mover, mover.update(self._where(mover), to_nanoseconds(self._stamp)))

    def _where(self, mover: ObjectMover) -> np.ndarray:
        """Return where the joints are (n) [rad]."""
        return np.array([self._joints[name] for name in mover.joint_names])

    def _lead(self, mover: ObjectMover, control: np.ndarray) -> None:
        target = JointState(name=mover.joint_names, position=control.tolist())
        target.header.stamp = self._stamp
        self._send(target)

    def _hears_all(self, mover: ObjectMover, begun: float) -> bool:
        """Return whether all is known, and every object was seen since the goal began."""
        seen = {name for name, last in self._seen.items() if last.heard >= begun}
        heard = seen.issuperset(mover.object_names) and self._joints.keys() >= {*mover.joint_names}
        return heard and self._status is not None

    def _end(
        self, mover: ObjectMover, stop: StopCondition, begun: float
    ) -> tuple[PlanStatus, str] | None:
        """Return why it is over, and what to do about it; None if it may go on."""
        if mover.rests:
            return PlanStatus.SUCCEEDED, ""
        if stop.reason is PlanStatus.CANCELED:
            return stop.reason, "send the goal again to go on from where the objects are"
        if stop.reason is not None and mover.loop.disturbed >= DISTURBED:
            return stop.reason, "objects keep moving by themselves: let them come to rest"
        if stop.reason is not None:
            heavy, force = hardest_slide(mover.problem)
            most = self._config.mover.force
            if force > most:
                heavy = f"{heavy}, and pushes are of {most:g} N at most (mover.force)"
                return stop.reason, f"{heavy}: allow more, or choose a lighter thing"
            return stop.reason, "allow more time, or a larger tolerance"
        self._upright = self._upright if mover.beyond else self._now()
        if self._is_late(self._upright, begun):
            return PlanStatus.GOAL_UNREACHABLE, f"{'; '.join(mover.beyond)}: {PUT_BACK}"
        impossible = mover.loop.impossible
        self._sensible = self._sensible if impossible else self._now()
        if impossible and self._is_late(self._sensible, begun):
            return PlanStatus.GOAL_UNREACHABLE, f"{impossible.reason}: {impossible.remedy}"
        if silent := self._silent(mover, begun):
            return PlanStatus.NOT_SEEN, f"{silent}: {PlanStatus.NOT_SEEN.remedy}"
        if reason := self._unfollowed(begun):
            return PlanStatus.NOT_FOLLOWED, reason
        return None

    def _silent(self, mover: ObjectMover, begun: float) -> str:
        """Return what is not seen or heard, empty if all is well."""
        frames = self._frames(mover)
        for name in mover.object_names:
            seen = self._seen.get(name)
            if seen and seen.heard < begun:  # whoever said that may be gone
                seen = None
            if self._is_late(seen.heard if seen else -math.inf, begun):
                since = "" if seen else f" from the start{self._other_objects(mover)}"
                return f"{CAMERA} is silent about {name}{since}{self._refusal(CAMERA, begun)}"
            if seen:
                try:
                    frames.pose(seen.frame)
                except MessageError as error:
                    return f"{name} is seen in an {error}"
        for name in mover.joint_names:
            if self._is_late(self._joints_heard if name in self._joints else -math.inf, begun):
                return f"{JOINTS} is silent about {name}{self._others(name, begun)}"
        return ""

    def _other_objects(self, mover: ObjectMover) -> str:
        """Return what is seen in the place of an object, which may be spelt otherwise."""
        others = sorted(self._seen.keys() - {*mover.object_names})[:SHOWN_NAMES]
        return f" and tells of {', '.join(others)}" if others else ""

    def _others(self, joint: str, begun: float) -> str:
        """Return what is heard in the place of a joint: another arm's, or what was refused."""
        if joint in self._joints or self._is_late(self._joints_heard, begun):
            return self._refusal(JOINTS, begun)
        others = ", ".join(sorted(self._joints)[:SHOWN_NAMES])
        return f" and tells of {others} (the planners need the graph's driver:= and arm:=)"

    def _refusal(self, topic: str, begun: float) -> str:
        """Return what was last refused of a topic since the goal began, empty for nothing."""
        when, reason = self._refused.get(topic, (-math.inf, ""))
        return f", and what it says is refused ({reason})" if when >= begun else ""

    @contextmanager
    def _noting(self, topic: str) -> Iterator[None]:
        """Remember why a message is refused."""
        try:
            yield
        except MessageError as error:
            self._refused[topic] = self._now(), str(error)[:MAX_REASON]
            raise

    def _unfollowed(self, begun: float) -> str:
        """Return why the controller does not follow, or not us alone; empty if it does."""
        if rival := self._rival():
            return rival
        if self._order.mixed(self._now()) and len(who := self._publishers()) > 1:
            return (
                f"{JOINTS} jump between two places ({' and '.join(who)}): stop one of these nodes"
            )
        if self._is_late(self._status_heard, begun):
            return f"controller_status is silent: {PlanStatus.NOT_FOLLOWED.remedy}"
        status = self._status
        if status is None:
            return ""
        if status.mode in FOLLOWS:
            if self._now() - max(self._followed, begun) < HELD_TOO_LONG:
                return ""
            if status.status == ControllerStatus.OK:
                return "the controller was told to hold: call resume"
        return f"the controller is at {status.status_name}: {status.remedy}"

    def _is_late(self, heard: float, begun: float) -> bool:
        return self._now() - max(heard, begun) > self._config.patience


def _progress(mover: ObjectMover) -> dict[str, Any]:
    """Return the fields that feedback and result share."""
    return {
        "names": list(mover.wanted),
        "error": mover.error.tolist(),
        "goal_error": mover.goal_error,
        "searches": mover.loop.searches,
    }


def _feedback(mover: ObjectMover, elapsed: float) -> Any:
    phase = str(mover.loop.phase)
    return MoveObjects.Feedback(phase=phase, elapsed=elapsed, **_progress(mover))


class ObjectMoverNode(GuardedNode):
    """Serve ``move_objects``."""

    def __init__(self) -> None:
        """Load the planner, then offer the action.

        Raises:
            ContactStackError: If a parameter is wrong.
        """
        super().__init__(NAME)
        config = read(self, MoverNodeConfig)
        targets = self.create_publisher(JointState, "target_joint", signal_publisher(False))
        self._goals = MoveGoals(
            config,
            targets.publish,
            self.get_namespace(),
            lambda: self.take(*self._waiting),
            lambda: self._server.rivals.problem,
            lambda: publishers(self, JOINTS),
        )
        precompile()
        signal, queue = signal_subscription(False), signal_subscription(False, depth=WAITING)
        # Perception may send one message for each object.
        seen = signal_subscription(False, depth=MAX_NAMES)
        self.create_subscription(TFMessage, CAMERA, self._goals.hear_objects, seen)
        # 400 messages a second would take the processor that looks need.
        self._waiting = (
            self.create_subscription(JointState, JOINTS, self._goals.hear_joints, queue),
            self.create_subscription(
                ControllerStatus, "controller_status", self._goals.hear_status, signal
            ),
        )
        self.leave_waiting(*self._waiting)
        self.create_subscription(Bool, PAUSED_TOPIC, self._goals.hear_pause, LATCHED)
        self._server = PlanningServer(self, MoveObjects, ACTION, self._goals)
        freeze_garbage_collector()

    def close(self) -> None:
        """Stop moving."""
        self._server.close()


def main() -> int:
    """Run the node.

    Returns:
        The exit code.
    """
    return run(ObjectMoverNode)
