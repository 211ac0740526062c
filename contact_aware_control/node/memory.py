"""What an estimator leaves to the one that is started after it has died.

Without it the new one would begin with a tare, and take for a bias what presses on the arm
meanwhile. It is kept in a file while the node runs under a launch, which restarts it, and is gone
once the node or the launch has ended in an orderly way.
"""

from __future__ import annotations

import os
import sys
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from contact_core.base.files import cache_folder, replacement
from contact_ros.entry_point import LAUNCHED
from contact_ros.environment import DOMAIN

OLDEST = 600.0
"""What was kept longer ago is not believed: a bias drifts [s]."""


class EstimatorMemory:
    """Keeps some arrays for the next process of the same name that the same launch starts."""

    def __init__(self, name: str, fingerprint: str) -> None:
        """Find the file.

        Args:
            name: Of the node, with its namespace.
            fingerprint: Of the robot; what another one has left is not believed.
        """
        domain = os.environ.get(DOMAIN, "0")
        self._path = cache_folder("memory") / f"{domain}{name.replace('/', '_')}.npz"
        launched = LAUNCHED in os.environ and sys.platform == "linux"
        self._owner = f"{fingerprint} {_parent()}" if launched else ""

    def keep(self, values: Mapping[str, np.ndarray]) -> None:
        """Keep some arrays, in place of those before; a full disk is none of the node's business.

        Args:
            values: Name -> array.
        """
        if not self._owner:
            return
        stored: dict[str, Any] = {"owner": self._owner, "kept": _now(), **values}
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with replacement(self._path) as file, file.open("wb") as out:
                np.savez(out, **stored)

    def recall(self) -> tuple[dict[str, np.ndarray], float] | None:
        """Return what was kept, and how long ago [s]; None if there is nothing to be believed."""
        if not self._owner:
            return None
        try:
            with np.load(self._path, allow_pickle=False) as file:
                values = {name: file[name] for name in file.files}
            owner, age = str(values.pop("owner")), _now() - float(values.pop("kept"))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return (values, age) if owner == self._owner and 0.0 <= age <= OLDEST else None

    def forget(self) -> None:
        """Leave nothing: the node ends as it should."""
        if self._owner:
            with suppress(OSError):
                self._path.unlink()


def _now() -> float:
    """Return a clock that goes on while the machine sleeps, and is never set [s]."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _parent() -> str:
    """Return what no other process that starts nodes is: the parent's number and begin."""
    number = os.getppid()
    stat = Path(f"/proc/{number}/stat").read_text()
    return f"{number} {stat.rpartition(')')[2].split()[19]}"
