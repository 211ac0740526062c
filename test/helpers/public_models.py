"""Robots that others have published on PyPI: the extra ``models`` installs them."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

# Distribution -> folder of its models below site-packages.
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


def folder(package: str) -> Path:
    """Return where a package keeps its models; the folder need not exist."""
    site = next(path for path in sys.path if path.endswith("site-packages"))
    return Path(site) / {**PACKAGES, **MJCF_PACKAGES}[package]


@cache
def urdfs(package: str) -> tuple[Path, ...]:
    """Return the URDFs of a package; none if it is not installed."""
    return tuple(sorted(folder(package).rglob("*.urdf")))


@cache
def mjcfs(package: str) -> tuple[Path, ...]:
    """Return the MJCFs of a package, parts of others among them; none if it is not installed."""
    files = sorted(folder(package).rglob("*.xml"))
    return tuple(path for path in files if "<mujoco" in path.read_text(errors="ignore"))
