"""What an actuator exerts on a joint or tendon: affine in its command, and in this one's motion."""

from __future__ import annotations

import math
from dataclasses import dataclass

from contact_core.base.errors import ConfigError, real_number

_BOUNDS = ("lower", "upper", "limit")


@dataclass(frozen=True)
class Actuator:
    """Exerts gain u + offset - stiffness q - damping v for a command u.

    Attributes:
        joint: The joint that it drives, or the fixed tendon, whose q is its length.
        gain: Effort per command [Nm or N per unit of the command].
        offset: Effort at command, position and velocity zero [Nm or N].
        stiffness: [Nm/rad or N/m].
        damping: [Nm s/rad or N s/m].
        lower: Least command; one below counts as this.
        upper: Greatest command.
        limit: Bound on the magnitude of its effort [Nm or N].
    """

    joint: str
    gain: float = 1.0
    offset: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf
    limit: float = math.inf

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: If one is none, stiffness or damping is negative, the limit is not above
                zero, or the range of commands is empty.
        """
        where = f"actuator of joint '{self.joint}'"
        for name in ("gain", "offset", "stiffness", "damping"):
            value = real_number(getattr(self, name), f"{where}: {name}")
            if value < 0.0 and name in ("stiffness", "damping"):
                raise ConfigError(f"{where}: {name} must be >= 0, got {value:g}")
        for name in _BOUNDS:
            if not isinstance(getattr(self, name), int | float) or math.isnan(getattr(self, name)):
                raise ConfigError(f"{where}: {name} must be a number, got {getattr(self, name)!r}")
        if not (self.lower <= self.upper and self.limit > 0.0):
            raise ConfigError(
                f"{where} has commands from {self.lower:g} to {self.upper:g} and the limit "
                f"{self.limit:g} (valid: lower <= upper, limit > 0)"
            )

    @staticmethod
    def torque(joint: str, limit: float = math.inf) -> Actuator:
        """Return one whose command is its effort [Nm or N].

        Args:
            joint: The joint that it drives.
            limit: Bound on its effort; that of the joint holds, too.
        """
        return Actuator(joint, limit=limit)

    @staticmethod
    def position(
        joint: str, stiffness: float, damping: float = 0.0, limit: float = math.inf
    ) -> Actuator:
        """Return one that pulls towards a position, its command [rad or m].

        Args:
            joint: The joint that it drives.
            stiffness: [Nm/rad or N/m].
            damping: Towards zero velocity [Nm s/rad or N s/m].
            limit: See :meth:`torque`.
        """
        return Actuator(joint, stiffness, 0.0, stiffness, damping, limit=limit)

    @staticmethod
    def velocity(joint: str, damping: float, limit: float = math.inf) -> Actuator:
        """Return one that damps towards a velocity, its command [rad/s or m/s].

        Args:
            joint: The joint that it drives.
            damping: [Nm s/rad or N s/m].
            limit: See :meth:`torque`.
        """
        return Actuator(joint, damping, 0.0, 0.0, damping, limit=limit)

    def through(self, joint: str, ratio: float, offset: float) -> Actuator:
        """Return the same actuator seen from a joint whose motion moves its own.

        Args:
            joint: The other joint.
            ratio: Its own coordinate per that one's, not zero.
            offset: Its own coordinate where that one's is zero [rad or m].
        """
        return Actuator(
            joint,
            ratio * self.gain,
            ratio * (self.offset - self.stiffness * offset),
            ratio**2 * self.stiffness,
            ratio**2 * self.damping,
            self.lower,
            self.upper,
            abs(ratio) * self.limit,
        )
