"""Warnings of the integrators, as data."""

from __future__ import annotations

from dataclasses import dataclass

# Symplectic Euler of an oscillator is unstable from h omega = 2 on.
STABILITY_LIMIT = 2.0
WARNING_RATIO = 1.0


@dataclass(frozen=True)
class ExplicitNormalsWarning:
    """Normal forces that are treated explicitly are, or soon will be, unstable.

    Attributes:
        ratio: Largest h sqrt(k/m) so far, of the stiffest mode of the contacts.
        time: When that was [s].
        time_step: h [s].
    """

    ratio: float
    time: float
    time_step: float

    @property
    def limit(self) -> float:
        """The ratio from which on the scheme is unstable."""
        return STABILITY_LIMIT

    @property
    def remedy(self) -> str:
        """What is wrong, and what to do about it."""
        state = "unstable" if self.ratio >= self.limit else "close to unstable"
        stable_step = self.time_step * WARNING_RATIO / self.ratio
        return (
            f"explicit normal forces are {state}: h sqrt(k/m) = {self.ratio:.2g} at "
            f"{self.time:.4g} s, the limit is {self.limit:g}; choose the integrator 'tamsi', or "
            f"time_step <= {stable_step:.2g} s"
        )
