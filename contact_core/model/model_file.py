"""Robot and object files: read leniently, and made independent of where they lie.

A URDF names its meshes relative to a ROS package, to itself or to the machine it was written
on; a MJCF includes other files besides. :func:`self_contained` looks for them once and writes
absolute paths, so that the text can be handed to anything else.
"""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path

from contact_core.base.errors import ModelError
from contact_core.model.elements import check_elements, parse, place, read_text
from contact_core.model.extensions import check_numbers, read_extensions
from contact_core.model.mjcf.attach import attach_models
from contact_core.model.sdf import SDF, has_old_axes, says, sdf_to_urdf
from contact_core.model.urdf import make_readable
from contact_core.model.vocabulary import REASONS, TABLES

# Schemes of a mesh's file name whose first part is the name of a package or model.
PACKAGE = re.compile(r"(?:package|model)://+([^/]+)(?:/+(.+))?/*")
FILE = "file://"
_NAME = re.compile(r"<name>\s*(\S+)\s*</name>")
_LINES_WITHIN = re.compile(r"""=\s*("[^"]*[\t\r\n]|'[^']*[\t\r\n])""")
"""Attributes with other white space than blanks, which is none to the parser of URDFs."""
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
        return ElementTree.tostring(_one_mjcf(robot, where, folder, roots), encoding="unicode")
    if robot.tag == SDF:
        _include_models(robot, where, folder, roots, ())
    check_elements(robot, where, TABLES.get(robot.tag, {}), REASONS)
    if robot.tag == SDF:
        try:
            robot, changed = sdf_to_urdf(robot), True
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from error
        check_numbers(robot, where)
    else:
        # The parser of URDFs knows no entities.
        changed = read_extensions(robot, where) or "<!ENTITY" in text
        changed = changed or _LINES_WITHIN.search(text) is not None
    changed = make_readable(robot, where) or changed
    for mesh in robot.iter("mesh"):
        name = mesh.get("filename", "")
        found = find_mesh(name, folder, roots)
        if found is not None and str(found) != name:
            mesh.set("filename", str(found))
            changed = True
    return ElementTree.tostring(robot, encoding="unicode") if changed else text.lstrip()


def find_mesh(name: str, folder: Path, roots: Sequence[Path] = ()) -> Path | None:
    """Look for the file of a mesh.

    Args:
        name: ``package://NAME/PATH``, ``model://NAME/PATH``, ``file://PATH``, or a path.
        folder: What relative paths start from; a package is also looked for there and above.
        roots: Folders to look into first.

    Returns:
        The absolute path; None if there is no such file.
    """
    return next((path.resolve() for path in _found(name, folder, roots) if path.is_file()), None)


def _found(name: str, folder: Path, roots: Sequence[Path]) -> Iterator[Path]:
    """Where a file or folder may be, see :func:`find_mesh`."""
    match = PACKAGE.fullmatch(name)
    if match:
        package, rest = match.groups()
        return (place / (rest or "") for place in package_folders(package, folder, roots))
    path = Path(name.removeprefix(FILE))
    # Joining an absolute path to a folder leaves it as it is.
    return (place / path for place in (*roots, folder))


def package_folders(package: str, folder: Path, roots: Sequence[Path]) -> Iterator[Path]:
    """Folders that may be a package: given, above the file, known to ROS.

    They are called so, or their ``package.xml`` is.
    """
    resolved = [path.resolve() for path in (*roots, folder)]
    above = [path for start in resolved for path in (start, *start.parents)]
    listed = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    known = [Path(path) for path in listed if path]
    known += [Path(prefix) / "share" for prefix in prefixes if prefix]
    for path in (*above, *known):
        if path.name == package or _package_name(path) == package:
            yield path
        yield path / package
    for root in resolved[: len(roots)]:
        yield from (path for path in sorted(root.glob("*/")) if _package_name(path) == package)


