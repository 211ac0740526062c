"""TALS in implicit Euler, tamsi Sec. III-A, and whether it lands where it means to."""

from __future__ import annotations

import math

from contact_experiments.tamsi.integrators.data import (
    LANDING_CONTACT,
    LANDING_PAIR,
    LANDINGS,
    LIMITED,
    MISSED,
    Memory,
)
from tamsi_sim.arrays.borrowing import inner_kernel
from tamsi_sim.arrays.data import Model, Settings, Work
from tamsi_sim.scheme.contact import project
from tamsi_sim.scheme.line_search import transition_limit


@inner_kernel
def limit_transitions(
    model: Model, work: Work, settings: Settings, memory: Memory, contacts: int
) -> float:
    """Return alpha = min alpha_i, with the contact Jacobians frozen at the iterate.

    Args:
        model: The model.
        work: Reads contact velocities and Jacobians of the iterate, and update.
        settings: The settings.
        memory: Notes the contact that is to land inside stiction; counts.
        contacts: Number of contact points.

    Returns:
        alpha in (0, 1].
    """
    alpha, limiting = 1.0, -1
    stiction = settings.stiction_velocity
    tolerance = settings.relative_tolerance * stiction
    cosine, landing = settings.cos_max_angle, settings.landing
    for c in range(contacts):
        project(work, c, work.update, work.contact_update)
        x, y = work.contact_velocity[c, 0], work.contact_velocity[c, 1]
        dx, dy = work.contact_update[c, 0], work.contact_update[c, 1]
        share = transition_limit(x, y, dx, dy, stiction, tolerance, cosine, landing)
        if share < alpha:
            alpha, limiting = share, c
    for i in range(model.friction.shape[0]):
        if model.friction[i] > 0.0:
            rate, change = work.v_next[i], work.update[i]
            share = transition_limit(rate, 0.0, change, 0.0, stiction, tolerance, cosine, landing)
            if share < alpha:
                alpha, limiting = share, -1
    memory.jacobian_state[LANDING_PAIR] = -1
    if alpha < 1.0:
        memory.counters[LIMITED] += 1
    if limiting >= 0:
        x = work.contact_velocity[limiting, 0] + alpha * work.contact_update[limiting, 0]
        y = work.contact_velocity[limiting, 1] + alpha * work.contact_update[limiting, 1]
        if math.hypot(x, y) < stiction:
            memory.jacobian_state[LANDING_PAIR] = work.contact_pair[limiting]
            memory.jacobian_state[LANDING_CONTACT] = limiting
    return alpha


@inner_kernel
def check_landing(work: Work, settings: Settings, memory: Memory, contacts: int) -> None:
    """Count landings, and those that missed since the configuration moved, Sec. IV-B.

    Args:
        work: Reads the contact velocities at the new iterate.
        settings: The settings.
        memory: Reads the contact that was to land; counts.
        contacts: Number of contact points.
    """
    c = memory.jacobian_state[LANDING_CONTACT]
    pair = memory.jacobian_state[LANDING_PAIR]
    memory.jacobian_state[LANDING_PAIR] = -1
    if pair < 0 or c >= contacts or work.contact_pair[c] != pair:
        return
    memory.counters[LANDINGS] += 1
    slip = math.hypot(work.contact_velocity[c, 0], work.contact_velocity[c, 1])
    if slip > settings.stiction_velocity:
        memory.counters[MISSED] += 1
