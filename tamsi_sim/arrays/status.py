"""How a simulation step ended: failure is data, with its remedy."""

from __future__ import annotations

from enum import IntEnum


class StepStatus(IntEnum):
    """Result of a step; the state is left at the last good one unless OK."""

    OK = 0
    NOT_CONVERGED = 1
    NOT_FINITE = 2
    TOO_MANY_CONTACTS = 3
    DIVERGED = 4

    @property
    def remedy(self) -> str:
        """What happened, and what to do about it."""
        return _REMEDIES[self]


STATUSES = tuple(StepStatus)
"""By number; an enumeration looks its members up more slowly."""

_REMEDIES = {
    StepStatus.OK: "the step succeeded",
    StepStatus.NOT_CONVERGED: (
        "Newton's method did not converge even with sub-steps: reduce time_step or the contact "
        "stiffness, or raise max_iterations"
    ),
    StepStatus.NOT_FINITE: (
        "the state or a force is NaN or infinite: check the commands and the initial state, "
        "and that masses are not extremely small"
    ),
    StepStatus.TOO_MANY_CONTACTS: (
        "more contact points than max_contacts: raise it or filter collisions"
    ),
    StepStatus.DIVERGED: (
        "the bodies have many times the energy that anything gave them: reduce time_step, or the "
        "contact stiffness, or raise masses and inertias that are very small"
    ),
}
