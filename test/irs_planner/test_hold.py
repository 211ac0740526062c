"""Holds: what carries an object by itself, and moves it as one body with the robot."""

import numpy as np
import pytest

from contact_core.base.planning import StopCondition
from contact_core.robot.gripper import GripperCommand
from irs_planner import SearchSettings, build_problem, plan_globally
from irs_planner.scene_problems import scene_problem
from irs_planner.search import global_planner
from irs_planner.search import push as push_module
from irs_planner.search.hold import FRICTION, find_hold, find_holds
from irs_planner.search.parts import at_once
from irs_planner.search.push import push
from irs_planner.search.search_model import SearchModel
from irs_planner.search.transit import Motion
from irs_planner.search.tree import Edge
from tamsi_sim.robot.plant import Plant

TICKS, WAIT = 20, 10
"""Ticks of a step of a plan, and steps in which the arms come to rest."""
GRIP = 0.005
"""A gripper begins anew with every command, without force: smaller changes are none [m]."""
BOTTLE = """
name: bottle
robot:
  description: iiwa14_wsg50
  gripper: {initial_position: 0.05, initial_target: 0.05}
objects:
  table: {urdf: urdf/slab.urdf, xyz: [1.0, 0.0, 0.45]}
  bottle: {urdf: urdf/bottle.urdf, free: true, xyz: [0.85, 0.0, 0.54]}
surfaces:
  rubber: {of: [finger_left, finger_right], friction: 1.0}
  hard: {friction: 0.4}
"""


@pytest.fixture(scope="module")
def model():
    problem = build_problem(scene_problem("two_arms_lift", {"box/z": 0.35}))
    return SearchModel(problem, SearchSettings())


@pytest.fixture(scope="module")
def lifted(model):
    """The box in the air, between the balls that squeezed and lifted it."""
    state = near_the_box(model, ("pusher", "right_pusher"))
    for _ in range(20):
        hold = find_hold(model, state)
        control = hold.commands
        if hold.closed:
            control = hold.inputs(model, state, model.problem.goal)
        state = model.dynamics.step(state, control)
    return state


def near_the_box(model, links):
    """Lead some of the balls straight to the box, up to the clearance."""
    state, names = model.problem.initial_state, model.dynamics.pair_names
    pairs = [i for i in model.grasp_pairs if set(names[i]) & set(links)]
    for _ in range(10):
        frames = model.dynamics.find_contacts(state[np.newaxis])
        normal = frames.normal[0, pairs][:, model.joints]
        away = frames.gap[0, pairs] - model.settings.clearance
        joints = state[model.joints] - np.linalg.pinv(normal) @ away
        state = model.complete(state, joints[np.newaxis])[0]
    return state


def test_forces_of_a_hold_carry_the_box_in_the_air(model, lifted):
    hold = find_hold(model, lifted)
    assert lifted[2] == pytest.approx(0.35, abs=1e-3)
    ahead = model.dynamics.step(lifted, hold.commands)
    np.testing.assert_allclose(ahead[:6], lifted[:6], atol=1e-4)
    forces = model.dynamics.contact_forces(lifted[np.newaxis], hold.commands[np.newaxis])
    total = np.zeros(3)
    for names, force, friction in zip(
        forces.pairs, forces.force[0], model.dynamics.friction, strict=True
    ):
        if "box" in names and "" not in names:
            total += force * (1.0 if names[0] == "box" else -1.0)
            # The balls press along x, and hold by less than all of the friction.
            assert np.hypot(*force[1:]) <= (FRICTION + 0.05) * friction * abs(force[0])
    np.testing.assert_allclose(total, [0.0, 0.0, 9.81], atol=0.05)


def test_what_sticks_moves_as_the_slope_says(model, lifted):
    hold, draw = find_hold(model, lifted), np.random.default_rng(0)
    before = model.dynamics.step(lifted, hold.commands)
    for _ in range(5):
        change = 0.1 * hold.sticking @ draw.uniform(-1.0, 1.0, len(model.joints))
        after = model.dynamics.step(lifted, hold.commands + change * model.step)
        moved = model.errors(after, before)[model.placed]
        # Roll about the line between two balls is up to the weight, not to the arms.
        np.testing.assert_allclose(moved[[0, 2]], (hold.slope @ change)[[0, 2]], atol=0.02)


def test_one_ball_holds_nothing_nor_do_two_that_may_not_press(model):
    assert find_hold(model, near_the_box(model, ("pusher",))) is None
    state = near_the_box(model, ("pusher", "right_pusher"))
    assert find_hold(model, state) is not None
    gentle = SearchModel(model.problem, SearchSettings(force=5.0))
    assert find_hold(gentle, state) is None


def test_what_may_slip_off_an_edge_is_no_hold(model):
    state = near_the_box(model, ("pusher", "right_pusher"))
    (hold,) = at_once(find_holds(model, state[np.newaxis]))
    assert hold is not None
    low = state.copy()
    low[2] -= 0.028  # the balls are at the upper edges
    (low,) = model.complete(low, low[np.newaxis, model.joints])
    assert find_hold(model, low) is not None
    assert at_once(find_holds(model, low[np.newaxis])) == [None]


