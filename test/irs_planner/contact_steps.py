"""Random contact steps in every scene, and an exact QP solver to compare them with."""

import numpy as np
import quadprog

from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes import load_scene
from irs_planner.scenes.planar_contacts import find_contacts

STARTS = {
    "planar_hand": [0.0, 0.35, 0.0, -0.8, -0.8, 0.8, 0.8],
    "box_pushing": [0.0, 0.5, 0.0, 0.0, -0.2],
    "box_pivoting": [0.0, 0.5, 0.0, -0.7, 0.5],
    **{name: [0.0, 0.0, 0.0, 0.0, 0.2] for name in ("push_t", "push_l", "push_disc", "push_wedge")},
    "push_capsule": [0.0, 0.0, 0.0, 0.0, 0.1],
    "push_t_two_fingers": [0.0, 0.0, 0.0, -0.05, 0.2, 0.05, 0.2],
    "wall_flip": [0.0, 0.1, 0.0, -0.2, 0.3],
    "plate": [-0.15, 0.01, 0.0, 0.02, 0.04, -1.2, -0.03, 0.03],
}


def contacts(model, state):
    """Return gap, direction, normal and tangent Jacobian of every pair."""
    pairs, n = len(model.friction), model.state_size
    gap, point, direction = np.empty(pairs), np.empty((pairs, 2)), np.empty((pairs, 2))
    normal, tangent = np.empty((pairs, n)), np.empty((pairs, n))
    find_contacts(model.arrays, state, gap, point, direction, normal, tangent)
    return gap, direction, normal, tangent


def random_steps(name, count, seed=0, state_noise=0.03, input_noise=0.1):
    """Return a model with states around its start and commands around their positions."""
    model, rng = PlanarQuasiDynamics(load_scene(name)), np.random.default_rng(seed)
    noise = rng.normal(scale=state_noise, size=(count, model.state_size))
    states = np.array(STARTS[name]) + noise
    commands = states[:, list(model.commanded_states)]
    return model, states, commands + rng.normal(scale=input_noise, size=commands.shape)


def solve_with_quadprog(model, state, command, gap=None):
    """Return q+ and the ray impulses; ``gap`` replaces the distances of the state."""
    distance, _, normal, tangent = contacts(model, state)
    friction = model.arrays.friction[:, np.newaxis]
    rays = np.stack((normal + friction * tangent, normal - friction * tangent), axis=1)
    rays = rays.reshape(-1, model.state_size)
    h, spring = model.time_step, model.spring_model(state)
    pull = h * spring.stiffness * (command - state[list(model.commanded_states)])
    bound = -np.repeat(distance if gap is None else gap, 2) / h
    v, _, _, _, multipliers, _ = quadprog.solve_qp(
        spring.hessian, np.concatenate((h * spring.load, pull)), rays.T, bound
    )
    return state + h * v, multipliers
