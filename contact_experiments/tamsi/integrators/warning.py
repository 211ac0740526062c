"""Warnings of the integrators, as data."""

from __future__ import annotations

from dataclasses import dataclass

# Symplectic Euler of an oscillator is unstable from h sqrt(k/m) = 2 on.
STABILITY_LIMIT = 2.0
WARNING_RATIO = 1.0


@dataclass(frozen=True)
class ExplicitNormalsWarning:
    """Normal forces that are treated explicitly are, or soon will be, unstable.

    Attributes:
        ratio: Largest h sqrt(k/m) so far, of the stiffest mode of the contacts; k counts
            their damping too.
        since: When it first came so close to its limit that it is warned of [s].
    """

    ratio: float
    since: float

    @property
    def limit(self) -> float:
        """The ratio from which on the scheme is unstable."""
        return STABILITY_LIMIT

    @property
    def remedy(self) -> str:
        """What is wrong, and what to do about it."""
        state = "unstable" if self.ratio >= self.limit else "close to unstable"
        return (
            f"explicit normal forces are {state} since {self.since:.4g} s: h sqrt(k/m) = "
            f"{self.ratio:.2g}, the limit is {self.limit:g}; choose the integrator 'tamsi', or a "
            "smaller time_step"
        )
