"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
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
    # Several processes may write the same file; the last one stays.
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield unfinished
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def cache_folder(name: str) -> Path:
    """Return where to keep what can be computed again; the folder need not exist.

    Args:
        name: What is kept there.

    Returns:
        A folder below ``XDG_CACHE_HOME``, or else ``~/.cache``.
    """
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "contact_stack" / name
