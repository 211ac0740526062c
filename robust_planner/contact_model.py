"""Dynamics and contact kinematics of a few rigid bodies over flat ground and between obstacles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi
import numpy as np

from contact_core.base.config import parameter
from contact_core.base.errors import ContactStackError
from contact_core.base.planning import PlanStatus
from robust_planner.obstacles import Obstacle, signed_distance

GRAVITY = 9.81  # [m/s^2]
GROUND = "ground"
"""What every contact point may touch."""


class PlanningProblemError(ContactStackError):
    """A boundary state, model or horizon with which no plan can exist.

    Correct the value that the message names.
    """


class PenetrationError(PlanningProblemError):
    """Bodies overlap in a boundary state.

    Move them apart, by the depth that the message names.

    Attributes:
        plan_status: How a plan ended that begins or ends there.
    """

    plan_status = PlanStatus.INITIAL_PENETRATION


@dataclass(frozen=True)
class Body:
    """One rigid body, placed by the configuration.

    Attributes:
        position: Centre of mass as an expression of q, (x, z) or (x, y, z) [m], world.
        mass: [kg].
        angle: Orientation in the plane as an expression of q [rad]; None if it cannot turn.
        inertia: About the centre of mass, normal to the plane [kg m^2].
        spin: Jacobian (3, nq) of the angular velocity [rad/s], world; instead of ``angle``.
        inertia_matrix: About the centre of mass (3, 3) [kg m^2], world; with ``spin``.
    """

    position: casadi.SX
    mass: float
    angle: casadi.SX | None = None
    inertia: float = 0.0
    spin: casadi.SX | None = None
    inertia_matrix: casadi.SX | None = None


@dataclass(frozen=True)
class BodyPoint:
    """A point, or a ball, that may touch the ground, whose mean height is zero, and obstacles.

    Attributes:
        name: For instance ``"toe"``.
        position: As an expression of q, (x, z) or (x, y, z) [m], world.
        radius: Of the ball [m].
        spin: Jacobian (3, nq) of its angular velocity [rad/s], world; None if it cannot turn.
    """

    name: str
    position: casadi.SX
    radius: float = 0.0
    spin: casadi.SX | None = None


@dataclass(frozen=True, kw_only=True)
class DriveConfig:
    """A position controller that moves a coordinate by a spring, and carries its weight."""

    stiffness: float = parameter(
        description="stiffness of the drive's spring", unit="N/m or Nm/rad", above=0.0
    )
    damping: float = parameter(
        description="damping of the drive against the world", unit="N s/m or Nm s/rad", low=0.0
    )
    bandwidth: float = parameter(
        20.0, "bandwidth with which the drive's reference follows its command, critically damped",
        unit="rad/s", above=0.0,
    )  # fmt: skip


@dataclass(frozen=True)
class CoordinateLimits:
    """Bounds of a model, inf where there is none; of one entry or one per coordinate.

    Attributes:
        lower: Lowest position of each coordinate [m or rad], held by a limit force.
        upper: Highest position of each coordinate [m or rad], held by a limit force.
        speed: Largest |v| of each coordinate [m/s or rad/s], a plain bound.
        control: Largest |u| [N or Nm], a plain bound.
    """

    lower: tuple[float, ...] = (-np.inf,)
    upper: tuple[float, ...] = (np.inf,)
    speed: tuple[float, ...] = (np.inf,)
    control: tuple[float, ...] = (np.inf,)


@dataclass(frozen=True)
class Source:
    """What a model was read from.

    Attributes:
        urdf: Text of the URDF file.
        points: Name of a contact point -> its link, place in the link's frame (3) and radius [m].
        unread: What the file has and no plan knows, e.g. ``damping of joint 'slide'``.
    """

    urdf: str
    points: Mapping[str, tuple[str, Sequence[float], float]]
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ContactModel:
    """M(q) dv/dt = B u - c(q, v) + Jn' lamN + Jt' lamT + forces of the joint limits.

    Attributes:
        name: For messages and figures.
        position_names: One name per coordinate q.
        control_names: One name per control u.
        contact_names: One name per contact: of the point, and of the obstacle if it is one.
        surfaces: What is touched there, ``"ground"`` or an obstacle and its part.
        dimension: 2 (x, z) or 3 (x, y, z).
        mass_matrix: Function q -> M (nq, nq) [kg, kg m, kg m^2].
        bias_force: Function (q, v) -> c (nq): Coriolis, centrifugal and gravity [N, Nm].
        distance: Function q -> phi (nc): of the contact points from what they may touch [m].
        normal_jacobian: Function q -> Jn (nc, nq), d phi / d q.
        tangent_jacobian: Function q -> Jt (nc * nd, nq): velocity of each point along the
            nd friction directions, contact by contact: +x, -x or +x, -x, +y, -y, in the plane
            turned with the normal.
        normals: Function q -> (dimension, nc): where the normal forces point.
        shifted: Function (q, s) -> phi, Jn, Jt where obstacle i is moved by s[2 i:2 i + 2] [m].
        actuation: B (nq, nu).
        limits: Bounds, one entry per coordinate or control.
        obstacles: What may be touched beside the ground.
        drives: Coordinate -> what moves it; the last ones are the references, in this order.
        source: What it was read from; None if it was built by hand.
    """

    name: str
    position_names: tuple[str, ...]
    control_names: tuple[str, ...]
    contact_names: tuple[str, ...]
    surfaces: tuple[str, ...]
    dimension: int
    mass_matrix: casadi.Function
    bias_force: casadi.Function
    distance: casadi.Function
    normal_jacobian: casadi.Function
    tangent_jacobian: casadi.Function
    normals: casadi.Function
    shifted: casadi.Function
    actuation: np.ndarray
    limits: CoordinateLimits = field(default_factory=CoordinateLimits)
    obstacles: tuple[Obstacle, ...] = ()
    drives: Mapping[int, DriveConfig] = field(default_factory=dict)
    source: Source | None = None

    @property
    def own_name(self) -> str:
        """Its name if it was built by hand; empty if a file gave it one."""
        return self.name if self.source is None else ""

    @property
    def coordinates(self) -> int:
        """The number nq of coordinates, which is the number of velocities."""
        return len(self.position_names)

    @property
    def controls(self) -> int:
        """The number nu of controls."""
        return len(self.control_names)

    @property
    def contacts(self) -> int:
        """The number nc of contacts: each point with the ground and every part of an obstacle."""
        return len(self.contact_names)

    @property
    def grounded(self) -> np.ndarray:
        """Whether each contact (nc) is one with the ground."""
        return np.array([surface == GROUND for surface in self.surfaces])

    @property
    def directions(self) -> int:
        """The number nd of friction directions of a contact point: 2 in the plane, 4 in 3-D."""
        return 2 * (self.dimension - 1)

    @property
    def lower_limited(self) -> np.ndarray:
        """Coordinates that have a lower position limit."""
        return np.flatnonzero(np.isfinite(self.limits.lower))

    @property
    def upper_limited(self) -> np.ndarray:
        """Coordinates that have an upper position limit."""
        return np.flatnonzero(np.isfinite(self.limits.upper))

    @property
    def limit_directions(self) -> np.ndarray:
        """How the limit forces act on the coordinates (nq, nl), lower limits first."""
        identity = np.eye(self.coordinates)
        return np.hstack([identity[:, self.lower_limited], -identity[:, self.upper_limited]])

    @property
    def limit_offsets(self) -> np.ndarray:
        """Offsets b (nl) such that the distance to the limits is limit_directions' q + b."""
        lower, upper = np.array(self.limits.lower), np.array(self.limits.upper)
        return np.concatenate([-lower[self.lower_limited], upper[self.upper_limited]])


