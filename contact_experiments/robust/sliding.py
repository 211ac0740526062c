"""A body that is pushed over a floor: answers to hold time stepping against.

m x'' = u - mu m g x' / |x'| with u constant from knot to knot. Along a line these are parabolas,
between which the body comes to rest, and stays there or is pushed back: exact time. In the plane
friction takes from the speed what it can in steps of a tenth of a millisecond, which is exact for a
round cone but for the length of these steps.
"""

from __future__ import annotations

import numpy as np

from robust_planner.contact_model import GRAVITY


def slide(
    force: np.ndarray, step: float, friction: np.ndarray, mass: np.ndarray, inertia: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Push a body that rests at x = 0.

    Args:
        force: u of each step (N) [N].
        step: From knot to knot [s].
        friction: mu of each world (n).
        mass: That presses onto the floor (n) [kg].
        inertia: That is moved (n) [kg].

    Returns:
        Its last places (n) [m] and velocities (n) [m/s].
    """
    most = friction * mass * GRAVITY
    x, v = np.zeros_like(most), np.zeros_like(most)
    for u in force:
        left = np.full_like(most, step)
        # Until it comes to rest, then from there.
        for _ in range(2):
            towards = np.where(v == 0.0, np.sign(u), np.sign(v))
            moves = (v != 0.0) | (abs(u) > most)
            a = np.where(moves, (u - towards * most) / inertia, 0.0)
            stops = (v != 0.0) & (v * a < 0.0)
            time = np.minimum(np.divide(-v, a, out=left.copy(), where=stops), left)
            x = x + (v + 0.5 * a * time) * time
            v = np.where(stops & (time < left), 0.0, v + a * time)
            left = left - time
    return x, v


def slide_in_plane(
    force: np.ndarray,
    step: float,
    friction: np.ndarray,
    mass: np.ndarray,
    velocity: np.ndarray,
    longest: float = 1e-4,
) -> tuple[np.ndarray, np.ndarray]:
    """Push a body that begins at the origin.

    Args:
        force: u of each step (N, 2) [N].
        step: From knot to knot [s].
        friction: mu of each world (n).
        mass: Of each world (n) [kg].
        velocity: With which it begins (2) [m/s].
        longest: Integration step [s].

    Returns:
        Its last places (n, 2) [m] and velocities (n, 2) [m/s].
    """
    count = int(np.ceil(step / longest))
    h = step / count
    most = (friction * GRAVITY * h)[:, None]
    v = np.tile(np.asarray(velocity, dtype=float), (len(friction), 1))
    x = np.zeros_like(v)
    for u in force:
        pushed = u * h / mass[:, None]
        for _ in range(count):
            before, v = v, v + pushed
            speed = np.hypot(v[:, :1], v[:, 1:])
            v = v * np.maximum(1.0 - most / np.maximum(speed, most), 0.0)
            x = x + 0.5 * h * (before + v)
    return x, v
