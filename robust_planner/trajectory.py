"""A planned motion with its contact forces, and which contact is open, stuck or sliding when."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum

import numpy as np

from robust_planner.contact_model import ContactModel
from robust_planner.problem import RobustProblem
from robust_planner.program import knot_layout


@dataclass(frozen=True)
class ContactTrajectory:
    """States, controls and forces at N knots; forces act from knot k - 1 to knot k.

    Attributes:
        time: (N) [s].
        position: q (N, nq) [m, rad].
        velocity: v (N, nq) [m/s, rad/s].
        control: u (N, nu) [N, Nm], from knot k to k + 1; zero at the last knot.
        normal_force: lamN (N, nc) [N].
        tangent_force: lamT (N, nc, nd) [N], along the friction directions.
        slip: gamma (N, nc) [m/s].
        limit_force: Forces of the position limits (N, nl) [N, Nm].
    """

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    control: np.ndarray
    normal_force: np.ndarray
    tangent_force: np.ndarray
    slip: np.ndarray
    limit_force: np.ndarray

    @property
    def friction_force(self) -> np.ndarray:
        """Friction on the body along the friction directions (N, nc, nd / 2) [N]."""
        return self.tangent_force[..., ::2] - self.tangent_force[..., 1::2]

    def friction_cone(self, friction: float | np.ndarray) -> np.ndarray:
        """Evaluate F = mu lamN - e' lamT, eq. (1f).

        Args:
            friction: mu.

        Returns:
            (N, nc) [N], negative where the force is outside the cone.
        """
        return friction * self.normal_force - self.tangent_force.sum(axis=2)

    def distance(self, model: ContactModel) -> np.ndarray:
        """Distance of the contact points from mean terrain and obstacles.

        Args:
            model: The model that was planned with.

        Returns:
            phi (N, nc) [m].
        """
        return np.asarray(model.distance(self.position.T)).T

    def contact_force(self, model: ContactModel) -> np.ndarray:
        """Return the forces on the body, in the world.

        Args:
            model: The model that was planned with.

        Returns:
            (N, nc, 3) [N].
        """
        force = np.zeros((*self.normal_force.shape, 3))
        if model.dimension == 3:
            force[..., :2], force[..., 2] = self.friction_force, self.normal_force
            return force
        x, z = np.moveaxis(stack(model.normals(self.position.T), model.contacts), 1, 0)
        friction = self.friction_force[..., 0]
        force[..., 0] = x * self.normal_force + z * friction
        force[..., 2] = z * self.normal_force - x * friction
        return force

    def tangent_velocity(self, model: ContactModel) -> np.ndarray:
        """Velocity Jt v of the contact points along the friction directions.

        Args:
            model: The model that was planned with.

        Returns:
            (N, nc, nd) [m/s].
        """
        jacobian = stack(model.tangent_jacobian(self.position.T), model.coordinates)
        velocity = np.einsum("kci,ki->kc", jacobian, self.velocity)
        return velocity.reshape(self.tangent_force.shape)


def stack(columns: object, width: int) -> np.ndarray:
    """Separate matrices that CasADi put side by side.

    Args:
        columns: N matrices (m, width) as one (m, N width).
        width: Number of columns of each.

    Returns:
        (N, m, width).
    """
    wide = np.asarray(columns)
    return np.moveaxis(wide.reshape(wide.shape[0], -1, width), 1, 0)


def to_trajectory(values: np.ndarray, problem: RobustProblem) -> ContactTrajectory:
    """Name the decision variables.

    Args:
        values: Decision variables (N, n), with or without free time steps.
        problem: The problem they belong to.

    Returns:
        The trajectory.
    """
    model = problem.model
    layout = knot_layout(model, free_time_step=False)
    steps = np.full(len(values) - 1, problem.time_step)
    if values.shape[1] > layout.size:
        layout = knot_layout(model, free_time_step=True)
        steps = values[:-1, layout.step].ravel()
    return ContactTrajectory(
        time=np.concatenate([[0.0], np.cumsum(steps)]),
        position=values[:, layout.position],
        velocity=values[:, layout.velocity],
        control=values[:, layout.control],
        normal_force=values[:, layout.normal],
        tangent_force=values[:, layout.tangent].reshape(-1, model.contacts, model.directions),
        slip=values[:, layout.slip],
        limit_force=values[:, layout.limit],
    )


# Contacts with less force are open [N]; slower ones stick [m/s].
OPEN_FORCE = 1e-2
STICKING_SPEED = 1e-2


class ContactState(Enum):
    """What a contact point does."""

    OPEN = "open"
    STICKING = "sticking"
    SLIDING = "sliding"


@dataclass(frozen=True)
class ContactPhase:
    """An interval in which a contact point does not change its mode.

    Attributes:
        contact: Name of the contact point.
        mode: What it does.
        start: Time of the first knot [s].
        end: Time of the last knot [s].
    """

    contact: str
    mode: ContactState
    start: float
    end: float


def contact_schedule(trajectory: ContactTrajectory, model: ContactModel) -> list[ContactPhase]:
    """Read the contact sequence off a plan.

    Args:
        trajectory: The plan.
        model: Its model.

    Returns:
        The phases, contact by contact, in the order of time.
    """
    phases = []
    # No force is planned for the first knot: nothing acted before it.
    time = trajectory.time
    # Not the slack gamma: robust plans may lift it where nothing moves.
    speed = trajectory.tangent_velocity(model)[1:].max(axis=2)
    for index, contact in enumerate(model.contact_names):
        loaded = trajectory.normal_force[1:, index] > OPEN_FORCE
        moving = speed[:, index] > STICKING_SPEED
        codes = np.where(loaded, np.where(moving, 2, 1), 0)
        cuts = np.flatnonzero(np.diff(codes)) + 1
        edges = [0, *cuts.tolist(), len(codes)]
        for first, last in itertools.pairwise(edges):
            mode = list(ContactState)[codes[first]]
            phases.append(ContactPhase(contact, mode, float(time[first]), float(time[last])))
    return phases
