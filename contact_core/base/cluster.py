"""Workers of a Dask cluster: they run the sources of this machine, or say that they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from distributed import Client, Worker
from distributed.diagnostics.plugin import WorkerPlugin

from contact_core.base.errors import ConfigError
from contact_core.base.fingerprint import fingerprint, versions

WHOLE_STACK = __name__ + ":all"  # as of a module from elsewhere
PATIENCE = 10.0  # for the scheduler to answer [s]


@contextmanager
def connected(address: str, prepare: Callable[[], None] | None = None) -> Iterator[Client]:
    """Use the workers of a scheduler within a block.

    Workers that join later are checked and prepared like the first ones; the tasks of those that
    are lost are done again by others.

    Args:
        address: Of the scheduler, e.g. ``"tcp://192.168.1.5:8786"``.
        prepare: Called once in every worker.

    Yields:
        The connection.

    Raises:
        ConfigError: If the scheduler does not answer, has no workers, or one of them differs from
            this machine.
    """
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        if not client.scheduler_info()["workers"]:
            raise ConfigError(f"the scheduler at {address} has no workers: start dask worker")
        expected = fingerprint(WHOLE_STACK), versions()
        client.register_plugin(_Preparation(*expected, prepare), name="contact_stack")
        yield client


class _Preparation(WorkerPlugin):
    """Checks and prepares a worker before its first task."""

    def __init__(
        self, sources: str, libraries: dict[str, str], prepare: Callable[[], None] | None
    ) -> None:
        self._sources = sources
        self._libraries = libraries
        self._prepare = prepare

    async def setup(self, worker: Worker) -> None:
        libraries = versions()
        for name, version in self._libraries.items():
            if libraries.get(name) != version:
                raise ConfigError(
                    f"the worker {worker.address} has {name} {libraries.get(name, 'not')}, "
                    f"this machine {version}"
                )
        if fingerprint(WHOLE_STACK) != self._sources:
            raise ConfigError(
                f"the worker {worker.address} has other sources or parameters than this machine: "
                "check out the same commit there"
            )
        if self._prepare is not None:
            # A worker that does not answer for minutes would be given up.
            await asyncio.to_thread(_prepare_once, self._prepare)


@cache
def _prepare_once(prepare: Callable[[], None]) -> None:
    """Prepare this process, however many sweeps connect to it."""
    prepare()
