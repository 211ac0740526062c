"""Packages on PyPI with robots and objects that others have published."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

# Distribution -> folder of its URDFs below site-packages: the extra ``models`` installs them.
PACKAGES = {
    "airo-models": "airo_models",
    "dexmate-urdf": "dexmate_urdf",
    "example-robot-data": "cmeel.prefix/share/example-robot-data/robots",
    "hello-robot-stretch-urdf": "stretch_urdf",
    "jvrc-description": "jvrc_description",
}
# The same for MJCF; those that need much else are not in the extra.
MJCF_PACKAGES = {
    "gymnasium": "gymnasium/envs/mujoco/assets",
    "dm-control": "dm_control",
    "gymnasium-robotics": "gymnasium_robotics/envs",
    "robosuite": "robosuite/models/assets",
}
_KINDS = {".urdf": "<robot", ".sdf": "<sdf", ".xml": "<mujoco"}


def folder(package: str) -> Path:
    """Return where a package keeps its models; the folder need not exist."""
    site = next(path for path in sys.path if path.endswith("site-packages"))
    return Path(site) / {**PACKAGES, **MJCF_PACKAGES}[package]


@cache
def urdfs(package: str) -> tuple[Path, ...]:
    """Return the URDFs of a package; none if it is not installed."""
    return tuple(sorted(folder(package).rglob("*.urdf")))


def models_in(root: Path) -> list[Path]:
    """Return all URDFs, SDFs and MJCFs in a folder, parts of MJCFs among them.

    Args:
        root: The folder; it need not exist.
    """
    found = (path for path in sorted(root.rglob("*")) if path.suffix in _KINDS)
    return [p for p in found if p.is_file() and _KINDS[p.suffix] in p.read_text(errors="ignore")]


def label(root: Path) -> str:
    """Return name and version of the package in a folder that pip has installed it into.

    Args:
        root: The folder; it is called by its own name if pip says nothing there.
    """
    names = [info.name.removesuffix(".dist-info") for info in sorted(root.glob("*.dist-info"))]
    return ", ".join(name.replace("-", " ").replace("_", "-") for name in names) or root.name
