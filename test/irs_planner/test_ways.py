"""Ways through clutter: round walls, off edges' brinks, and who goes first."""

from dataclasses import replace

import numpy as np
import pytest

from contact_experiments.push.clutter import CLUTTER, CUBE, Clutter
from irs_planner import SearchSettings, build_problem, scene_problem
from irs_planner.search.parts import at_once
from irs_planner.search.search_model import SearchModel
from irs_planner.search.ways import Ways


def model_of(clutter, folder):
    problem = build_problem(scene_problem(str(clutter.write(folder)), clutter.goal))
    return SearchModel(problem, SearchSettings(force=10.0, lean=False, hold=False))


def legs_of(model, most=10):
    """Follow all legs as if things went there; return what moves, from where to where."""
    ways, state, legs = Ways(model), model.problem.initial_state, []
    while not model.reached(state) and len(legs) < most:
        leg = at_once(ways.next_leg(state))
        ahead = state.copy()
        for k, name in enumerate(model.dynamics.object_names):
            columns = 6 * k + np.array([0, 1, 5])
            if (
                np.isfinite(leg.tolerance[columns[:2]]).all()
                and (np.abs(leg.goal - state)[columns[:2]] > leg.tolerance[columns[:2]]).any()
            ):
                legs.append((name, state[columns], leg.goal[columns]))
                ahead[columns] = leg.goal[columns]
        assert not np.array_equal(ahead, state)
        state = model.dynamics.complete(ahead[np.newaxis, : model.dynamics.coordinates])[0]
    return legs, state


def outline(pose, size):
    """Return points (N, 2) all over a box from above."""
    x, y, yaw = pose
    grid = np.stack(np.meshgrid(*(np.linspace(-0.5, 0.5, 41) * s for s in size[:2])), axis=-1)
    turn = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    return grid.reshape(-1, 2) @ turn + (x, y)


def overlaps(begin, end, size, walls):
    for share in np.linspace(0.0, 1.0, 50):
        points = outline(begin + share * (end - begin), size)
        for wall, place in walls.values():
            if (np.abs(points - place) < 0.5 * np.array(wall[:2])).all(axis=1).any():
                return True
    return False


@pytest.mark.parametrize(("name", "thing"), [("wall", "cube"), ("slot", "book")])
def test_a_way_leads_round_walls_and_into_slots(name, thing, tmp_path):
    clutter = CLUTTER[name]
    size, place = clutter.things[thing]
    goal = np.array([clutter.goal[f"{thing}/x"], clutter.goal[f"{thing}/y"], 0.0])
    model = model_of(clutter, tmp_path)
    legs, state = legs_of(model)
    assert model.reached(state)
    assert len(legs) > 1
    for _, begin, end in legs:
        assert not overlaps(begin, end, size, clutter.walls)
    if name == "wall":
        assert overlaps(np.array([*place, 0.0]), goal, size, clutter.walls)


def test_where_nothing_is_in_the_way_there_is_one_leg(tmp_path):
    model = model_of(Clutter(CLUTTER["wall"].things, {}, CLUTTER["wall"].goal), tmp_path)
    leg = at_once(Ways(model).next_leg(model.problem.initial_state))
    np.testing.assert_array_equal(leg.goal, model.problem.goal)
    np.testing.assert_array_equal(leg.tolerance, model.problem.tolerance)


def test_a_way_stays_on_the_table(tmp_path):
    """There is more room beyond the edge, and no table."""
    x, half = 0.56, 0.2
    things = {"cube": (CUBE, (x, -0.14))}
    walls = {"wall": ((0.1, 0.01, 0.15), (x - 0.1, 0.0))}
    clutter = Clutter(
        things, walls, {"cube/x": x - 0.05, "cube/y": 0.14}, ((2.0 * half, 0.5), (x, 0.0))
    )
    legs, state = legs_of(model := model_of(clutter, tmp_path))
    assert model.reached(state)
    for _, begin, end in legs:
        corners = np.concatenate([outline(begin, CUBE), outline(end, CUBE)])
        assert (np.abs(corners - (x, 0.0)) <= (half + 1e-3, 0.25 + 1e-3)).all()


def test_what_is_in_the_way_goes_first(tmp_path):
    legs, state = legs_of(model := model_of(CLUTTER["first"], tmp_path))
    assert model.reached(state)
    assert legs[0][0] == "other"
    assert legs[-1][0] == "cube"


def test_what_may_move_is_put_aside(tmp_path):
    clutter = CLUTTER["another box"]
    legs, _ = legs_of(model_of(clutter, tmp_path))
    assert legs[0][0] == "other"
    assert legs[-1][0] == "cube"


@pytest.mark.parametrize(
    "pose", [(0.6962, 0.1102, 0.6236), (0.6976, 0.1054, 0.6481), (0.6987, 0.1052, 0.7792)]
)
@pytest.mark.parametrize("wide", [1.0, 2.0])
def test_what_is_nearly_out_of_the_way_is_sent_farther_than_its_tolerance(pose, wide, tmp_path):
    """Else it counted as there, and was asked for again for ever."""
    model = model_of(CLUTTER["change places"], tmp_path)
    columns = 6 * model.dynamics.object_names.index("other") + np.array([0, 1, 5])
    tolerance = 0.8 * model.problem.tolerance
    tolerance[columns] *= wide
    problem = replace(model.problem, tolerance=tolerance)
    model = SearchModel(problem, model.settings)
    state = problem.initial_state.copy()
    state[columns] = pose
    state = model.dynamics.complete(state[np.newaxis, : model.dynamics.coordinates])[0]
    leg = at_once(Ways(model).next_leg(state))
    assert not SearchModel(leg, model.settings).reached(state)


def test_where_no_way_is_free_the_whole_problem_is_left_to_the_search(tmp_path):
    walls = {
        "a": ((0.4, 0.01, 0.15), (0.56, -0.05)),
        "b": ((0.4, 0.01, 0.15), (0.56, -0.25)),
        "c": ((0.01, 0.2, 0.15), (0.37, -0.15)),
        "d": ((0.01, 0.2, 0.15), (0.75, -0.15)),
    }
    clutter = Clutter({"cube": (CUBE, (0.56, -0.15))}, walls, {"cube/x": 0.56, "cube/y": 0.15})
    model = model_of(clutter, tmp_path)
    leg = at_once(Ways(model).next_leg(model.problem.initial_state))
    np.testing.assert_array_equal(leg.goal, model.problem.goal)
