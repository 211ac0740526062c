"""Which software is installed: Python, libraries, ROS, and the types that go over the wire.

And what pip has to install beside a ROS 2 of the system's packages, as one command.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shlex
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from contact_stack.checks import SET_UP, Check, CheckStatus
from contact_stack.launch.substitutions import ament_prefixes

PYTHON_VERSIONS = ((3, 11), (3, 13))
ROS_INSTALLATION = "/opt/ros"


@dataclass(frozen=True)
class Library:
    """A library the stack uses.

    Attributes:
        module: What Python imports.
        distribution: What pip installs.
        missing: What the stack cannot do without it; empty if it cannot run at all.
    """

    module: str
    distribution: str
    missing: str = ""


LIBRARIES = (
    Library("numpy", "numpy"),
    Library("scipy", "scipy"),
    Library("numba", "numba"),
    Library("yaml", "pyyaml"),
    Library("pinocchio", "pin"),
    Library("osqp", "osqp"),
    Library("matplotlib", "matplotlib", "no plots"),
    Library("mcap", "mcap", "no recordings"),
    Library("viser", "viser", "no view in the browser"),
    Library("google.protobuf", "protobuf", "no driver fri"),
    Library("casadi", "casadi", "no robust_planner"),
    Library("pydrake", "drake", "no engine drake, no SNOPT, and no oracle in the tests"),
)

MESSAGES = ("contact_stack_msgs.msg", "control_msgs.action", "lbr_fri_idl.msg", "tf2_msgs.msg")


def software() -> Iterator[Check]:
    """Check Python, the libraries, ROS and the message packages.

    Yields:
        The checks.
    """
    yield _python()
    yield from (_library(library) for library in LIBRARIES)
    yield _ros()
    yield _single_ros()
    yield from (_messages(module) for module in MESSAGES)
    yield _launcher()


def _python() -> Check:
    low, high = PYTHON_VERSIONS
    found = f"{platform.python_version()} at {sys.executable}"
    if low <= sys.version_info[:2] <= high:
        return Check.ok("Python", found)
    wanted = f"{'.'.join(map(str, low))} to {'.'.join(map(str, high))}"
    return Check.fail("Python", found, f"install Python {wanted} and {SET_UP}")


def _library(library: Library) -> Check:
    # Found but not imported: importing all of them would take seconds.
    *parents, _ = library.module.split(".")
    if not all(map(importlib.util.find_spec, (*parents, library.module))):
        status = CheckStatus.WARN if library.missing else CheckStatus.FAIL
        remedy = f"{SET_UP}; beside a ROS 2 of yours, `contact-stack doctor --install-hints`"
        return Check(library.module, status, library.missing or "not installed", remedy)
    try:
        version = importlib.metadata.version(library.distribution)
    except importlib.metadata.PackageNotFoundError:
        version = "version unknown"  # installed by the system's packages
    return Check.ok(library.module, version)


def _ros() -> Check:
    try:
        import rclpy
        from rclpy.utilities import get_rmw_implementation_identifier

        middleware = get_rmw_implementation_identifier()
    except Exception as error:  # a broken installation fails in many ways
        found = f"cannot import rclpy: {_first_line(error)}"
        return Check.fail("ROS 2", found, _ros_remedy())
    return Check.ok("ROS 2", f"rclpy at {os.path.dirname(rclpy.__file__)}, {middleware}")


def _ros_remedy() -> str:
    """Return the remedy for an rclpy that cannot be imported."""
    if os.environ.get("_ROS_WHEELS_BOOTSTRAP_COMPLETE") and not os.environ.get("LD_LIBRARY_PATH"):
        return "LD_LIBRARY_PATH was removed from the environment: open a new terminal"
    return f"{SET_UP}, or source your ROS 2 installation"


def _single_ros() -> Check:
    """Two installations of ROS in one process crash or mix their messages."""
    name = "one ROS only"
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    sourced = [prefix for prefix in prefixes if prefix.startswith(ROS_INSTALLATION)]
    spec = importlib.util.find_spec("rclpy")
    ours = spec is not None and (spec.origin or "").startswith(sys.prefix)
    if sourced and ours and sys.prefix != sys.base_prefix:
        return Check.fail(
            name,
            f"{sourced[0]} is sourced, but rclpy is the one in {sys.prefix}",
            "open a terminal in which no ROS is sourced",
        )
    return Check.ok(name, "no other installation is sourced")


def _messages(module: str) -> Check:
    name = module.split(".")[0]
    try:
        importlib.import_module(module)
    except Exception as error:  # also a library built for another version
        return Check.fail(name, f"cannot import: {_first_line(error)}", SET_UP)
    return Check.ok(name, "installed")


def _launcher() -> Check:
    spec = importlib.util.find_spec("launch_ros")
    if spec is not None and spec.origin is not None:
        return Check.ok("launcher", "launch_ros")
    return Check.ok("launcher", "our own (launch_ros is not installed)")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


PACKAGES = ("contact_stack_msgs", "control_msgs", "lbr_fri_idl", "tf2_msgs")
KINDS = ("msg", "srv", "action")
OWN_BUILD = "built_by_bootstrap"
"""A file beside the package's description if it was built from this repository."""


@dataclass(frozen=True)
class InterfaceType:
    """A type that goes over the wire.

    Attributes:
        name: For instance ``lbr_fri_idl/msg/LBRState``.
        hash: Its hash after REP-2011; nodes only talk to each other if it is the same.
    """

    name: str
    hash: str


@dataclass(frozen=True)
class InterfacePackage:
    """An installed package of interfaces.

    Attributes:
        name: Its name.
        version: Its version; that of upstream whose types ours are, where we built it.
        origin: Where it comes from.
        types: Its types, by name.
    """

    name: str
    version: str
    origin: str
    types: tuple[InterfaceType, ...]


def interface_packages() -> Iterator[InterfacePackage]:
    """Look up the packages of interfaces the stack uses, besides those of ROS itself.

    Yields:
        The packages that are installed.
    """
    for name in PACKAGES:
        for prefix in (*ament_prefixes(), Path(sys.prefix)):
            folder = prefix / "share" / name
            if (folder / "package.xml").is_file():
                yield _read(name, folder)
                break


def _read(name: str, folder: Path) -> InterfacePackage:
    version = ElementTree.parse(folder / "package.xml").findtext("version", "")
    own = (folder / OWN_BUILD).exists()
    files = sorted(file for kind in KINDS for file in (folder / kind).glob("*.json"))
    return InterfacePackage(
        name,
        version,
        "built from this repository" if own else f"installed in {folder.parents[1]}",
        tuple(_type(name, file) for file in files),
    )


def _type(package: str, file: Path) -> InterfaceType:
    """Read a type's hash from the description that the generators of ROS write."""
    name = f"{package}/{file.parent.name}/{file.stem}"
    hashes = json.loads(file.read_text())["type_hashes"]
    return InterfaceType(
        name, next(entry["hash_string"] for entry in hashes if entry["type_name"] == name)
    )


DISTRIBUTION = "contact_stack"
PLANNER_EXTRA = "robust"
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
    """Leave out extras but that of a planner, and what the system provides, not through pip."""
    chosen = []
    for requirement in requirements:
        text, _, marker = requirement.partition(";")
        name = re.split(r"[<>=!~ \[(]", text.strip())[0].lower()
        wanted = "extra" not in marker or f'"{PLANNER_EXTRA}"' in marker.replace("'", '"')
        if not wanted or _is_provided(name):
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
