"""Contact parameters of surfaces, and how those of two in contact combine."""

from __future__ import annotations

import math
import numbers
from typing import NamedTuple

from contact_core.base.errors import ConfigError


class Surface(NamedTuple):
    """Contact parameters of a body's surface.

    Attributes:
        stiffness: Of this surface alone, in series with the other's [N/m].
        dissipation: Hunt-Crossley d [s/m].
        friction: Coefficient mu.
        torsional: Greatest moment about the normal per normal force [m].
        rolling: Greatest moment about the tangents per normal force [m].
        restitution: Share of the speed of an impact that comes back, whatever the speed is, but for
            what ``dissipation`` and fixed time steps take besides; 1 for all of it.
    """

    stiffness: float
    dissipation: float
    friction: float
    torsional: float = 0.0
    rolling: float = 0.0
    restitution: float = 1.0


class Material(NamedTuple):
    """Parameters of the contact of two surfaces.

    Attributes:
        stiffness: k [N/m].
        dissipation: Hunt-Crossley d [s/m].
        friction: Coefficient mu.
        torsional: Greatest moment about the normal per normal force [m].
        rolling: Greatest moment about the tangents per normal force [m].
        restitution: Share of the speed of an impact that comes back, whatever the speed is, but for
            what ``dissipation`` and fixed time steps take besides; 1 for all of it.
    """

    stiffness: float
    dissipation: float
    friction: float
    torsional: float = 0.0
    rolling: float = 0.0
    restitution: float = 1.0


_RANGES = {
    "stiffness": ("> 0 N/m", lambda value: 0.0 < value < math.inf),
    "dissipation": (">= 0 s/m", lambda value: 0.0 <= value < math.inf),
    "friction": (">= 0", lambda value: 0.0 <= value < math.inf),
    "torsional": (">= 0 m", lambda value: 0.0 <= value < math.inf),
    "rolling": (">= 0 m", lambda value: 0.0 <= value < math.inf),
    "restitution": (">= 0 and <= 1", lambda value: 0.0 <= value <= 1.0),
}


def check_contact(parameters: Surface | Material, where: str) -> None:
    """Check the parameters of a surface or of a contact.

    Args:
        parameters: They.
        where: Whose they are, for the error.

    Raises:
        ConfigError: If one is no number or out of its range; the message names it.
    """
    if not isinstance(parameters, Surface | Material):
        raise ConfigError(f"{where} must be a Surface or Material, got {parameters!r}")
    for name, (valid, holds) in _RANGES.items():
        value = getattr(parameters, name)
        if not isinstance(value, numbers.Real) or not holds(float(value)):
            raise ConfigError(f"{name} of {where} must be {valid}, got {value!r}")


def combine(a: Surface, b: Surface) -> Material:
    """Combine two surfaces to the parameters of their contact.

    Args:
        a: One surface.
        b: The other.

    Returns:
        Stiffness k = k_a k_b / (k_a + k_b) [N/m], dissipation [s/m] and restitution weighted by
        each surface's share of the deformation, and the harmonic mean of the friction
        coefficients, as Drake has them; the greater torsional and rolling friction [m], as MuJoCo
        has them.
    """
    total = a.stiffness + b.stiffness
    stiffness = a.stiffness * b.stiffness / total
    dissipation = (b.stiffness * a.dissipation + a.stiffness * b.dissipation) / total
    friction_sum = a.friction + b.friction
    friction = 2.0 * a.friction * b.friction / friction_sum if friction_sum > 0.0 else 0.0
    torsional, rolling = max(a.torsional, b.torsional), max(a.rolling, b.rolling)
    restitution = (b.stiffness * a.restitution + a.stiffness * b.restitution) / total
    return Material(stiffness, dissipation, friction, torsional, rolling, restitution)
