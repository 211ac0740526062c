"""Which interface types are installed: versions and hashes, to compare between machines."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from contact_stack.launch.substitutions import ament_prefixes

PACKAGES = ("contact_stack_msgs", "control_msgs", "lbr_fri_idl", "tf2_msgs")
KINDS = ("msg", "srv", "action")
OWN_BUILD = "built_by_bootstrap"
"""A file beside the package's description if it was built from this repository."""


@dataclass(frozen=True)
class InterfaceType:
    """A type that goes over the wire.

    Attributes:
        name: For instance ``lbr_fri_idl/msg/LBRState``.
        hash: Its hash after REP-2011; nodes only talk to each other if it is the same.
    """

    name: str
    hash: str


@dataclass(frozen=True)
class InterfacePackage:
    """An installed package of interfaces.

    Attributes:
        name: Its name.
        version: Its version; that of upstream whose types ours are, where we built it.
        origin: Where it comes from.
        types: Its types, by name.
    """

    name: str
    version: str
    origin: str
    types: tuple[InterfaceType, ...]


def interface_packages() -> Iterator[InterfacePackage]:
    """Look up the packages of interfaces the stack uses, besides those of ROS itself.

    Yields:
        The packages that are installed.
    """
    for name in PACKAGES:
        for prefix in (*ament_prefixes(), Path(sys.prefix)):
            folder = prefix / "share" / name
            if (folder / "package.xml").is_file():
                yield _read(name, folder)
                break


def _read(name: str, folder: Path) -> InterfacePackage:
    version = ElementTree.parse(folder / "package.xml").findtext("version", "")
    own = (folder / OWN_BUILD).exists()
    files = sorted(file for kind in KINDS for file in (folder / kind).glob("*.json"))
    return InterfacePackage(
        name,
        version,
        "built from this repository" if own else f"installed in {folder.parents[1]}",
        tuple(_type(name, file) for file in files),
    )


def _type(package: str, file: Path) -> InterfaceType:
    """Read a type's hash from the description that the generators of ROS write."""
    name = f"{package}/{file.parent.name}/{file.stem}"
    hashes = json.loads(file.read_text())["type_hashes"]
    return InterfaceType(
        name, next(entry["hash_string"] for entry in hashes if entry["type_name"] == name)
    )
