"""What cannot be planned is said by name and distance, before any search."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import numpy as np
import pytest
import yaml
from own_scenes import HEIGHT, PLACE, TOP, write_scene

from contact_core.base.errors import ConfigError, ModelError
from contact_core.base.planning import PlanStatus
from irs_planner import build_problem, plan, plan_globally, scene_problem
from irs_planner.feasibility import find_impossibility
from irs_planner.search import SearchSettings
from irs_planner.search.grasps import draw_grasps
from irs_planner.search.parts import at_once
from irs_planner.search.search_model import SearchModel

WALL = (
    '<robot name="wall" version="1.2"><link name="wall"><collision><origin xyz="0 0 {half}"/>'
    '<geometry><box size="{width} {depth} {height}"/></geometry></collision></link></robot>'
)


def with_wall(folder, width, depth, height, place, solid="carton"):
    """Write a scene with something fixed on the table."""
    path = write_scene(folder, solid)
    scene = yaml.safe_load(path.read_text())
    text = WALL.format(width=width, depth=depth, height=height, half=height / 2.0)
    (folder / "wall.urdf").write_text(text)
    scene["objects"]["wall"] = {"urdf": "wall.urdf", "xyz": [*place, TOP]}
    path.write_text(yaml.safe_dump(scene))
    return path


def impossibility_of(scene, goal, start=None):
    return find_impossibility(build_problem(scene_problem(str(scene), goal, start)))


def test_nothing_stands_in_the_way_of_a_goal_beside_a_wall(tmp_path) -> None:
    scene = with_wall(tmp_path, 0.2, 0.1, 0.3, (0.56, 0.15))
    assert impossibility_of(scene, {"thing/y": 0.0}) is None
    # The carton is 16 cm long and 10 cm wide: turned it has room.
    assert impossibility_of(scene, {"thing/y": 0.04, "thing/x": 0.56}) is None
    turned = {"thing/y": 0.03, "thing/x": 0.56, "thing/yaw": 1.5707963}
    assert impossibility_of(scene, turned) is None


@pytest.mark.parametrize("solid", ["can", "carton", "wedge", "log"])
@pytest.mark.parametrize("turn", [0.0, 0.4])
def test_what_hangs_over_an_edge_falls_if_its_middle_does(tmp_path, solid, turn) -> None:
    problem = build_problem(scene_problem(str(write_scene(tmp_path, solid)), {"thing/y": 0.4}))
    edge = 0.6
    for place, falls in ((edge - 0.06, False), (edge - 0.005, False), (edge + 0.005, True)):
        state = problem.initial_state.copy()
        state[[1, 5]] = place, turn
        problem = replace(problem, initial_state=state)
        found = find_impossibility(problem)
        assert (found is not None) is falls, (place, found)
        if found:
            assert found.reason.startswith("nothing carries 'thing' at the start: it falls")


def test_a_goal_inside_of_something_is_said_with_its_depth(tmp_path) -> None:
    scene = with_wall(tmp_path, 0.2, 0.1, 0.3, (0.56, 0.15))
    goal = {"thing/x": 0.56, "thing/y": 0.07, "thing/yaw": 0.0}
    impossible = impossibility_of(scene, goal)
    assert impossible is not None
    assert impossible.status is PlanStatus.GOAL_UNREACHABLE
    assert impossible.reason == "at its goal 'thing' overlaps 'wall' by 0.050 m"


def test_two_things_do_not_fit_into_one_place_however_they_are_turned(tmp_path) -> None:
    path = write_scene(tmp_path, "can")
    scene = yaml.safe_load(path.read_text())
    scene["objects"]["other"] = {**scene["objects"]["thing"], "xyz": [0.7, 0.2, TOP + HEIGHT / 2.0]}
    path.write_text(yaml.safe_dump(scene))
    goal = {"thing/x": 0.6, "thing/y": 0.0, "other/x": 0.6, "other/y": 0.02}
    impossible = impossibility_of(path, goal)
    assert impossible is not None
    assert re.fullmatch(r"at its goal 'thing' overlaps 'other' by 0.\d+ m", impossible.reason)
    assert impossibility_of(path, {**goal, "other/y": 0.2}) is None


def test_a_thing_that_is_called_like_a_link_is_refused_by_name(tmp_path) -> None:
    path = write_scene(tmp_path, "can")
    scene = yaml.safe_load(path.read_text())
    scene["objects"]["lbr_link_7"] = scene["objects"].pop("thing")
    path.write_text(yaml.safe_dump(scene))
    with pytest.raises(ConfigError, match="objects: 'lbr_link_7' is the name of a link of the rob"):
        scene_problem(str(path), {"lbr_link_7/x": 0.6})


def test_what_no_force_moves_is_in_the_way(tmp_path) -> None:
    path = write_scene(tmp_path, "can")
    scene = yaml.safe_load(path.read_text())
    scene["objects"]["thing"]["kinematic"] = True
    path.write_text(yaml.safe_dump(scene))
    with pytest.raises(ConfigError, match="goal: unknown state 'thing/x'"):
        scene_problem(str(path), {"thing/x": 0.6})


def test_a_goal_inside_is_told_whatever_the_angle(tmp_path) -> None:
    scene = with_wall(tmp_path, 0.2, 0.2, 0.3, (0.56, 0.15))
    begin = time.process_time()
    problem = build_problem(scene_problem(str(scene), {"thing/x": 0.56, "thing/y": 0.12}))
    for result in (plan_globally(problem), plan(problem)):
        assert result.status is PlanStatus.GOAL_UNREACHABLE
        assert "'thing' overlaps 'wall' by 0." in result.message
        assert "choose a goal where it has room" in result.message
    assert time.process_time() - begin < 60.0  # minutes, when it was searched for


@pytest.mark.parametrize(
    ("goal", "beyond"), [({"thing/x": 1.5}, "0.2"), ({"thing/x": 600.0}, "598.")]
)
def test_a_goal_out_of_reach_is_told(tmp_path, goal, beyond) -> None:
    impossible = impossibility_of(write_scene(tmp_path, "can"), goal)
    assert impossible is not None
    assert f"'thing' is out of the arm's reach at its goal, by {beyond}" in impossible.reason


def test_the_arm_reaches_what_is_within_its_balls(tmp_path) -> None:
    """No posture touches anything beyond; some come near."""
    problem = build_problem(scene_problem(str(write_scene(tmp_path, "can")), {"thing/x": 0.6}))
    dynamics = problem.dynamics
    ((center, radius),) = dynamics.reaches
    low, high = dynamics.position_limits
    states = np.repeat(problem.initial_state[np.newaxis], 4000, axis=0)
    states[:, 6:13] = np.random.default_rng(0).uniform(low, high, size=(4000, 7))
    farthest = np.linalg.norm(dynamics.complete(states[:, :13])[:, 13:16] - center, axis=1).max()
    assert 0.85 * radius < farthest < radius


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        ({"thing/x": 0.56, "thing/y": 0.0, "thing/z": TOP + 0.4}, "nothing carries 'thing' at its"),
        ({"thing/x": 0.3, "thing/y": 0.605}, "nothing carries 'thing' at its goal: it falls"),
        # Wherever it would be along x.
        ({"thing/y": 0.75}, "nothing carries 'thing' at its goal: it falls"),
        # Between links, where the robot is now.
        ({"thing/x": 0.16, "thing/y": 0.0}, "nothing carries 'thing' at its goal: it falls"),
        ({"thing/x": 0.0, "thing/y": 0.0}, "at its goal 'thing' overlaps 'lbr_link_1' by 0.1"),
        ({"thing/x": 0.6, "thing/y": 0.1}, ""),
        ({"thing/y": 0.1}, ""),
    ],
)
def test_a_goal_in_the_air_is_told(tmp_path, goal, reason) -> None:
    impossible = impossibility_of(write_scene(tmp_path, "can"), goal)
    assert reason in ("" if impossible is None else impossible.reason)
    assert (impossible is None) == (not reason)


@pytest.mark.parametrize("solid", ["can", "carton", "wedge", "log", "roll"])
def test_a_height_at_which_nothing_stands_is_told_wherever_it_is(tmp_path, solid) -> None:
    scene = write_scene(tmp_path, solid)

    def reason(above: float, **goal: float | None) -> str:
        height = {"thing/z": TOP + HEIGHT / 2.0 + above}
        found = impossibility_of(scene, height | {f"thing/{k}": v for k, v in goal.items()})
        return found.reason if found else ""

    told = "nothing carries 'thing' at a height of "
    assert reason(0.06).startswith(told)
    assert "it would stand 0.06 m above" in reason(0.06, x=0.6)
    assert not reason(0.01)
    # Beside the table nothing carries what is upright; of what is round an edge may.
    assert ("stand 0.06 m below" in reason(-0.06)) is (solid in ("can", "carton"))
    # What may tip may be higher.
    assert not reason(0.02, roll=None)
    assert reason(0.3, roll=None).startswith(told)


def test_what_is_heavier_than_the_arm_slides_is_told_with_the_forces(tmp_path) -> None:
    """Where nothing was found: it may turn or tip by less."""
    scene, thing = write_scene(tmp_path, "carton"), tmp_path / "thing.urdf"
    text = thing.read_text()
    for mass, heavy in ((0.8, False), (800.0, True)):
        thing.write_text(text.replace('mass value="0.8"', f'mass value="{mass}"'))
        problem = build_problem(scene_problem(str(scene), {"thing/x": 0.66}))
        settings = SearchSettings(attempts=1, judge="none")
        message = plan_globally(problem, settings).message
        assert ("'thing' weighs 7848 N and slides from " in message) is heavy
        assert ("as it stands the arm pushes with 344 N at most" in message) is heavy
    slides = float(re.search(r"slides from (\d+) N", message)[1])
    assert slides == pytest.approx(7848.0 * problem.dynamics.friction[0], rel=1e-3)


def test_a_ledge_and_other_things_carry_what_is_higher(tmp_path) -> None:
    path = with_wall(tmp_path, 0.2, 0.1, 0.3, (0.56, 0.15))
    assert impossibility_of(path, {"thing/z": TOP + 0.3 + HEIGHT / 2.0}) is None
    assert impossibility_of(path, {"thing/z": TOP + 0.1 + HEIGHT / 2.0}) is not None
    scene = yaml.safe_load(path.read_text())
    scene["objects"]["other"] = {
        **scene["objects"]["thing"],
        "xyz": [0.7, -0.2, TOP + HEIGHT / 2.0],
    }
    path.write_text(yaml.safe_dump(scene))
    for above in (0.1, 0.3, 0.3 + HEIGHT):
        assert impossibility_of(path, {"thing/z": TOP + above + HEIGHT / 2.0}) is None
    assert impossibility_of(path, {"thing/z": 1.0}) is not None


@pytest.mark.parametrize("height", [-0.15, HEIGHT / 2.0 + 0.04, HEIGHT / 2.0 + 0.34])
def test_a_start_in_the_air_is_told_whatever_is_below(height, tmp_path) -> None:
    scene = write_scene(tmp_path, "can")
    impossible = impossibility_of(scene, {"thing/x": 0.6}, {"thing/z": TOP + height})
    assert impossible is not None
    assert impossible.reason.startswith("nothing carries 'thing' at the start: it falls")
    if height == HEIGHT / 2.0 + 0.04:
        assert "it falls (0.04 m from anything)" in impossible.reason
    # What is a little above lands.
    assert impossibility_of(scene, {"thing/x": 0.6}, {"thing/z": TOP + HEIGHT / 2.0 + 0.01}) is None


def test_bodies_that_overlap_at_the_start_are_named(tmp_path) -> None:
    scene = write_scene(tmp_path, "carton")
    impossible = impossibility_of(scene, {"thing/x": 0.6}, {"thing/z": TOP + HEIGHT / 2.0 - 0.03})
    assert impossible is not None
    assert impossible.status is PlanStatus.INITIAL_PENETRATION
    assert "'table' and 'thing' overlap by 0.0300 m at the start" in impossible.reason


def test_full_turns_are_none(tmp_path) -> None:
    scene = str(write_scene(tmp_path, "carton"))
    problem = build_problem(scene_problem(scene, {"thing/yaw": -3.0}, {"thing/yaw": 3.0}))
    assert problem.goal[5] == pytest.approx(2.0 * np.pi - 3.0)
    # Also where the whole state is given, as an action does.
    config = scene_problem(scene, {"thing/yaw": -3.0}, {"thing/yaw": 3.0})
    values = list(config.goal_state)
    values[5] = -3.0 - 4.0 * np.pi
    whole = build_problem(type(config)(**{**vars(config), "goal_state": tuple(values)}))
    assert whole.goal[5] == pytest.approx(problem.goal[5])


def test_what_pitches_far_does_not_roll_as_far(tmp_path) -> None:
    scene = str(write_scene(tmp_path, "carton"))
    with pytest.raises(ConfigError, match=r"goal: thing/roll is 1.57 rad and thing/pitch 1.57"):
        scene_problem(scene, {"thing/roll": np.pi / 2.0, "thing/pitch": np.pi / 2.0})
    with pytest.raises(ConfigError, match=r"start: thing/roll is -1.57 rad and thing/pitch 0"):
        scene_problem(scene, {"thing/pitch": 1.5}, {"thing/roll": -np.pi / 2.0})


def test_what_moves_in_itself_is_refused_by_name(tmp_path) -> None:
    scene = write_scene(tmp_path, "can")
    thing = tmp_path / "thing.urdf"
    lid = (
        '<link name="lid"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="hinge" type="revolute"><parent '
        'link="thing"/><child link="lid"/><axis xyz="0 1 0"/><limit lower="0" upper="1" effort="1" '
        'velocity="1"/></joint></robot>'
    )
    thing.write_text(thing.read_text().replace("</robot>", lid))
    with pytest.raises(ModelError, match=r"'thing' moves in itself.*'hinge'"):
        scene_problem(str(scene), {"thing/x": 0.6})


def test_what_is_free_needs_inertia(tmp_path) -> None:
    scene = write_scene(tmp_path, "can")
    thing = tmp_path / "thing.urdf"
    text = thing.read_text()
    thing.write_text(text[: text.index("<inertial>")] + text[text.index("</inertial>") + 11 :])
    with pytest.raises(ModelError, match=r"'thing' is free and has no inertia \(mass 0 kg\)"):
        scene_problem(str(scene), {"thing/x": 0.6})


def test_nothing_passes_through_a_sheet_between_two_states(tmp_path) -> None:
    """A push that jumps over a thin wall overlaps it at none of its states."""
    scene = with_wall(tmp_path, 0.3, 0.002, 0.2, (PLACE[0], 0.1), solid="can")
    model = SearchModel(
        build_problem(scene_problem(str(scene), {"thing/y": 0.2})), SearchSettings()
    )
    begin = model.problem.initial_state.copy()
    begin[1], beyond = 0.03, begin.copy()
    beyond[1] = 0.17
    jump = np.array([begin, beyond])
    assert not model.forbidden(jump, begin).any()
    assert model.passes_through(jump)
    beside = beyond.copy()
    beside[1] = -0.1
    assert not model.passes_through(np.array([begin, beside]))
    inside = begin.copy()
    inside[1] += 0.012
    assert model.forbidden(inside[np.newaxis], begin).any()


@pytest.mark.parametrize("name", ["tool", "no", "lbr_A1", "1", "a/b"])
def test_things_may_have_any_name(tmp_path, name) -> None:
    """There are outputs of the tool, a joint of that name, and words that YAML takes for values."""
    path = write_scene(tmp_path, "can")
    path.write_text(path.read_text().replace("  thing:\n", f"  {name}:\n"))
    config = scene_problem(str(path), {f"{name}/x": 0.6})
    assert config.initial_state[:2] == pytest.approx(PLACE)
    assert config.goal_state[0] == 0.6
    problem = build_problem(config)
    assert problem.dynamics.state_names[0] == f"{name}/x"
    # What is seen of the arm's tool beside the states has no goal.
    assert np.isinf(problem.tolerance[problem.dynamics.coordinates :]).all()


@pytest.mark.parametrize("name", ["robot", "environment", "world"])
def test_names_that_mean_something_else_are_refused(tmp_path, name) -> None:
    path = write_scene(tmp_path, "can")
    path.write_text(path.read_text().replace("  thing:\n", f"  {name}:\n"))
    with pytest.raises(ConfigError, match=f"objects: '{name}' is no name of an object"):
        scene_problem(str(path), {f"{name}/x": 0.6})


def test_a_thing_that_leans_on_a_wall_and_a_table_is_pushed_out_of_both(tmp_path) -> None:
    """A hair too low, its corners are nearest to the foot of the wall, which lets nothing up."""
    scene = with_wall(tmp_path, 0.3, 0.02, 0.2, (PLACE[0], 0.09), solid="carton")
    problem = build_problem(scene_problem(str(scene), {"thing/y": -0.2}))
    dynamics = problem.dynamics
    for low, inside, tilt in ((2e-4, 1e-4, 0.0), (5e-4, 5e-4, 0.0), (1e-4, 2e-4, 1e-3)):
        state = problem.initial_state.copy()
        state[1] = 0.08 - 0.08 + inside
        state[2] -= low
        state[3] = tilt
        rest = state[list(dynamics.commanded_states)]
        for _ in range(5):
            state = dynamics.step(state, rest)
        assert np.isfinite(state).all()
        assert -1.5e-3 <= state[1] <= 1e-5
        np.testing.assert_allclose(state[2:4], [TOP + HEIGHT / 2.0, 0.0], atol=2e-4)


def test_things_are_touched_as_low_as_asked(tmp_path) -> None:
    problem = build_problem(scene_problem(str(write_scene(tmp_path, "can")), {"thing/x": 0.6}))
    state, heights = problem.initial_state, {}
    for share in (1.0, 0.6, 0.02):
        model = SearchModel(problem, SearchSettings(height=share))
        everything = np.ones(len(model.joints), dtype=bool)
        draw = np.random.default_rng(0)
        grasps = at_once(draw_grasps(model, state, everything, draw, 200))
        found = problem.dynamics.find_contacts(grasps)
        near = np.abs(found.gap[:, model.grasp_pairs] - 0.005) < 0.002
        height = np.where(near, found.point[:, model.grasp_pairs, 2] - TOP, np.inf)
        heights[share] = height.min(axis=1)
    assert heights[1.0].max() > 0.1
    assert len(heights[0.6]) > 5
    assert heights[0.6].max() <= 0.6 * HEIGHT / 2.0 + 1e-9
    # No link reaches a millimetre above the table: as low as one does.
    assert len(heights[0.02]) > 5
    assert heights[0.02].max() <= heights[1.0].min() + 0.005