def build_model(
    name: str,
    q: casadi.SX,
    bodies: list[Body],
    contacts: list[BodyPoint],
    actuation: np.ndarray,
    position_names: tuple[str, ...],
    control_names: tuple[str, ...],
    limits: CoordinateLimits | None = None,
    obstacles: Sequence[Obstacle] = (),
) -> ContactModel:
    """Derive the equations of motion from the energy of the bodies.

    Args:
        name: For messages and figures.
        q: Symbol of the configuration (nq).
        bodies: The bodies, placed by ``q``.
        contacts: The points that may touch the ground, and every part of every obstacle.
        actuation: B (nq, nu), how the controls act on the coordinates.
        position_names: One name per coordinate.
        control_names: One name per control.
        limits: Bounds; None for none.
        obstacles: What else is in the plane of a model of two dimensions.

    Returns:
        The model.

    Raises:
        PlanningProblemError: If nothing is actuated, or there are obstacles in 3-D.
    """
    if actuation.size == 0 or not np.any(actuation):
        raise PlanningProblemError(f"model '{name}' has no actuation: B is {actuation.tolist()}")
    v = casadi.SX.sym("v", q.numel())
    kinetic, potential = _energies(q, v, bodies)
    mass_matrix = casadi.hessian(kinetic, v)[0]
    # Lagrange: d/dt (M v) - dT/dq + dV/dq, without the term M dv/dt.
    bias = (
        casadi.jacobian(mass_matrix @ v, q) @ v
        - casadi.gradient(kinetic, q)
        + casadi.gradient(potential, q)
    )
    dimension = int(contacts[0].position.numel())
    if obstacles and dimension != 2:
        raise PlanningProblemError(f"model '{name}' has obstacles in {dimension}-D (valid: 2-D)")
    shift = casadi.SX.sym("s", 2 * len(obstacles))
    touches = [_on_ground(contact, q) for contact in contacts]
    for index, obstacle in enumerate(obstacles):
        offset = shift[2 * index : 2 * index + 2]
        for part in obstacle.parts:
            touches += [_on_part(contact, q, offset, obstacle, part) for contact in contacts]
    distance = casadi.vertcat(*[touch.distance for touch in touches])
    shifted = [
        distance,
        casadi.jacobian(distance, q),
        casadi.vertcat(*[touch.tangent_jacobian for touch in touches]),
    ]
    normals = casadi.horzcat(*[touch.normal for touch in touches])
    still = [casadi.substitute(term, shift, 0) for term in (*shifted, normals)]
    given = limits or CoordinateLimits()
    return ContactModel(
        name=name,
        position_names=position_names,
        control_names=control_names,
        contact_names=tuple(touch.name for touch in touches),
        surfaces=tuple(touch.surface for touch in touches),
        dimension=dimension,
        mass_matrix=casadi.Function("mass_matrix", [q], [mass_matrix]),
        bias_force=casadi.Function("bias_force", [q, v], [bias]),
        distance=casadi.Function("distance", [q], still[:1]),
        normal_jacobian=casadi.Function("normal_jacobian", [q], still[1:2]),
        tangent_jacobian=casadi.Function("tangent_jacobian", [q], still[2:3]),
        normals=casadi.Function("normals", [q], still[3:]),
        shifted=casadi.Function("shifted", [q, shift], shifted),
        actuation=actuation,
        limits=CoordinateLimits(
            lower=_repeat(given.lower, len(position_names)),
            upper=_repeat(given.upper, len(position_names)),
            speed=_repeat(given.speed, len(position_names)),
            control=_repeat(given.control, len(control_names)),
        ),
        obstacles=tuple(obstacles),
    )


