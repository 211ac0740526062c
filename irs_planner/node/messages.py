"""Plans as messages.

Everything of a planar scene lies in the y-z plane; angles turn about x. Knot k is at time
k h: the predicted trajectory has the state x_k there, the commanded one u_{k-1}, which acts
in the step that ends there, and begins where the arm is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from contact_stack_msgs.action import PlanThroughContact
from contact_stack_msgs.msg import ContactForceTrajectory, LinkForceLimit, ObjectTrajectory
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from contact_ros.geometry import to_pose, to_vector
from contact_ros.stamps import NANOSECONDS, to_duration
from irs_planner.batch import TaskResult
from irs_planner.diagnosis import TOUCH, link_forces, planned_contacts, relative_error
from irs_planner.problem import IrsProblem
from irs_planner.quasi_dynamic import QuasiDynamics
from irs_planner.result import IterationReport, Rollout
from irs_planner.search import SearchReport


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
        )
    return PlanThroughContact.Feedback(
        iteration=report.iteration,
        cost=report.cost,
        best_cost=report.best_cost,
        standard_deviation=report.std,
        goal_error=relative_error(report.final_error, problem.tolerance),
        elapsed=report.elapsed,
    )


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
        message.predicted = _trajectory(names, positions, dynamics.time_step)
        message.commanded = _trajectory(names, commands, dynamics.time_step)
        message.objects = _objects(dynamics, best.states)
        if np.isfinite(best.states).all():
            message.contacts = _contacts(dynamics, best.states, best.inputs)
            message.planned_contact = _limits(
                problem, Rollout(best.states, best.inputs, best.cost), force_margin
            )
    return message


def _time(knot: int, time_step: float) -> Any:
    return to_duration(round(knot * time_step * NANOSECONDS))


def _trajectory(names: tuple[str, ...], positions: np.ndarray, time_step: float) -> JointTrajectory:
    return JointTrajectory(
        joint_names=list(names),
        points=[
            JointTrajectoryPoint(positions=row, time_from_start=_time(k, time_step))
            for k, row in enumerate(positions)
        ],
    )


def _objects(dynamics: QuasiDynamics, states: np.ndarray) -> list[ObjectTrajectory]:
    times = [_time(k, dynamics.time_step) for k in range(len(states))]
    poses = [dynamics.object_poses(state) for state in states]
    return [
        ObjectTrajectory(
            name=name, time_from_start=times, poses=[to_pose(pose[name]) for pose in poses]
        )
        for name in poses[0]
    ]


def _contacts(
    dynamics: QuasiDynamics, states: np.ndarray, inputs: np.ndarray
) -> list[ContactForceTrajectory]:
    times = [_time(k, dynamics.time_step) for k in range(1, len(states))]
    return [
        ContactForceTrajectory(
            link=contact.link,
            other=contact.other,
            time_from_start=times,
            force=[to_vector(force) for force in in_space(contact.force)],
            normal_force=contact.normal_force,
            distance=contact.distance,
        )
        for contact in planned_contacts(dynamics, states, inputs)
    ]


def in_space(force: np.ndarray) -> np.ndarray:
    """Return (T, 3) forces; those of a planar scene lie in the y-z plane.

    Args:
        force: (T, 2) or (T, 3) [N].
    """
    return np.pad(force, ((0, 0), (3 - force.shape[1], 0)))


def _limits(problem: IrsProblem, best: Rollout, force_margin: float) -> list[LinkForceLimit]:
    largest = {
        link: float(np.linalg.norm(force, axis=1).max())
        for link, force in link_forces(problem, best).items()
    }
    return [
        LinkForceLimit(link=link, force_limit=force_margin * force)
        for link, force in largest.items()
        if force > TOUCH
    ]
