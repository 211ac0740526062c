"""Robot and object files: read leniently, and made independent of where they lie.

A URDF names its meshes relative to a ROS package, to itself or to the machine it was written
on; a MJCF includes other files besides. :func:`self_contained` looks for them once and writes
absolute paths, so that the text can be handed to anything else.
"""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

from contact_core.base.errors import ModelError
from contact_core.model.elements import check_elements, parse, place
from contact_core.model.extensions import read_extensions
from contact_core.model.sdf import SDF, sdf_to_urdf
from contact_core.model.vocabulary import REASONS, TABLES

# Schemes of a mesh's file name whose first part is the name of a package or model.
PACKAGE = re.compile(r"(?:package|model)://+([^/]+)/+(.+)")
FILE = "file://"
_SUBSTITUTION = re.compile(r"\$[({]")
MJCF = "mujoco"  # its root element
_INCLUDED = "mujocoinclude"  # that of a part of one


def self_contained(text: str, where: str, folder: Path, roots: Sequence[Path] = ()) -> str:
    """Return the text of a model with absolute paths to its meshes.

    A URDF loses foreign elements, a MJCF gets those that it includes, a SDF becomes a URDF. What is
    not read is a warning with its line.

    Args:
        text: The URDF, MJCF or SDF.
        where: What it is, for the error.
        folder: What relative paths start from, usually that of its file.
        roots: Folders to look into first, for relative paths and for packages.

    Returns:
        The text; the same one if there is nothing to change. Meshes that do not exist keep
        their names.

    Raises:
        ModelError: If it is not well-formed XML, is a xacro file, an extension of another program
            adds links or joints, an included file is missing, or it has what we cannot simulate.
    """
    robot = parse(text, where)
    _check_expanded(robot, where)
    if robot.tag in (MJCF, _INCLUDED):
        return _one_mjcf(robot, where, folder, roots)
    check_elements(robot, where, TABLES.get(robot.tag, {}), REASONS)
    if robot.tag == SDF:
        robot, changed = sdf_to_urdf(robot), True
    else:
        changed = read_extensions(robot, where)
    for mesh in robot.iter("mesh"):
        name = mesh.get("filename", "")
        found = find_mesh(name, folder, roots)
        if found is not None and str(found) != name:
            mesh.set("filename", str(found))
            changed = True
    return ElementTree.tostring(robot, encoding="unicode") if changed else text


def find_mesh(name: str, folder: Path, roots: Sequence[Path] = ()) -> Path | None:
    """Look for the file of a mesh.

    Args:
        name: ``package://NAME/PATH``, ``model://NAME/PATH``, ``file://PATH``, or a path.
        folder: What relative paths start from; a package is also looked for there and above.
        roots: Folders to look into first.

    Returns:
        The absolute path; None if there is no such file.
    """
    match = PACKAGE.fullmatch(name)
    if match:
        package, rest = match.groups()
        candidates = [place / rest for place in _places_of(package, folder, roots)]
    else:
        path = Path(name.removeprefix(FILE))
        # Joining an absolute path to a folder leaves it as it is.
        candidates = [place / path for place in (*roots, folder)]
    return next((path.resolve() for path in candidates if path.is_file()), None)


def _places_of(package: str, folder: Path, roots: Sequence[Path]) -> list[Path]:
    """Folders that may be a package: given, above the file, known to ROS."""
    resolved = [path.resolve() for path in (*roots, folder)]
    above = [path for start in resolved for path in (start, *start.parents)]
    listed = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    known = [Path(path) for path in listed if path]
    known += [Path(prefix) / "share" for prefix in prefixes if prefix]
    places = []
    for path in (*above, *known):
        if path.name == package:
            places.append(path)
        places.append(path / package)
    return places


def _one_mjcf(root: ElementTree.Element, where: str, folder: Path, roots: Sequence[Path]) -> str:
    """Return a MJCF with what it includes, and with absolute paths to its meshes."""
    if root.tag == _INCLUDED:
        raise ModelError(f"{where} is a part of a MJCF (valid: the file that includes it)")
    _include(root, where, [*roots, folder], ())
    check_elements(root, where, TABLES[MJCF], REASONS)
    settings = {k: v for e in root.findall("compiler") for k, v in e.attrib.items()}
    below = settings.get("meshdir", settings.get("assetdir", ""))
    for mesh in root.findall("asset/mesh"):
        name = mesh.get("file", "")
        if not name:
            continue
        mesh.set("name", mesh.get("name", Path(name).stem))
        name = Path(name).name if settings.get("strippath") == "true" else name
        found = find_mesh(name, folder / below, [*roots, *(place / below for place in roots)])
        mesh.set("file", str(found or name))
    for element in root.findall("compiler"):
        for key in ("meshdir", "assetdir", "strippath"):
            element.attrib.pop(key, None)
    return ElementTree.tostring(root, encoding="unicode")


def _include(
    element: ElementTree.Element, where: str, folders: Sequence[Path], within: tuple[Path, ...]
) -> None:
    """Put what other files hold in the place of the includes below an element."""
    children: list[ElementTree.Element] = []
    for child in element:
        if child.tag != "include":
            _include(child, where, folders, within)
            children.append(child)
            continue
        name = child.get("file", "")
        beside = [path.parent for path in within[-1:]]
        places = [folder / name for folder in (*folders, *beside)]
        path = next((place.resolve() for place in places if place.is_file()), None)
        if path is None:
            raise ModelError(f"{where}: cannot find the included file '{name}'")
        if path in within:
            raise ModelError(f"{where}: '{name}' includes itself")
        part = parse(path.read_text(), str(path))
        _include(part, where, folders, (*within, path))
        children += list(part)
    element[:] = children


def _check_expanded(root: ElementTree.Element, where: str) -> None:
    """Refuse a file that is written for xacro: without its macros it would be another model."""
    spaces = {key.partition(":")[2] for key, uri in root.attrib.items() if "xacro" in uri}
    for element in root.iter():
        prefix, colon, _ = element.tag.partition(":")
        named = element.tag if colon and prefix in {"xacro", *spaces} else ""
        for key, value in element.attrib.items():
            if _SUBSTITUTION.search(value):
                named = named or f"{element.tag} {key}='{value}'"
        if named:
            raise ModelError(
                f"{where}: {named} ({place(element, where)}) is written for xacro, which is not "
                "expanded here (valid: a URDF, made by `xacro FILE > robot.urdf` of ROS, or by "
                "`xacrodoc FILE -o robot.urdf` after `pip install xacrodoc`)"
            )
