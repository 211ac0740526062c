"""A tool that is put down, with steps that do not matter: an answer to hold time stepping against.

m z'' = u - m g in the air, exactly; in touch with the ground also k d (1 + c d')_+ at depth d, by
Runge and Kutta's method with steps of ten microseconds.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel, kernel
from robust_planner.contact_model import GRAVITY

STEP = 1e-5
"""In touch [s]."""


def touch_down(
    force: np.ndarray,
    step: float,
    mass: float,
    gap: float,
    height: np.ndarray,
    stiffness: float,
    dissipation: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Move a tool vertically that rests over the ground.

    Args:
        force: u of each step (N), upwards [N].
        step: From knot to knot [s].
        mass: [kg].
        gap: Between tool and ground of height 0 [m].
        height: Of the ground of each world (n) [m].
        stiffness: k [N/m].
        dissipation: c [s/m].

    Returns:
        Last gaps (n) [m], and the largest speeds at which the tool came to touch (n) [m/s].
    """
    gaps, impacts = gap - np.asarray(height, dtype=float), np.zeros(len(height))
    _move(np.ascontiguousarray(force), step, mass, stiffness, dissipation, gaps, impacts)
    return gaps, impacts


@kernel
def _move(
    force: np.ndarray,
    step: float,
    mass: float,
    stiffness: float,
    dissipation: float,
    gaps: np.ndarray,
    impacts: np.ndarray,
) -> None:
    for world in range(len(gaps)):
        gap, speed = max(gaps[world], 0.0), 0.0
        touches = gap <= 0.0
        for u in force:
            left, a = step, u / mass - GRAVITY
            while left > 0.0:
                if touches:
                    h = min(STEP, left)
                    k1 = _pushed(gap, speed, a, stiffness / mass, dissipation)
                    v2 = speed + 0.5 * h * k1
                    k2 = _pushed(gap + 0.5 * h * speed, v2, a, stiffness / mass, dissipation)
                    v3 = speed + 0.5 * h * k2
                    k3 = _pushed(gap + 0.5 * h * v2, v3, a, stiffness / mass, dissipation)
                    v4 = speed + h * k3
                    k4 = _pushed(gap + h * v3, v4, a, stiffness / mass, dissipation)
                    gap += h * (speed + 2.0 * v2 + 2.0 * v3 + v4) / 6.0
                    speed += h * (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0
                    left -= h
                    touches = gap <= 0.0
                    continue
                met = _meets(gap, speed, a)
                h = min(met, left)
                gap += (speed + 0.5 * a * h) * h
                speed += a * h
                left -= h
                if met <= h:
                    gap, touches = 0.0, True
                    impacts[world] = max(impacts[world], -speed)
        gaps[world] = gap


@inner_kernel
def _pushed(gap: float, speed: float, a: float, stiffness: float, dissipation: float) -> float:
    """Return the acceleration in touch."""
    return a + stiffness * max(-gap, 0.0) * max(1.0 - dissipation * speed, 0.0)


@inner_kernel
def _meets(gap: float, speed: float, a: float) -> float:
    """Return when gap + v t + a t^2 / 2 becomes zero while falling, infinity if never."""
    root = speed * speed - 2.0 * a * gap
    if root < 0.0:
        return math.inf
    root = math.sqrt(root)
    # Of the two forms of the root that falls, the one that does not cancel.
    if speed <= 0.0:
        return 2.0 * gap / (root - speed) if root > speed else math.inf
    return (-speed - root) / a if a < 0.0 else math.inf
