"""A body that is pushed over a floor, in exact time: an answer to hold time stepping against.

m x'' = u - mu m g sign(x') with u constant from knot to knot: parabolas, between which the body
comes to rest, and stays there or is pushed back.
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
