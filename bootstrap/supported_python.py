"""Which Python can run the project.

This file and ``__main__.py`` are read before anything is known about the interpreter, so they
use no syntax newer than Python 3.6.
"""

import shutil
from collections.abc import Callable

OLDEST = (3, 11)
NEWEST = (3, 13)


def problem(version: "tuple[int, ...]", find: "Callable[[str], str | None]" = shutil.which) -> str:
    """Say what is wrong with a version of Python.

    Args:
        version: (major, minor, ...) of the interpreter.
        find: Name of an executable -> its path, or None.

    Returns:
        One line with the remedy, or an empty string if the version is supported.
    """
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return ""
    wanted = "Python {}.{} to {}.{} is needed, this is {}.{}".format(*OLDEST, *NEWEST, *version[:2])
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        if find(f"python3.{minor}"):
            return wanted + f": run `make setup PYTHON=python3.{minor}`"
    return wanted + ": install python3.12 and run `make setup PYTHON=python3.12`"
