"""A maker's model: where it is, and its text as one URDF with absolute paths to its meshes."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path

from contact_core.base.errors import ConfigError, ModelError, ModelWarning, choices
from contact_core.base.lazy import pip_install
from contact_core.model.elements import parse, read_text
from contact_core.model.model_file import MJCF, self_contained
from contact_core.model.vocabulary import TABLES
from contact_core.model.xacro import SUFFIX, expand
from contact_stack.arm_import.from_mjcf import MjcfArm, urdf_of_mjcf

_SUFFIXES = {".urdf", ".xml", ".sdf", SUFFIX}
_ROOT = re.compile(r"<(robot|mujoco|sdf)\b")
_HEAD = 8192  # characters in which a model's root element comes
_SHOWN = 20  # models of a package that an error lists


@dataclass
class ModelSource:
    """A model as it was found.

    Attributes:
        path: Its file.
        robot: Root element of the URDF that it is, or becomes.
        is_mjcf: Whether it is a MJCF, whose geoms have a density of their own.
        mjcf: What a MJCF says and a URDF cannot; empty for all others.
        notes: What is not read, or read differently.
    """

    path: Path
    robot: ElementTree.Element
    is_mjcf: bool = False
    mjcf: MjcfArm = field(default_factory=MjcfArm)
    notes: list[str] = field(default_factory=list)


def find_model(name: str) -> Path:
    """Find a model's file.

    Args:
        name: A path, or ``PACKAGE:NAME`` of an installed package, where NAME is that of a file
            without its ending, of a folder above it, or the end of its path.

    Returns:
        The file.

    Raises:
        ConfigError: If there is none, or several; the message lists them.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return path.absolute()
    package, colon, wanted = name.partition(":")
    if not colon or (not package.isidentifier() and "-" not in package):
        raise ConfigError(f"no file {name} (valid: a path, or PACKAGE:NAME of an installed one)")
    models = list(_models(package))
    if not models:
        raise ConfigError(
            f"package '{package}' is not installed, or has no models; example-robot-data and "
            f"others have: {pip_install('models')}"
        )
    word = wanted.strip("/").lower()
    for rank in (_ends, _is_named, _is_within, _holds):
        found = [path for path, inside in models if word and rank(inside.lower(), word)]
        # A xacro file beside what it was expanded to is the same model again.
        found = [path for path in found if path.suffix != SUFFIX] or found
        if len(found) == 1:
            return found[0]
        if found:
            models = [(path, inside) for path, inside in models if path in found]
            break
    inside = sorted(inside for _, inside in models)
    more = f" and {len(inside) - _SHOWN} more" if len(inside) > _SHOWN else ""
    raise ConfigError(
        f"'{wanted}' is no single model of package '{package}' ({choices(inside[:_SHOWN])}{more})"
    )


def _ends(inside: str, word: str) -> bool:
    return f"/{inside}".endswith(f"/{word}")


def _is_named(inside: str, word: str) -> bool:
    return inside.rpartition("/")[2].partition(".")[0] == word


def _is_within(inside: str, word: str) -> bool:
    return word in inside.split("/")[:-1] or f"{word}_description" in inside.split("/")[:-1]


def _holds(inside: str, word: str) -> bool:
    return word in inside


def _models(package: str) -> Iterator[tuple[Path, str]]:
    """Yield the models of an installed package, and their paths within it."""
    spec = find_spec(package.replace("-", "_"))
    folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    paths = [(path, folder) for folder in folders for path in sorted(folder.rglob("*"))]
    if not any(path.suffix in _SUFFIXES for path, _ in paths):
        try:
            listed = files(package) or []
        except PackageNotFoundError:
            listed = []
        paths = [(Path(str(file.locate())), Path(str(file.locate())[: -len(str(file))]))
                 for file in listed]  # fmt: skip
    for path, folder in paths:
        if path.suffix in _SUFFIXES and path.is_file():
            with path.open(errors="replace") as stream:
                if _ROOT.search(stream.read(_HEAD)):
                    yield path, path.relative_to(folder).as_posix()


def read_source(
    path: Path, roots: Sequence[Path] = (), arguments: Mapping[str, str] | None = None
) -> ModelSource:
    """Read a model.

    Args:
        path: A URDF, xacro, MJCF or SDF file.
        roots: Folders in which packages and meshes are looked for first.
        arguments: Arguments of a xacro file.

    Raises:
        ModelError: If it cannot be read, or has what we cannot simulate.
        ConfigError: If arguments are given to what is no xacro file, or has none of that name.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        text = read_text(path)
        if path.suffix == SUFFIX or "xmlns:xacro" in text[:_HEAD]:
            text = expand(path, roots, arguments)
        elif arguments:
            raise ConfigError(f"{path.name} is no xacro file, so it has no arguments")
        text = self_contained(text, str(path), path.parent, roots)
        robot, mjcf = parse(text, str(path)), MjcfArm()
        if robot.tag not in TABLES:
            raise ModelError(f"{path.name} begins with <{robot.tag}> ({choices(TABLES)})")
        is_mjcf = robot.tag == MJCF
        if is_mjcf:
            robot, mjcf = urdf_of_mjcf(text, path.stem)
    notes = [str(item.message) for item in caught if issubclass(item.category, ModelWarning)]
    return ModelSource(path, robot, is_mjcf, mjcf, notes)
