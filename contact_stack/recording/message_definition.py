"""The self-contained text of a message definition, as MCAP files carry it."""

from __future__ import annotations

import re
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from contact_core.errors import CommunicationError

SEPARATOR = "=" * 80
BUILTIN_TYPES = frozenset(
    {"bool", "byte", "char", "string", "wstring", "float32", "float64"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)


def message_definition(message_type: str) -> str:
    """Return a definition followed by those of every type it is made of.

    Args:
        message_type: For instance ``"sensor_msgs/msg/JointState"``.

    Returns:
        The definitions, separated as the MCAP schema encoding "ros2msg" asks.

    Raises:
        CommunicationError: If a package or definition is not installed.
    """
    definitions: dict[str, str] = {}
    _collect(message_type.replace("/msg/", "/"), definitions)
    (_, own), *others = definitions.items()
    return "\n".join([own, *(f"{SEPARATOR}\nMSG: {name}\n{text}" for name, text in others)])


def _collect(name: str, definitions: dict[str, str]) -> None:
    package, message = name.split("/")
    try:
        path = Path(get_package_share_directory(package)) / "msg" / f"{message}.msg"
        definitions[name] = path.read_text()
    except (PackageNotFoundError, OSError) as error:
        raise CommunicationError(f"no definition of message type {name}: {error}") from error
    for line in definitions[name].splitlines():
        field = re.match(r"\s*([A-Za-z][\w/]*)", line)
        if field is None or field[1] in BUILTIN_TYPES:
            continue
        nested = field[1] if "/" in field[1] else f"{package}/{field[1]}"
        if nested not in definitions:
            _collect(nested, definitions)
