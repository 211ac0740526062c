"""Sweeps: many independent tasks, on the cores of this machine or on a cluster.

Results are kept on disk as they arrive, so that an interrupted sweep goes on where it was, and are
found again only by the very same function, arguments, sources and libraries.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, TypeVar

import joblib
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from contact_core.base.errors import ConfigError
from contact_core.base.files import replacement
from contact_core.base.fingerprint import fingerprint
from contact_core.base.signals import interrupts_blocked

Result = TypeVar("Result")
BAR = "{desc:40} {bar} {n}/{total} [{elapsed}<{remaining}]"


@dataclass(frozen=True)
class Workers:
    """Who does the work.

    Attributes:
        processes: Number of processes on this machine; -1 for one per core.
        cluster: Address of a Dask scheduler, whose workers do the work instead; empty for none.
        prepare: Called once in every worker of the cluster, e.g. to compile kernels.
    """

    processes: int = 1
    cluster: str = ""
    prepare: Callable[[], None] | None = None


ALONE = Workers()


@dataclass(frozen=True)
class Plugin:
    """A Python file of the user that registers something, in every process that needs it.

    Attributes:
        name: Of the file.
        source: Its text, which travels to workers.
    """

    name: str
    source: str

    @classmethod
    def read(cls, path: Path) -> Plugin:
        """Read a file.

        Raises:
            ConfigError: If it cannot be read.
        """
        try:
            return cls(path.name, path.read_text())
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}") from error

    def load(self) -> None:
        """Run it, unless this process has run it before."""
        if self not in _LOADED:
            exec(compile(self.source, self.name, "exec"), {"__name__": f"plugin_{self.name}"})
            _LOADED.add(self)


_LOADED: set[Plugin] = set()


class Sweep:
    """Runs tasks side by side and keeps their results.

    No result depends on who computed it: a task has a seed of its own in its arguments, and uses
    one thread of the libraries for linear algebra, whose sums depend on their number.
    """

    def __init__(
        self,
        workers: Workers = ALONE,
        folder: Path | None = None,
        plugins: Sequence[Plugin] = (),
        show: bool = True,
    ) -> None:
        """Prepare to work.

        Args:
            workers: Who does the work.
            folder: Where results are kept; None for nowhere.
            plugins: What is loaded in every process first.
            show: Whether a bar shows progress.
        """
        self._workers = workers
        self._folder = folder
        self._plugins = tuple(plugins)
        self._show = show

    def run(
        self,
        function: Callable[..., Result],
        tasks: Iterable[tuple[Any, ...]],
        label: str = "",
        one_at_a_time: bool = False,
        keep: Callable[[Result], bool] = lambda result: True,
    ) -> list[Result]:
        """Call a function with the arguments of every task.

        Args:
            function: Of a module that workers can import. What it depends on is in its arguments
                and in the sources.
            tasks: Arguments of each call, which can be pickled.
            label: What is done, for the bar.
            one_at_a_time: In this process, for what measures time.
            keep: Tells which results are worth keeping; others are computed again the next time.

        Returns:
            What each call returned, in the order of the tasks.

        Raises:
            ConfigError: If the cluster cannot be reached, or a worker differs from this machine.
        """
        calls = [(function, tuple(task)) for task in tasks]
        files = [self._file(*call) for call in calls]
        found = {i: joblib.load(file) for i, file in enumerate(files) if file and file.exists()}
        missing = [index for index in range(len(calls)) if index not in found]
        workers = ALONE if one_at_a_time else self._workers
        with tqdm(
            total=len(calls), initial=len(found), desc=label, bar_format=BAR,
            disable=not (self._show and missing),
        ) as bar:  # fmt: skip
            for index, result in self._work(workers, [(i, *calls[i]) for i in missing]):
                found[index] = result
                if keep(result):
                    _keep(result, files[index])
                bar.update()
        return [found[index] for index in range(len(calls))]

    def _work(self, workers: Workers, calls: list[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        if not calls:
            return
        tasks = (joblib.delayed(_call)(self._plugins, *call) for call in calls)
        processes = min(workers.processes, len(calls))
        with _backend(workers):
            # A task takes long: none waits in a batch behind another.
            run = joblib.Parallel(
                n_jobs=-1 if workers.cluster else processes, batch_size=1,
                return_as="generator_unordered",
            )  # fmt: skip
            # An interrupt is for this process: workers that are still importing would complain,
            # and so would those that begin when everything is over.
            resource_tracker.ensure_running()  # at its start it would unblock them
            with interrupts_blocked():
                if processes > 1 and not workers.cluster:
                    joblib.Parallel(processes)(joblib.delayed(int)() for _ in range(processes))
                results = run(tasks)
            yield from results

    def _file(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Path | None:
        if self._folder is None:
            return None
        sources = fingerprint(function.__module__)
        name = f"{function.__module__}.{function.__qualname__}"
        # Joblib's hash tells a part of an array from its copy, which a worker or a file makes it.
        copies = pickle.loads(pickle.dumps(arguments))
        key = joblib.hash((name, copies, sources, self._plugins))
        return self._folder / name.rpartition(".")[2] / f"{key}.pkl"


@contextmanager
def _backend(workers: Workers) -> Iterator[None]:
    if not workers.cluster:
        yield
        return
    try:
        from contact_core.base.cluster import connected
    except ImportError as error:
        raise ConfigError(
            "--cluster needs Dask, which is not installed: pip install 'contact_stack[cluster]'"
        ) from error
    with connected(workers.cluster, workers.prepare), joblib.parallel_config("dask"):
        yield


def _call(
    plugins: tuple[Plugin, ...],
    index: int,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> tuple[int, Any]:
    for plugin in plugins:
        plugin.load()
    with threadpool_limits(1):
        return index, function(*arguments)


def _keep(result: Any, file: Path | None) -> None:
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacement(file) as unfinished:
        joblib.dump(result, unfinished)


def add_worker_options(parser: argparse.ArgumentParser, processes: int = -1) -> None:
    """Let the user of a command choose who does the work, see :func:`chosen_workers`.

    Args:
        parser: The parser of the command.
        processes: The default; 1 for what reports how long it takes.
    """
    parser.add_argument(
        "--workers", type=int, default=processes, metavar="N",
        help="processes on this machine, -1 for one per core (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--cluster", default="", metavar="ADDRESS",
        help="let the workers of a Dask scheduler do the work, e.g. tcp://192.168.1.5:8786",
    )  # fmt: skip


def add_sweep_options(parser: argparse.ArgumentParser, folder: str, also: str = "") -> None:
    """Let the user of a command choose where results are kept, and who does the work.

    Args:
        parser: The parser of the command.
        folder: The default.
        also: What else is written there, e.g. plots.
    """
    and_also = f", and {also}" if also else ""
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", default=Path(folder),
        help=f"where results are kept, to go on after an interrupt{and_also} (default %(default)s)",
    )  # fmt: skip
    add_worker_options(parser)


def chosen_workers(args: argparse.Namespace, prepare: Callable[[], None] | None = None) -> Workers:
    """Return who does the work.

    Args:
        args: The parsed options of :func:`add_worker_options`.
        prepare: See :class:`Workers`.

    Raises:
        ConfigError: If there would be nobody.
    """
    if args.workers == 0 or args.workers < -1:
        raise ConfigError(
            f"--workers is {args.workers}: a number of processes, or -1 for all cores"
        )
    return Workers(args.workers, args.cluster, prepare)
