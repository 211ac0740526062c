"""Steps that mind what is near, against QPs of all inequalities."""

import numpy as np
import pytest
import quadprog
import yaml
from own_scenes import write_scene

from irs_planner.examples import build_problem
from irs_planner.quasi_dynamic.near_contacts import FEW, REACH
from irs_planner.scene_problems import scene_problem

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    """Two cans on a table, of which one is to be pushed."""
    path = write_scene(tmp_path_factory.mktemp("cans"), "can")
    scene = yaml.safe_load(path.read_text())
    x, y, z = scene["objects"]["thing"]["xyz"]
    scene["objects"]["twin"] = {"urdf": "thing.urdf", "free": True, "xyz": [x, y + 0.13, z]}
    path.write_text(yaml.safe_dump(scene))
    return build_problem(scene_problem(str(path), {"thing/x": x + 0.1}))


def steps(problem, lift, count=12):
    """Return states with the cans about where they stand or so high above, and commands."""
    model, begin = problem.dynamics, problem.initial_state[: problem.dynamics.coordinates]
    states = begin + RNG.normal(scale=2e-3, size=(count, len(begin)))
    states[:, [2, 8]] += lift
    states[:, 12:] += RNG.normal(scale=0.1, size=(count, len(begin) - 12))
    commands = states[:, 12:] + RNG.normal(scale=0.03, size=(count, len(begin) - 12))
    return model.complete(states), commands


@pytest.mark.parametrize("lift", [0.002, 0.05, 0.09])
def test_steps_and_forces_are_those_of_all_inequalities(problem, lift):
    """What falls from 5 cm or more meets what was far away."""
    model, solved, from_afar = problem.dynamics, 0, 0
    assert 4 * len(model.friction) > FEW
    states, commands = steps(problem, lift)
    found = model.step_batch(states, commands)[:, : model.coordinates]
    forces = model.contact_forces(states, commands).force
    frames = model.find_contacts(states)
    for i, (state, command) in enumerate(zip(states, commands, strict=True)):
        spring, rows, h = model.spring_model(state), model.contact_rows(state), model.time_step
        pull = model.stiffness * (command - state[12 : model.coordinates])
        gradient = -h * np.concatenate((spring.load, pull))
        try:
            solution = quadprog.solve_qp(spring.hessian, -gradient, rows.ray.T, -rows.gap / h)
        except ValueError:  # infeasible
            assert np.isnan(found[i]).all()
            assert np.isnan(forces[i]).all()
            continue
        v = (found[i] - state[: model.coordinates]) / h
        np.testing.assert_allclose(h * v, h * solution[0], atol=1e-7)
        solved, from_afar = solved + 1, from_afar + (solution[4][rows.gap > REACH] > 1e-6).any()
        local = np.einsum("pjk,pk->pj", frames.frame[i], forces[i])
        moving = np.concatenate((frames.normal[i][:, np.newaxis], frames.tangent[i]), axis=1)
        expected = spring.hessian @ v + gradient
        np.testing.assert_allclose(
            h * np.einsum("pj,pjk->k", local, moving), expected, atol=1e-7 * np.abs(expected).max()
        )
    assert solved >= 6
    assert from_afar == (solved if lift > REACH else 0)


def test_what_is_not_finite_has_no_step(problem):
    model = problem.dynamics
    states, commands = steps(problem, 0.002, count=2)
    states[1, 2] = np.nan
    found = model.step_batch(states, commands)
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize(("shift", "felt"), [(0.0, True), (0.4, False)])
def test_shared_barriers_end_some_widths_away(problem, shift, felt):
    model, state = problem.dynamics, problem.initial_state[: problem.dynamics.coordinates].copy()
    pairs = [{"thing", "pusher"} == set(pair) for pair in model.pair_names]
    gap = model.find_contacts(state[np.newaxis]).gap[0, pairs].min()
    width = gap / model.felt * 1.2
    state[[0, 6]] += shift
    slope = model.barrier_jacobians(
        state[np.newaxis], state[np.newaxis, 12:], np.full(model.input_size, width), shared=True
    ).input[0, :6]
    assert bool(np.abs(slope).max() > 1e-6) is felt
