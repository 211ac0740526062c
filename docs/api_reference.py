"""Makes the API reference from the docstrings: a hook of mkdocs, and an extension of griffe."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "contact_core",
    "contact_ros",
    "tamsi_sim",
    "contact_aware_control",
    "irs_planner",
    "robust_planner",
    "contact_experiments",
    "contact_stack",
)
"""From the ground to the roof."""

ROLE = re.compile(r":\w+:`~?([^`<]+?)(?: <[^`]*>)?`")
CODE = re.compile(r"(`+[^`]*`+)")
BRACKET = re.compile(r"(?<!\\)\[")


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages; called by mkdocs.

    Args:
        files: Those of the documentation.
        config: Of mkdocs; without its ``extra.rooms`` the rooms' pages are only titles.

    Returns:
        The files, with a page per package and one per room or module right below it.
    """
    for package in PACKAGES:
        rooms = rooms_of(package)
        pages = {f"reference/{package}.md": package_page(package, rooms)}
        for room in rooms:
            module = f"{package}.{room}"
            text = room_page(module) if config.extra["rooms"] else f"# {module}\n"
            pages[f"reference/{package}/{room}.md"] = text
        for uri, content in pages.items():
            files.append(File.generated(config, uri, content=content))
    return files


def rooms_of(package: str) -> dict[str, str]:
    """List what lies right below a package.

    Args:
        package: Its name.

    Returns:
        Name of a module or subpackage -> first line of its docstring.
    """
    rooms = {}
    for path in sorted((ROOT / package).iterdir()):
        file = path / "__init__.py" if path.is_dir() else path
        if file.suffix == ".py" and file.is_file() and path.stem != "__init__":
            rooms[path.stem] = (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n")[0]
    return rooms


def package_page(package: str, rooms: dict[str, str]) -> str:
    """Return the page of a package: its public names, then where everything else is.

    Args:
        package: Its name.
        rooms: See :func:`rooms_of`.
    """
    rows = [
        f"| [`{package}.{room}`]({package}/{room}.md) | {readable(line)} |"
        for room, line in rooms.items()
    ]
    table = "\n".join(["| module | what is in it |", "|---|---|", *rows])
    return f"# {package}\n\n::: {package}\n    options:\n{HEADLESS}\n## Modules\n\n{table}\n"


HEADLESS = """      show_root_heading: false
      show_root_toc_entry: false
      show_submodules: false
"""


def room_page(module: str) -> str:
    """Return the page of a module, or of a subpackage with all that is in it.

    Args:
        module: Its full name.
    """
    return f"# {module}\n\n::: {module}\n    options:\n      show_root_heading: false\n"


class ReadableDocstrings(griffe.Extension):
    """Turns docstrings as we write them into Markdown."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite a docstring; called by griffe.

        Args:
            obj: Module, class, function or attribute.
            **kwargs: Unused.
        """
        if obj.docstring:
            obj.docstring.value = readable(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Do the same with a package, which is no object to griffe.

        Args:
            pkg: The package.
            **kwargs: Unused.
        """
        self.on_object(obj=pkg)


def readable(text: str) -> str:
    """Return a docstring as Markdown: roles become code, and units in brackets no links.

    Args:
        text: The docstring.
    """
    text = ROLE.sub(r"`\1`", text)
    parts = CODE.split(text)
    return "".join(part if CODE.match(part) else BRACKET.sub(r"\[", part) for part in parts)
