"""Own problems executed in tamsi_sim, beside the planner's time stepping and analytic answers."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from contact_core.base.planning import PlanStatus
from contact_stack.robust import tamsi_machine
from contact_stack.robust.tamsi_world import WorldError
from robust_planner import (
    Normal,
    Uniform,
    draw_worlds,
    failure_rate,
    load_problem,
    make_example,
    plan_example,
    simulate_worlds,
)
from robust_planner.contact_model import GRAVITY
from robust_planner.examples import Example

EXAMPLES = Path(__file__).parents[2] / "examples/robust_planner"


@pytest.fixture(scope="module")
def insertion() -> Example:
    return load_problem(EXAMPLES / "insertion" / "insertion.yaml")


def searching(knots: int) -> np.ndarray:
    """Down beside the hole, over it from one side to the other, and down (z, x)."""
    time = np.linspace(0.0, 3.0, knots)
    moments = [0.0, 0.8, 1.0, 2.2, 2.6, 3.0]
    z = np.interp(time, moments, [0.03, 0.014, 0.009, 0.009, -0.004, -0.004])
    x = np.interp(time, moments, [0.0, -0.01, -0.01, 0.01, 0.0, 0.0])
    return np.stack([z, x], axis=1)


def test_a_peg_moves_among_obstacles_as_the_planner_says(insertion: Example) -> None:
    problem = insertion.problem
    worlds = draw_worlds(problem, {"hole.x": Normal(0.0, 0.004)}, 6, 0, "test")
    controls = searching(problem.knots)
    planned = simulate_worlds(problem, controls, worlds, 50)
    judged = tamsi_machine.simulate_worlds(problem, controls, worlds)
    size = problem.model.coordinates
    assert judged.position.shape == planned.position.shape
    np.testing.assert_allclose(judged.position, planned.position, atol=5e-4)
    # The references follow the same equation, whatever the world: there exactly, here in steps.
    np.testing.assert_allclose(
        judged.position[:, :, 2:size], planned.position[:, :, 2:size], atol=3e-5
    )
    assert np.abs(worlds.shift[:, 0]).max() > 0.005
    np.testing.assert_array_less(judged.position[:, -1, 0], 0.001)
    # At rest the same force, shared by the two ends of the peg.
    ground = problem.model.grounded
    rest = [motion.normal_force[:, -1, ground].sum(axis=1) for motion in (planned, judged)]
    np.testing.assert_allclose(rest[1], rest[0], atol=0.5)


def test_a_peg_beside_the_hole_stands_on_its_rim(insertion: Example) -> None:
    """Where the spring that presses and that of the contact, at one edge, are in balance."""
    problem = insertion.problem
    worlds = draw_worlds(problem, {"hole.x": Uniform(0.008, 0.009)}, 2, 0, "test")
    down = searching(problem.knots)
    down[:, 1] = 0.0
    motion = tamsi_machine.simulate_worlds(problem, down, worlds)
    spring, contact, reference = 1200.0, problem.stiffness, motion.position[:, -1, 2]
    height = (contact * 0.012 + spring * reference) / (contact + spring)
    np.testing.assert_allclose(motion.position[:, -1, 0], height, atol=2e-5)
    expected = spring * (height - reference)
    np.testing.assert_allclose(motion.normal_force[:, -1].sum(axis=1), expected, rtol=0.01)


def test_a_drive_carries_its_own_weight_alone(tmp_path: Path) -> None:
    """Across the peg follows its drive; down it has none, and falls."""
    values = yaml.safe_load((EXAMPLES / "insertion" / "insertion.yaml").read_text())
    values |= {
        "drives": {"x": values["drives"]["x"]}, "duration": 0.06, "knots": 7,
        "control_weight": [1.0], "start": [0.06, 0.0, 0.0, 0.0, 0.0, 0.0],
        "goal": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "state_weight": [1.0] * 6,
        "failure": {"contact_force": 30.0},
    }  # fmt: skip
    (tmp_path / "fall.yaml").write_text(yaml.safe_dump(values))
    shutil.copy(EXAMPLES / "insertion" / "peg.urdf", tmp_path)
    problem = load_problem(tmp_path / "fall.yaml").problem
    worlds = draw_worlds(problem, {"friction": Normal(0.3, 0.0)}, 1, 0, "test")
    controls = np.full((7, 1), 0.002)
    judged = tamsi_machine.simulate_worlds(problem, controls, worlds)
    time = np.linspace(0.0, 0.06, 7)
    np.testing.assert_allclose(judged.position[0, :, 0], 0.06 - GRAVITY * time**2 / 2, atol=4e-4)
    planned = simulate_worlds(problem, controls, worlds, 10)
    np.testing.assert_allclose(judged.position, planned.position, atol=1e-5)


def test_a_cart_without_obstacles_slides_to_where_friction_stops_it() -> None:
    """An own model with motors: after a push for 0.2 s, v^2 / (2 mu g)."""
    problem = dataclasses.replace(load_problem(EXAMPLES / "cart" / "cart.yaml").problem)
    worlds = draw_worlds(problem, {"friction": Uniform(0.3, 0.6)}, 4, 0, "test")
    controls = np.zeros((problem.knots, 1))
    controls[:10] = 20.0
    motion = tamsi_machine.simulate_worlds(problem, controls, worlds)
    acceleration = 20.0 / 2.0 - worlds.friction * GRAVITY
    speed = 0.2 * acceleration
    way = 0.1 * speed + speed**2 / (2.0 * worlds.friction * GRAVITY)
    np.testing.assert_allclose(motion.position[:, -1, 0], way, rtol=0.03)


def test_what_cannot_be_judged_is_refused(insertion: Example) -> None:
    problem = make_example("hopper").problem
    worlds = draw_worlds(problem, {"friction": Normal(0.5, 0.1)}, 1, 0, "test")
    with pytest.raises(WorldError, match="'hopper' was read from no URDF file"):
        tamsi_machine.simulate_worlds(problem, np.zeros((problem.knots, 3)), worlds)
    odd = dataclasses.replace(insertion.problem, duration=3.1)
    with pytest.raises(WorldError, match=r"multiples of 0\.005 s"):
        tamsi_machine.simulate_worlds(odd, searching(odd.knots), worlds)


@pytest.mark.verify
@pytest.mark.timeout(1800)
def test_a_promise_to_insert_holds_in_tamsi_sim(insertion: Example) -> None:
    """The nominal plan goes straight down; with 5 % accepted the interval ends below 7 %."""
    problem = insertion.robust_problem
    plan = plan_example(insertion, 0.05)
    assert plan.status is PlanStatus.SUCCEEDED
    worlds = draw_worlds(problem, insertion.uncertain, 2000, 1, "judge in tamsi_sim")
    rate, nominal = (
        failure_rate(problem, insertion.failure, controls, worlds, tamsi_machine.simulate_worlds)
        for controls in (plan.trajectory.control, plan.nominal.trajectory.control)
    )
    assert rate.high <= 0.07, rate
    assert nominal.low >= 2.0 * rate.high
