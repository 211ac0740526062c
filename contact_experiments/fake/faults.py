"""Everything that can go wrong, by name."""

from __future__ import annotations

from collections.abc import Mapping

from contact_experiments.fake import driver_faults, lies
from contact_experiments.fake.fault import Fault

__all__ = ["FAULTS", "Fault", "summary"]


def _faults(*modules: object) -> dict[str, type[Fault]]:
    found = (item for module in modules for item in vars(module).values())
    kinds = (item for item in found if isinstance(item, type) and issubclass(item, Fault))
    return {kind.name: kind for kind in kinds if kind is not Fault}


FAULTS: Mapping[str, type[Fault]] = _faults(driver_faults, lies)
"""Every fault by its name."""


def summary(name: str) -> str:
    """Say what a fault does.

    Args:
        name: One of FAULTS.

    Returns:
        One sentence.
    """
    return (FAULTS[name].__doc__ or "").partition("\n")[0]
