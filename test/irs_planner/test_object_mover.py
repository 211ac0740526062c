"""An arm moves things in closed loop, here in the planner's own model of the world."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from own_scenes import write_scene

from contact_core.base.errors import ConfigError
from contact_core.robot.scene_config import CameraConfig
from irs_planner import build_problem, load_example, scene_problem
from irs_planner.closed_loop import Phase
from irs_planner.object_mover import MoverConfig, ObjectMover
from irs_planner.search.grasps import draw_grasps
from irs_planner.search.parts import at_once
from irs_planner.search.push import push
from irs_planner.search.search_model import SearchModel
from irs_planner.search.settings import SearchSettings
from tamsi_sim.robot.camera import Camera

PERIOD = 50_000_000
"""Between two looks [ns]."""


def mover_of(scene, seed=0, asked=(), **goal):
    named = {f"thing/{name}": value for name, value in goal.items()}
    problem = build_problem(scene_problem(str(scene), named))
    return ObjectMover(problem, MoverConfig(), seed, asked=asked)


def carry_out(mover, looks, change=lambda k, state: state):
    """Look and move, with a camera's noise.

    Returns:
        States; where the tool is to be at every look; how near the arm's links were to the thing
        and the table, and how much nearer they went.
    """
    dynamics, camera = mover.problem.dynamics, Camera(CameraConfig(), 0)
    state = mover.problem.initial_state
    states, tools, rooms, before = [state], [], [], state[6:13]
    for k in range(1, looks):
        state = change(k, state)
        poses = dynamics.object_poses(state)
        for picture in camera.see(k * PERIOD, lambda poses=poses: poses):
            for name, pose in picture.poses.items():
                mover.see(name, picture.stamp, pose)
        if not mover.trackers:
            continue
        command = mover.update(state[6:13], k * PERIOD)
        mover.search()
        commanded = np.concatenate((state[:6], command))
        tools.append(dynamics.outputs(commanded[np.newaxis])[0][0, :3])
        places = [np.concatenate((mover.state[:6], place)) for place in (before, command)]
        room, left = mover.loop.gaps(np.array(places))
        rooms.append((room, room - left))
        before = command
        state = dynamics.step(state, command)
        states.append(state)
        if mover.rests:
            break
    return np.array(states), np.array(tools), np.array(rooms)


def test_a_can_is_moved_to_its_goal_at_the_pace_that_was_asked_for(tmp_path):
    scene, looks, fastest = write_scene(tmp_path, "can"), [], []
    for seed in range(3):
        mover = mover_of(scene, seed, x=0.6, y=-0.03)
        states, tools, rooms = carry_out(mover, 800)
        looks.append(len(states))
        assert mover.rests
        assert mover.goal_error <= 1.0
        np.testing.assert_allclose(states[-1, :2], [0.6, -0.03], atol=0.02)
        paces = np.linalg.norm(np.diff(tools, axis=0), axis=1) / (1e-9 * PERIOD)
        fastest.append(paces.max())
        # What is touched is not hit: the arm slows down before.
        room, nearer = rooms.transpose(1, 0, 2)
        near = (room > 0.0) & (room < 0.01)
        assert near.any()
        assert nearer[near].max() <= 1.2 * 0.036 * MoverConfig().period
        np.testing.assert_array_equal(np.abs(mover.error[:2]) <= 0.02, True)
    assert mover.wanted == ("thing/x", "thing/y", "thing/z", "thing/roll", "thing/pitch")
    assert 0.2 < max(fastest) <= 1.02 * MoverConfig().transit_speed
    assert np.median(looks) < 300


def test_what_is_kicked_away_is_brought_back(tmp_path):
    mover = mover_of(write_scene(tmp_path, "can"), x=0.6, y=-0.03)
    kicked = []

    def kick(k, state):
        if not kicked and state[1] > -0.07:
            kicked.append(k)
            moved = state.copy()
            moved[:2] += [-0.02, -0.1]
            return mover.problem.dynamics.complete(moved[np.newaxis, :13])[0]
        return state

    states, _, _ = carry_out(mover, 900, kick)
    assert kicked
    assert mover.rests
    np.testing.assert_allclose(states[-1, :2], [0.6, -0.03], atol=0.02)


def test_angles_go_the_short_way_round(tmp_path):
    mover = mover_of(write_scene(tmp_path, "carton"), yaw=3.1)
    joints, pose = mover.problem.initial_state[6:13], mover.problem.dynamics.object_poses(
        mover.problem.initial_state
    )["thing"]  # fmt: skip
    for k, yaw in enumerate((-3.1, -3.0, 3.1), start=1):
        turned = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, yaw), pose.translation)
        for n in range(2):  # twice is believed
            mover.see("thing", 10**9 * (2 * k + n), turned)
        mover.update(joints, 10**9 * (2 * k + 1))
        (found,) = mover.error[[name == "thing/yaw" for name in mover.wanted]]
        assert found == pytest.approx((2.0 * np.pi - 6.2, 2.0 * np.pi - 6.1, 0.0)[k - 1], abs=1e-6)


def test_what_has_tipped_over_is_said(tmp_path):
    mover = mover_of(write_scene(tmp_path, "can"), x=0.6)
    assert mover.beyond == ()
    tipped = pin.SE3(pin.rpy.rpyToMatrix(1.5, 0.0, 0.0), np.array([0.56, -0.09, 0.26]))
    mover.see("thing", 1, tipped)
    mover.see("stranger", 1, tipped)
    joints = mover.problem.initial_state[6:13]
    np.testing.assert_array_equal(mover.update(joints, 1), joints)  # nothing pushes it further
    assert [text.split()[0] for text in mover.beyond] == ["thing/roll"]
    assert list(mover.trackers) == ["thing"]
    for stamp in (2, 3):
        mover.see("thing", 10**9 * stamp, pin.SE3(np.eye(3), np.array([0.56, -0.09, 0.26])))
    mover.update(joints, 3 * 10**9)
    assert mover.beyond == ()


@pytest.mark.parametrize(
    ("solid", "roll", "asked", "goes_on"),
    [
        ("log", np.pi / 4.0, (), True),
        ("log", np.pi / 4.0, ("thing/roll",), False),
        ("log", np.pi / 2.0, (), False),
        ("can", 0.4, (), False),
    ],
    ids=["on its next side", "not as asked for", "far over", "on an edge"],
)
def test_what_has_rocked_is_pushed_as_it_lies(tmp_path, solid, roll, asked, goes_on):
    mover = mover_of(write_scene(tmp_path, solid), asked=asked, x=0.6, y=-0.03)
    joints, before = mover.problem.initial_state[6:13], mover.problem.goal.copy()
    for k in range(1, 80):
        tilt = roll if k > 30 else 0.0
        pose = pin.SE3(pin.rpy.rpyToMatrix(tilt, 0.0, 0.0), np.array([0.56, -0.09, 0.26]))
        mover.see("thing", k * PERIOD, pose)
        joints = mover.update(joints, k * PERIOD)
        mover.search()
    assert bool(mover.beyond) is not goes_on
    change = mover.problem.goal - before
    assert change[3] == pytest.approx(roll if goes_on else 0.0, abs=0.02)
    np.testing.assert_allclose(change[[0, 1]], 0.0)
    if goes_on:
        assert mover.problem.bounds.state_low[1] == pytest.approx(roll - 0.1, abs=0.02)
        assert mover.loop.phase is not Phase.REST


def test_the_arm_goes_back_where_something_tips(tmp_path):
    mover = mover_of(write_scene(tmp_path, "can"), x=0.6)
    start = mover.problem.initial_state[6:13]
    upright = pin.SE3(np.eye(3), np.array([0.56, -0.09, 0.26]))
    commands = []
    for k in range(1, 70):
        mover.see("thing", k * PERIOD, upright)
        commands.append(mover.update(commands[-1] if commands else start, k * PERIOD))
        mover.search()
    assert np.abs(commands[-1] - commands[-15]).max() > 0.01
    for back in range(1, 15):
        tipping = pin.SE3(pin.rpy.rpyToMatrix(0.5, 0.0, 0.0), upright.translation)
        for n in range(2):
            mover.see("thing", (100 + 2 * back + n) * PERIOD, tipping)
        command = mover.update(commands[-1], (101 + 2 * back) * PERIOD)
        np.testing.assert_array_equal(command, commands[-1 - back])


def test_a_push_that_ends_stops_the_arm(tmp_path):
    """Commands are ahead of it by some millimetres, and what is pushed would go on by as much."""
    mover = mover_of(write_scene(tmp_path, "can"), x=0.6, y=-0.03)
    dynamics, state, ends = mover.problem.dynamics, mover.problem.initial_state, []
    for k in range(1, 400):
        mover.see("thing", k * PERIOD, dynamics.object_poses(state)["thing"])
        before = mover.loop.phase
        command = mover.update(state[6:13], k * PERIOD)
        if before is Phase.PUSH and mover.loop.phase is not Phase.PUSH:
            ends.append(np.abs(command - state[6:13]).max())
        mover.search()
        state = dynamics.step(state, 0.5 * (state[6:13] + command))
        if mover.rests:
            break
    assert mover.rests
    assert ends
    np.testing.assert_array_equal(ends, 0.0)


def test_nothing_is_pulled_along_from_a_distance(tmp_path, monkeypatch):
    """Relaxed friction keeps what slides apart by mu times the way."""
    problem = mover_of(write_scene(tmp_path, "can"), x=0.6, y=-0.03).problem
    dynamics, start = problem.dynamics, problem.initial_state
    model = SearchModel(problem, SearchSettings(clearance=0.01))
    grasps = at_once(draw_grasps(model, start, np.ones(7, bool), np.random.default_rng(0), 64))
    everywhere = [problem.goal.copy() for _ in range(8)]
    for k, target in enumerate(everywhere):
        target[:2] = start[:2] + 0.1 * np.array([np.cos(0.785 * k), np.sin(0.785 * k)])

    def pulled():
        """How far the can goes that the robot would not touch where it was."""
        shifts = []
        for target in everywhere:
            inputs = model.best_inputs(grasps, grasps[:, model.joints], target)
            ahead = dynamics.step_batch(grasps, inputs)
            passes = model.complete(start, ahead[:, model.joints])
            apart = dynamics.find_contacts(passes).gap[:, model.grasp_pairs].min(axis=1) > 3e-3
            shifts += np.abs(ahead - grasps)[apart, :2].max(axis=1).tolist()
        return max(shifts)

    assert pulled() < 2e-3
    monkeypatch.setattr(model, "_share_of_slides", lambda states, _: np.ones(len(states)))
    assert pulled() > 4e-3


def test_pushes_are_no_harder_than_allowed_and_lean_on_nothing(tmp_path):
    """Without a limit the arm drags the can from above, or presses on the table, with 40 N."""
    problem = mover_of(write_scene(tmp_path, "can"), x=0.6, y=-0.03).problem
    start, everything = problem.initial_state, np.ones(7, dtype=bool)
    force, room = [], []
    for settings in (SearchSettings(), SearchSettings(force=10.0, lean=False)):
        model = SearchModel(problem, settings)
        grasps = at_once(draw_grasps(model, start, everything, np.random.default_rng(0), 64))
        motions = at_once(push(model, grasps, grasps[:, model.joints], problem.goal))
        states = np.concatenate([motion.states[:-1] for motion in motions])
        inputs = np.concatenate([motion.inputs for motion in motions])
        assert len(states) > 50
        pairs = problem.dynamics.contact_forces(states, inputs).force[:, model.robot_pairs]
        force.append(np.linalg.norm(pairs, axis=2).max())
        fixed = model.robot_pairs & (model.pair_object < 0)
        room.append(problem.dynamics.find_contacts(states).gap[:, fixed].min())
    assert force[0] > 25.0
    assert force[1] <= 15.0  # of several contacts not all give way alike
    assert room[0] < 1e-3
    assert room[1] > 2e-3


def test_what_would_have_to_be_lifted_is_refused(tmp_path):
    scene = write_scene(tmp_path, "can")
    with pytest.raises(ConfigError, match=r"thing/z is to change by .* pushed or tipped, not"):
        mover_of(scene, z=0.4)
    assert mover_of(scene, roll=1.57).wanted == ("thing/roll", "thing/pitch")
    assert mover_of(scene, x=0.6, roll=None).wanted == ("thing/x", "thing/z", "thing/pitch")


def test_a_planar_problem_is_refused():
    with pytest.raises(ConfigError, match="this scene is planar"):
        ObjectMover(build_problem(load_example("push_t")), MoverConfig())


def test_what_the_arm_pushes_is_known_before_it_is_seen(tmp_path):
    """A camera tells it 0.2 s late, and at 0.1 m/s the thing is 2 cm farther then."""
    mover = mover_of(write_scene(tmp_path, "can"), x=0.6, y=-0.03)
    dynamics, state = mover.problem.dynamics, mover.problem.initial_state
    camera, errors = Camera(CameraConfig(rate=20.0, delay=0.2, noise=0.0, turn_noise=0.0), 0), []
    for k in range(1, 400):
        poses = dynamics.object_poses(state)
        for picture in camera.see(k * PERIOD, lambda poses=poses: poses):
            mover.see("thing", picture.stamp, picture.poses["thing"])
        if not mover.trackers:
            continue
        command = mover.update(state[6:13], k * PERIOD)
        mover.search()
        if mover.loop.phase is Phase.PUSH:
            errors.append(np.hypot(*(mover.state - state)[:2]))
        state = dynamics.step(state, 0.5 * (state[6:13] + command))
        if mover.rests:
            break
    assert mover.rests
    assert np.quantile(errors, 0.9) < 0.007  # a third of that; 5 mm
