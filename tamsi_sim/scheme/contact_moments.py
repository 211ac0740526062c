"""Torsional and rolling friction: moments at a contact point that resist its turning, implicitly.

They follow the law of sliding friction, tamsi (7), with lengths for coefficients and an angular
velocity for the slip: mu_r pi about the tangents, mu_t pi about the normal, for a normal force pi,
and linear below v_s rad/s; or a spring before that, as the shear of contacts is one. Only contacts
whose surfaces have a coefficient have moments; in a scene without such surfaces all arrays here are
empty.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel
from contact_core.multibody.collision.arrays import NORMAL
from contact_core.multibody.rigid_body.jacobian import update_angular_jacobian
from tamsi_sim.arrays.data import ContactMoments
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.scheme.contact import ELASTIC, SMALL, friction_coefficient
from tamsi_sim.scheme.line_search import transition_limit

ROLLING, TORSIONAL = 0, 1


@inlined_kernel
def has_moment(coefficient: np.ndarray, c: int) -> bool:
    """Whether a contact has a moment; coefficient is (nr, 2), see ContactMoments."""
    return coefficient[c, ROLLING] + coefficient[c, TORSIONAL] > 0.0


@inlined_kernel
def find_moments(simulation: Simulation, count: int) -> None:
    """Find the contacts with moments, and compute the Jacobians of their angular velocities.

    Args:
        simulation: Reads pairs and contacts; writes angular and the moments' coefficient.
        count: Number of contact points.
    """
    pairs, contacts, body = simulation.pairs, simulation.contacts, simulation.geometry.body
    coefficient = simulation.contact_moments.coefficient
    for c in range(min(count, coefficient.shape[0])):
        pair = contacts.pair[c]
        coefficient[c, ROLLING] = pairs.rolling[pair]
        coefficient[c, TORSIONAL] = pairs.torsional[pair]
        if has_moment(coefficient, c):
            a, b = pairs.shapes[pair]
            update_angular_jacobian(
                simulation.bodies, simulation.kinematics.motion, contacts.frame[c], body[a],
                body[b], simulation.angular, c,
            )  # fmt: skip


@inlined_kernel
def _update_moment(simulation: Simulation, c: int) -> None:
    """Compute the moment -pi g w of one contact, its derivative, and that by v_n."""
    settings, forces = simulation.settings, simulation.contact_forces
    moments, h = simulation.contact_moments, simulation.newton.duration[0]
    law, soft = settings.friction_law, settings.soft_norm * settings.stiction_velocity
    pi, slope = forces.force[c, NORMAL], -forces.gradient[c, NORMAL, NORMAL]
    x, y, z = _turn_from_rest(simulation, c, h)
    rolling, torsional = moments.coefficient[c]
    reach, width = _reach(simulation, c, ROLLING, h), _reach(simulation, c, TORSIONAL, h)
    g, bend = friction_coefficient(law, rolling, x, y, reach, soft)
    s, curl = friction_coefficient(law, torsional, z, 0.0, width, soft)
    # What a spring holds does not depend on the normal force.
    pull = 0.0 if law == ELASTIC and x * x + y * y < reach * reach else slope
    twist = 0.0 if law == ELASTIC and abs(z) < width else slope
    moment, gradient, coupling = moments.moment[c], moments.gradient[c], moments.coupling[c]
    moment[0], moment[1], moment[NORMAL] = -pi * g * x, -pi * g * y, -pi * s * z
    gradient[0, 0] = pi * (g + bend * x * x)
    gradient[0, 1] = gradient[1, 0] = pi * bend * x * y
    gradient[1, 1] = pi * (g + bend * y * y)
    gradient[NORMAL, NORMAL] = pi * (s + curl * z * z)
    coupling[0], coupling[1], coupling[NORMAL] = g * x * pull, g * y * pull, s * z * twist


@inlined_kernel
def _turn_from_rest(simulation: Simulation, c: int, h: float) -> tuple[float, float, float]:
    """Angular velocity at one contact, from that at which its moments are zero."""
    x, y, z = _turn(simulation, simulation.newton.v, c)
    if simulation.settings.friction_law != ELASTIC:
        return x, y, z
    twist, rate = simulation.contact_moments.twist[c], 1.0 / h
    return x + rate * twist[0], y + rate * twist[1], z + rate * twist[NORMAL]


@inlined_kernel
def _reach(simulation: Simulation, c: int, kind: int, h: float) -> float:
    """Angular velocity from there up to which one contact's moment is linear, never zero."""
    moments = simulation.contact_moments
    if simulation.settings.friction_law != ELASTIC:
        return simulation.settings.stiction_velocity
    most = moments.coefficient[c, kind] * simulation.contact_forces.force[c, NORMAL]
    return max(SMALL, moments.compliance[c] * most / h)


