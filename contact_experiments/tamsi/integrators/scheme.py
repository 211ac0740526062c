"""The schemes, as a choice of a few features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contact_experiments.tamsi.integrators.data import IMPLICIT_EULER, ONE_WAY, TWO_WAY
from tamsi_sim.arrays.data import Model


@dataclass(frozen=True)
class Scheme:
    """One way to integrate (1) and (2) of ``tamsi``.

    Attributes:
        title: Its name in a plot's legend, as in the paper.
        kernel: IMPLICIT_EULER, ONE_WAY or TWO_WAY.
        frictionless: Whether it leaves out friction, Sec. V-B.
        full_newton: Whether implicit Euler renews its Jacobian in every iteration.
        error_control: Whether implicit Euler chooses its steps by their error.
        line_search: Whether implicit Euler limits its updates by TALS.
    """

    title: str
    kernel: int
    frictionless: bool = False
    full_newton: bool = False
    error_control: bool = False
    line_search: bool = False

    def adapt(self, model: Model) -> Model:
        """Return the model that the scheme's kernel takes.

        Args:
            model: The engine's.
        """
        if self.frictionless:
            return model._replace(
                pair_friction=np.zeros_like(model.pair_friction),
                friction=np.zeros_like(model.friction),
            )
        if self.kernel == ONE_WAY:
            return model._replace(pair_dissipation=np.zeros_like(model.pair_dissipation))
        return model


def implicit_euler(full_newton: bool, error_control: bool, line_search: bool) -> Scheme:
    """Return a variant of implicit Euler, ``tamsi`` Sec. III.

    Args:
        full_newton: See :class:`Scheme`.
        error_control: See :class:`Scheme`.
        line_search: See :class:`Scheme`.
    """
    parts = ["IE", "FN" if full_newton else "QN"]
    parts += ["EC"] * error_control + ["TALS"] * line_search
    return Scheme("+".join(parts), IMPLICIT_EULER, False, full_newton, error_control, line_search)


SEMI_IMPLICIT = Scheme("semi-implicit Euler (one-way)", ONE_WAY)
FRICTIONLESS = Scheme("implicit normal forces, no friction", TWO_WAY, frictionless=True)
TAMSI = Scheme("TAMSI", TWO_WAY)
