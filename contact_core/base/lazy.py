"""Public names of a package that are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package, so that importing it stays cheap.

    Args:
        package: Name of the package.
        modules: Module of the package -> the public names in it.

    Returns:
        The function, after PEP 562.
    """
    places = {name: module for module, names in modules.items() for name in names}

    def getattribute(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return getattribute
