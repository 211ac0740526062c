"""Tells the ament index of the virtual environment about an editable installation.

pip knows nothing of the index, so what ``colcon build`` would copy is linked here. Changes of
launch files, configurations and descriptions therefore take effect at once; for a new file
``make setup`` is run again.
"""

from __future__ import annotations

import configparser
import shutil
from pathlib import Path

PACKAGE = "contact_stack"
SHARED = ("package.xml", "launch", "config", "description")


def link_package(root: Path, venv: Path) -> None:
    """Make the package visible to ``ros2 launch``, ``ros2 run`` and ``ament_index_python``.

    Args:
        root: Folder of the repository.
        venv: Folder of the virtual environment; the package is installed in it.
    """
    index = venv / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True, exist_ok=True)
    _link(index / PACKAGE, root / "resource" / PACKAGE)

    share = _empty_folder(venv / "share" / PACKAGE)
    for name in SHARED:
        for file in shared_files(root / name):
            link = share / file.relative_to(root)
            link.parent.mkdir(parents=True, exist_ok=True)
            _link(link, file)

    executables = _empty_folder(venv / "lib" / PACKAGE)
    for name in console_scripts(venv):
        _link(executables / name, venv / "bin" / name)


def shared_files(path: Path) -> list[Path]:
    """List the files that are linked, each by itself: `ros2 launch` enters no linked folder.

    Args:
        path: A file, or a folder.

    Returns:
        The file, or all files in the folder.
    """
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file())


def console_scripts(venv: Path) -> list[str]:
    """List the executables of the installed package.

    Args:
        venv: Folder of the virtual environment.

    Returns:
        Their names.
    """
    files = venv.glob(f"lib/python*/site-packages/{PACKAGE}-*.dist-info/entry_points.txt")
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(files)
    return sorted(parser["console_scripts"])


def _empty_folder(path: Path) -> Path:
    if path.is_dir():
        shutil.rmtree(path)
    path.mkdir(parents=True)
    return path


def _link(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)
