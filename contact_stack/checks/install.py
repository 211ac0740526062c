"""What pip has to install beside a ROS 2 of the system's packages, as one command."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shlex
from collections.abc import Iterable

DISTRIBUTION = "contact_stack"
NUMPY = "numpy"
MODULES = {"pin": "pinocchio", "drake": "pydrake", "pyyaml": "yaml"}
"""Distribution -> what Python imports, where the names differ by more than a dash."""


def install_command() -> str:
    """Return the pip command for what rosdep cannot install.

    Pip leaves alone what is there in a version that will do.

    Returns:
        The command, for a virtual environment that sees the system's packages.
    """
    requirements = importlib.metadata.requires(DISTRIBUTION) or []
    return shlex.join(["pip", "install", *_pip_requirements(requirements)])


def _pip_requirements(requirements: Iterable[str]) -> list[str]:
    """Leave out extras, and what the system provides by other means than Python's."""
    chosen = []
    for requirement in requirements:
        text, _, marker = requirement.partition(";")
        name = re.split(r"[<>=!~ \[(]", text.strip())[0].lower()
        if "extra" in marker or _is_provided(name):
            continue
        chosen.append(_with_numpy_of_ros(text.strip()) if name == NUMPY else text.strip())
    return sorted(chosen)


def _is_provided(name: str) -> bool:
    """Tell whether a module is there that no distribution of Python brought, as those of ROS."""
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return importlib.util.find_spec(MODULES.get(name, name.replace("-", "_"))) is not None
    return False


def _with_numpy_of_ros(requirement: str) -> str:
    """Keep NumPy 1 where it is: the messages of such a ROS were compiled for it."""
    try:
        major = importlib.metadata.version(NUMPY).partition(".")[0]
    except importlib.metadata.PackageNotFoundError:
        return requirement
    return f"{requirement},<2" if major == "1" else requirement
