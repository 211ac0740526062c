"""The convex contact step against an exact QP solver, closed forms and finite differences."""

import numpy as np
import pytest
from contact_steps import contacts, random_steps, solve_with_quadprog

from contact_core.base.errors import ModelError
from contact_experiments.irs.contact_examples import (
    coulomb_contact,
    normal_contact,
    relaxed_contact,
)
from irs_planner import Box, Circle, PlanarLink, PlanarObject, PlanarRobot, PlanarScene
from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes import load_scene, scene_names


@pytest.mark.parametrize("name", scene_names())
def test_step_against_quadprog(name):
    model, states, commands = random_steps(name, 100)
    next_states = model.step_batch(states, commands)
    active = 0
    for state, command, found in zip(states, commands, next_states, strict=True):
        try:
            expected, multipliers = solve_with_quadprog(model, state, command)
        except ValueError:  # infeasible
            assert np.isnan(found).all()
            continue
        active += np.count_nonzero(multipliers > 1e-6)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    assert active > 30


@pytest.mark.parametrize("name", scene_names())
def test_input_jacobian_against_finite_differences(name):
    model, states, commands = random_steps(name, 60)
    jacobian, step, compared = model.jacobians(states, commands).input, 1e-7, 0
    for k, d in enumerate(step * np.eye(model.input_size)):
        middle = model.step_batch(states, commands)
        forward = (model.step_batch(states, commands + d) - middle) / step
        back = (middle - model.step_batch(states, commands - d)) / step
        smooth = np.isfinite(forward).all(1) & (np.abs(forward - back).max(axis=1) < 1e-4)
        np.testing.assert_allclose(jacobian[smooth, :, k], forward[smooth], atol=2e-5)
        compared += smooth.sum()
    assert compared > 0.8 * 60 * model.input_size


@pytest.mark.parametrize("name", scene_names())
def test_state_jacobian_against_finite_differences_of_frozen_geometry(name):
    """dJ/dq is neglected: only distances and spring deflections follow the state."""
    model, states, commands = random_steps(name, 30, seed=1)
    jacobian, step, compared = model.jacobians(states, commands).state, 1e-6, 0
    for state, command, a in zip(states, commands, jacobian, strict=True):
        if np.isnan(a).any():
            continue
        gap, _, normal, _ = contacts(model, state)

        def moved(d, sign, state=state, command=command, gap=gap, normal=normal):
            shifted = command - sign * d[list(model.commanded_states)]
            frozen, _ = solve_with_quadprog(model, state, shifted, gap + sign * normal @ d)
            return frozen + sign * d

        for k, d in enumerate(step * np.eye(model.state_size)):
            middle = moved(d, 0.0)
            forward, back = (moved(d, 1.0) - middle) / step, (middle - moved(d, -1.0)) / step
            if np.abs(forward - back).max() < 1e-4:
                np.testing.assert_allclose(a[:, k], forward, atol=2e-4)
                compared += 1
    assert compared > 100


def test_what_is_neglected_matters_where_a_box_turns():
    """The figures of docs/concepts/planning.md."""
    box = PlanarObject("box", 1.0, 0.01, 0.5, (Box((0.2, 0.12)),))
    finger = (
        PlanarLink("y", "prismatic_y", 500.0),
        PlanarLink("z", "prismatic_z", 400.0, parent="y", shapes=(Circle(0.05),)),
    )
    robot = PlanarRobot("robot", 0.5, links=finger)
    model = PlanarQuasiDynamics(PlanarScene((0.0, 0.0), (box,), (robot,)))
    state, command = np.array([0.0, 0.0, 0.1, -0.155, 0.02]), np.array([-0.105, 0.02])
    a, b = (values[0] for values in model.jacobians(state[np.newaxis], command[np.newaxis]))
    step = 1e-6
    for k, d in enumerate(step * np.eye(2)):
        ends = [model.step(state, command + sign * d) for sign in (1, -1)]
        np.testing.assert_allclose(b[:, k], (ends[0] - ends[1]) / (2 * step), atol=1e-6)
    d = step * np.eye(5)[1]
    ahead, behind = (model.step(state + sign * d, command)[2] for sign in (1, -1))
    assert (ahead - behind) / (2 * step) == pytest.approx(2.07, abs=0.005)
    assert a[2, 1] == pytest.approx(0.15, abs=0.005)


@pytest.mark.parametrize("system", [normal_contact(), relaxed_contact()], ids=["1-D", "2-D"])
def test_jacobians_of_linear_contact_are_exact(system):
    rng, step = np.random.default_rng(0), 1e-7
    states = rng.normal(scale=0.1, size=(200, system.state_size))
    inputs = rng.normal(scale=0.3, size=(200, system.input_size))
    # Start apart, so that the step is feasible and kinks are rare.
    states[:, 0] = -0.05 if system.state_size == 3 else 0.2
    a, b = system.jacobians(states, inputs)
    for k, d in enumerate(step * np.eye(system.state_size)):
        ahead, behind = (system.step_batch(states + s * d, inputs) for s in (1, -1))
        np.testing.assert_allclose(a[:, :, k], (ahead - behind) / (2 * step), atol=1e-6)
    for k, d in enumerate(step * np.eye(system.input_size)):
        ahead, behind = (system.step_batch(states, inputs + s * d) for s in (1, -1))
        np.testing.assert_allclose(b[:, :, k], (ahead - behind) / (2 * step), atol=1e-6)