@dataclass(frozen=True)
class _Touch:
    """A contact as expressions of the configuration."""

    name: str
    surface: str
    distance: casadi.SX
    normal: casadi.SX
    tangent_jacobian: casadi.SX


def _on_ground(contact: BodyPoint, q: casadi.SX) -> _Touch:
    position, dimension = contact.position, int(contact.position.numel())
    distance = position[-1] - contact.radius
    # Where the ball touches, it moves by w x (-r z) faster than its centre.
    rolling = [casadi.SX.zeros(1, q.numel())] * 2
    if contact.spin is not None:
        rolling = [-contact.radius * contact.spin[1, :], contact.radius * contact.spin[0, :]]
    tangents = [
        sign * (casadi.jacobian(position[axis], q) + rolling[axis])
        for axis in range(dimension - 1)
        for sign in (1.0, -1.0)
    ]
    return _Touch(
        name=contact.name,
        surface=GROUND,
        distance=distance,
        normal=casadi.SX([0.0] * (dimension - 1) + [1.0]),
        tangent_jacobian=casadi.vertcat(*tangents),
    )


def _on_part(
    contact: BodyPoint, q: casadi.SX, offset: casadi.SX, obstacle: Obstacle, part: str
) -> _Touch:
    distance, normal = signed_distance(contact.position - offset, obstacle.parts[part])
    jacobian = casadi.jacobian(contact.position, q)
    tangent = casadi.vertcat(normal[1], -normal[0]).T @ jacobian
    if contact.spin is not None:
        tangent -= contact.radius * contact.spin[1, :]
    surface = f"{obstacle.name}.{part}"
    return _Touch(
        name=f"{contact.name}/{surface}",
        surface=surface,
        distance=distance - contact.radius,
        normal=normal,
        tangent_jacobian=casadi.vertcat(tangent, -tangent),
    )


def _energies(q: casadi.SX, v: casadi.SX, bodies: list[Body]) -> tuple[casadi.SX, casadi.SX]:
    kinetic, potential = casadi.SX(0), casadi.SX(0)
    for body in bodies:
        velocity = casadi.jacobian(body.position, q) @ v
        kinetic += 0.5 * body.mass * casadi.dot(velocity, velocity)
        potential += GRAVITY * body.mass * body.position[-1]
        if body.angle is not None:
            kinetic += 0.5 * body.inertia * (casadi.jacobian(body.angle, q) @ v) ** 2
        if body.spin is not None and body.inertia_matrix is not None:
            turning = body.spin @ v
            kinetic += 0.5 * casadi.dot(turning, body.inertia_matrix @ turning)
    return kinetic, potential


def _repeat(values: tuple[float, ...], count: int) -> tuple[float, ...]:
    return values if len(values) == count else values * count
