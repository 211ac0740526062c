"""Xacro files, which makers write robots in: expanded to the URDF that they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contact_core.base.errors import ConfigError, ModelError, choices
from contact_core.base.lazy import needs
from contact_core.model.model_file import package_folders

SUFFIX = ".xacro"


def expand(
    path: Path, roots: Sequence[Path] = (), arguments: Mapping[str, str] | None = None
) -> str:
    """Return the URDF that a xacro file means, with its includes.

    Args:
        path: The file.
        roots: Folders in which the packages of ``$(find NAME)`` are looked for first; else they are
            those above the file, and those that ROS knows.
        arguments: Values of its ``xacro:arg``.

    Raises:
        ContactStackError: If the library xacro is not installed.
        ConfigError: If there is no such argument; the message lists those that there are.
        ModelError: If the file cannot be expanded; the message says why.
    """
    with needs("xacro"):
        import xacro
        from xacro import substitution_args

    def find(package: str) -> str:
        for place in package_folders(package, path.absolute().parent, roots):
            if place.is_dir():
                return str(place)
        raise ModelError(
            f"no package '{package}' (valid: a folder of that name, or whose package.xml has it, "
            "above the file, below a package path that is given, or known to ROS)"
        )

    asked = _Arguments(arguments or {})
    try:
        with _finding(substitution_args, find):
            document = xacro.process_file(str(path), mappings=asked)
    except Exception as error:  # What a file's expressions evaluate to may raise anything.
        # What is raised while it looks for a package, xacro says twice, and of what class it is.
        own = getattr(error, "exc", None)
        reason = " ".join(str(own if isinstance(own, ModelError) else error).split())
        reason = reason or type(error).__name__
        raise ModelError(f"{path}: xacro cannot expand it: {reason}") from error
    for name in arguments or {}:
        if name not in asked.read:
            raise ConfigError(
                f"{path.name} has no argument '{name}' ({choices(sorted(asked.read), name)})"
            )
    text: str = document.toprettyxml(indent=" ")
    return text


class _Arguments(dict[str, str]):
    """Arguments of a xacro file.

    Attributes:
        read: Those that the file and its includes declare or use.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.read: set[str] = set()

    def __contains__(self, name: object) -> bool:
        # Xacro asks before it takes the default of a xacro:arg.
        self.read.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        value = super().__getitem__(name)
        self.read.add(name)
        return value


@contextmanager
def _finding(substitution_args: Any, find: Callable[[str], str]) -> Iterator[None]:
    """Let xacro find packages without ROS, whose index is all that it asks."""
    before = substitution_args._eval_find
    substitution_args._eval_find = substitution_args._eval_dict["find"] = find
    try:
        yield
    finally:
        substitution_args._eval_find = substitution_args._eval_dict["find"] = before
