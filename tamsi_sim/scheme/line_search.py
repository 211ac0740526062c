"""TALS, the transition-aware line search of tamsi Sec. III-A."""

from __future__ import annotations

import math

from contact_core.base.kernel import leaf_kernel


@leaf_kernel
def transition_limit(
    x: float,
    y: float,
    dx: float,
    dy: float,
    stiction: float,
    tolerance: float,
    cos_max_angle: float,
    landing: float,
) -> float:
    """Return how much of a Newton update one contact allows.

    Args:
        x: First tangential velocity v_t before the update [m/s].
        y: Second.
        dx: Its change by the full update [m/s].
        dy: Second.
        stiction: v_s [m/s].
        tolerance: Changes and velocities below this count as zero [m/s].
        cos_max_angle: Cosine of theta_max, the largest turn of a sliding velocity.
        landing: Slip speed [v_s] on which an update that passes through zero lands. Zero
            is the paper's rule (v + alpha dv) . dv = 0; Drake uses 0.5, where its friction
            law has a slope.

    Returns:
        alpha in (0, 1].
    """
    # Squares: the root of a number takes longer than all else here.
    change, small, wide = dx * dx + dy * dy, tolerance * tolerance, stiction * stiction
    # The update does not matter.
    if change < small:
        return 1.0
    end_x, end_y = x + dx, y + dy
    before, after = x * x + y * y, end_x * end_x + end_y * end_y
    if landing > 0.0:
        # Between rest and sliding: stop inside stiction, where the law is not flat.
        if before < small and after > wide:
            return landing * stiction / math.sqrt(change)
        if before > wide and after < small:
            return 1.0 - landing * stiction / math.sqrt(change)
    # Newton's method converges within stiction, and into it or out of it.
    if before < wide or after < wide:
        return 1.0
    # Sliding to sliding through the stiction region: land where it is closest to rest.
    toward = x * dx + y * dy
    if toward < 0.0:
        alpha = -toward / change
        if alpha < 1.0:
            miss_x, miss_y = x + alpha * dx, y + alpha * dy
            miss = miss_x * miss_x + miss_y * miss_y
            if miss < small:
                return alpha - landing * stiction / math.sqrt(change)
            if miss < wide:
                return alpha
    # Sliding to sliding past the stiction region: limit the turn to theta_max.
    if x * end_x + y * end_y > cos_max_angle * math.sqrt(before * after):
        return 1.0
    turn = abs(x * dy - y * dx)
    if turn == 0.0:
        return 1.0
    max_angle = math.acos(cos_max_angle)
    # Law of sines in the triangle of v, alpha dv and their sum.
    bearing = math.atan2(turn, toward)
    ratio = math.sqrt(before / change)
    alpha = ratio * math.sin(max_angle) / math.sin(bearing - max_angle)
    return min(alpha, 1.0)
