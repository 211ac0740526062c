"""Files that are there as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """Write a file beside its place, which it takes at the end of the block.

    Args:
        path: Its place; what was there stays until then, and after an error.

    Yields:
        Where to write it.

    Raises:
        OSError: If it cannot be written.
    """
    unfinished = path.with_name(f"{path.name}.part")
    try:
        yield unfinished
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
