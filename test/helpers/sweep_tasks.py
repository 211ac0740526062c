"""Tasks for tests of sweeps, in a module that workers can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np


def draw(seed: int) -> np.ndarray:
    """Return numbers that depend on nothing but a seed."""
    matrix = np.random.default_rng(seed).standard_normal((200, 200))
    return np.linalg.solve(matrix, matrix.T @ matrix)


def note(folder: Path, number: int) -> int:
    """Leave a mark, so that calls can be counted."""
    (folder / f"{number}_{os.getpid()}_{time.monotonic_ns()}").touch()
    return number**2


def owned(number: int) -> int:
    """Return what the plugin has set."""
    from contact_core.base import sweep

    return number * sweep.OWN  # type: ignore[attr-defined]


def kill_the_first(folder: Path, number: int) -> int:
    """End the process of the first task that begins, as a crash would; only once."""
    try:
        (folder / "killed").touch(exist_ok=False)
    except FileExistsError:
        time.sleep(0.2)
        return number**2
    os.kill(os.getpid(), signal.SIGKILL)
    return -1


def slow_note(folder: Path, number: int) -> int:
    """Take a while."""
    time.sleep(0.2)
    return note(folder, number)


def total(values: np.ndarray) -> float:
    """Add up numbers."""
    return float(values.sum())
