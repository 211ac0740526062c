"""The node that serves ``plan_through_contact``, and its plans as messages.

Everything of a planar scene lies in the y-z plane; angles turn about x. Knot k is at time
k h: the predicted trajectory has the state x_k there, the commanded one u_{k-1}, which acts
in the step that ends there, and begins where the arm is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from contact_stack_msgs.action import PlanThroughContact
from contact_stack_msgs.msg import ContactForceTrajectory, LinkForceLimit, ObjectTrajectory
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from contact_core.base.planning import StopCondition
from contact_ros.entry_point import run
from contact_ros.geometry import to_pose
from contact_ros.guarded_node import GuardedNode
from contact_ros.parameters import read
from contact_ros.planning_server import (
    GoalPlanner,
    PlanAnswer,
    PlanningServer,
    contact_motion,
    durations,
    joint_motion,
)
from contact_ros.qos import WAITING, signal_subscription
from contact_ros.validation import joint_positions
from irs_planner.batch import PlanTask, TaskResult, run_task
from irs_planner.node.goal import PlannerNodeConfig, read_goal
from irs_planner.precompile import precompile
from irs_planner.problem import IrsProblem
from irs_planner.quasi_dynamic import QuasiDynamics
from irs_planner.result import (
    TOUCH,
    IrsPlan,
    IterationReport,
    planned_contacts,
    relative_error,
    remedy_of,
)
from irs_planner.search import SearchReport

NAME = "irs_planner"
ACTION = "plan_through_contact"


def feedback_message(report: IterationReport | SearchReport, problem: IrsProblem) -> Any:
    """Return the feedback after an iteration, or an attempt of a search.

    Args:
        report: The iteration.
        problem: What is planned.
    """
    if isinstance(report, SearchReport):
        return PlanThroughContact.Feedback(
            iteration=report.attempt,
            cost=report.distance,
            best_cost=report.distance,
            goal_error=report.distance,
            elapsed=report.elapsed,
            phase=report.phase,
            commanded=_commanded(problem, report.inputs),
        )
    return PlanThroughContact.Feedback(
        iteration=report.iteration,
        cost=report.cost,
        best_cost=report.best_cost,
        standard_deviation=report.std,
        goal_error=relative_error(report.final_error, problem.tolerance),
        elapsed=report.elapsed,
    )


def _commanded(problem: IrsProblem, inputs: np.ndarray | None) -> JointTrajectory:
    """Return what a new plan commands, from where the arm is; empty for None."""
    dynamics = problem.dynamics
    if inputs is None or not isinstance(dynamics, QuasiDynamics):
        return JointTrajectory()
    begin = problem.initial_state[np.newaxis, list(dynamics.commanded_states)]
    times = np.arange(len(inputs) + 1) * dynamics.time_step
    return joint_motion(dynamics.joint_names, times, positions=np.vstack((begin, inputs)))


def result_message(result: TaskResult, problem: IrsProblem, force_margin: float) -> Any:
    """Return the result of a goal, but for its status.

    Args:
        result: The plan.
        problem: What was planned.
        force_margin: Force limit relative to the largest planned force.
    """
    best = result.best
    message = PlanThroughContact.Result(
        states=best.states.ravel(),
        inputs=best.inputs.ravel(),
        cost_history=best.costs,
        best_cost=best.cost,
        goal_reached=best.goal_reached,
        goal_error=relative_error(best.final_error, problem.tolerance),
        segment_kind=[segment.kind for segment in best.segments],
        segment_end=[segment.stop for segment in best.segments],
        iterations_done=result.iterations,
        elapsed=result.seconds,
    )
    dynamics = problem.dynamics
    if isinstance(dynamics, QuasiDynamics):
        joints = list(dynamics.commanded_states)
        names, positions = dynamics.joint_names, best.states[:, joints]
        commands = np.vstack((positions[:1], best.inputs))
        times = np.arange(len(positions)) * dynamics.time_step
        message.predicted = joint_motion(names, times, positions=positions)
        message.commanded = joint_motion(names, times, positions=commands)
        message.objects = _objects(dynamics, best.states, times)
        if np.isfinite(best.states).all():
            message.contacts = _contacts(dynamics, best, times)
            message.planned_contact = _limits(best, force_margin)
    return message


def _objects(
    dynamics: QuasiDynamics, states: np.ndarray, times: np.ndarray
) -> list[ObjectTrajectory]:
    poses = [dynamics.object_poses(state) for state in states]
    return [
        ObjectTrajectory(
            name=name,
            time_from_start=durations(times),
            poses=[to_pose(pose[name]) for pose in poses],
        )
        for name in poses[0]
    ]


def _contacts(
    dynamics: QuasiDynamics, best: IrsPlan, times: np.ndarray
) -> list[ContactForceTrajectory]:
    """Return the contact forces; those of a planar scene lie in the y-z plane."""
    return [
        contact_motion(
            contact.link,
            contact.other,
            times[1:],
            np.pad(contact.force, ((0, 0), (3 - contact.force.shape[1], 0))),
            contact.normal_force,
            contact.distance,
        )
        for contact in planned_contacts(dynamics, best.states, best.inputs)
    ]


def _limits(best: IrsPlan, force_margin: float) -> list[LinkForceLimit]:
    largest = {
        link: float(np.linalg.norm(force, axis=1).max(initial=0.0))
        for link, force in best.link_forces.items()
    }
    return [
        LinkForceLimit(link=link, force_limit=force_margin * force)
        for link, force in largest.items()
        if force > TOUCH
    ]


class IrsGoalPlanner(GoalPlanner[PlanTask, TaskResult]):
    """Plan through contact by iterative randomised-smoothing LQR."""

    def __init__(
        self, config: PlannerNodeConfig, take: Callable[[], object] = lambda: None
    ) -> None:
        """Take the parameters.

        Args:
            config: Limits of the goals, threads and margin of the force limits.
            take: Lets messages in that wait for a goal.
        """
        self._config, self._take = config, take
        self._joints: dict[str, float] = {}

    def hear_joints(self, message: JointState) -> None:
        """Remember where the arm is, for goals that start from there.

        Args:
            message: Joint positions [rad].
        """
        if message.position:
            self._joints = joint_positions(message, self._joints)

    def read(self, goal: Any) -> PlanTask:
        """Check a goal, see :meth:`GoalPlanner.read`."""
        self._take()
        return read_goal(goal, self._config, self._joints)

    def solve(
        self, problem: PlanTask, stop: StopCondition, publish: Callable[[Any], None]
    ) -> TaskResult:
        """Plan from every start, see :meth:`GoalPlanner.solve`."""
        return run_task(
            problem, lambda report: publish(feedback_message(report, problem.problem)), stop
        )

    def answer(self, problem: PlanTask, plan: TaskResult) -> PlanAnswer:
        """Fill the result, see :meth:`GoalPlanner.answer`."""
        best = plan.best
        message = result_message(plan, problem.problem, self._config.force_margin)
        return PlanAnswer(best.status, remedy_of(best, problem.problem), message, best.usable)

    def no_plan(self) -> Any:
        """Return a result without a plan, see :meth:`GoalPlanner.no_plan`."""
        return PlanThroughContact.Result(best_cost=math.inf, goal_error=math.nan)


class IrsPlannerNode(GuardedNode):
    """Serve ``plan_through_contact``."""

    def __init__(self) -> None:
        """Load the planner, then offer the action.

        Raises:
            ContactStackError: If a parameter is wrong.
        """
        super().__init__(NAME)
        config = read(self, PlannerNodeConfig)
        planner = IrsGoalPlanner(config, lambda: self.take(self._waiting))
        precompile()
        # 400 messages a second would take a quarter of a processor, for one goal now and then.
        self._waiting = self.create_subscription(
            JointState,
            "joint_states",
            planner.hear_joints,
            signal_subscription(False, depth=WAITING),
        )
        self.leave_waiting(self._waiting)
        self._server = PlanningServer(self, PlanThroughContact, ACTION, planner)

    def close(self) -> None:
        """Stop planning."""
        self._server.close()


def main() -> int:
    """Run the planner.

    Returns:
        The exit code.
    """
    return run(IrsPlannerNode)
