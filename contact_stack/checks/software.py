"""Which software is installed, in which version."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from contact_stack.checks.check import SET_UP, Check, Status

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
    Library("pydrake", "drake", "no contact-rich planning, and no oracle in the tests"),
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
        return Check("Python", Status.OK, found)
    wanted = f"{'.'.join(map(str, low))} to {'.'.join(map(str, high))}"
    return Check("Python", Status.FAIL, found, f"install Python {wanted} and {SET_UP}")


def _library(library: Library) -> Check:
    # Found but not imported: importing all of them would take seconds.
    if importlib.util.find_spec(library.module) is None:
        status = Status.WARN if library.missing else Status.FAIL
        return Check(library.module, status, library.missing or "not installed", SET_UP)
    try:
        version = importlib.metadata.version(library.distribution)
    except importlib.metadata.PackageNotFoundError:
        version = "version unknown"  # installed by the system's packages
    return Check(library.module, Status.OK, version)


def _ros() -> Check:
    try:
        import rclpy
        from rclpy.utilities import get_rmw_implementation_identifier

        middleware = get_rmw_implementation_identifier()
    except Exception as error:  # a broken installation fails in many ways
        found = f"cannot import rclpy: {_first_line(error)}"
        return Check("ROS 2", Status.FAIL, found, _ros_remedy())
    return Check("ROS 2", Status.OK, f"rclpy at {os.path.dirname(rclpy.__file__)}, {middleware}")


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
        return Check(
            name,
            Status.FAIL,
            f"{sourced[0]} is sourced, but rclpy is the one in {sys.prefix}",
            "open a terminal in which no ROS is sourced",
        )
    return Check(name, Status.OK, "no other installation is sourced")


def _messages(module: str) -> Check:
    name = module.split(".")[0]
    try:
        importlib.import_module(module)
    except Exception as error:  # also a library built for another version
        return Check(name, Status.FAIL, f"cannot import: {_first_line(error)}", SET_UP)
    return Check(name, Status.OK, "installed")


def _launcher() -> Check:
    spec = importlib.util.find_spec("launch_ros")
    if spec is not None and spec.origin is not None:
        return Check("launcher", Status.OK, "launch_ros")
    return Check("launcher", Status.OK, "our own (launch_ros is not installed)")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