def test_a_push_ends_where_it_holds_no_longer(model, lifted, monkeypatch):
    holds = iter([find_hold(model, lifted)] * 4)
    monkeypatch.setattr(push_module, "find_hold", lambda *_: next(holds, None))
    (motion,) = at_once(
        push(
            model, lifted[np.newaxis], lifted[np.newaxis, model.joints], above(lifted, 0.1),
            holding=np.ones(1, dtype=bool),
        )
    )  # fmt: skip
    assert 0 < len(motion.inputs) <= 4


def above(state, height):
    target = state.copy()
    target[2] += height
    return target


def carry_out(problem, result, name):
    """Return where an object ends in the simulator."""
    joints = list(problem.dynamics.commanded_states)
    plant = Plant(problem.dynamics.scene.scene)
    arm = plant.n
    before = problem.initial_state[joints]
    grip = before[-1]
    for command in (*result.inputs, *[result.inputs[-1]] * WAIT):
        if len(joints) > arm and abs(command[-1] - grip) > GRIP:
            grip = command[-1]
            gripper = GripperCommand(max(grip, 0.0), 20.0)
        else:
            gripper = None
        for i in range(1, TICKS + 1):
            position = before + (command - before) * i / TICKS
            plant.tick(position[:arm], gripper if i == 1 else None)
        before = command
    (item,) = (item for item in plant.truth().objects if item.name == name)
    return item.position


@pytest.mark.verify
def test_a_search_lifts_the_box_by_two_arms_also_in_the_simulator(model):
    result = plan_globally(model.problem, SearchSettings(seed=2, judge="none"))
    assert result.goal_reached
    end = carry_out(model.problem, result, "box")
    np.testing.assert_allclose(end, result.states[-1, :3], atol=0.01)


@pytest.mark.verify
def test_two_arms_lift_the_box_from_any_seed(model):
    reached = 0
    for seed in range(10):
        result = plan_globally(model.problem, SearchSettings(seed=seed, judge="none"))
        if result.goal_reached:
            end = carry_out(model.problem, result, "box")
            reached += abs(end[2] - model.problem.goal[2]) <= model.problem.tolerance[2]
    assert reached >= 9


@pytest.fixture
def bottle(tmp_path):
    """A bottle to be lifted by 10 cm by a gripper that is open."""
    (tmp_path / "bottle.yaml").write_text(BOTTLE)
    (tmp_path / "plan.yaml").write_text("scene: bottle.yaml\nfingers: true\nwhole_arm: false\n")
    return build_problem(scene_problem(str(tmp_path / "plan.yaml"), {"bottle/z": 0.64}))


def rests(model, state, command, *, held, hold=True):
    """Return whether a search counts a push that ends at a state."""
    settings = SearchSettings(hold=hold)
    search = global_planner._Search(model.problem, settings, StopCondition(), None, hurry=False)
    nothing = Motion(state[np.newaxis], np.empty((0, len(command))))
    push = Motion(np.stack((state, state)), command[np.newaxis])
    edge = Edge(0, np.zeros(len(command), dtype=bool), nothing, nothing, push, held=held)
    return at_once(search._rests(edge))


@pytest.mark.parametrize("hold", [True, False])
def test_what_is_tossed_does_not_count(model, hold):
    """In the air it may be at its goal for a moment; what lies on the table stays."""
    lying = model.problem.initial_state
    tossed = above(lying, 0.1)
    assert rests(model, lying, lying[model.joints], held=False, hold=hold)
    assert not rests(model, tossed, tossed[model.joints], held=True, hold=hold)


def test_what_is_clamped_in_the_air_counts_where_it_is_held(model, lifted):
    command = find_hold(model, lifted).commands
    assert rests(model, lifted, command, held=True)
    assert not rests(model, lifted, command, held=False)


@pytest.mark.verify
def test_a_search_that_holds_nothing_tosses_nothing(bottle):
    """Without holding, this seed had it in the air for a moment."""
    result = plan_globally(bottle, SearchSettings(seed=2, hold=False, attempts=60, shortening=0.0))
    state = result.states[-1]
    for _ in range(10):
        state = bottle.dynamics.step(state, result.inputs[-1])
    assert not result.goal_reached or abs(state[2] - 0.64) <= bottle.tolerance[2]


@pytest.mark.verify
def test_a_gripper_closes_on_a_bottle_and_lifts_it(bottle):
    results = [plan_globally(bottle, SearchSettings(seed=seed, judge="none")) for seed in range(4)]
    assert all(result.goal_reached for result in results)
    ends = [carry_out(bottle, result, "bottle")[2] for result in results]
    assert np.sum(np.abs(np.array(ends) - 0.64) <= 0.02) >= 3
