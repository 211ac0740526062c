"""A scene and a goal by name are all that a plan needs."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin
import pytest
import yaml
from own_scenes import HEIGHT, PLACE, SOLIDS, TOP, write_scene

from contact_core.base.errors import ConfigError, ModelError
from contact_core.base.planning import PlanStatus
from contact_core.multibody.collision.shapes import shape_to_coal
from contact_core.robot.scene import ROBOT
from contact_stack.viewer.scene_model import scene_model_of
from irs_planner import SearchSettings, build_problem, plan_globally
from irs_planner.quasi_dynamic import SpatialQuasiDynamics
from irs_planner.scene_problems import scene_problem
from irs_planner.scenes import load_spatial_scene
from irs_planner.scenes.spatial_arrays import body_shapes
from irs_planner.search import search_globally
from irs_planner.search.parts import at_once
from irs_planner.search.search_model import ROOM, SearchModel

GOAL = {"thing/x": 0.62, "thing/y": 0.06}
TALL = """<robot name="thing"><link name="thing"><inertial><mass value="0.5"/>
  <inertia ixx="0.0018" iyy="0.0018" izz="0.0003" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.06 0.06 0.2"/></geometry></collision></link></robot>"""


MJCF = """<mujoco><worldbody><body name="cup"><geom size="0.04" mass="0.2"/></body></worldbody>
</mujoco>"""


@pytest.mark.parametrize("free", [True, False])
def test_a_mjcf_is_no_thing_to_plan_with_or_to_draw(tmp_path, free):
    path = write_scene(tmp_path, "can")
    (tmp_path / "cup.xml").write_text(MJCF)
    values = yaml.safe_load(path.read_text())
    values["objects"]["cup"] = {"urdf": "cup.xml", "free": free, "xyz": [0.8, 0.2, TOP + 0.04]}
    path.write_text(yaml.safe_dump(values))
    with pytest.raises(ModelError, match=r"object 'cup' is a MJCF, .*write one for .*cup\.xml"):
        scene_problem(str(path), GOAL)
    shown = scene_model_of(str(path))
    assert (set(shown.objects), shown.movable) == ({"table", "thing"}, ("thing",))


@pytest.mark.parametrize("kinematic", [False, True])
def test_a_sdf_that_floats_by_itself_is_planned_with(tmp_path, kinematic):
    path = write_scene(tmp_path, "can")
    (tmp_path / "cup.sdf").write_text(
        """<sdf version="1.7"><model name="cup"><link name="l"><pose>0 0 0.05 0 0 0</pose>
        <inertial><mass>0.2</mass></inertial><collision name="c"><geometry><box>
        <size>0.1 0.1 0.1</size></box></geometry></collision></link></model></sdf>"""
    )
    values = yaml.safe_load(path.read_text())
    how = {"kinematic": True} if kinematic else {"free": True}
    values["objects"]["cup"] = {"urdf": "cup.sdf", **how, "xyz": [0.8, 0.2, TOP]}
    path.write_text(yaml.safe_dump(values))
    moved = "thing/x" if kinematic else "cup/x"
    problem = build_problem(scene_problem(str(path), {moved: 0.7}))
    assert ("cup" in problem.dynamics.object_names) is not kinematic
    assert set(scene_model_of(str(path)).objects) == {"table", "thing", "cup"}
    if not kinematic:
        centers = problem.dynamics.centers(problem.initial_state)
        number = problem.dynamics.object_names.index("cup")
        np.testing.assert_allclose(centers[number], [0.8, 0.2, TOP + 0.05], atol=1e-9)
        assert set(scene_model_of(str(path)).movable) == {"thing", "cup"}


@pytest.fixture(params=SOLIDS)
def scene(request, tmp_path):
    return write_scene(tmp_path, request.param)


