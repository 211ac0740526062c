"""Pushes that would turn things over, against moments about the edge of a box."""

from dataclasses import replace

import numpy as np
import pytest
from own_scenes import TOP, write_scene

from irs_planner.closed_loop import SHORT_SEARCH
from irs_planner.examples import build_problem
from irs_planner.scene_problems import scene_problem
from irs_planner.search.grasps import draw_grasps
from irs_planner.search.parts import at_once
from irs_planner.search.search_model import SearchModel
from irs_planner.search.tipping import MARGIN

SETTINGS = replace(SHORT_SEARCH, hold=False, lean=False, clearance=0.01)
NEAR = 0.013
HALF, FRICTION = 0.045, 0.4


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    """A box of 9 x 9 x 12 cm on a table."""
    path = write_scene(tmp_path_factory.mktemp("slim"), "carton")
    thing = path.with_name("thing.urdf")
    thing.write_text(thing.read_text().replace("0.1 0.16 0.12", "0.09 0.09 0.12"))
    path.write_text(path.read_text() + "surfaces: {hard: {friction: 0.4}}\n")
    return build_problem(scene_problem(str(path), {"thing/x": 0.66}))


def grasps(model):
    everything = np.ones(len(model.joints), dtype=bool)
    draw = np.random.default_rng(0)
    return at_once(draw_grasps(model, model.problem.initial_state, everything, draw, 400))


def contacts(model, states):
    """Return heights over the table of the only contact with the box, and where it points (K, 3).

    The height is NaN where there are several contacts.
    """
    frames = model.dynamics.find_contacts(states)
    gap = np.where(model.robot_pairs & (model.pair_object == 0), frames.gap, np.inf)
    nearest = np.arange(len(states)), gap.argmin(axis=1)
    several = (gap < NEAR + 2e-3).sum(axis=1) != 1
    height = frames.point[..., 2][nearest] - TOP
    inward = np.where(model.robot_first[nearest[1]], -1.0, 1.0)
    return np.where(several, np.nan, height), inward[:, np.newaxis] * frames.frame[:, :, 0][nearest]


def test_moments_about_the_edge_of_a_box(problem):
    free, model = SearchModel(problem, replace(SETTINGS, hold=True)), SearchModel(problem, SETTINGS)
    assert free.tipping is None
    states = grasps(free)
    share = model.tipping.share(states, model.dynamics.find_contacts(states), NEAR)
    height, (x, y, z) = contacts(model, states)[0], contacts(model, states)[1].T
    level = (np.abs(z) < 1e-6) & np.isfinite(height)
    assert np.ptp(height[level]) > 0.03
    assert level.sum() > 10
    edge = HALF * (np.abs(x) + np.abs(y))[level]
    np.testing.assert_allclose(share[level], MARGIN * FRICTION * height[level] / edge, rtol=1e-6)
    assert not share[(z < -0.99) & np.isfinite(height)].any()
    # What is farther away than a touch turns nothing over, nor does what is in the air.
    assert not model.tipping.share(states, model.dynamics.find_contacts(states)).any()
    lifted = states.copy()
    lifted[:, 2] += 0.03
    assert not model.tipping.share(lifted, model.dynamics.find_contacts(lifted), NEAR).any()


def test_what_is_pushed_high_up_is_pushed_lower_or_not_at_all(problem):
    free, model = SearchModel(problem, replace(SETTINGS, hold=True)), SearchModel(problem, SETTINGS)

    def heights(states):
        height, inward = contacts(model, states)
        limit = HALF * np.abs(inward[:, :2]).sum(axis=1) / (MARGIN * FRICTION)
        level = np.abs(inward[:, 2]) < 1e-6
        return level & (height > 1.01 * limit), level & (height < 0.99 * limit), inward

    states = grasps(free)
    high, low, inward = heights(states)
    assert high.sum() > 3
    assert low.sum() > 5
    assert not heights(grasps(model))[0].any()
    # Where the box comes to the robot it is pushed.
    touching = states.copy()
    touching[:, :2] -= 9e-3 * inward[:, :2]
    lost, before = (m.forbidden(touching, m.problem.initial_state) for m in (model, free))
    assert lost[high].all()
    np.testing.assert_array_equal(lost[low], before[low])


@pytest.mark.parametrize("degrees", [10.0, 40.0, 60.0, 75.0])
def test_what_presses_down_holds_a_thing_less_what_friction_pulls(problem, degrees):
    """A force in its cone, as level as it can be, and the table's friction balance as it slides."""
    model = SearchModel(problem, SETTINGS)
    states = grasps(model)
    frames = model.dynamics.find_contacts(states)
    height, inward = contacts(model, states)
    level = (np.abs(inward[:, :2]).max(axis=1) > 1.0 - 1e-6) & np.isfinite(height)
    assert level.sum() > 5
    angle, robots = np.radians(degrees), model.robot_pairs & (model.pair_object == 0)
    sign = np.where(model.robot_first[robots], -1.0, 1.0)[:, np.newaxis]
    tilted = frames.frame.copy()
    tilted[:, robots, 0] = np.cos(angle) * frames.frame[:, robots, 0]
    tilted[:, robots, 0] -= np.sin(angle) * sign * [0.0, 0.0, 1.0]
    share = model.tipping.share(states, frames._replace(frame=tilted), NEAR)
    (grip,) = np.unique(model.dynamics.friction[robots])
    steep, slide = np.tan(max(angle - np.arctan(grip), 0.0)), MARGIN * FRICTION
    push = slide / (1.0 - slide * steep) if slide * steep < 1.0 else 1e9  # per weight
    lever = 2.0 * HALF + SETTINGS.clearance  # the tool is that far off
    expected = push * height[level] / (HALF + push * steep * lever)
    np.testing.assert_allclose(share[level], expected, rtol=1e-4)
