"""Files of the package, files that are there as a whole or not at all, and where to cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from contact_core.base.errors import ConfigError


@contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """Write a file beside its place, which it takes at the end of the block.

    Args:
        path: Its place; what was there stays until then, and after an error. A link stays one, to
            the new file, and a pipe or device is written to.

    Yields:
        Where to write it.

    Raises:
        OSError: If it cannot be written.
    """
    if is_stream(path):
        yield path
        return
    place = Path(os.path.realpath(path))
    # Several processes may write the same file; the last one stays.
    unfinished = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        yield unfinished
        unfinished.replace(place)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def is_stream(path: Path) -> bool:
    """Return whether a file is a pipe, a device or an open one, such as ``/dev/fd/3``."""
    folder = Path(os.path.realpath(path.parent))
    system = folder == Path("/dev") or folder.is_relative_to("/proc")
    return path.exists() and not path.is_dir() and (system or not path.is_file())


def cache_folder(name: str) -> Path:
    """Return where to keep what can be computed again; the folder need not exist.

    Args:
        name: What is kept there.

    Returns:
        A folder below ``XDG_CACHE_HOME``, or else ``~/.cache``.
    """
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "contact_stack" / name


def share(*parts: str) -> Path:
    """Locate a file of the package: in the checkout, or where ament installed it.

    Args:
        parts: Path below the share folder, e.g. ``"config", "scenes", "mug_placement.yaml"``.

    Returns:
        The path; it exists.

    Raises:
        ConfigError: If no share folder holds the file.
    """
    found = find_shared(*parts)
    if found is None:
        roots = ", ".join(dict.fromkeys(map(str, _share_folders())))
        raise ConfigError(f"cannot find {Path(*parts)} below any of: {roots}")
    return found


def find_shared(*parts: str) -> Path | None:
    """Locate a file of the package, as :func:`share` does.

    Returns:
        The path; None if no share folder holds the file.
    """
    paths = (root.joinpath(*parts) for root in _share_folders())
    return next((path for path in paths if path.exists()), None)


def _share_folders() -> list[Path]:
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    folders = [Path(prefix) / "share" / "contact_stack" for prefix in prefixes if prefix]
    return [Path(__file__).resolve().parents[2], *folders]
