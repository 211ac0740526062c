"""MCAP files that Foxglove, PlotJuggler and ros2 bag can read, with their message definitions."""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from mcap.writer import CompressionType, Writer

from contact_core.errors import CommunicationError


class McapRecorder:
    """An MCAP file that is open for writing.

    Use it as a context manager, so that the file ends well whatever happens.
    """

    def __init__(self, path: Path) -> None:
        """Create the file.

        Args:
            path: Where; an existing file is replaced.
        """
        self._file = path.open("wb")
        self._writer = Writer(self._file, compression=CompressionType.ZSTD)
        self._writer.start(profile="ros2", library="contact_stack")
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}

    def write(self, topic: str, message_type: type[Any], data: bytes, stamp_ns: int) -> None:
        """Append one message.

        Args:
            topic: Its topic.
            message_type: Its ROS type.
            data: The message, serialised as CDR.
            stamp_ns: Its time [ns].
        """
        if topic not in self._channels:
            self._channels[topic] = self._writer.register_channel(
                topic=topic, message_encoding="cdr", schema_id=self._schema(message_type)
            )
        self._writer.add_message(
            self._channels[topic], log_time=stamp_ns, publish_time=stamp_ns, data=data
        )

    def _schema(self, message_type: type[Any]) -> int:
        package, _, _ = message_type.__module__.partition(".")
        name = f"{package}/msg/{message_type.__name__}"
        if name not in self._schemas:
            self._schemas[name] = self._writer.register_schema(
                name=name, encoding="ros2msg", data=message_definition(name).encode()
            )
        return self._schemas[name]

    def close(self) -> None:
        """Finish the file."""
        self._writer.finish()
        self._file.close()

    def __enter__(self) -> Self:
        """Return the open recorder."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Finish the file, also after an error."""
        self.close()


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
