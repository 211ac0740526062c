"""Goals become tasks; whatever is malformed is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contact_stack_msgs.action import PlanThroughContact
from sensor_msgs.msg import JointState

from contact_core.base.errors import ConfigError, ContactStackError
from irs_planner import build_problem, load_example
from irs_planner.node.goal import GoalLimitsConfig, PlannerNodeConfig, read_goal
from irs_planner.node.server import IrsGoalPlanner

CONFIG = PlannerNodeConfig()
PUSHING_SCENE = {
    "scene": "box_pushing",
    "initial_state": [0.0, 0.5, 0.0, 0.1, -0.2],
    "goal_state": [0.5, 1.0, 0.0, 0.0, 0.0],
    "state_weight": [3.0, 3.0, 1.0, 0.0, 0.0],
    "terminal_weight": [0.0] * 5,
    "input_weight": [10.0, 10.0],
    "standard_deviation": [*[0.0] * 5, 0.3, 0.3],
    "horizon": 20,
    "time_step": 0.1,
}


def read(**fields: Any):
    return read_goal(PlanThroughContact.Goal(**{"samples": 10, **fields}), CONFIG)


def test_an_example_keeps_its_own_values() -> None:
    task, own = read(example="quadrotor"), build_problem(load_example("quadrotor"))
    np.testing.assert_array_equal(task.problem.reference, own.reference)
    np.testing.assert_array_equal(task.problem.initial_inputs, own.initial_inputs)
    assert task.problem.schedule == own.schedule
    assert (task.settings.mode, task.settings.iterations, task.starts) == ("first", 1000, 1)


def test_every_field_of_a_goal_arrives() -> None:
    guess = np.arange(20.0).reshape(10, 2)
    task = read(
        example="pushing",
        goal_state=[1.0, 2.0, 3.0, 4.0, 5.0],
        goal_tolerance=[0.1, 0.0, 0.2, 0.0, 0.0],
        state_weight=[1.0, 2.0, 3.0, 4.0, 5.0],
        state_lower=[-1.0, *[-np.inf] * 4],
        state_upper=[1.0, *[np.inf] * 4],
        input_lower=[-2.0, -3.0],
        input_upper=[2.0, 3.0],
        input_step_limit=[0.1, 0.2],
        initial_inputs=guess.ravel(),
        dynamics="quasi_static",
        standard_deviation=[*[0.0] * 5, 0.5, 0.6],
        schedule="power",
        schedule_rate=0.7,
        standard_deviation_floor=0.01,
        horizon=10,
        time_step=0.05,
        mode="zero",
        iterations=7,
        starts=3,
        seed=11,
    )
    problem, bounds, schedule = task.problem, task.problem.bounds, task.problem.schedule
    np.testing.assert_array_equal(problem.goal, [1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_array_equal(problem.tolerance, [0.1, np.inf, 0.2, np.inf, np.inf])
    np.testing.assert_array_equal(problem.cost.state, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert problem.reported_cost == problem.cost
    assert (bounds.bounded_states, bounds.state_low[0], bounds.state_high[0]) == ((0,), -1.0, 1.0)
    np.testing.assert_array_equal(bounds.input_low, [-2.0, -3.0])
    np.testing.assert_array_equal(bounds.increment, [0.1, 0.2])
    np.testing.assert_array_equal(problem.initial_inputs, guess)
    own = build_problem(load_example("pushing")).dynamics
    assert problem.dynamics.time_step == 0.05
    anywhere = np.zeros((1, 5))
    assert np.all(problem.dynamics.inertia(anywhere) <= 1e-3 * own.inertia(anywhere))
    assert (schedule.input_std, schedule.decay, schedule.rate) == ((0.5, 0.6), "power", 0.7)
    assert schedule.floor == 0.01
    settings = task.settings
    assert (settings.mode, settings.iterations, settings.seed) == ("zero", 7, 11)
    assert task.starts == 3


def test_a_scene_begins_with_robots_that_hold_still() -> None:
    problem = read(**PUSHING_SCENE).problem
    np.testing.assert_array_equal(problem.initial_inputs, np.tile([0.1, -0.2], (20, 1)))
    np.testing.assert_array_equal(problem.reference[0], PUSHING_SCENE["goal_state"])


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "exactly one of example and scene"),
        ({"example": "pushing", "scene": "box_pushing"}, "exactly one of example and scene"),
        ({"example": "shoving"}, "unknown example 'shoving'"),
        ({"example": "/nowhere/pushing.yaml"}, "cannot read /nowhere/pushing.yaml"),
        ({"scene": "/nowhere/scene.yaml"}, "cannot read /nowhere/scene.yaml"),
        ({**PUSHING_SCENE, "goal_state": []}, "goal: nothing has one (valid: box/y, box/z"),
        ({**PUSHING_SCENE, "goal_tolerance": [0.0] * 5}, "goal: nothing has one"),
        ({**PUSHING_SCENE, "initial_state": []}, "does not say where box/y, box/z, box/angle"),
        (
            {**PUSHING_SCENE, "dynamics": "second_order", "time_step": 0.0, "goal_state": []},
            "dynamics 'second_order' needs goal_state, time_step",
        ),
        ({"example": "pushing", "start_from_joint_states": True}, "start_from_joint_states"),
        ({"example": "pushing", "dynamics": "second_order"}, "dynamics is 'second_order'"),
        ({"example": "pendulum", "dynamics": "quasi_static"}, "dynamics of its own"),
        ({"example": "pendulum", "mode": "log_barrier"}, "valid: exact, first, zero"),
        ({"example": "pendulum", "input_step_limit": [1.0]}, "increment"),
        ({"example": "pushing", "state_weight": [1.0, -1.0, 0.0, 0.0, 0.0]}, "box/z"),
        ({"example": "pushing", "input_weight": [0.0, 1.0]}, "valid: > 0"),
        ({"example": "pushing", "input_lower": [1.0, 0.0], "input_upper": [0.0, 0.0]}, "above"),
        ({"example": "pushing", "state_lower": [0.0] * 5}, "from both sides"),
        ({"example": "pushing", "initial_inputs": [0.0, 0.0]}, "60 knots x 2"),
        ({"example": "pushing", "initial_inputs": [np.nan] * 120}, "knot 0"),
        ({"example": "pushing", "time_step": -0.1}, "time_step is -0.1"),
        ({"example": "pushing", "schedule": "linear"}, "valid: power, geometric"),
        (
            {"example": "pushing", "standard_deviation_floor": 2.0},
            "floor is 2.0 (valid: > 0, <= 1)",
        ),
        ({"example": "pushing", "samples": 100_000}, "samples is 100000 (valid: >= 1, <= 3333)"),
        ({"example": "pushing", "horizon": 2000}, "horizon is 2000 (valid: >= 1, <= 1000)"),
        ({"example": "pushing", "starts": 2, "mode": "exact"}, "do not depend on the seed"),
    ],
)
def test_what_is_malformed_is_named(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(**fields)
    assert reason in str(caught.value)


def test_an_arm_in_3d_starts_where_joint_states_say() -> None:
    own = build_problem(load_example("iiwa_push"))
    joints = {f"lbr_A{i + 1}": 0.1 * i for i in range(7)}
    goal = PlanThroughContact.Goal(
        example="iiwa_push", samples=10, start_from_joint_states=True,
        initial_state=[0.5, 0.0, 0.25, 0.0, 0.0, 0.0],
    )  # fmt: skip
    problem = read_goal(goal, CONFIG, joints).problem
    np.testing.assert_array_equal(problem.initial_state[6:13], list(joints.values()))
    np.testing.assert_array_equal(problem.initial_inputs[0], list(joints.values()))
    np.testing.assert_array_equal(problem.goal, own.goal)
    # The outputs, here the tool's pose, follow from the joints.
    assert problem.dynamics.penetration(problem.initial_state) >= 0.0
    expected = problem.dynamics.complete(problem.initial_state[np.newaxis, :13])[0]
    np.testing.assert_array_equal(problem.initial_state, expected)
    with pytest.raises(ConfigError, match="joint_states has no 'lbr_A1'"):
        read_goal(goal, CONFIG, {})


def test_joint_states_that_wait_count_for_the_next_goal() -> None:
    """Those of the gripper come between, and the latest counts."""
    goal = PlanThroughContact.Goal(
        example="iiwa_push", samples=10, start_from_joint_states=True,
        initial_state=[0.5, 0.0, 0.25, 0.0, 0.0, 0.0],
    )  # fmt: skip
    names = [f"lbr_A{i + 1}" for i in range(7)]
    waiting = [
        JointState(name=names, position=[0.1] * 7),
        JointState(name=["finger"], position=[0.02]),
        JointState(name=names, position=[0.2] * 7),
    ]
    planner = IrsGoalPlanner(CONFIG, lambda: [planner.hear_joints(message) for message in waiting])
    np.testing.assert_array_equal(planner.read(goal).problem.initial_state[6:13], [0.2] * 7)


def test_a_scene_in_3d_can_be_named() -> None:
    state = [0.6, -0.05, 0.25, *[0.0] * 3, -0.1, 0.3, 0.0, -1.9, 0.0, 0.9, 0.0]
    problem = read(
        scene="iiwa_push", initial_state=state, goal_state=state, state_weight=[1.0] * 19,
        terminal_weight=[1.0] * 19, input_weight=[1.0] * 7,
        standard_deviation=[*[0.0] * 19, *[0.1] * 7], horizon=5, time_step=0.1,
    ).problem  # fmt: skip
    np.testing.assert_array_equal(problem.initial_inputs, np.tile(state[6:], (5, 1)))
    assert problem.initial_state.shape == (19,)


def test_exact_derivatives_need_no_samples() -> None:
    assert read(example="pushing", samples=0, mode="exact").settings.mode == "exact"


def test_the_node_limits_what_a_goal_without_limits_may_do() -> None:
    config = PlannerNodeConfig(limits=GoalLimitsConfig(iterations=5))
    goal = PlanThroughContact.Goal(example="pushing", samples=1)
    assert read_goal(goal, config).settings.iterations == 5


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("time_step", 1e300, "time_step is 1e\\+300"),
        ("time_step", 100.0, "time_step is 100"),
        ("goal_state", [1e200] * 5, "goal_state is 1e\\+200"),
    ],
)
def test_an_absurd_number_is_refused(field: str, value: Any, message: str) -> None:
    """The client of a time step of 1e300 s waited for ever."""
    with pytest.raises(ContactStackError, match=message):
        read(example="pushing", **{field: value})
