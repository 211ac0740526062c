"""Moving bodies, the joints that carry them, and where these start."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning, choices
from contact_core.model.actuator import Actuator
from contact_core.multibody.rigid_body.joints import BALL, FREE, columns_of

_EDGE = 1e-9  # how far beyond a limit a position may be by rounding [rad or m]
# Files round starts: so far beyond a limit one counts as at it, as a share of the range, and at
# most so many rad or m.
_SLIGHT, _MAX_SLIGHT = 0.01, 0.01


@dataclass(frozen=True)
class JointLaw:
    """What a joint does by itself, per unit of its own coordinate.

    Attributes:
        armature: Rotor inertia [kg m^2 or kg].
        damping: Viscous [Nm s/rad or N s/m].
        friction: Coulomb [Nm or N].
        lower: Position limit [rad or m]; infinite if there is none.
        upper: Position limit.
        effort: Effort limit of its drive [Nm or N]; infinite if there is none.
        velocity: Velocity limit [rad/s or m/s]; infinite if there is none.
        stiffness: Of its spring [Nm/rad or N/m].
        rest: Coordinate where its spring exerts nothing [rad or m].
    """

    armature: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf
    effort: float = np.inf
    velocity: float = np.inf
    stiffness: float = 0.0
    rest: float = 0.0


@dataclass(frozen=True)
class Mimic:
    """Another joint's coordinate as a function of its master's.

    Attributes:
        master: The joint it follows.
        ratio: Its coordinate per that of its master.
        offset: Its coordinate where its master's is zero.
    """

    master: str
    ratio: float
    offset: float


@dataclass(frozen=True)
class MovingBody:
    """A body that moves, and the joint that carries it.

    Attributes:
        joint: Name of the joint.
        parent: Number of the body that carries it; -1 for the root.
        kind: REVOLUTE, PRISMATIC, FREE or BALL.
        axis: Unit axis in the joint's frame.
        placement: Joint's frame in the parent's where the joint's coordinate is zero.
        inertia: Of the body, in its own frame.
        law: What the joint does by itself.
        mimic: The joint it follows, and how; None if it follows none.
        start: Where it starts if nothing else is said: its coordinate [rad or m], of a ball joint
            a quaternion (x, y, z, w).
        speed: How fast it starts then, see :meth:`Articulation.velocity`; empty if it is at rest.
        weight: Share of its weight that acts; the rest is compensated.
    """

    joint: str
    parent: int
    kind: int
    axis: tuple[float, float, float]
    placement: pin.SE3
    inertia: pin.Inertia
    law: JointLaw
    mimic: Mimic | None = None
    start: tuple[float, ...] = (0.0,)
    speed: tuple[float, ...] = ()
    weight: float = 1.0

    def __post_init__(self) -> None:
        """Check what would make the joint move by itself.

        Raises:
            ModelError: If its limits are reversed, or it gains energy by a loss below zero.
        """
        law = self.law
        if law.lower > law.upper:
            raise ModelError(
                f"joint '{self.joint}' has limits from {law.lower:g} to {law.upper:g} (valid: "
                "lower <= upper)"
            )
        for name in ("armature", "damping", "friction"):
            if getattr(law, name) < 0.0:
                raise ModelError(
                    f"joint '{self.joint}' has {name} {getattr(law, name):g} (valid: >= 0)"
                )


@dataclass(frozen=True)
class Tendon:
    """A fixed tendon: a length that is linear in the coordinates of joints.

    Attributes:
        coefficients: Joint that follows no other -> the length per unit of its coordinate.
        offset: The length where these are zero.
        law: What it does by itself, per unit of its length; if its stiffness is infinite, it is
            held at the length ``rest``.
        slack: How much longer than ``rest`` it is before its spring pulls.
    """

    coefficients: Mapping[str, float]
    offset: float = 0.0
    law: JointLaw = field(default_factory=JointLaw)
    slack: float = 0.0


@dataclass(frozen=True)
class ModelKeyframe:
    """Where the joints of a MJCF are, and how fast.

    Attributes:
        positions: Joint -> its coordinates; of a ball joint (qw, qx, qy, qz), of a floating one
            (x, y, z, qw, qx, qy, qz).
        velocities: Joint -> its velocity; of a ball joint in its own axes, of a floating one
            the linear one in axes of the file and the angular one in its own.
        unread: What else it says, of which nothing follows here.
    """

    positions: Mapping[str, np.ndarray]
    velocities: Mapping[str, np.ndarray]
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Articulation:
    """The moving bodies of a URDF or MJCF.

    Attributes:
        bodies: Parents first.
        links: Link -> its body, -1 for the root, and its pose in that body.
        keyframes: Keyframes by name.
        actuators: Name -> actuator of a joint that follows no other, or of a tendon; of joints that
            do, as it is felt by the one they follow.
        tendons: Fixed tendons by name, none of which is that of a joint.
    """

    bodies: tuple[MovingBody, ...]
    links: dict[str, tuple[int, pin.SE3]]
    keyframes: Mapping[str, ModelKeyframe] = field(default_factory=dict)
    actuators: Mapping[str, Actuator] = field(default_factory=dict)
    tendons: Mapping[str, Tendon] = field(default_factory=dict)

    def at(self, keyframe: str, turn: np.ndarray | None = None) -> Articulation:
        """Return the same bodies, starting as a keyframe says.

        Args:
            keyframe: Its name.
            turn: (3, 3) orientation of the file in the world; None if it is not turned.

        Raises:
            ModelError: If there is no such keyframe, or it is beyond a joint's limits.
        """
        if keyframe not in self.keyframes:
            raise ModelError(f"no keyframe '{keyframe}' ({choices(self.keyframes)})")
        key = self.keyframes[keyframe]
        if key.unread:
            warnings.warn(
                f"keyframe '{keyframe}': {', '.join(key.unread)} not read (Engine.actuators has "
                "command)",
                ModelWarning,
                stacklevel=3,
            )
        turn = np.eye(3) if turn is None else turn
        bodies = (
            body if body.mimic is not None else _placed(body, key, turn) for body in self.bodies
        )
        return replace(self, bodies=tuple(bodies))

    def start(
        self, positions: Mapping[str, float | Sequence[float]]
    ) -> dict[str, tuple[float, ...]]:
        """Return where the joints start that follow no other and do not float.

        Args:
            positions: Joint -> position [rad or m], of a ball joint roll, pitch and yaw [rad]; the
                others start at zero or where their file says, or as near to it as their limits
                allow.

        Returns:
            Joint -> its coordinate, of a ball joint a quaternion (x, y, z, w).

        Raises:
            ModelError: If there is no such joint, it follows another one, or its position is
                not finite or beyond its limits; slightly beyond, it starts at the limit, with a
                warning.
        """
        own = {b.joint: b for b in self.bodies if b.kind != FREE and b.mimic is None}
        for name, value in positions.items():
            if name not in own:
                raise ModelError(f"no joint '{name}' to start at {value} ({choices(own)})")
        return {
            name: _start(body, positions[name]) if name in positions else _nearest(body)
            for name, body in own.items()
        }

    def velocity(
        self, velocities: Mapping[str, float | Sequence[float]]
    ) -> dict[str, tuple[float, ...]]:
        """Return how fast the joints start that follow no other.

        Args:
            velocities: Joint -> velocity, see
                :class:`~contact_core.multibody.rigid_body.arrays.State`: one number
                [rad/s or m/s], of a ball joint three, of a floating one six; the others
                start at rest, or as a keyframe says.

        Returns:
            Joint -> velocity.

        Raises:
            ModelError: If there is no such joint, it follows another one, or its velocity is not
                that many finite numbers.
        """
        own = {b.joint: b for b in self.bodies if b.mimic is None}
        for name, value in velocities.items():
            if name not in own:
                raise ModelError(f"no joint '{name}' to move at {value} ({choices(own)})")
        velocity = {
            name: body.speed or (0.0,) * columns_of(body.kind) for name, body in own.items()
        }
        return velocity | {
            name: _numbers(value, len(velocity[name]), f"velocity of joint '{name}'")
            for name, value in velocities.items()
        }


def _start(body: MovingBody, position: float | Sequence[float]) -> tuple[float, ...]:
    """Coordinates of a joint at a position that was asked for."""
    what = f"position of joint '{body.joint}'"
    if body.kind == BALL:
        turn = pin.rpy.rpyToMatrix(*_numbers(position, 3, f"{what} (roll, pitch, yaw)"))
        return tuple(map(float, pin.Quaternion(turn).coeffs()))
    (value,) = _numbers(position, 1, what)
    lower, upper = body.law.lower, body.law.upper
    beyond = max(lower - value, value - upper)
    if beyond <= _EDGE:
        return (value,)
    where = f"joint '{body.joint}' cannot start at {value:g}"
    if beyond > min(_SLIGHT * (upper - lower), _MAX_SLIGHT):
        raise ModelError(f"{where} (valid: {lower:g} to {upper:g})")
    limit = min(max(value, lower), upper)
    warnings.warn(f"{where}: it starts at its limit, {limit:g}", ModelWarning, stacklevel=4)
    return (limit,)


def _nearest(body: MovingBody) -> tuple[float, ...]:
    """Coordinates nearest to those that its file gives."""
    if body.kind == BALL:
        return body.start
    return (min(max(body.start[0], body.law.lower), body.law.upper),)


def _numbers(values: float | Sequence[float], count: int, what: str) -> tuple[float, ...]:
    try:
        found = np.array(values, dtype=float)
    except (TypeError, ValueError):
        found = np.array([])
    if found.size != count or found.ndim > 1 or not np.isfinite(found).all():
        raise ModelError(f"{what} must be {count} finite number(s), got {values!r}")
    return tuple(map(float, found.ravel()))


def _placed(body: MovingBody, key: ModelKeyframe, turn: np.ndarray) -> MovingBody:
    """Return a body that starts as a keyframe says."""
    q = key.positions.get(body.joint)
    v = key.velocities.get(body.joint)
    # Angular velocities of what turns freely are in its own axes there.
    if body.kind == FREE:
        if q is not None:
            body = replace(body, placement=pin.SE3(_turn(q[3:]).matrix(), q[:3]))
        if v is not None:
            v = np.concatenate([turn @ v[:3], turn @ body.placement.rotation @ v[3:]])
    elif body.kind == BALL:
        if q is not None:
            body = replace(body, start=tuple(map(float, _turn(q).coeffs())))
        if v is not None:
            v = pin.Quaternion(np.array(body.start)).matrix() @ v
    elif q is not None:
        body = replace(body, start=_start(body, q[0]))
    return body if v is None else replace(body, speed=tuple(map(float, v)))


def _turn(quaternion: np.ndarray) -> pin.Quaternion:
    """Orientation of a quaternion (w, x, y, z) of any length."""
    return pin.Quaternion(*quaternion).normalized()
