"""Warming compiles what the estimator needs, so the first contact is not late."""

import numpy as np
from numba.core.dispatcher import Dispatcher

from contact_aware_control import precompile
from contact_aware_control.estimation import (
    likelihood,
    measurement,
    modes,
    particles,
    place,
    surface,
    torque_balance,
    torque_errors,
)

MODULES = (likelihood, measurement, modes, particles, place, surface, torque_balance, torque_errors)
Q = np.array([0.1, 0.6, 0.2, -1.5, 0.1, 1.0, 0.3])


def signatures():
    return {
        f"{module.__name__}.{name}": len(kernel.signatures)
        for module in MODULES
        for name, kernel in vars(module).items()
        if isinstance(kernel, Dispatcher)
    }


def test_two_contacts_compile_nothing_more(make_plant, robot, touch):
    """Whether earlier tests compiled it already does not matter: no signature is added."""
    plant = make_plant()
    robot.update(Q)
    first, force = touch(plant.rng, "lbr_link_5", force=20.0)
    torque = robot.point_jacobian("lbr_link_5", first).T @ force
    second, push = touch(plant.rng, "lbr_link_7", force=25.0)
    precompile.precompile_estimator()
    before = signatures()
    plant.free(Q)
    for tick in range(120):
        link = "lbr_link_7" if tick >= 50 else None
        output = plant.tick(Q, link, second, push, torque)
    assert len(output.contacts) == 2
    assert signatures() == before
