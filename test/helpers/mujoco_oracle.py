"""The same MJCF in MuJoCo: mass matrix and poses in our coordinates."""

from __future__ import annotations

import numpy as np

from contact_experiments.models.check import deviations
from contact_experiments.models.references import MujocoReference, random_state


def set_random_state(engine, articulation, reference, rng, instance="robot"):
    """Set the same random positions in both.

    Returns:
        (model.nv, nv) MuJoCo's velocities per ours.
    """
    reference.name_like(articulation)
    return reference.motion(random_state(engine, articulation, rng, instance))


def differences(engine, articulation, model, samples=3, instance="robot"):
    """Return the greatest relative difference of mass matrices, and of poses [m and 1]."""
    reference, rng = MujocoReference(model), np.random.default_rng(0)
    reference.name_like(articulation)
    states = (random_state(engine, articulation, rng, instance) for _ in range(samples))
    found = [deviations(engine, reference, state, instance)[:2] for state in states]
    return tuple(np.max(found, axis=0))
