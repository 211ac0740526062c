"""Stewart-Trinkle time stepping against motions that can be calculated by hand."""

from __future__ import annotations

import numpy as np
import pytest

from robust_planner.contact_model import GRAVITY, ContactModel
from robust_planner.evaluation.execution import final_errors
from robust_planner.evaluation.time_stepping import (
    ComplementarityError,
    SteppedMotion,
    simulate_plan,
    simulate_worlds,
)
from robust_planner.examples import Example
from robust_planner.models import hopper, sliding_block
from robust_planner.problem import RobustProblem
from robust_planner.result import RobustPlan
from robust_planner.risk.worlds import one_world
from robust_planner.trajectory import ContactTrajectory

TIME = np.linspace(0.0, 1.0, 101)


def simulate(
    model: ContactModel,
    start: list[float],
    controls: np.ndarray,
    friction: float,
    height: float = 0.0,
) -> SteppedMotion:
    problem = RobustProblem(
        "test", model, tuple(start), tuple(start), 1.0, len(TIME), 0.5,
        (1.0,) * len(start), (1.0,) * model.controls,
    )  # fmt: skip
    none = np.zeros((len(TIME), 0))
    plan = ContactTrajectory(TIME, none, none, controls, none, none, none, none)
    return simulate_plan(plan, problem, friction, height)


def test_block_coasts_to_a_stop() -> None:
    run = simulate(sliding_block(), [0.0, 0.5, 3.0, 0.0], np.zeros((101, 1)), 0.5)
    speed = np.maximum(0.0, 3.0 - 0.5 * GRAVITY * TIME)
    np.testing.assert_allclose(run.velocity[:, 0], speed, atol=1e-9)
    np.testing.assert_allclose(run.normal_force[1:, 0], GRAVITY, rtol=1e-9)


def test_push_inside_the_cone_does_not_move_the_block() -> None:
    run = simulate(sliding_block(), [0.0, 0.5, 0.0, 0.0], np.full((101, 1), 4.9), 0.5)
    np.testing.assert_allclose(run.position[:, 0], 0.0, atol=1e-12)


def test_block_falls_onto_raised_ground_and_stays() -> None:
    run = simulate(sliding_block(), [0.0, 1.0, 0.0, 0.0], np.zeros((101, 1)), 0.5, height=0.2)
    assert run.position[:, 1].min() >= 0.7 - 1e-12
    assert run.position[-1, 1] == pytest.approx(0.7)
    assert run.velocity[-1, 1] == pytest.approx(0.0, abs=1e-12)


def test_friction_in_space_opposes_the_motion_along_an_axis() -> None:
    start = [0.0, 0.0, 0.5, 0.0, -2.0, 0.0]
    run = simulate(sliding_block(dimension=3), start, np.zeros((101, 2)), 0.3)
    np.testing.assert_allclose(run.velocity[:, 0], 0.0, atol=1e-12)
    speed = -np.maximum(0.0, 2.0 - 0.3 * GRAVITY * TIME)
    np.testing.assert_allclose(run.velocity[:, 1], speed, atol=1e-9)


@pytest.mark.parametrize("degrees", [7.0, 15.0, 30.0, 45.0, 80.0])
def test_friction_in_space_is_as_large_in_every_direction(degrees: float) -> None:
    way = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    start = [0.0, 0.0, 0.5, *(2.0 * way), 0.0]
    run = simulate(sliding_block(dimension=3), start, np.zeros((101, 2)), 0.4)
    moved = run.position[-1, :2]
    assert np.linalg.norm(moved) == pytest.approx(2.0**2 / (2.0 * 0.4 * GRAVITY), rel=0.02)
    assert np.degrees(np.arctan2(moved[1], moved[0])) == pytest.approx(degrees, abs=1e-6)


def test_what_is_pushed_askew_in_space_goes_where_coulomb_friction_lets_it() -> None:
    """It turns, stops, sticks and goes on another way; the same step with the exact cone."""
    turn = 0.3 + 4.0 * TIME
    push = (
        np.stack([np.cos(turn), 0.7 * np.sin(1.3 * turn)], axis=1)
        * np.linspace(6.0, 1.0, 101)[:, None]
    )
    push[60:80] = [1.0, -1.5]
    start = [0.0, 0.0, 0.5, 0.4, -0.3, 0.0]
    run = simulate(sliding_block(dimension=3), start, push, 0.3)
    place, speed, h = np.zeros(2), np.array([0.4, -0.3]), TIME[1]
    stuck = 0
    for k, force in enumerate(push[:-1], 1):
        free = speed + h * force
        fast = np.linalg.norm(free)
        speed = free * max(0.0, 1.0 - h * 0.3 * GRAVITY / fast)
        place = place + h * speed
        stuck += not speed.any()
        np.testing.assert_allclose(run.position[k, :2], place, atol=2e-5)
    assert 5 < stuck < 40


def test_a_world_in_space_does_not_depend_on_those_before_it() -> None:
    """They slide in directions that differ by less than what cones are turned for."""
    start = (0.0, 0.0, 0.5, 0.0, 0.0, 0.0)
    problem = RobustProblem(
        "test", sliding_block(dimension=3), start, start, 1.0, 21, 0.3, (1.0,) * 6, (1.0,) * 2
    )  # fmt: skip
    alone = one_world(problem, 0.3)
    together = alone.select(np.zeros(3, dtype=int))
    controls = np.tile([4.0, 1.7], (3, 21, 1))
    controls[:, :, 1] += np.array([[0.0], [2e-3], [4e-3]])
    found = simulate_worlds(problem, controls, together).position
    for given, motion in zip(controls, found, strict=True):
        np.testing.assert_array_equal(simulate_worlds(problem, given, alone).position[0], motion)


def test_hopper_collapses_onto_its_limits_without_penetrating() -> None:
    model = hopper()
    bend = np.arccos(0.75)
    start = [0.0, 1.6, bend, -2 * bend, np.pi / 2 + bend, *[0.0] * 5]
    run = simulate(model, start, np.zeros((101, 3)), 0.5)
    assert np.asarray(model.distance(run.position.T)).min() >= -0.05  # linearised in a step
    room = run.position @ model.limit_directions + model.limit_offsets
    assert room.min() >= -1e-9
    assert run.position[-1, 1] < 1.2


def test_a_motion_that_cannot_be_stepped_is_refused() -> None:
    with pytest.raises(ComplementarityError, match="no solution"):
        simulate(sliding_block(), [0.0, 0.5, 0.0, 0.0], np.full((101, 1), np.nan), 0.5)


def test_plan_is_reproduced_under_its_own_friction(
    block: Example, block_reference: RobustPlan
) -> None:
    errors = final_errors(block_reference.trajectory, block.problem, (block.problem.friction,))
    assert abs(errors.mean) <= 1e-3
    planned = block_reference.trajectory.position
    np.testing.assert_allclose(errors.simulations[0].position, planned, atol=1e-3)
