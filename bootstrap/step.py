"""Steps of the set-up: each is done once, and again only when its inputs change."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

IGNORED_FOLDERS = {"__pycache__"}


class StepError(Exception):
    """A command of a step returned an error."""


class Log:
    """Runs commands with their output in a file.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, environment: Mapping[str, str], show: Callable[[], None]):
        """Start an empty log.

        Args:
            path: The file.
            environment: Environment variables of the commands.
            show: Called about once a second while a command runs.
        """
        self.path = path
        self._environment = dict(environment)
        self._show = show
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    def run(self, *command: str | Path) -> None:
        """Run one command to its end.

        Args:
            command: The executable and its arguments.

        Raises:
            StepError: If it cannot be started or its exit code is not 0.
        """
        words = [str(word) for word in command]
        with self.path.open("a") as file:
            file.write("$ " + " ".join(words) + "\n")
            file.flush()
            try:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=self._environment,
                )
            except OSError as error:
                file.write(f"{words[0]}: {error.strerror}\n")
                raise StepError(words[0]) from error
            try:
                while True:
                    try:
                        code = process.wait(timeout=1.0)
                        break
                    except subprocess.TimeoutExpired:
                        self._show()
            except BaseException:
                process.terminate()
                process.wait()
                raise
        if code != 0:
            raise StepError(words[0])

    def tail(self, lines: int = 25) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.path.read_text(errors="replace").splitlines()[-lines:])


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of the set-up.

    Attributes:
        name: Name of its stamp and its log.
        title: What it does, for the progress line.
        inputs: Everything its result depends on: files, folders (all files in them), texts.
        action: Does the work.
        remedy: What a person can do when it fails, in one line.
    """

    name: str
    title: str
    inputs: tuple[Path | str, ...]
    action: Callable[[Log], None]
    remedy: str

    def fingerprint(self) -> str:
        """Hash all inputs."""
        digest = hashlib.sha256()
        for item in self.inputs:
            if isinstance(item, str):
                digest.update(item.encode() + b"\0")
                continue
            for path in _files(item):
                digest.update(f"{path.relative_to(item.parent)}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()


def _files(path: Path) -> Iterable[Path]:
    if path.is_file():
        return [path]
    found = (file for file in path.rglob("*") if file.is_file())
    return sorted(file for file in found if not IGNORED_FOLDERS.intersection(file.parts))


class StepRunner:
    """Runs the steps whose stamps are missing or out of date.

    Attributes:
        done: Names of the steps that were run.
    """

    def __init__(self, stamps: Path, logs: Path, environment: Mapping[str, str]):
        """Prepare to run steps.

        Args:
            stamps: Folder of the stamps.
            logs: Folder of the logs.
            environment: Environment variables of all commands.
        """
        self.done: list[str] = []
        self._stamps = stamps
        self._logs = logs
        self._environment = environment

    def run(self, step: Step) -> bool:
        """Run one step if it is needed.

        Args:
            step: The step.

        Returns:
            False if it failed; the end of its log and the remedy have been printed.
        """
        fingerprint = step.fingerprint()
        stamp = self._stamps / step.name
        if stamp.is_file() and stamp.read_text() == fingerprint:
            return True
        progress = StepProgress(step.title)
        log = Log(self._logs / f"{step.name}.log", self._environment, progress.show)
        stamp.unlink(missing_ok=True)
        try:
            step.action(log)
        except (StepError, OSError) as error:
            progress.finish("failed")
            print(log.tail(), file=sys.stderr)
            cause = "" if isinstance(error, StepError) else f" ({error})"
            print(f"error: {step.title} failed{cause}: {step.remedy}", file=sys.stderr)
            print(f"The whole log is in {log.path}", file=sys.stderr)
            return False
        progress.finish("done")
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(fingerprint)
        self.done.append(step.name)
        return True


class StepProgress:
    """One line per step, with the elapsed time; it counts up on a terminal."""

    def __init__(self, title: str):
        """Start the clock.

        Args:
            title: What is being done.
        """
        self._title = title
        self._start = time.monotonic()
        self._live = sys.stdout.isatty()
        self.show()

    def show(self) -> None:
        """Update the line, on a terminal only."""
        if self._live:
            print(f"\r  {self._title:<58} {self._elapsed():6.1f} s ", end="", flush=True)

    def finish(self, outcome: str) -> None:
        """Write the final line.

        Args:
            outcome: One word.
        """
        start = "\r" if self._live else ""
        print(f"{start}  {self._title:<58} {self._elapsed():6.1f} s  {outcome}", flush=True)

    def _elapsed(self) -> float:
        return time.monotonic() - self._start
