"""The command line ``contact-stack``."""

from __future__ import annotations

import errno
import math
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stderr, suppress
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from contact_core.base.errors import ContactStackError
from contact_core.base.files import is_stream
from contact_core.base.results import STANDARD_OUTPUT, only_json
from contact_core.base.signals import stop_signals
from contact_stack.commands import build_parser
from contact_stack.help_texts import kept_help

EXIT_ERROR = 2

_ASSIGNMENT = re.compile(r"\w+:=")

ONE_WISH = 0.5
"""A signal that follows another sooner adds nothing to it [s]: a wrapper passes on what the
terminal has sent to everybody. Raised as well, it would break off the tidying of the first."""


class _Terminated(KeyboardInterrupt):
    """A signal that ends a command: Ctrl-C, SIGTERM or SIGHUP; holds its number."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: The arguments, by default those of the process.

    Returns:
        The exit code: that of the command, 2 after an error (one line on standard error),
        130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP, and 141 if nobody reads the output
        to its end.
    """
    _open_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    if len(words) > 1 and not words[1].startswith("-"):
        # Before Python 3.12 argparse takes no name:=value behind an option.
        words[2:] = sorted(words[2:], key=lambda word: _ASSIGNMENT.match(word) is None)
    terminate = _terminator()
    for number in stop_signals():
        signal.signal(number, terminate)
    if not sys.stderr.isatty():
        # A log needs no more of a progress bar than a line in ten seconds.
        os.environ.setdefault("TQDM_MININTERVAL", "10")
    try:
        _check_folder()
        if words[-1:] in (["-h"], ["--help"]) and (text := kept_help(words[:-1])):
            print(text, end="", flush=True)
            return 0
        with redirect_stderr(_Forgiving(sys.stderr)), _waiting_for_the_libraries():
            parser = build_parser(words)
        args, unknown = parser.parse_known_args(words)
        if unknown:
            # Its own parser knows which options the command has.
            args.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        _check_room(getattr(args, "out", None), getattr(args, "json", None))
        with only_json(getattr(args, "json", None)), redirect_stderr(_Forgiving(sys.stderr)):
            code = args.main(args)
        sys.stdout.flush()
    except ContactStackError as error:
        print(f"contact-stack: {error}", file=sys.stderr)
        return EXIT_ERROR
    except _Terminated as end:
        return 128 + int(end.args[0])
    except BrokenPipeError:
        # Whoever reads the output, such as head, has seen enough.
        _drop_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.filename is None and error.errno not in (errno.ENOSPC, errno.EBADF):
            raise
        # A file that a person has named, or a disk that is full.
        place = error.filename2 or error.filename or "the output"
        print(f"contact-stack: {place}: {error.strerror}", file=sys.stderr)
        if error.filename is None:
            _drop_output()
        return EXIT_ERROR
    except Exception as error:
        cause = _signal_behind(error)
        if cause is None:
            raise
        return 128 + int(cause.args[0])
    return int(code)


def _open_streams() -> None:
    """Open the standard streams that are closed, as of a daemon, to read and write nothing.

    Otherwise the next file that is opened has the number of one, and what is printed ends in it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _check_folder() -> None:
    """Check that there still is a current folder.

    Raises:
        ContactStackError: If it was removed.
    """
    try:
        os.getcwd()
    except FileNotFoundError:
        raise ContactStackError("the current folder is gone: change to another one") from None


def _drop_output() -> None:
    """Let what is not written yet go nowhere; Python would complain when it ends."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _signal_behind(error: BaseException | None) -> _Terminated | None:
    """Return the signal that is the cause of an error, as of a module that was being read."""
    while error is not None and not isinstance(error, _Terminated):
        error = error.__cause__ or error.__context__
    return error


def _waiting_for_the_libraries() -> AbstractContextManager[None]:
    # Progress bars ask the environment when they are imported, which is set by now.
    from contact_core.base.waiting import waiting_for

    if not sys.stderr.isatty():
        return nullcontext()  # A script takes what it reads there for an error.
    return waiting_for("load what this command needs")


def _check_room(out: Path | None, json: str | None) -> None:
    """Check that results can be written, before anything takes its time.

    Args:
        out: A folder, or a file in it, which has a suffix then; None if it is not given.
        json: What the option ``--json`` says.

    Raises:
        OSError: If a folder is not there and cannot be made, or a file is a folder.
    """
    folders = [] if out is None else [out.parent if out.suffix else out]
    if json not in (None, STANDARD_OUTPUT):
        if Path(json).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), json)
        if not is_stream(Path(json)):
            folders.append(Path(os.path.realpath(json)).parent)
    for folder in map(Path.absolute, folders):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if not there.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
        try:
            tempfile.TemporaryFile(dir=there).close()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(folder)) from error


class _Forgiving:
    """A stream that nobody may read any more; in a log progress bars are lines.

    A progress bar that fails while it is drawn keeps the lock of all bars, and the others wait.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._log = not stream.isatty()
        self._drawn = False

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(self._as_line(text) if self._log else text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def _as_line(self, text: str) -> str:
        """Return what is drawn over a line as one of its own, nothing where it is wiped out."""
        before, self._drawn = self._drawn, "\r" in text
        if self._drawn:
            line = text.rpartition("\r")[2].strip()
            return f"{line}\n" if line else ""
        # What ends the line of a bar.
        return "" if before and text == "\n" else text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _terminator() -> Callable[[int, FrameType | None], None]:
    """Return what answers the signals that end a command."""
    asked = -math.inf

    def terminate(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        before, asked = asked, time.monotonic()
        if asked - before < ONE_WISH:
            return
        # What a library was just making is half made, and complains when it is freed.
        sys.unraisablehook = lambda unraisable: None
        raise _Terminated(number)

    return terminate


if __name__ == "__main__":
    sys.exit(main())
