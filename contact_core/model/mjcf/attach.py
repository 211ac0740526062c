"""Models that a MJCF attaches, written into it: what they hold, with their names and classes."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Set
from pathlib import Path

from contact_core.base.errors import ModelError, ModelWarning, choices
from contact_core.model.elements import place
from contact_core.model.mjcf.document import COMPILER, MAIN

# Attributes that are names, or name something.
_NAMES = {
    "name", "class", "childclass", "joint", "joint1", "joint2", "jointinparent", "body", "body1",
    "body2", "geom", "geom1", "geom2", "site", "site1", "site2", "refsite", "slidersite",
    "cranksite", "tendon", "tendon1", "tendon2", "mesh", "hfield", "material", "texture", "target",
}  # fmt: skip
_MERGED = ("asset", "contact", "equality", "tendon", "actuator")
_WITHOUT_CLASS = {"exclude", "texture"}
# Settings of the compiler that are resolved when a file is read, or do not matter.
_APART = {"meshdir", "assetdir", "texturedir", "strippath", "usethread", "discardvisual"}


def attach_models(
    root: ElementTree.Element,
    where: str,
    load: Callable[[str], ElementTree.Element],
) -> None:
    """Put models in the place of the elements that attach them, as MuJoCo does.

    Their options are those of the whole, and their keyframes are not read, which a warning says.

    Args:
        root: Root element of the MJCF, changed.
        where: What it is, for errors and warnings.
        load: Returns the root element of a model's file, with what it attaches itself.

    Raises:
        ModelError: If there is no such model or body, or the settings of both differ.
    """
    files = {
        asset.get("name", Path(asset.get("file", "")).stem): asset.get("file", "")
        for asset in root.findall("asset/model")
    }
    for parent in list(root.iter()):
        for number, element in enumerate(list(parent)):
            if element.tag == "attach":
                spot = f"{where}: attach ({place(element, where)})"
                name = element.get("model", "")
                if name not in files:
                    raise ModelError(f"{spot}: no model '{name}' ({choices(files)})")
                parent[number] = _attached(root, element, load(files[name]), spot)


def _attached(
    root: ElementTree.Element,
    element: ElementTree.Element,
    model: ElementTree.Element,
    spot: str,
) -> ElementTree.Element:
    """A frame with the bodies of a model; its other sections join those of the whole."""
    theirs, ours = (
        dict(_settings(model) - _settings(root)),
        dict(_settings(root) - _settings(model)),
    )
    if theirs or ours:
        raise ModelError(f"{spot}: its compiler has {theirs}, not {ours}")
    if any(child.tag != "default" for default in root.findall("default") for child in default):
        raise ModelError(f"{spot}: the main default has content (valid: classes)")
    if model.find("keyframe") is not None:
        warnings.warn(f"{spot}: its keyframes are not read", ModelWarning, stacklevel=5)
    prefix = element.get("prefix", "")
    for part in model.iter():
        for key in _NAMES & part.attrib.keys():
            part.set(key, prefix + part.get(key, ""))
    main = f"{prefix}{MAIN} of {element.get('model')}"
    for part in model.iter():
        for key in ("class", "childclass"):
            if part.get(key) == prefix + MAIN:
                part.set(key, main)
    default = ElementTree.SubElement(_section(root, "default"), "default", {"class": main})
    for known in model.findall("default"):
        default.extend(known)
    for tag in _MERGED:
        for child in (child for section in model.findall(tag) for child in section):
            if child.tag not in _WITHOUT_CLASS:
                child.set("class", child.get("class", main))
            _section(root, tag).append(child)
    frame = ElementTree.Element("frame", childclass=main)
    world = [child for section in model.findall("worldbody") for child in section]
    body = element.get("body")
    if body is not None:
        bodies = {part.get("name"): part for top in world for part in top.iter("body")}
        if prefix + body not in bodies:
            raise ModelError(f"{spot}: no body '{body}' in its model")
        world = [bodies[prefix + body]]
    frame.extend(world)
    return frame


def _section(root: ElementTree.Element, tag: str) -> ElementTree.Element:
    found = root.find(tag)
    return ElementTree.SubElement(root, tag) if found is None else found


def _settings(root: ElementTree.Element) -> Set[tuple[str, str]]:
    """What a compiler does that changes what the file means."""
    said = {k: v for compiler in root.findall("compiler") for k, v in compiler.attrib.items()}
    return {key: value for key, value in {**COMPILER, **said}.items() if key not in _APART}.items()