def test_distances_of_shapes_are_those_of_coal(scene):
    """All pairs of two shapes, the whole arm's as well."""
    spatial = load_spatial_scene(str(scene))
    model = SpatialQuasiDynamics(spatial)
    parts, arrays = body_shapes(spatial), model.arrays
    rng = np.random.default_rng(0)
    start = np.array(scene_problem(str(scene), GOAL).initial_state)
    pairs = arrays.shape_pair
    assert {parts[j].link for _, j in pairs if parts[j].instance == ROBOT} >= {"lbr_link_4"}
    arm = spatial.scene.robot.arm_model()
    data = arm.createData()
    for _ in range(20):
        q = start + rng.normal(scale=0.2, size=start.shape)
        frames = model.find_contacts(model.complete(q[np.newaxis]))
        pin.forwardKinematics(arm, data, q[6:])
        thing = pin.SE3(pin.rpy.rpyToMatrix(q[3:6]), q[:3])
        bodies = [pin.SE3.Identity(), thing, *data.oMi.tolist()[1:]]
        gaps = frames.gap[0, len(arrays.probe_pair) :]
        for gap, sides in zip(gaps, pairs, strict=True):
            solids = []
            for i in sides:
                pose = bodies[parts[i].body] * parts[i].placement
                place = coal.Transform3s(pose.rotation, pose.translation)
                solids += [shape_to_coal(parts[i].shape), place]
            result = coal.DistanceResult()
            exact = coal.distance(*solids, coal.DistanceRequest(), result)
            # Far away a bound from below will do.
            assert gap == pytest.approx(exact, abs=1e-5) or 0.3 < gap < exact


def test_what_stands_on_the_table_stays_there_until_it_is_pushed(scene):
    problem = build_problem(scene_problem(str(scene), GOAL))
    model, state = problem.dynamics, problem.initial_state
    command = state[6:13]
    for _ in range(20):
        state = model.step(state, command)
    np.testing.assert_allclose(state[:6], problem.initial_state[:6], atol=1e-6)


@pytest.mark.parametrize("solid", ["can", "wedge"])
def test_a_scene_and_a_goal_are_enough_for_a_plan(tmp_path, solid):
    """The thing stays upright all the way, and no link touches but the tool's."""
    problem = build_problem(scene_problem(str(write_scene(tmp_path, solid)), GOAL))
    settings = SearchSettings(shortening=0.0, refinements=2, judge="none")
    plan = plan_globally(problem, settings)
    assert plan.goal_reached
    model = SearchModel(problem, settings)
    np.testing.assert_allclose(plan.states[-1, :2], [0.62, 0.06], atol=0.02)
    assert np.abs(plan.states[:, 2] - TOP - HEIGHT / 2.0).max() <= 0.02
    assert np.abs(plan.states[:, 3:5]).max() <= 0.1
    gap = problem.dynamics.find_contacts(plan.states).gap[:, model.strike_pairs]
    assert gap.min() >= ROOM * settings.clearance
    low, high = problem.dynamics.position_limits
    assert ((plan.inputs >= low) & (plan.inputs <= high)).all()


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solid", SOLIDS)
def test_every_solid_gets_anywhere(tmp_path, solid, seed):
    rng = np.random.default_rng(seed)
    x, y = np.array(PLACE) + rng.uniform([-0.05, -0.15], [0.1, 0.25])
    goal = {"thing/x": float(x), "thing/y": float(y)}
    if solid in ("carton", "wedge"):
        goal["thing/yaw"] = float(rng.uniform(-1.5, 1.5))
    if solid == "roll":
        goal["thing/roll"] = None
    problem = build_problem(scene_problem(str(write_scene(tmp_path, solid)), goal))
    assert plan_globally(problem, SearchSettings(seed=seed, judge="none")).goal_reached


def test_what_may_roll_is_free_to(tmp_path):
    scene = str(write_scene(tmp_path, "roll"))
    names = build_problem(scene_problem(scene, GOAL)).dynamics.state_names
    for goal, kept in ((GOAL, True), ({**GOAL, "thing/roll": None}, False)):
        problem = build_problem(scene_problem(scene, goal))
        roll = names.index("thing/roll")
        assert np.isfinite(problem.tolerance[roll]) == kept
        assert (roll in problem.bounds.bounded_states) == kept


def test_what_touches_is_what_moves_with_the_last_joint(tmp_path):
    model = build_problem(scene_problem(str(write_scene(tmp_path, "can", "ur5e")), GOAL)).dynamics
    assert model.contact_links == ("tool0",) or "wrist_3_link" in model.contact_links
    assert set(model.contact_links) < set(model.link_names)


