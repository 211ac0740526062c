"""Steps of the set-up: each is done once, and again only when its inputs change."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

IGNORED_FOLDERS = {"__pycache__"}


class StepError(Exception):
    """A command of a step returned an error."""


class StepStoppedError(Exception):
    """A command of a step was ended, because another step failed or a person interrupted."""


class Log:
    """Runs commands with their output in a file.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, environment: Mapping[str, str], watch: Callable[[], None]):
        """Start an empty log.

        Args:
            path: The file.
            environment: Environment variables of the commands.
            watch: Called about once a second while a command runs; what it raises ends it.
        """
        self.path = path
        self._environment = dict(environment)
        self._watch = watch
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    def run(self, *command: str | Path) -> None:
        """Run one command to its end.

        Args:
            command: The executable and its arguments.

        Raises:
            StepError: If it cannot be started or its exit code is not 0.
            StepStoppedError: If it was ended.
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
                    start_new_session=True,
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
                        self._watch()
            except BaseException:
                # With the compilers that it has started.
                os.killpg(process.pid, signal.SIGTERM)
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
        usual: How long it takes on two processors with others beside it [s].
    """

    name: str
    title: str
    inputs: tuple[Path | str, ...]
    action: Callable[[Log], None]
    remedy: str
    usual: float = 5.0

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
        self._progress = Progress()
        self._stopped = threading.Event()

    def run(self, *tracks: Iterable[Step]) -> bool:
        """Run tracks side by side, the steps of each one after the other.

        The first step that fails ends the others, and so does an interrupt.

        Args:
            tracks: The steps.

        Returns:
            False if one failed; the end of its log and the remedy have been printed.
        """
        with ThreadPoolExecutor(len(tracks)) as pool:
            try:
                return all(list(pool.map(self._run_track, tracks)))
            except BaseException:
                self._stopped.set()
                raise

    def _run_track(self, steps: Iterable[Step]) -> bool:
        done = all(self._run_step(step) for step in steps)
        if not done:
            self._stopped.set()
        return done

    def _run_step(self, step: Step) -> bool:
        if self._stopped.is_set():
            return False
        fingerprint = step.fingerprint()
        stamp = self._stamps / step.name
        if stamp.is_file() and stamp.read_text() == fingerprint:
            return True
        log = Log(self._logs / f"{step.name}.log", self._environment, self._watch)
        stamp.unlink(missing_ok=True)
        self._progress.begin(step)
        try:
            step.action(log)
        except StepStoppedError:
            self._progress.finish(step, "stopped")
            return False
        except (StepError, OSError) as error:
            self._progress.finish(step, "failed")
            print(log.tail(), file=sys.stderr)
            cause = "" if isinstance(error, StepError) else f" ({error})"
            print(f"error: {step.title} failed{cause}: {step.remedy}", file=sys.stderr)
            print(f"The whole log is in {log.path}", file=sys.stderr)
            return False
        self._progress.finish(step, "done")
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(fingerprint)
        self.done.append(step.name)
        return True

    def _watch(self) -> None:
        """Show how far everything is, and end what runs once something has failed."""
        self._progress.show()
        if self._stopped.is_set():
            raise StepStoppedError


class Progress:
    """A line for each step that is over; on a terminal, below them one of those that run."""

    def __init__(self) -> None:
        """Show nothing yet."""
        self._live = sys.stdout.isatty()
        self._begun: dict[Step, float] = {}
        self._lock = threading.Lock()

    def begin(self, step: Step) -> None:
        """Start the clock of a step.

        Args:
            step: The step.
        """
        with self._lock:
            self._begun[step] = time.monotonic()
        self.show()

    def show(self) -> None:
        """Say how long the running steps have taken and usually take, on a terminal only."""
        if not self._live:
            return
        with self._lock:
            now = time.monotonic()
            running = "; ".join(
                f"{now - begun:.0f} of about {step.usual:.0f} s: {step.title}"
                for step, begun in self._begun.items()
            )
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{f'  {running}'[:width]:<{width}}", end="", flush=True)

    def finish(self, step: Step, outcome: str) -> None:
        """Write the line of a step.

        Args:
            step: The step.
            outcome: One word.
        """
        with self._lock:
            seconds = time.monotonic() - self._begun.pop(step)
            line = f"  {step.title:<58} {seconds:6.1f} s  {outcome}"
            width = shutil.get_terminal_size().columns - 1 if self._live else 0
            print(("\r" if self._live else "") + line.ljust(width), flush=True)
