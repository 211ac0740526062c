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
    change = math.sqrt(dx * dx + dy * dy)
    # The update does not matter.
    if change < tolerance:
        return 1.0
    end_x, end_y = x + dx, y + dy
    before = math.sqrt(x * x + y * y)
    after = math.sqrt(end_x * end_x + end_y * end_y)
    inside = landing * stiction / change
    if landing > 0.0:
        # Between rest and sliding: stop inside stiction, where the law is not flat.
        if before < tolerance and after > stiction:
            return inside
        if before > stiction and after < tolerance:
            return 1.0 - inside
    # Newton's method converges within stiction, and into it or out of it.
    if before < stiction or after < stiction:
        return 1.0
    # Sliding to sliding through the stiction region: land where it is closest to rest.
    toward = x * dx + y * dy
    if toward < 0.0:
        alpha = -toward / (change * change)
        if alpha < 1.0:
            miss_x, miss_y = x + alpha * dx, y + alpha * dy
            miss = math.sqrt(miss_x * miss_x + miss_y * miss_y)
            if miss < tolerance:
                return alpha - inside
            if miss < stiction:
                return alpha
    # Sliding to sliding past the stiction region: limit the turn to theta_max.
    if x * end_x + y * end_y > cos_max_angle * before * after:
        return 1.0
    turn = abs(x * dy - y * dx)
    if turn == 0.0:
        return 1.0
    max_angle = math.acos(cos_max_angle)
    # Law of sines in the triangle of v, alpha dv and their sum.
    bearing = math.atan2(turn, toward)
    alpha = before * math.sin(max_angle) / (change * math.sin(bearing - max_angle))
    return min(alpha, 1.0)
