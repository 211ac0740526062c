"""A planning problem: a model, two boundary states, a horizon and quadratic weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robust_planner.contact_model import (
    GROUND,
    ContactModel,
    PenetrationError,
    PlanningProblemError,
)

# Boundary states may touch the ground and the limits up to rounding.
TOUCHING = 1e-9


@dataclass(frozen=True)
class RobustProblem:
    """Move a model from one state to another through contact, eq. (1).

    Attributes:
        name: For messages and figures.
        model: Dynamics and contact kinematics.
        start: x0 = (q, v) (2 nq) [m, rad, m/s, rad/s].
        goal: xf = (q, v) (2 nq).
        duration: Horizon, or its initial guess if time steps are free [s].
        knots: N, the number of states.
        friction: mu, mean friction coefficient.
        state_weight: Diagonal of Q (2 nq), on x - xf.
        control_weight: Diagonal of R (nu).
        stiffness: k of ground and obstacles at one contact point in worlds that are simulated
            [N/m]; as a constraint, eq. (1), contact is rigid whatever it is.
        dissipation: Hunt-Crossley d of what is not rigid [s/m]; with 0 an impact is elastic.
    """

    name: str
    model: ContactModel
    start: tuple[float, ...]
    goal: tuple[float, ...]
    duration: float
    knots: int
    friction: float
    state_weight: tuple[float, ...]
    control_weight: tuple[float, ...]
    stiffness: float = math.inf
    dissipation: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no plan can satisfy."""
        self._check_numbers()
        self._check_state("start", self.start)
        self._check_state("goal", self.goal)

    @property
    def time_step(self) -> float:
        """Nominal time step h [s]."""
        return self.duration / (self.knots - 1)

    def _check_numbers(self) -> None:
        if self.knots < 2:
            raise PlanningProblemError(f"knots is {self.knots} (valid: >= 2)")
        for name in ("duration", "friction"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise PlanningProblemError(f"{name} is {value!r} (valid: > 0, finite)")
        if not self.stiffness > 0.0:
            raise PlanningProblemError(
                f"stiffness is {self.stiffness!r} (valid: > 0, inf is rigid)"
            )
        if not 0.0 <= self.dissipation < math.inf:
            raise PlanningProblemError(f"dissipation is {self.dissipation!r} (valid: >= 0, finite)")
        states, controls = 2 * self.model.coordinates, self.model.controls
        for name, size in (
            ("start", states),
            ("goal", states),
            ("state_weight", states),
            ("control_weight", controls),
        ):
            values = getattr(self, name)
            if len(values) != size or not np.all(np.isfinite(values)):
                raise PlanningProblemError(
                    f"{name} is {values} (valid: {size} finite values for '{self.model.name}')"
                )
        for name in ("state_weight", "control_weight"):
            if np.min(getattr(self, name)) < 0.0:
                raise PlanningProblemError(f"{name} is {getattr(self, name)} (valid: >= 0)")

    def _check_state(self, name: str, state: tuple[float, ...]) -> None:
        model, limits = self.model, self.model.limits
        q, v = np.split(np.asarray(state), 2)
        for contact, surface, phi in zip(
            model.contact_names, model.surfaces, np.asarray(model.distance(q)).ravel(), strict=True
        ):
            if phi < -TOUCHING:
                touched = "the ground" if surface == GROUND else surface
                raise PenetrationError(
                    f"{name} penetrates {touched}: {contact} is at {phi:.6g} m (valid: >= 0 m)"
                )
        for coordinate, value, lower, upper in zip(
            model.position_names, q, limits.lower, limits.upper, strict=True
        ):
            if not lower - TOUCHING <= value <= upper + TOUCHING:
                raise PlanningProblemError(
                    f"{name} position {coordinate} is {value:.6g} "
                    f"(valid: >= {lower:g}, <= {upper:g})"
                )
        for coordinate, value, speed in zip(model.position_names, v, limits.speed, strict=True):
            if abs(value) > speed + TOUCHING:
                raise PlanningProblemError(
                    f"{name} velocity of {coordinate} is {value:.6g} (valid: |v| <= {speed:g})"
                )
