"""Plans executed in tamsi_sim: against motions that can be calculated, and time stepping."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from contact_stack.robust.tamsi_world import WorldError, can_simulate, simulate_plan
from robust_planner.contact_model import GRAVITY
from robust_planner.evaluation.execution import final_errors
from robust_planner.examples import make_example
from robust_planner.problem import RobustProblem
from robust_planner.sweep import plan_reference
from robust_planner.trajectory import ContactTrajectory


def pushed(problem: RobustProblem, control: float) -> ContactTrajectory:
    """A trajectory of which only times and controls matter."""
    count = problem.knots
    empty = np.zeros((count, 1))
    return ContactTrajectory(
        time=np.linspace(0.0, problem.duration, count),
        position=np.zeros((count, 2)),
        velocity=np.zeros((count, 2)),
        control=np.full((count, 1), control),
        normal_force=empty,
        tangent_force=np.zeros((count, 1, 2)),
        slip=empty,
        limit_force=np.zeros((count, 0)),
    )


@pytest.fixture(scope="module")
def sled() -> RobustProblem:
    return make_example("sled").problem


def test_sled_slides_as_coulomb_says(sled: RobustProblem) -> None:
    run = simulate_plan(pushed(sled, 10.0), sled, friction=0.4)
    acceleration = 10.0 / 1.5 - 0.4 * GRAVITY
    np.testing.assert_allclose(run.position[-1, 0], 0.5 * acceleration, rtol=5e-3)
    np.testing.assert_allclose(run.normal_force[100:, 0].mean(), 1.5 * GRAVITY, rtol=1e-3)


def test_push_inside_the_cone_does_not_move_the_sled(sled: RobustProblem) -> None:
    run = simulate_plan(pushed(sled, 5.0), sled, friction=0.4)
    assert abs(run.position[-1, 0]) < 1e-3


def test_ground_is_where_it_is_said_to_be(sled: RobustProblem) -> None:
    """Lower ground is fallen onto, higher ground carries the sled from the start."""
    for height in (-0.005, 0.005):
        run = simulate_plan(pushed(sled, 0.0), sled, friction=0.4, height=height)
        assert run.position[0, 1] == pytest.approx(0.05 + max(height, 0.0))
        assert run.position[-1, 1] == pytest.approx(0.05 + height, abs=2e-4)


def test_agrees_with_time_stepping_on_the_reference() -> None:
    """Final errors within 4 % of their range, at every friction and height."""
    example = make_example("sled")
    plan = plan_reference(example)
    heights = example.test_height
    stewart_trinkle = final_errors(plan.trajectory, example.problem, example.test_friction, heights)
    tamsi = final_errors(
        plan.trajectory, example.problem, example.test_friction, heights, simulate_plan
    )
    np.testing.assert_allclose(
        tamsi.errors, stewart_trinkle.errors, atol=0.04 * stewart_trinkle.range
    )


def test_hopper_is_refused() -> None:
    problem = make_example("hopper").problem
    assert not can_simulate(problem)
    with pytest.raises(WorldError, match=r"'hopper' is no single body .*sliding_block"):
        simulate_plan(pushed(problem, 0.0), problem, friction=0.5)


def test_cube_of_the_block_does_not_tip() -> None:
    """The planner's block cannot turn; the cube could, and its friction must not tip it."""
    block = dataclasses.replace(make_example("block").problem, knots=101)
    run = simulate_plan(pushed(block, 20.0), block, friction=0.7)
    assert np.ptp(run.position[100:, 1]) < 1e-3
