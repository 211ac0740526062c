"""Makes the virtual environment self-contained, every time one of its Pythons starts.

Copied into the environment, where ``contact_stack_environment.pth`` imports it. It runs before
the ROS wheels' own start-up file (these files run in the order of their names), which looks up
their libraries, puts them on LD_LIBRARY_PATH and executes the interpreter a second time. So
what is decided here holds for the second start:

* AMENT_PREFIX_PATH names the environment: nothing needs to be sourced.
* A sourced ROS installation is left out: its libraries and these cannot be mixed.
* If the wheels' note that their work is done was inherited without its LD_LIBRARY_PATH, or from
  another environment, the note is removed: their work is done again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping

WHEELS_ARE_READY = "_ROS_WHEELS_BOOTSTRAP_COMPLETE"
PATHS = ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "LD_LIBRARY_PATH", "PYTHONPATH")


def prepare(environment: MutableMapping[str, str], prefix: str) -> None:
    """Change environment variables so that the ROS of one virtual environment is used.

    Args:
        environment: The variables, changed in place.
        prefix: Folder of the virtual environment.
    """
    sourced = [path for path in _entries(environment, "AMENT_PREFIX_PATH") if path != prefix]
    if any(os.path.isdir(os.path.join(path, "share", "rclpy")) for path in sourced):
        for name in PATHS:
            kept = [path for path in _entries(environment, name) if not _inside(path, sourced)]
            _set(environment, name, kept)
        environment.pop(WHEELS_ARE_READY, None)
    if prefix not in _entries(environment, "AMENT_PREFIX_PATH"):
        _set(
            environment, "AMENT_PREFIX_PATH", [*_entries(environment, "AMENT_PREFIX_PATH"), prefix]
        )
    if os.path.join(prefix, "lib") not in _entries(environment, "LD_LIBRARY_PATH"):
        environment.pop(WHEELS_ARE_READY, None)


def _entries(environment: MutableMapping[str, str], name: str) -> list[str]:
    return [path for path in environment.get(name, "").split(os.pathsep) if path]


def _set(environment: MutableMapping[str, str], name: str, entries: list[str]) -> None:
    if entries:
        environment[name] = os.pathsep.join(entries)
    else:
        environment.pop(name, None)


def _inside(path: str, folders: list[str]) -> bool:
    return any(path == folder or path.startswith(folder + os.sep) for folder in folders)


if sys.prefix != sys.base_prefix:
    prepare(os.environ, sys.prefix)
