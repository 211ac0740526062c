"""Interface packages: messages, services and actions, generated and compiled into the venv."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bootstrap.step import Log


def interface_packages(root: Path) -> dict[str, Path]:
    """Find the interface packages of the repository.

    Args:
        root: Folder of the repository.

    Returns:
        Name -> folder: first the packages that stand in for those of a ROS installation, then
        our own.
    """
    stand_ins = sorted(path.parent for path in (root / "bootstrap/underlay").glob("*/package.xml"))
    return {**{folder.name: folder for folder in stand_ins}, "contact_stack_msgs": root / "msgs"}


def is_provided(name: str, venv: Path) -> bool:
    """Tell whether somebody else installed an interface package.

    Args:
        name: The package.
        venv: Folder of the virtual environment.

    Returns:
        True if the package is in the environment's index, though it was not built here.
    """
    marker = venv / "share/ament_index/resource_index/packages" / name
    return marker.exists() and not _note(name, venv).exists()


def build_interfaces(log: Log, name: str, folder: Path, root: Path, venv: Path) -> None:
    """Generate, compile and install one interface package.

    Args:
        log: Runs the commands.
        name: The package.
        folder: Folder of the package.
        root: Folder of the repository.
        venv: Folder of the virtual environment, where it is installed.
    """
    cmake = venv / "bin/cmake"
    build = root / "build" / name
    shutil.rmtree(build, ignore_errors=True)
    log.run(
        *(cmake, "-S", folder, "-B", build, "-Wno-dev"),
        f"-DCMAKE_PREFIX_PATH={venv}",
        f"-DCMAKE_INSTALL_PREFIX={venv}",
        f"-DPython3_EXECUTABLE={venv / 'bin/python3'}",
        f"-DCMAKE_PROJECT_INCLUDE={root / 'bootstrap/python_interfaces.cmake'}",
        "-DBUILD_TESTING=OFF",
    )
    log.run(cmake, "--build", build, "--parallel", str(os.cpu_count() or 1))
    _note(name, venv).parent.mkdir(parents=True, exist_ok=True)
    _note(name, venv).touch()
    log.run(cmake, "--install", build)


def _note(name: str, venv: Path) -> Path:
    """Return the file that says that a package was built here."""
    return venv / "share" / name / "built_by_bootstrap"
