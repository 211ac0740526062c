"""The contact model: compliant normal force and regularised friction, tamsi Sec. II-B."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel, inner_kernel, leaf_kernel
from contact_core.multibody.collision.arrays import NORMAL, Contacts, Pairs
from contact_core.multibody.rigid_body.arrays import Jacobian
from tamsi_sim.arrays.data import ContactForces
from tamsi_sim.arrays.settings import FrictionLaw, SchemeSettings
from tamsi_sim.arrays.simulation import Simulation

SMALL = 1e-100
"""A stiction width below counts as no friction [m/s]."""
QUADRATIC, ELASTIC = int(FrictionLaw.QUADRATIC), int(FrictionLaw.ELASTIC)


@leaf_kernel
def normal_force(
    elastic: float, stiffness: float, dissipation: float, separation: float, h: float
) -> tuple[float, float]:
    """Return the normal force with the penetration estimated ahead, at the end of the step.

    ``tamsi`` (5) with (19): pi = (k (delta_0 - h v_n))_+ (1 - d v_n)_+.

    Args:
        elastic: k delta_0 [N].
        stiffness: k [N/m].
        dissipation: d [s/m].
        separation: v_n, positive when the bodies separate [m/s].
        h: How far ahead: the time step [s].

    Returns:
        (pi [N], d pi / d v_n [N s/m], never positive).
    """
    spring = elastic - h * stiffness * separation
    damper = 1.0 - dissipation * separation
    if spring <= 0.0 or damper <= 0.0:
        return 0.0, 0.0
    return spring * damper, -(h * stiffness * damper + dissipation * spring)


@leaf_kernel
def friction_coefficient(
    law: int, mu: float, x: float, y: float, stiction: float, soft: float
) -> tuple[float, float]:
    """Return the regularised friction coefficient and its slope, as (16) needs them.

    The friction force is -pi g v_t, and its derivative -pi (g I + g' v_t v_t^T), with
    g = mu~(s) / |v_t| and g' = (mu~'(s) / v_s - g) / |v_t|^2. In (16) the projectors are
    on and across the slip direction.

    Args:
        law: A FrictionLaw.
        mu: Coefficient of friction.
        x: First tangential velocity [m/s].
        y: Second tangential velocity [m/s].
        stiction: v_s [m/s].
        soft: Added to the norm of the slip velocity as sqrt(|v_t|^2 + soft^2) [m/s].

    Returns:
        (g [s/m], g' [s^3/m^3]).
    """
    square = x * x + y * y + soft * soft
    if square >= stiction * stiction:
        g = mu / math.sqrt(square)
        return g, -g / square
    if law == QUADRATIC:
        speed = math.sqrt(square)
        # mu s (2 - s) / |v|: finite at rest, where its slope acts along a null direction.
        g = mu * (2.0 - speed / stiction) / stiction
        return g, -mu / (stiction * stiction * speed) if speed > 0.0 else 0.0
    return mu / stiction, 0.0


@inlined_kernel
def slip_velocity(
    settings: SchemeSettings, forces: ContactForces, c: int, reach: float, h: float
) -> tuple[float, float, float]:
    """Return a contact's slip from where its friction is zero, and its stiction width.

    At the end of a (sub-)step the force of a spring is a line in the velocity, too: a
    regularisation about another velocity than zero.

    Args:
        settings: The scheme.
        forces: Reads velocity, shear and its compliance.
        c: The contact.
        reach: mu pi, the largest friction force [N].
        h: Length of the (sub-)step [s].

    Returns:
        Slip along both tangents, and that below which friction is linear [m/s].
    """
    x, y = forces.velocity[c, 0], forces.velocity[c, 1]
    if settings.friction_law != ELASTIC:
        return x, y, settings.stiction_velocity
    rate = 1.0 / h
    x, y = x + rate * forces.shear[c, 0], y + rate * forces.shear[c, 1]
    return x, y, rate * reach * forces.compliance[c]


@inner_kernel
def update_contact_forces(simulation: Simulation, count: int, h: float) -> None:
    """Compute velocity, force and minus the force's derivative at every contact.

    Args:
        simulation: Read at the iterate of its solve; writes velocity, force and gradient of its
            contact forces.
        count: Number of contact points.
        h: Length of the (sub-)step [s].
    """
    pairs, contacts, settings = simulation.pairs, simulation.contacts, simulation.settings
    jacobian, forces, v = simulation.jacobian, simulation.contact_forces, simulation.newton.v
    for c in range(count):
        project(jacobian, c, v, forces.velocity)
        update_contact_force(pairs, contacts, settings, forces, c, h)


@inlined_kernel
def update_contact_force(
    pairs: Pairs,
    contacts: Contacts,
    settings: SchemeSettings,
    forces: ContactForces,
    c: int,
    h: float,
) -> bool:
    """Compute force and minus its derivative at one contact from its velocity, see above.

    Returns:
        Whether what is elastic began to slip or ceased to, so that the previous update, computed
        for the other, may not be exact.
    """
    velocity, pair = forces.velocity[c], contacts.pair[c]
    dissipation, mu = pairs.dissipation[pair], pairs.friction[pair]
    pi, slope = normal_force(
        forces.elastic[c],
        contacts.stiffness[c],
        dissipation,
        velocity[NORMAL],
        forces.ahead[c] * h,
    )
    x, y, stiction = slip_velocity(settings, forces, c, mu * pi, h)
    soft = settings.soft_norm * settings.stiction_velocity
    g, bend, pull = 0.0, 0.0, slope
    if stiction > SMALL:
        g, bend = friction_coefficient(settings.friction_law, mu, x, y, stiction, soft)
    changed = False
    if settings.friction_law == ELASTIC:
        sticks = x * x + y * y < stiction * stiction
        if sticks:
            # What a spring holds does not depend on the normal force.
            pull = 0.0
        piece = 1 if sticks else 2
        changed = piece != forces.piece[c]
        forces.piece[c] = piece
    force, gradient = forces.force[c], forces.gradient[c]
    force[0], force[1], force[NORMAL] = -pi * g * x, -pi * g * y, pi
    gradient[0, 0] = pi * (g + bend * x * x)
    gradient[0, 1] = gradient[1, 0] = pi * bend * x * y
    gradient[1, 1] = pi * (g + bend * y * y)
    # The normal force also changes the friction: W_tn of (22) makes (23) unsymmetric.
    gradient[0, NORMAL], gradient[1, NORMAL] = g * x * pull, g * y * pull
    gradient[NORMAL, NORMAL] = -slope
    return changed


@inlined_kernel
def project(jacobian: Jacobian, c: int, v: np.ndarray, out: np.ndarray) -> None:
    """Write the contact-frame velocity J v of one contact.

    Args:
        jacobian: The Jacobians.
        c: The contact.
        v: (nv) generalised velocity.
        out: (nc, 3) its row c is written.
    """
    x, y, z = 0.0, 0.0, 0.0
    entries, dofs = jacobian.entry[c], jacobian.dof[c]
    for k in range(jacobian.columns[c]):
        rate = v[dofs[k]]
        x += entries[0, k] * rate
        y += entries[1, k] * rate
        z += entries[2, k] * rate
    out[c, 0], out[c, 1], out[c, 2] = x, y, z
