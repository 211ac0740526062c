"""What is imported when it is first used: public names of a package, and libraries of extras."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from contact_core.base.errors import ContactStackError


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


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Import in a block what needs libraries that not everybody installs.

    Args:
        extra: The extra of setup.py that they belong to.

    Raises:
        ContactStackError: If one of them is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if find_spec(library) is not None:
            raise
        raise ContactStackError(f"'{library}' is not installed: {pip_install(extra)}") from error


def pip_install(extra: str) -> str:
    """Return the command that installs an extra of the distribution that is installed.

    Args:
        extra: Its name.
    """
    distribution = "contact_stack" if find_spec("contact_stack") else "tamsi-sim"
    return f"pip install '{distribution}[{extra}]'"
