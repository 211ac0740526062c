"""The theory of contact_aware_control Sec. IV, each property by its equation number."""

import numpy as np
import pytest

from contact_aware_control.controllers.quasistatic import QuasistaticModel

K = np.array([800.0, 600.0, 600.0, 600.0, 400.0, 200.0, 200.0])
TOLERANCE = 1e-10


@pytest.fixture(params=[0, 1, 2, 4])
def case(request):
    """A model with some contacts, a configuration and a command."""
    rng = np.random.default_rng(request.param)
    jacobian = rng.normal(scale=0.4, size=(request.param, 7))
    q = rng.normal(size=7)
    return QuasistaticModel.at(K, jacobian), q, q + rng.normal(scale=0.02, size=7)


def test_equilibrium_balances_springs_and_contacts(case):
    """(8a) and (8b): K (q+ - q_cmd+) = J^T lam+, J (q+ - q) = 0."""
    model, q, command = case
    after = model.equilibrium(q, command)
    np.testing.assert_allclose(
        K * (after - command), model.jacobian.T @ model.force(q, command), atol=1e-9
    )
    np.testing.assert_allclose(model.jacobian @ (after - q), 0.0, atol=1e-12)


def test_equilibrium_minimises_the_springs_energy(case):
    """(9b) is the argmin of (6), its multipliers are the forces (9a)."""
    model, q, command = case
    contacts = model.contacts
    optimality = np.block(
        [[np.diag(K), -model.jacobian.T], [model.jacobian, np.zeros((contacts, contacts))]]
    )
    solution = np.linalg.solve(optimality, np.concatenate((K * command, model.jacobian @ q)))
    np.testing.assert_allclose(model.equilibrium(q, command), solution[:7], atol=TOLERANCE)
    np.testing.assert_allclose(model.force(q, command), solution[7:], atol=1e-8)


def test_projection_properties(case):
    """N^2 = N, K N symmetric, J N = 0, rank N = 7 - nc (why (22a) needs eps)."""
    model, _, _ = case
    N = model.null_space()
    np.testing.assert_allclose(N @ N, N, atol=TOLERANCE)
    np.testing.assert_allclose(K[:, None] * N, (K[:, None] * N).T, atol=1e-8)
    np.testing.assert_allclose(model.jacobian @ N, 0.0, atol=TOLERANCE)
    assert np.linalg.matrix_rank(N, tol=1e-6) == 7 - model.contacts


def weighted_pseudo_inverse(jacobian, weight):
    """(10a): J#W = W^-1 J^T (J W^-1 J^T)^-1."""
    inverse = np.diag(1.0 / weight)
    return inverse @ jacobian.T @ np.linalg.inv(jacobian @ inverse @ jacobian.T)


def test_projection_of_the_torque_is_the_same_model(case):
    """(20) = (9b) and (21) = (9a), with the projection (10) at W = K.

    The torque K (q_cmd+ - q) is split by P = J^T (J#K)^T into contact force and motion.
    """
    model, q, command = case
    jacobian = model.jacobian
    P = jacobian.T @ weighted_pseudo_inverse(jacobian, K).T if model.contacts else np.zeros((7, 7))
    torque = K * (command - q)
    motion = (torque - P @ torque) / K
    np.testing.assert_allclose(model.equilibrium(q, command), q + motion, atol=TOLERANCE)
    np.testing.assert_allclose(jacobian.T @ model.force(q, command), -(P @ torque), atol=1e-9)


@pytest.mark.parametrize("weight", ["stiffness", "mass"])
def test_projected_torque_makes_no_motion_against_the_contact(weight):
    """(11) with W = M and (19) with W = K: J W^-1 P_N = 0, for W alone."""
    rng = np.random.default_rng(7)
    jacobian = rng.normal(size=(2, 7))
    W = K if weight == "stiffness" else rng.uniform(0.1, 5.0, size=7)
    other = np.ones(7)
    P_N = np.eye(7) - jacobian.T @ weighted_pseudo_inverse(jacobian, W).T
    np.testing.assert_allclose(jacobian @ np.diag(1.0 / W) @ P_N, 0.0, atol=TOLERANCE)
    assert np.abs(jacobian @ np.diag(1.0 / other) @ P_N).max() > 0.1


def test_tracking_error_splits_along_the_contact(case):
    """(23): q+ - q_ref+ = N (q_cmd+ - q) + (q - q_ref+).

    (27): with P = I - N, |q_cmd+ - q_ref+|_K^2 is the sum of what moves and what presses.
    """
    model, q, command = case
    reference = q + np.linspace(-0.02, 0.03, 7)
    N = model.null_space()
    after = model.equilibrium(q, command)
    np.testing.assert_allclose(
        after - reference, N @ (command - q) + (q - reference), atol=TOLERANCE
    )
    difference = command - reference
    moving, pressing = N @ difference, difference - N @ difference
    # (26): the two parts are orthogonal in the metric K, so their squares add up.
    np.testing.assert_allclose(
        difference @ (K * difference), moving @ (K * moving) + pressing @ (K * pressing)
    )
    # Only the moving part of the command shows in the equilibrium.
    np.testing.assert_allclose(N @ (after - reference), moving, atol=TOLERANCE)


def test_force_is_spring_over_lever_for_one_joint():
    """One joint pressed with a lever of 0.5 m against a wall: lam = K dq / 0.5."""
    jacobian = np.zeros((1, 7))
    jacobian[0, 0] = 0.5
    model = QuasistaticModel.at(K, jacobian)
    command = np.zeros(7)
    command[0] = -0.01
    np.testing.assert_allclose(model.force(np.zeros(7), command), [800.0 * 0.01 / 0.5])
    np.testing.assert_allclose(model.equilibrium(np.zeros(7), command), np.zeros(7), atol=1e-15)


def test_soft_environment_takes_part_of_the_deflection():
    """The environment's spring acts in series with the arm's: lam = penetration / (G + c)."""
    jacobian = np.full((1, 7), 0.3)
    rigid = QuasistaticModel.at(K, jacobian)
    compliance = float(rigid.compliance[0, 0])
    soft = QuasistaticModel.at(K, jacobian, compliance)
    command = np.full(7, -0.01)
    np.testing.assert_allclose(
        soft.force(np.zeros(7), command), 0.5 * rigid.force(np.zeros(7), command)
    )
