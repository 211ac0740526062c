"""What the controller is asked to follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contact_aware_control.reference.base import Reference


@dataclass(frozen=True, eq=False)
class Goal:
    """Something to follow.

    Attributes:
        reference: The motion.
        force_limits: Force limit [N] by link, where contact is planned.
        refreshed: When a streamed reference was last sent [ns]; None for a trajectory
            that is known to its end.
    """

    reference: Reference
    force_limits: Mapping[str, float] = field(default_factory=dict)
    refreshed: int | None = None
