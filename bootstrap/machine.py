"""Checks that this machine can run the project, each failure one line with its remedy."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

# The oldest C library the binary packages accept (Debian 12: 2.36, Ubuntu 24.04: 2.39).
OLDEST_GLIBC = (2, 34)


@dataclasses.dataclass(frozen=True)
class Machine:
    """The facts the checks look at.

    Attributes:
        system: Kernel, e.g. ``"linux"``.
        architecture: Processor, e.g. ``"x86_64"``.
        glibc: Version of the GNU C library, empty if the system uses another.
        python: (major, minor) of the interpreter.
        python_include: Folder that should hold ``Python.h``.
        has_venv: Whether virtual environments can be made.
        find: Name of an executable -> its path, or None.
        environment: The environment variables.
    """

    system: str
    architecture: str
    glibc: tuple[int, ...]
    python: tuple[int, int]
    python_include: Path
    has_venv: bool
    find: Callable[[str], str | None]
    environment: dict[str, str]

    @staticmethod
    def here() -> Machine:
        """Describe the machine and the interpreter this runs on."""
        library, version = platform.libc_ver()
        return Machine(
            system=sys.platform,
            architecture=platform.machine(),
            glibc=tuple(map(int, version.split("."))) if library == "glibc" else (),
            python=(sys.version_info.major, sys.version_info.minor),
            python_include=Path(sysconfig.get_path("include")),
            has_venv=all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")),
            find=shutil.which,
            environment=dict(os.environ),
        )


def problems(machine: Machine) -> list[str]:
    """List everything that is missing.

    Args:
        machine: The machine to check.

    Returns:
        One line per problem, with its remedy; empty if the project can be set up.
    """
    checks = (platform_problem, venv_problem, headers_problem, compiler_problem, make_problem)
    return [line for check in checks if (line := check(machine))]


def platform_problem(machine: Machine) -> str:
    """Check the system, the processor and the C library."""
    if machine.system != "linux" or machine.architecture != "x86_64":
        return (
            "Linux on x86_64 is needed, because ROS 2 comes as wheels for it alone; this is "
            f"{machine.system} on {machine.architecture}: use such a machine, or a ROS 2 "
            "installation with `colcon build`"
        )
    if machine.glibc < OLDEST_GLIBC:
        oldest = ".".join(map(str, OLDEST_GLIBC))
        found = ".".join(map(str, machine.glibc)) or "another C library"
        return (
            f"glibc {oldest} or newer is needed, this system has {found}: "
            "use Debian 12, Ubuntu 22.04 or newer"
        )
    return ""


def venv_problem(machine: Machine) -> str:
    """Check that virtual environments can be made."""
    if machine.has_venv:
        return ""
    return f"the venv module of Python is missing: `sudo apt install {_python(machine)}-venv`"


def headers_problem(machine: Machine) -> str:
    """Check that extension modules can be compiled for this Python."""
    if (machine.python_include / "Python.h").is_file():
        return ""
    return (
        f"the headers of Python are missing ({machine.python_include}/Python.h): "
        f"`sudo apt install {_python(machine)}-dev`"
    )


def compiler_problem(machine: Machine) -> str:
    """Check that there are a C and a C++ compiler."""
    compilers = (("C", "CC", ("cc", "gcc", "clang")), ("C++", "CXX", ("c++", "g++", "clang++")))
    for language, variable, names in compilers:
        if chosen := machine.environment.get(variable, "").split():
            if not machine.find(chosen[0]):
                return f"the compiler {variable}={chosen[0]} does not exist: unset {variable}"
        elif not any(map(machine.find, names)):
            return f"no {language} compiler was found: `sudo apt install build-essential`"
    return ""


def make_problem(machine: Machine) -> str:
    """Check that there is make, which CMake drives."""
    return "" if machine.find("make") else "make was not found: `sudo apt install make`"


def _python(machine: Machine) -> str:
    """Return the name of Debian's package of this Python."""
    return "python{}.{}".format(*machine.python)
