"""The simulator as the judge of plans."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from own_scenes import TOP, write_scene

from contact_core.base.planning import PlanStatus
from contact_stack.judge import JudgeError, SimulatedWorld
from irs_planner import SearchSettings, build_problem, plan_globally, scene_problem
from irs_planner.trial import JUDGES


def test_it_is_installed() -> None:
    assert JUDGES["tamsi_sim"] is SimulatedWorld


def test_a_world_begins_where_the_problem_does(tmp_path) -> None:
    """Not where the scene does: thing and arm are elsewhere, and the thing is turned."""
    start = {"thing/x": 0.5, "thing/y": 0.1, "thing/yaw": 3.0, "lbr_A1": 0.3}
    goal = {"thing/x": 0.6, "thing/yaw": -3.0}
    problem = build_problem(scene_problem(str(write_scene(tmp_path, "carton")), goal, start))
    world = SimulatedWorld(problem)
    rest = problem.initial_state[list(problem.dynamics.commanded_states)]
    for _ in range(10):
        state = world.step(rest)
    np.testing.assert_allclose(state, problem.initial_state, atol=1e-3)
    assert world.force == 0.0
    for _ in range(10):  # springs take their time
        moved = world.step(rest + 0.02)
    np.testing.assert_allclose(moved[6:13], rest + 0.02, atol=2e-3)


@pytest.mark.parametrize(
    "times", ["period: 0.25", "period: 0.03", "period: 0.008\ntime_step: 0.004"]
)
def test_a_step_takes_its_time_whatever_those_of_the_scene(tmp_path, times) -> None:
    path = write_scene(tmp_path, "can")
    path.write_text(f"{path.read_text()}\n{times}\n")
    problem = build_problem(scene_problem(str(path), {"thing/x": 0.6}))
    world = SimulatedWorld(problem)
    rest = problem.initial_state[list(problem.dynamics.commanded_states)]
    for _ in range(15):
        moved = world.step(rest + 0.02)
    np.testing.assert_allclose(moved[6:13], rest + 0.02, atol=3e-3)
    assert world.time == pytest.approx(15 * problem.dynamics.time_step)


def test_an_arm_without_springs_is_not_judged(tmp_path) -> None:
    path = write_scene(tmp_path, "can")
    scene = yaml.safe_load(path.read_text())
    scene["robot"]["control_mode"] = "joint_torque"
    path.write_text(yaml.safe_dump(scene))
    with pytest.raises(JudgeError, match="no springs in control_mode joint_torque"):
        SimulatedWorld(build_problem(scene_problem(str(path), {"thing/x": 0.6})))


def test_what_is_promised_is_what_the_simulator_does(tmp_path) -> None:
    """The commands, sent anew without any look, lead to the states that the answer has."""
    goal = {"thing/x": 0.6, "thing/y": 0.03}
    problem = build_problem(scene_problem(str(write_scene(tmp_path, "can")), goal))
    result = plan_globally(problem, SearchSettings(shortening=0.0, refinements=0))
    assert result.status is PlanStatus.SUCCEEDED
    world = SimulatedWorld(problem)
    hardest = 0.0
    for command, expected in zip(result.inputs, result.states[1:], strict=True):
        np.testing.assert_array_equal(world.step(command), expected)
        hardest = max(hardest, world.force)
    assert 1.0 < hardest < 100.0
    error = np.abs(result.states[-1] - problem.goal)
    assert (error <= problem.tolerance).all()
    assert np.abs(result.states[-1, :2] - [0.6, 0.03]).max() <= 0.02


@pytest.mark.verify
@pytest.mark.parametrize("solid", ["can", "carton", "wedge"])
def test_plans_for_things_on_a_table_are_carried_out(tmp_path, solid) -> None:
    """At least seven of eight drawn goals arrive, none in silence."""
    scene, draw = write_scene(tmp_path, solid), np.random.default_rng(0)
    arrived = 0
    for seed in range(8):
        goal = {"thing/x": draw.uniform(0.45, 0.65), "thing/y": draw.uniform(-0.25, 0.2)}
        problem = build_problem(scene_problem(str(scene), goal))
        result = plan_globally(problem, SearchSettings(seed=seed))
        arrived += result.status is PlanStatus.SUCCEEDED
        assert result.status is PlanStatus.SUCCEEDED or result.verdict
    assert arrived >= 7


@pytest.mark.verify
@pytest.mark.parametrize("axis", ["roll", "pitch"])
@pytest.mark.parametrize("turn", [0.5 * np.pi, -0.5 * np.pi])
def test_a_tall_box_is_tipped_as_the_plan_says(tmp_path, axis, turn) -> None:
    path = write_scene(tmp_path, "carton")
    (tmp_path / "thing.urdf").write_text(
        """<robot name="thing"><link name="thing"><inertial><mass value="0.5"/>
        <inertia ixx="0.0018" iyy="0.0018" izz="0.0003" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><geometry><box size="0.06 0.06 0.2"/></geometry></collision></link></robot>"""
    )
    scene = yaml.safe_load(path.read_text())
    scene["objects"]["thing"]["xyz"][2] = TOP + 0.1
    path.write_text(yaml.safe_dump(scene))
    problem = build_problem(scene_problem(str(path), {f"thing/{axis}": turn}))
    result = plan_globally(problem, SearchSettings(refinements=0))
    assert result.status is PlanStatus.SUCCEEDED, result.message
    assert result.states[-1, 2] == pytest.approx(TOP + 0.03, abs=0.005)
