"""Results are complete: commands, motion, forces with the right signs, statuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contact_stack_msgs.action import PlanRobustContact, PlanThroughContact

from contact_core.base.planning import PlanStatus, StopCondition
from contact_ros.stamps import to_nanoseconds
from irs_planner import (
    PlannerSettings,
    SearchSettings,
    build_problem,
    load_example,
    scene_problem,
)
from irs_planner.batch import PlanTask
from irs_planner.node.goal import PlannerNodeConfig
from irs_planner.node.server import IrsGoalPlanner


def planned(example: str, settings: PlannerSettings, **changes):
    problem = replace(build_problem(load_example(example)), **changes)
    planner = IrsGoalPlanner(PlannerNodeConfig(force_margin=2.0))
    task = PlanTask(problem, settings)
    plan = planner.solve(task, StopCondition(), lambda feedback: None)
    return problem, plan.best, planner.answer(task, plan).result()


@pytest.fixture(scope="module")
def pushing():
    return planned("pushing", PlannerSettings(iterations=4))


@pytest.mark.parametrize("action", [PlanThroughContact, PlanRobustContact])
def test_every_constant_of_the_actions_is_a_status(action) -> None:
    result = action.Result()
    constants = {name: getattr(result, name) for name in dir(result) if name.isupper()}
    names = {name for name, value in constants.items() if isinstance(value, int)}
    assert {"SUCCEEDED", "PREEMPTED", "SOLVER_FAILED"} <= names <= set(PlanStatus.__members__)


def test_what_is_sent_are_the_commands_and_what_moves_is_predicted(pushing) -> None:
    problem, best, message = pushing
    commanded = np.array([point.positions for point in message.commanded.points])
    predicted = np.array([point.positions for point in message.predicted.points])
    np.testing.assert_array_equal(commanded[1:], best.inputs)
    np.testing.assert_array_equal(commanded[0], problem.initial_state[3:])
    np.testing.assert_array_equal(predicted, best.states[:, 3:])
    assert to_nanoseconds(message.commanded.points[-1].time_from_start) == 6_000_000_000
    assert list(message.commanded.joint_names) == list(problem.dynamics.link_names)


def test_the_object_moves_as_planned(pushing) -> None:
    _, best, message = pushing
    (box,) = message.objects
    assert (box.name, len(box.poses)) == ("box", 61)
    last = box.poses[-1]
    np.testing.assert_array_equal((last.position.y, last.position.z), best.states[-1, :2])
    angle = 2.0 * np.arctan2(last.orientation.x, last.orientation.w)
    assert angle == pytest.approx(best.states[-1, 2])


def test_planned_forces_push_the_link_back_along_the_normal_and_obey_friction(pushing) -> None:
    _, best, message = pushing
    (contact,) = message.contacts
    assert contact.other == "box"
    force = np.array([(f.y, f.z) for f in contact.force])
    normal = np.array(contact.normal_force)
    touching = normal > 1e-3
    assert touching.any()
    assert (normal > -1e-6).all()
    # The spring of the command is what presses: stiffness 500 N/m against the contact.
    deflection = best.inputs - best.states[1:, 3:]
    np.testing.assert_allclose(force, -500.0 * deflection, atol=1e-6 * np.abs(force).max())
    tangential = np.sqrt(np.maximum(np.sum(force**2, axis=1) - normal**2, 0.0))
    combined = 2.0 * 0.5 * 1.0 / 1.5
    assert (tangential <= combined * normal + 1e-6).all()
    (limit,) = message.planned_contact
    assert limit.link == contact.link
    assert limit.force_limit == pytest.approx(2.0 * np.linalg.norm(force, axis=1).max())


def test_a_system_without_contact_has_states_and_inputs_only() -> None:
    problem, best, message = planned("pendulum", PlannerSettings(iterations=1))
    assert len(message.states) == best.states.size
    assert not message.commanded.points and not message.contacts and not message.objects
    assert np.isnan(message.goal_error)
    assert problem.horizon == len(message.inputs)


def test_a_flat_gradient_is_said_with_its_remedy() -> None:
    _, _, message = planned("pushing", PlannerSettings(mode="exact", iterations=3))
    assert message.status_name == "GRADIENT_FLAT"
    assert "bundled mode" in message.remedy


def test_an_overlap_is_said_with_its_depth() -> None:
    state = np.array([0.0, 0.5, 0.0, 0.0, 0.1])
    _, _, message = planned("pushing", PlannerSettings(), initial_state=state)
    assert message.status_name == "INITIAL_PENETRATION"
    assert "overlap by" in message.remedy
    assert message.iterations_done == 0


def test_a_missed_goal_names_the_worst_state() -> None:
    tolerance = np.array([0.01, 0.01, np.inf, np.inf, np.inf])
    _, best, message = planned("pushing", PlannerSettings(iterations=1), tolerance=tolerance)
    assert message.status_name == "ITERATIONS_REACHED"
    assert message.goal_error == pytest.approx(np.abs(best.final_error[:2]).max() / 0.01)
    assert "from its goal (tolerance 0.01)" in message.remedy


def test_a_plan_in_3d_has_poses_joints_and_forces_in_space() -> None:
    settings = PlannerSettings(mode="log_barrier", iterations=2)
    _, best, message = planned("iiwa_push", settings)
    assert list(message.commanded.joint_names) == [f"lbr_A{i}" for i in range(1, 8)]
    commanded = np.array([point.positions for point in message.commanded.points])
    np.testing.assert_array_equal(commanded[1:], best.inputs)
    (box,) = message.objects
    last = box.poses[-1]
    found = (last.position.x, last.position.y, last.position.z)
    np.testing.assert_allclose(found, best.states[-1, :3], atol=1e-12)
    yaw = 2.0 * np.arctan2(last.orientation.z, last.orientation.w)
    assert yaw == pytest.approx(best.states[-1, 5], abs=1e-3)
    pushes = [contact for contact in message.contacts if contact.other == "box"]
    (push,) = pushes
    assert push.link == "pusher"
    # The box, to the left of the pusher, pushes it back.
    strongest = max(push.force, key=lambda force: -force.y)
    assert strongest.y < -1.0
    limit = {item.link: item.force_limit for item in message.planned_contact}["pusher"]
    total = best.link_forces["pusher"]
    assert limit == pytest.approx(2.0 * np.linalg.norm(total, axis=1).max())


@pytest.mark.parametrize(
    ("goal", "budget", "status"),
    [(0.565, 60.0, PlanStatus.SUCCEEDED), (0.7, 1e-9, PlanStatus.TIME_BUDGET_REACHED)],
)
def test_a_plan_without_a_motion_is_answered_with_its_own_status(goal, budget, status) -> None:
    """The box begins within the tolerance of its goal, or there is no time at all."""
    problem = build_problem(scene_problem("push_box", {"box/x": goal}))
    task = PlanTask(problem, PlannerSettings(), search=SearchSettings())
    planner = IrsGoalPlanner(PlannerNodeConfig())
    plan = planner.solve(task, StopCondition(budget), lambda feedback: None)
    assert len(plan.best.inputs) == 0
    message = planner.answer(task, plan).result()
    assert message.status == getattr(PlanThroughContact.Result, status.name)
    assert not message.contacts
