"""What can be wrong with a planning problem before it is solved."""

from __future__ import annotations

from contact_core.errors import ContactStackError


class PlanningProblemError(ContactStackError):
    """A boundary state, model or horizon with which no plan can exist."""


class SolverMissingError(ContactStackError):
    """The chosen solver is unknown or not installed."""
