"""Push-T of gym-pusht: what the planner knows of the environment is what is there."""

import itertools
import sys

import numpy as np
import pytest

from contact_core.base.errors import ContactStackError
from contact_experiments.tasks.push_t import (
    AGENT_RADIUS,
    GAINS,
    GOAL,
    MOVE,
    PIXEL,
    TEE,
    TOLERANCE,
    PushTPlayer,
    centered,
    make_environment,
    push_t_model,
)


@pytest.fixture
def environment():
    pytest.importorskip("gym_pusht")
    environment = make_environment()
    environment.reset(seed=0)
    yield environment.unwrapped
    environment.close()


def placed(environment, pose, agent=(256.0, 30.0)):
    """Put the T's centre of mass to x, y [m] and angle, and return what is seen."""
    environment.block.angle = pose[2]
    turned = environment.block.center_of_gravity.rotated(pose[2])
    environment.block.position = (pose[0] / PIXEL - turned[0], pose[1] / PIXEL - turned[1])
    environment.agent.position, environment.agent.velocity = tuple(map(float, agent)), (0.0, 0.0)
    environment.space.reindex_shapes_for_body(environment.block)
    environment.space.reindex_shapes_for_body(environment.agent)
    return environment.get_obs()


def corners_of(part):
    return np.array(list(itertools.product((-0.5, 0.5), repeat=2))) * part.size + part.center


def test_the_t_is_that_of_the_environment(environment):
    block, (bar, stem) = environment.block, environment._block_shapes
    assert (block.mass, block.moment) == (TEE.mass, pytest.approx(TEE.inertia / PIXEL**2))
    assert [shape.friction for shape in block.shapes] == [0.0, 0.0]
    assert next(iter(environment.agent.shapes)).radius == AGENT_RADIUS
    x, y, angle = centered(environment.get_obs()[2:])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    for shape, part in zip((bar, stem), TEE.parts, strict=True):
        assert shape.area == pytest.approx(np.prod(part.size) / PIXEL**2)
        theirs = np.array([block.local_to_world(corner) for corner in shape.get_vertices()])
        ours = ((x, y) + corners_of(part) @ turn.T) / PIXEL
        np.testing.assert_allclose(np.sort(theirs, axis=0), np.sort(ours, axis=0), atol=1e-6)


def test_the_goal_is_covered_and_so_it_is_within_the_tolerances(environment):
    goal = centered(np.array(GOAL))
    np.testing.assert_array_equal(environment.goal_pose, GOAL)
    placed(environment, goal)
    assert environment._get_coverage() == pytest.approx(1.0)
    off = np.array([PIXEL, PIXEL, 1.0]) * TOLERANCE
    for signs in itertools.product((-1.0, 1.0), repeat=3):
        placed(environment, goal + signs * off)
        assert environment._get_coverage() > environment.success_threshold


def test_a_move_ends_at_rest_where_it_is_to_end(environment):
    begin, change = np.array([400.0, 60.0]), np.array([-30.0, 20.0])
    placed(environment, centered(np.array(GOAL)), begin)
    assert len(GAINS) == MOVE
    for gain in GAINS:
        environment.step(begin + gain * change)
    np.testing.assert_allclose(environment.agent.position, begin + change, atol=1e-6)
    np.testing.assert_allclose(environment.agent.velocity, 0.0, atol=1e-6)


def test_the_t_moves_as_the_model_says(environment):
    """Off its centre, so that it turns: by frictionless contact, with the inertia that it has."""
    model, pose = push_t_model(), np.array([0.256, 0.256, 0.0])
    agent = np.array([296.0, 196.0])  # above the end of the bar, at its surface
    state = np.array([*pose, *(PIXEL * agent)])
    seen = placed(environment, pose, agent)
    assert abs(model.penetration(state)) < 1e-9
    change = np.array([0.0, 4.0])
    for _ in range(5):
        for gain in GAINS:
            seen = environment.step(agent + gain * change)[0]
        agent = agent + change
        state = model.step(state, PIXEL * agent)
    moved = centered(seen[2:]) - pose
    assert moved[1] > 10.0 * PIXEL and moved[2] > 0.1
    np.testing.assert_allclose(state[:2] - pose[:2], moved[:2], atol=1.5 * PIXEL)
    assert state[2] - pose[2] == pytest.approx(moved[2], abs=0.03)


@pytest.mark.parametrize("agent", [(256.0, 60.0), (230.0, 275.0)])
def test_the_t_comes_to_its_goal_also_where_the_agent_begins_in_it(environment, agent):
    goal = centered(np.array(GOAL))
    seen = placed(environment, goal + np.array([0.02, -0.02, 0.0]), agent)
    player = PushTPlayer(seen)
    assert (player.overlap > 5.0) == (agent[1] > 100.0)
    for _ in range(150):
        for action in player.actions(seen):
            assert environment.action_space.contains(action.astype(np.float32))
            seen, _, reached, _, _ = environment.step(action)
            if reached:
                assert player.searches
                return
    pytest.fail(f"not there: {centered(seen[2:]) - goal}")


def test_what_is_not_installed_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "gym_pusht", None)
    with pytest.raises(ContactStackError, match=r"gym_pusht.*pip install 'contact_stack\[tasks\]'"):
        make_environment()
