"""The node's side of the process that answers the cabinet."""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from contact_core.base.errors import CommunicationError
from contact_stack.fri.answering import (
    COMMAND,
    FAREWELL,
    AnsweringReport,
    AnsweringSetup,
    Heard,
)

ANSWER = "from contact_stack.fri.answering import main; main()"
"""What the process runs; as a main module of its own it would tell of other classes than ours."""

MAX_TOLD = 65_536
"""Of what the process says at a time [bytes]."""

STOP_TIMEOUT = FAREWELL + 2.0
"""How long the process may take to end [s]."""


class Link:
    """Starts the process, hands commands to it, and takes what it tells."""

    def __init__(self, setup: AnsweringSetup, port: int, address: str = "0.0.0.0") -> None:
        """Take the port, and answer from now on.

        Args:
            setup: What the process has to know.
            port: UDP port of this machine that the cabinet sends to.
            address: Of this machine, to listen at.

        Raises:
            CommunicationError: If another process has the port.
        """
        self._pipe, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as cabinet:
            try:
                cabinet.bind((address, port))
            except OSError as error:
                self._pipe.close()
                raise CommunicationError(
                    f"UDP port {port} is not free ({error.strerror}): another driver answers the "
                    "robot already; stop it, or set the parameter port"
                ) from error
            self._pipe.send(pickle.dumps(setup))
            sockets = cabinet.fileno(), theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-c", ANSWER, *map(str, sockets)],
                pass_fds=sockets,
            )

    def command(self, position: NDArray[np.float64]) -> None:
        """Hand over a command; never waits.

        Args:
            position: (7) joint positions [rad].
        """
        # A process that does not take them has ended, which receive() tells.
        with suppress(OSError):
            data = COMMAND.pack(time.monotonic(), *position)
            self._pipe.send(data, socket.MSG_DONTWAIT)

    def receive(self) -> Heard | AnsweringReport | None:
        """Wait for what the process tells.

        Returns:
            A state or a report; None once the process has ended.
        """
        try:
            data = self._pipe.recv(MAX_TOLD)
        except OSError:
            return None
        told: Heard | AnsweringReport | None = pickle.loads(data) if data else None
        return told

    def stop(self) -> None:
        """Bring the joints to rest, and answer no more."""
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """Free what is left, once nobody receives any more."""
        self._pipe.close()