@inlined_kernel
def _turn(simulation: Simulation, v: np.ndarray, c: int) -> tuple[float, float, float]:
    """Angular velocity of A relative to B at one contact, in its frame."""
    x, y, z = 0.0, 0.0, 0.0
    angular = simulation.angular
    entries, dofs = angular.entry[c], angular.dof[c]
    for k in range(angular.columns[c]):
        rate = v[dofs[k]]
        x += entries[0, k] * rate
        y += entries[1, k] * rate
        z += entries[2, k] * rate
    return x, y, z


@inlined_kernel
def assemble_moments(simulation: Simulation, island: int, h: float) -> None:
    """Compute the moments of an island's contacts, and add them to Newton's system.

    Args:
        simulation: Reads Newton's v and the normal forces that belong to it; writes the moments
            and their derivatives, adds to Newton's system and right_side.
        island: The island.
        h: Length of the (sub-)step [s].
    """
    islands, coefficient = simulation.islands, simulation.contact_moments.coefficient
    if coefficient.shape[0] > 0:
        for k in range(islands.first_contact[island], islands.first_contact[island + 1]):
            c = islands.contact[k]
            # Apart at the end of the step: no force, no moment.
            apart = simulation.contact_forces.force[c, NORMAL] == 0.0
            if has_moment(coefficient, c) and not apart:
                _update_moment(simulation, c)
                _assemble_moment(simulation, c, h)


@inlined_kernel
def _assemble_moment(simulation: Simulation, c: int, h: float) -> None:
    moments, newton, angular = simulation.contact_moments, simulation.newton, simulation.angular
    moment, gradient, coupling = moments.moment[c], moments.gradient[c], moments.coupling[c]
    entries, normal = angular.entry[c], simulation.jacobian.entry[c, NORMAL]
    islands, system, right_side = simulation.islands, newton.system, newton.right_side
    rows = islands.jacobian_row[c]
    columns = angular.columns[c]
    for a in range(columns):
        i = rows[a]
        start = islands.row_start[i]
        x, y, z = h * entries[0, a], h * entries[1, a], h * entries[2, a]
        right_side[i] += x * moment[0] + y * moment[1] + z * moment[2]
        g0 = x * gradient[0, 0] + y * gradient[1, 0]
        g1 = x * gradient[0, 1] + y * gradient[1, 1]
        g2 = z * gradient[2, 2]
        # The normal force also changes the moment, as it does the friction in (22).
        gn = x * coupling[0] + y * coupling[1] + z * coupling[2]
        for b in range(columns):
            system[start + rows[b]] += (
                g0 * entries[0, b] + g1 * entries[1, b] + g2 * entries[2, b] + gn * normal[b]
            )


@inlined_kernel
def limit_moments(simulation: Simulation, island: int, tolerance: float) -> tuple[float, float]:
    """Return TALS's alpha for the angular velocities, and the size of their update [rad/s].

    Args:
        simulation: Reads Newton's v and update.
        island: The island.
        tolerance: Updates below this do not matter [rad/s].
    """
    alpha, square = 1.0, 0.0
    settings, newton, islands = simulation.settings, simulation.newton, simulation.islands
    coefficient = simulation.contact_moments.coefficient
    if coefficient.shape[0] > 0:
        for k in range(islands.first_contact[island], islands.first_contact[island + 1]):
            c = islands.contact[k]
            if has_moment(coefficient, c):
                x, y, z = _turn_from_rest(simulation, c, newton.duration[0])
                dx, dy, dz = _turn(simulation, newton.update, c)
                square += dx * dx + dy * dy + dz * dz
                for kind in range(2):
                    if kind == TORSIONAL:
                        x, y, dx, dy = z, 0.0, dz, 0.0
                    reach = _reach(simulation, c, kind, newton.duration[0])
                    if settings.line_search and coefficient[c, kind] > 0.0 and reach > SMALL:
                        share = transition_limit(
                            x, y, dx, dy, reach, tolerance, settings.cos_max_angle,
                            settings.landing,
                        )  # fmt: skip
                        alpha = min(alpha, share)
    return alpha, math.sqrt(square)


@inlined_kernel
def start_moments(moments: ContactMoments) -> None:
    """Begin the sub-steps of a step with its initial twist, and means of zero."""
    for c in range(moments.mean_moment.shape[0]):
        for i in range(3):
            moments.mean_moment[c, i] = 0.0
            moments.twist[c, i] = moments.initial_twist[c, i]


@inlined_kernel
def add_moments(simulation: Simulation, count: int, share: float) -> None:
    """Add the moments at the end of a sub-step, a share of the step, to their means.

    The turn that they hold is what their springs have at the end.

    Args:
        simulation: Reads Newton's v; writes the moments, their means and their twist.
        count: Number of contact points.
        share: Of the step.
    """
    moments = simulation.contact_moments
    for c in range(min(count, moments.moment.shape[0])):
        if has_moment(moments.coefficient, c):
            _update_moment(simulation, c)
            for i in range(3):
                moments.mean_moment[c, i] += share * moments.moment[c, i]
                moments.twist[c, i] = -moments.compliance[c] * moments.moment[c, i]
