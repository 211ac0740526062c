"""Equations of motion and contact kinematics of the models."""

from __future__ import annotations

import casadi
import numpy as np
import pytest

from robust_planner.contact_model import (
    GRAVITY,
    Body,
    BodyPoint,
    ContactModel,
    PlanningProblemError,
    build_model,
)
from robust_planner.models import hopper, joint_positions, sliding_block

MODELS = [sliding_block(), sliding_block(dimension=3), hopper()]


def random_state(model: ContactModel) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(size=model.coordinates), rng.normal(size=model.coordinates)


def difference(function: casadi.Function, q: np.ndarray) -> np.ndarray:
    """Central differences of a function of q, one column per coordinate."""
    steps = 1e-6 * np.eye(len(q))
    columns = [
        (np.asarray(function(q + step)) - np.asarray(function(q - step))) / 2e-6 for step in steps
    ]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}{model.dimension}")
def test_mass_matrix_is_symmetric_positive_definite(model: ContactModel) -> None:
    mass = np.asarray(model.mass_matrix(random_state(model)[0]))
    np.testing.assert_allclose(mass, mass.T, atol=1e-12)
    assert np.linalg.eigvalsh(mass).min() > 0.0


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}{model.dimension}")
def test_normal_jacobian_is_the_derivative_of_distance(model: ContactModel) -> None:
    q, _ = random_state(model)
    numeric = difference(model.distance, q)[:, 0]
    np.testing.assert_allclose(np.asarray(model.normal_jacobian(q)), numeric, atol=1e-8)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}{model.dimension}")
def test_friction_directions_come_in_opposite_pairs(model: ContactModel) -> None:
    q, _ = random_state(model)
    tangents = np.asarray(model.tangent_jacobian(q))
    assert tangents.shape == (model.contacts * model.directions, model.coordinates)
    np.testing.assert_array_equal(tangents[::2], -tangents[1::2])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}{model.dimension}")
def test_inertial_forces_do_no_work(model: ContactModel) -> None:
    """dT/dt = v' (force of gravity) without control: c - gravity is the Coriolis force."""
    q, v = random_state(model)
    gravity = np.asarray(model.bias_force(q, 0 * v)).ravel()
    coriolis = np.asarray(model.bias_force(q, v)).ravel() - gravity
    mass_rate = np.asarray(difference(model.mass_matrix, q)) @ v
    assert v @ coriolis == pytest.approx(0.5 * v @ mass_rate @ v, abs=1e-6)


def test_gravity_carries_the_whole_hopper() -> None:
    q, v = random_state(hopper())
    gravity = np.asarray(hopper().bias_force(q, 0 * v)).ravel()
    assert gravity[1] == pytest.approx(GRAVITY * 12.333)


def test_drawn_foot_is_the_one_that_is_planned_with() -> None:
    q = random_state(hopper())[0]
    drawn = joint_positions(q[None])[0, 3:, 1]
    np.testing.assert_allclose(np.asarray(hopper().distance(q)).ravel(), drawn, atol=1e-12)


def test_hopper_leg_against_a_double_pendulum() -> None:
    """Textbook mass matrix of thigh and calf, with the base held and the foot as a point mass."""
    q = np.array([0.0, 2.0, 0.3, -0.7, 1.1])
    mass = np.asarray(hopper().mass_matrix(q))
    foot, rod, inertia = 0.333, 1.0, 0.083
    # Calf about the knee, then the coupling of thigh and calf through the angle in between.
    calf = rod * 0.25 + inertia + foot
    coupling = (rod * 0.5 + foot) * np.cos(q[3])
    thigh = rod * 0.25 + inertia + rod + foot
    turning_foot = 0.0031
    assert mass[3, 3] == pytest.approx(calf + turning_foot)
    assert mass[2, 2] == pytest.approx(thigh + calf + 2.0 * coupling + turning_foot)
    assert mass[2, 3] == pytest.approx(calf + coupling + turning_foot)
    assert mass[4, 4] == pytest.approx(turning_foot)


def test_model_without_actuation_is_refused() -> None:
    q = casadi.SX.sym("q", 2)
    with pytest.raises(PlanningProblemError, match="'stone' has no actuation"):
        build_model(
            "stone", q, [Body(q, 1.0)], [BodyPoint("bottom", q)], np.zeros((2, 1)),
            ("x", "z"), ("nothing",),
        )  # fmt: skip


def test_limit_forces_push_away_from_the_limits() -> None:
    model = hopper()
    at_lower = np.array([0.0, 2.0, -1.57, -2.09, 0.5235])
    room = at_lower @ model.limit_directions + model.limit_offsets
    np.testing.assert_allclose(room[:3], 0.0, atol=1e-12)
    assert room[3:].min() > 0.0
    # A force of each lower limit raises its joint, one of each upper limit lowers it.
    np.testing.assert_array_equal(model.limit_directions[2:], np.hstack([np.eye(3), -np.eye(3)]))