def test_figure_5_normal_contact_closed_form():
    mass, stiffness, h = 2.0, 80.0, 0.1
    system, c = normal_contact(mass, stiffness, h), mass / (h**2 * stiffness)
    commands = np.linspace(-0.5, 0.5, 101)[:, np.newaxis]
    start = np.tile([0.1, -0.3], (101, 1))
    result = system.step_batch(start, commands)
    touching = commands[:, 0] > 0.1
    pushed = (c * 0.1 + commands[:, 0]) / (1.0 + c)
    np.testing.assert_allclose(result[:, 0], np.where(touching, pushed, 0.1), atol=1e-12)
    np.testing.assert_allclose(result[:, 1], np.where(touching, pushed, commands[:, 0]), atol=1e-12)


@pytest.mark.parametrize("friction", [0.3, 1.0])
def test_figure_7_friction_closed_forms(friction):
    mass, stiffness, h = 1.5, 60.0, 0.1
    c = mass / (h**2 * stiffness)
    x, y = (grid.ravel() for grid in np.meshgrid(*2 * [np.linspace(-0.4, 0.4, 33)]))
    start, commands = np.zeros((x.size, 3)), np.stack((x, y), axis=1)
    coulomb = np.minimum(np.abs(x) / (1 + c), -friction * y / c)
    coulomb = np.where(y >= 0, 0.0, np.sign(x) * coulomb)
    drag = (friction / c) * (friction * np.abs(x) - y) / (1 + friction**2 + friction**2 / c)
    relaxed = np.sign(x) * np.minimum(np.abs(x) / (1 + c), drag)
    relaxed = np.where(y >= friction * np.abs(x), 0.0, relaxed)
    arguments = (mass, stiffness, h, friction)
    found = coulomb_contact(*arguments).step_batch(start, commands)[:, 0]
    np.testing.assert_allclose(found, coulomb, atol=1e-12)
    found = relaxed_contact(*arguments).step_batch(start, commands)[:, 0]
    np.testing.assert_allclose(found, relaxed, atol=1e-12)


@pytest.mark.parametrize("name", ["planar_hand", "box_pivoting"])
def test_contact_forces_balance_object_momentum_and_robot_springs(name):
    model, states, commands = random_steps(name, 40)
    next_states = model.step_batch(states, commands)
    forces = model.contact_forces(states, commands)
    valid = np.isfinite(next_states).all(axis=1)
    on_object = np.zeros((len(states), 2))
    for i, (first, second) in enumerate(forces.pairs):
        item = model.scene.objects[0].name
        on_object += forces.force[:, i] * ((first == item) - float(second == item))
    h, mass = model.time_step, model.scene.objects[0].mass
    velocity = (next_states[:, :2] - states[:, :2]) / h
    momentum = mass * velocity / h - mass * np.array(model.scene.gravity)
    np.testing.assert_allclose(on_object[valid], momentum[valid], atol=1e-6)
    if name == "box_pivoting":  # a Cartesian robot: the hand's force is the springs' force
        on_hand = np.zeros((len(states), 2))
        for i, (first, second) in enumerate(forces.pairs):
            on_hand += forces.force[:, i] * ((first == "hand_z") - float(second == "hand_z"))
        spring = model.stiffness * (commands - next_states[:, 3:])
        np.testing.assert_allclose(on_hand[valid], -spring[valid], atol=1e-5)


def test_objects_do_not_penetrate_after_a_step_of_pure_translation():
    model = PlanarQuasiDynamics(load_scene("box_pushing"))
    pushed = model.step(np.array([0.0, 0.5, 0.0, 0.0, -0.2]), np.array([0.0, 0.3]))
    assert model.penetration(pushed) < 1e-12
    assert pushed[1] > 0.5 + 1e-3


def test_quasi_static_is_the_limit_of_vanishing_mass():
    """Without inertia the box goes wherever the hand goes: x+ = commanded - radius."""
    model = PlanarQuasiDynamics(load_scene("box_pushing"), quasi_static=True)
    pushed = model.step(np.array([0.0, 0.5, 0.0, 0.0, -0.2]), np.array([0.0, 0.0]))
    assert pushed[4] == pytest.approx(0.0, abs=1e-4)
    assert pushed[1] == pytest.approx(0.4995 + 0.1, abs=1e-4)


def test_a_step_without_solution_is_nan_not_an_exception():
    """Two fingers squeeze a ball between fixed walls deeper than it can move."""
    model = PlanarQuasiDynamics(load_scene("planar_hand"))
    state = np.array([0.0, 0.05, 0.0, np.pi / 2, 0.0, -np.pi / 2, 0.0])
    jammed = model.step_batch(state[np.newaxis], np.full((1, 4), np.nan))
    assert np.isnan(jammed).all()
    assert np.isnan(model.jacobians(state[np.newaxis], np.full((1, 4), np.nan)).input).all()


def test_time_step_must_be_positive():
    with pytest.raises(ModelError, match="time step"):
        PlanarQuasiDynamics(load_scene("box_pushing"), 0.0)
