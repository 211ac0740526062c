"""Integrators by name."""

from __future__ import annotations

import itertools

from contact_core.registry import Registry
from contact_experiments.tamsi.integrators.config import IntegratorConfig
from contact_experiments.tamsi.integrators.excitation import Excitation
from contact_experiments.tamsi.integrators.integrator import (
    FRICTIONLESS,
    SEMI_IMPLICIT,
    TAMSI,
    Integrator,
    Scheme,
    implicit_euler,
)
from tamsi_sim.simulation.engine import Engine

SCHEMES: Registry[Scheme] = Registry(
    "integrator",
    {"tamsi": TAMSI, "semi_implicit": SEMI_IMPLICIT, "frictionless": FRICTIONLESS},
)
"""Name -> scheme: tamsi Sec. V, and ie_fn ... ie_qn_ec_tals of Sec. III."""

for _features in itertools.product((True, False), repeat=3):
    _scheme = implicit_euler(*_features)
    SCHEMES.register(_scheme.title.lower().replace("+", "_"), _scheme)


def make_integrator(
    name: str,
    engine: Engine,
    excitation: Excitation | None = None,
    config: IntegratorConfig | None = None,
) -> Integrator:
    """Return the integrator of a name.

    Args:
        name: One of ``SCHEMES``.
        engine: The model, its state, the step h and the settings of contact.
        excitation: Forces at any time; the engine's ``applied`` as it is now by default.
        config: Parameters of implicit Euler.

    Returns:
        The integrator, at time zero.

    Raises:
        ConfigError: If there is no such name.
    """
    return Integrator(SCHEMES[name], engine, excitation, config)
