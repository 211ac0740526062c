"""MCAP files that Foxglove, PlotJuggler and ros2 bag can read, with their message definitions.

A recording is written in chunks, each as soon as it is full. Whatever ends it early leaves whole
chunks: a full disk a file with an end but without an index, a killed process one without its end.
:func:`recover` copies both.
"""

from __future__ import annotations

import argparse
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from mcap.data_stream import RecordBuilder
from mcap.exceptions import McapError
from mcap.records import Channel, DataEnd, Footer, McapRecord, Message, Metadata, Schema
from mcap.stream_reader import StreamReader
from mcap.writer import MCAP0_MAGIC, CompressionType, Writer
from zstandard import ZstdError

from contact_core.base.errors import CommunicationError, ConfigError
from contact_core.base.waiting import waiting_for

CHUNK_SIZE = 256 * 1024
"""How much of the messages a killed process takes with it [bytes]."""

DAMAGED = (McapError, ZstdError, struct.error, ValueError)
"""What reading beyond the last whole record raises."""


class McapRecorder:
    """An MCAP file that is open for writing.

    Use it as a context manager, so that the file ends well whatever happens. Where it cannot go
    on, as on a full disk, the recording stops; what is recorded goes on.

    Attributes:
        failure: Why it stopped; empty while it has not.
        warn: Takes that as a line, once.
    """

    def __init__(self, path: Path) -> None:
        """Create the file.

        Args:
            path: Where; an existing file is replaced.
        """
        self.failure = ""
        self.warn: Callable[[str], object] = print
        self._path = path
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._output = _WholeRecords(path)
        self._writer = Writer(self._output, CHUNK_SIZE, CompressionType.ZSTD)  # type: ignore[arg-type]
        self._attempt(lambda: self._writer.start(profile="ros2", library="contact_stack"))

    def write(self, topic: str, message_type: type[Any], data: bytes, stamp_ns: int) -> None:
        """Append one message.

        Args:
            topic: Its topic.
            message_type: Its ROS type.
            data: The message, serialised as CDR.
            stamp_ns: Its time [ns].
        """
        self._attempt(lambda: self._append(topic, message_type, data, stamp_ns))

    def describe(self, name: str, values: Mapping[str, str]) -> None:
        """Say something of the whole recording.

        Args:
            name: What it is about.
            values: What is said of it.
        """
        self._attempt(lambda: self._writer.add_metadata(name, dict(values)))

    def _append(self, topic: str, message_type: type[Any], data: bytes, stamp_ns: int) -> None:
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
        self._attempt(self._writer.finish)
        self._output.close()

    def _attempt(self, action: Callable[[], object]) -> None:
        """Do something that writes; at the first error end the file and leave it alone."""
        if self.failure:
            return
        try:
            action()
        except OSError as error:
            self.failure = f"the recording {self._path} stops: {error.strerror}"
            # An end without an index; it finds room in what the unfinished record leaves.
            end = RecordBuilder()
            DataEnd(data_section_crc=0).write(end)
            Footer(summary_start=0, summary_offset_start=0, summary_crc=0).write(end)
            with suppress(OSError):
                self._output.write(end.end() + MCAP0_MAGIC)
            self.warn(self.failure)

    def __enter__(self) -> Self:
        """Return the open recorder."""
        return self

    def __exit__(self, *error: object) -> None:
        """Finish the file, also after an error."""
        self.close()


class _WholeRecords:
    """A file that holds either all of what is written at once, or nothing of it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        self._size = 0

    def write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with suppress(OSError):
                self._file.seek(self._size)
                self._file.truncate()
            raise
        self._size += len(data)

    def tell(self) -> int:
        return self._size

    def close(self) -> None:
        self._file.close()


def read_recording(path: Path) -> Iterator[McapRecord]:
    """Read a recording as far as it is whole.

    Args:
        path: The file.

    Yields:
        Its records in order; the last is a Footer only if the file has its end.

    Raises:
        ConfigError: If the file cannot be read, or is no recording at all.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
                raise ConfigError(f"{path} is no MCAP recording")
            file.seek(0)
            records = StreamReader(file, validate_crcs=True).records
            with suppress(*DAMAGED):
                for record in records:
                    if isinstance(record, Footer):
                        next(records, None)  # reads the last bytes of the end
                    yield record
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error


def recover(source: Path, target: Path) -> int | None:
    """Copy a recording that has no end, or no index, up to its last whole chunk.

    Args:
        source: The recording.
        target: The copy, with an index and an end; not written if the source has them.

    Returns:
        The number of messages that were copied; None if there was nothing to recover.

    Raises:
        ConfigError: If the source cannot be read or is no recording at all, or the target
            exists or cannot be written.
    """
    schemas: dict[int, int] = {0: 0}
    channels: dict[int, int] = {}
    messages = 0
    record: McapRecord | None = None
    with _new_file(target) as file:
        writer = Writer(file)
        writer.start(profile="ros2", library="contact_stack")
        for record in read_recording(source):
            if isinstance(record, Schema) and record.id not in schemas:
                schemas[record.id] = writer.register_schema(
                    record.name, record.encoding, record.data
                )
            elif isinstance(record, Channel) and record.id not in channels:
                channels[record.id] = writer.register_channel(
                    record.topic, record.message_encoding, schemas[record.schema_id]
                )
            elif isinstance(record, Message):
                writer.add_message(
                    channels[record.channel_id], record.log_time, record.data, record.publish_time
                )
                messages += 1
            elif isinstance(record, Metadata):
                writer.add_metadata(record.name, record.metadata)
        writer.finish()
    if isinstance(record, Footer) and record.summary_start:
        target.unlink()
        return None
    return messages


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """Create a file that is removed again after an error."""
    try:
        with path.open("xb") as file:
            try:
                yield file
            except BaseException:
                path.unlink()
                raise
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from error


EPILOG = """examples:
  contact-stack recover out/mug_placement/qp.mcap
  contact-stack recover run.mcap --out whole.mcap

A recording whose process was killed has no end, one whose disk was full no index, and many
programs refuse it. The copy has everything up to the last whole chunk."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of ``contact-stack recover``.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("file", type=Path, metavar="FILE", help="recording (.mcap)")
    parser.add_argument(
        "--out", type=Path, default=None, help="the copy (default FILE_recovered.mcap)"
    )


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0.

    Raises:
        ConfigError: If the file cannot be read, or is no recording at all.
    """
    copy = args.out or args.file.with_stem(f"{args.file.stem}_recovered")
    with waiting_for(f"copy {args.file.name}"):
        messages = recover(args.file, copy)
    if messages is None:
        print(f"{args.file} is whole")
    else:
        print(f"{args.file} is not whole; its {messages} messages are in {copy}")
    return 0


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