def test_names_and_numbers_are_checked(tmp_path):
    scene = str(write_scene(tmp_path, "can"))
    with pytest.raises(ConfigError, match=r"goal: unknown state 'can/x' \(valid: thing/x"):
        scene_problem(scene, {"can/x": 0.6})
    with pytest.raises(ConfigError, match=r"goal: unknown state 'lbr_A1'"):
        scene_problem(scene, {"lbr_A1": 0.6})
    with pytest.raises(ConfigError, match="goal: nothing has one"):
        scene_problem(scene, {})
    with pytest.raises(ConfigError, match="goal: thing/x is nan"):
        scene_problem(scene, {"thing/x": np.nan})
    with pytest.raises(ConfigError, match=r"goal: thing/yaw is 45 rad.*45 degrees are 0.7854"):
        scene_problem(scene, {"thing/yaw": 45.0})
    with pytest.raises(ConfigError, match=r"start: lbr_A7 is 3.2 \(valid: -3.05433 to 3.05433"):
        scene_problem(scene, GOAL, {"lbr_A7": 3.2})
    with pytest.raises(ConfigError, match=r"start: unknown state 'elbow'"):
        scene_problem(scene, GOAL, {"elbow": 0.0})
    with pytest.raises(ConfigError, match=r"unknown scene 'my_scene'.*or the path of a file"):
        scene_problem("my_scene", GOAL)
    with pytest.raises(ConfigError, match=r"cannot read .*nowhere.yaml"):
        scene_problem(str(tmp_path / "nowhere.yaml"), GOAL)


def test_a_planar_scene_needs_a_start():
    with pytest.raises(ConfigError, match="does not say where tee/y, tee/z, tee/angle, finger_y"):
        scene_problem("push_t", {"tee/y": 0.1})
    start = {"tee/y": 0.0, "tee/z": 0.0, "tee/angle": 0.0, "finger_y": 0.0, "finger_z": 0.2}
    problem = build_problem(scene_problem("push_t", {"tee/y": 0.1}, start))
    # Where the T ends otherwise does not matter.
    assert np.isfinite(problem.tolerance).tolist() == [True, False, False, False, False]
    assert plan_globally(problem, SearchSettings(shortening=0.0, refinements=0)).goal_reached


@pytest.mark.parametrize("pitch", [0.5 * np.pi, -0.5 * np.pi])
def test_what_begins_pitched_by_a_right_angle_is_pushed_like_anything_else(pitch, tmp_path):
    """Roll and yaw are one there; its angles count from how it stands."""
    path = write_scene(tmp_path, "carton")
    scene = yaml.safe_load(path.read_text())
    thing = scene["objects"]["thing"]
    thing["rpy"], thing["xyz"] = [0.3, pitch, 0.0], [*PLACE, TOP + 0.05]
    path.write_text(yaml.safe_dump(scene))
    problem = build_problem(scene_problem(str(path), {"thing/x": 0.66}))
    start, dynamics = problem.initial_state, problem.dynamics
    np.testing.assert_allclose(start[3:5], 0.0, atol=1e-12)
    assert abs(start[5]) == pytest.approx(0.3)
    pose = dynamics.object_poses(start)["thing"]
    expected = pin.rpy.rpyToMatrix(0.3, pitch, 0.0)
    np.testing.assert_allclose(pose.rotation, expected, atol=1e-9)
    np.testing.assert_allclose(dynamics.state_of({"thing": pose}, start[6:13]), start, atol=1e-9)
    settings = SearchSettings(refinements=0, shortening=0.0, hold=False)
    status, motions = at_once(search_globally(problem, settings))
    assert status is PlanStatus.SUCCEEDED
    end = motions[-1][1].states[-1]
    assert end[0] == pytest.approx(0.66, abs=0.02)
    assert end[2] == pytest.approx(TOP + 0.05, abs=0.005)


@pytest.mark.parametrize("axis", ["roll", "pitch"])
def test_a_tall_box_is_tipped_onto_its_side(axis, tmp_path):
    """What pitches by a right angle does so before it rolls: no angles are one there."""
    path = write_scene(tmp_path, "carton")
    scene = yaml.safe_load(path.read_text())
    scene["objects"]["thing"]["xyz"] = [*PLACE, TOP + 0.1]
    path.write_text(yaml.safe_dump(scene))
    (tmp_path / "thing.urdf").write_text(TALL)
    problem = build_problem(scene_problem(str(path), {f"thing/{axis}": 0.5 * np.pi}))
    dynamics = problem.dynamics
    settings = SearchSettings(refinements=0, shortening=0.0, hold=False)
    status, motions = at_once(search_globally(problem, settings))
    assert status is PlanStatus.SUCCEEDED
    end = motions[-1][1].states[-1]
    pose = dynamics.object_poses(end)["thing"]
    assert abs(pose.rotation[2, 2]) < 0.1
    assert abs(pose.rotation[2, 1 if axis == "roll" else 0]) > 0.99
    assert end[2] == pytest.approx(TOP + 0.03, abs=0.005)
    np.testing.assert_allclose(dynamics.state_of({"thing": pose}, end[6:13]), end, atol=1e-9)
