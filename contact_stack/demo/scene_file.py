"""Scenes of the project with some values changed, as files for the simulator's node."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from contact_core.description import share


def write_scene(scene: str, path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Write a scene with other values.

    Args:
        scene: Its name, a file of config/scenes.
        path: The file to write.
        change: Called with the scene's values, which it changes.

    Returns:
        The file, as an absolute path.
    """
    values = yaml.safe_load(share("config", "scenes", f"{scene}.yaml").read_text())
    change(values)
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return path.resolve()
