"""What a result depends on besides its arguments: sources, data and libraries, as one hash."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import re
import sys
from functools import cache
from pathlib import Path

import grimp

from contact_core.base.files import share
from contact_core.base.kernel_cache import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
COMPUTING = ("decomposition", "experiments", "tasks")
"""Extras with libraries that results depend on."""


@cache
def fingerprint(module: str) -> str:
    """Return a hash that changes with anything a function of a module may depend on.

    Args:
        module: Name of the module.

    Returns:
        Hash of the sources of the module and of all modules of the stack that it imports, however
        indirectly, of all parameters, scenes and descriptions, and of the versions of libraries. A
        module from elsewhere counts as one that imports the whole stack.
    """
    digest = hashlib.sha256(repr(versions()).encode())
    for path in sorted({*_sources(module), *_data()}):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python, and of the installed libraries that the stack requires."""
    found = {"python": platform.python_version()}
    for requirement in importlib.metadata.requires("contact_stack") or ():
        name = re.split(r"[^\w.-]", requirement)[0]
        extra = re.search(r"extra == ['\"](\w+)", requirement)
        if extra and extra[1] not in COMPUTING:
            continue
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _sources(module: str) -> set[Path]:
    graph = _imports()
    if module not in graph.modules:
        file = getattr(sys.modules.get(module), "__file__", None)
        return {_file(name) for name in graph.modules} | ({Path(file)} if file else set())
    wanted, seen = {module}, set[str]()
    while fresh := wanted - seen:
        seen |= fresh
        for name in fresh:
            wanted |= graph.find_modules_directly_imported_by(name)
            if _file(name).name == "__init__.py":
                # What a package offers may come from any module in it, imported at its first use.
                wanted |= graph.find_descendants(name)
    parents = {parent for name in seen for parent in _parents(name)}
    return {_file(name) for name in seen | parents}


@cache
def _imports() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def _parents(module: str) -> list[str]:
    names = module.split(".")
    return [".".join(names[:count]) for count in range(1, len(names))]


def _file(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _data() -> set[Path]:
    folders = share("config"), share("description")
    return {path for folder in folders for path in folder.rglob("*") if path.is_file()}