def _package_name(folder: Path) -> str:
    """Name that a folder's ``package.xml`` says; empty without one."""
    manifest = folder / "package.xml"
    text = manifest.read_text(errors="replace") if manifest.is_file() else ""
    match = _NAME.search(text)
    return match[1] if match else ""


def _one_mjcf(
    root: ElementTree.Element,
    where: str,
    folder: Path,
    roots: Sequence[Path],
    within: tuple[Path, ...] = (),
) -> ElementTree.Element:
    """Return a MJCF with what it includes and attaches, and with absolute paths to its meshes."""
    if root.tag == _INCLUDED:
        raise ModelError(f"{where} is a part of a MJCF (valid: the file that includes it)")
    _include(root, where, [*roots, folder], ())
    check_elements(root, where, TABLES[MJCF], REASONS)

    def load(name: str) -> ElementTree.Element:
        path = next((p.resolve() for p in _found(name, folder, roots) if p.is_file()), None)
        if path is None or path in within:
            reason = "cannot find" if path is None else "it attaches itself:"
            raise ModelError(f"{where}: {reason} the attached file '{name}'")
        part = parse(read_text(path), str(path))
        _check_expanded(part, str(path))
        return _one_mjcf(part, str(path), path.parent, roots, (*within, path))

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
    attach_models(root, where, load)
    return root


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
        part = parse(read_text(path), str(path))
        _check_expanded(part, str(path))
        _include(part, where, folders, (*within, path))
        children += list(part)
    element[:] = children


def _include_models(
    element: ElementTree.Element,
    where: str,
    folder: Path,
    roots: Sequence[Path],
    within: tuple[Path, ...],
) -> None:
    """Put models of other files in the place of a SDF's includes."""
    for number, child in enumerate(element):
        if child.tag != "include":
            _include_models(child, where, folder, roots, within)
            continue
        uri, spot = (child.findtext("uri") or "").strip(), place(child, where)
        path = _file_of_model(uri, folder, roots)
        if path is None:
            raise ModelError(f"{where}: include '{uri}' ({spot}): cannot find it")
        if path in within or says(child, "merge"):
            wrong = "includes itself" if path in within else "is merged (valid: a model of its own)"
            raise ModelError(f"{where}: include '{uri}' ({spot}) {wrong}")
        check_elements(child, where, TABLES[SDF], REASONS)
        part = parse(read_text(path), str(path))
        _check_expanded(part, str(path))
        model = part.find("model")
        if part.tag != SDF or model is None:
            raise ModelError(f"{where}: include '{uri}' ({spot}): {path} has no model of a SDF")
        _include_models(part, str(path), path.parent, roots, (*within, path))
        for mesh in model.iter("uri"):
            mesh.text = str(find_mesh((mesh.text or "").strip(), path.parent, roots) or mesh.text)
        if has_old_axes(part):
            for axis in model.iter("axis"):
                ElementTree.SubElement(axis, "use_parent_model_frame").text = "1"
        _override(model, child)
        element[number] = model


def _file_of_model(uri: str, folder: Path, roots: Sequence[Path]) -> Path | None:
    """The SDF that a model's address means: itself, or the one that its folder's list names."""
    for path in _found(uri, folder, roots):
        if path.is_file():
            return path.resolve()
        listing = path / "model.config"
        if listing.is_file():
            files = [e.text or "" for e in parse(read_text(listing), str(listing)).iter("sdf")]
            path = path / (files[-1].strip() if files else "model.sdf")
            if path.is_file():
                return path.resolve()
    return None


def _override(model: ElementTree.Element, include: ElementTree.Element) -> None:
    """Say of a model what its include says: its name, where it is, whether it is static."""
    name, frame = include.findtext("name"), include.findtext("placement_frame")
    model.attrib |= {"name": name.strip()} if name else {}
    model.attrib |= {"placement_frame": frame.strip()} if frame else {}
    for tag in ("pose", "static"):
        given = include.find(tag)
        if given is not None:
            for old in model.findall(tag):
                model.remove(old)
            model.append(given)


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
