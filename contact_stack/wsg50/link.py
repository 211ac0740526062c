"""The TCP connection to the gripper; nothing here waits but the attempt to connect."""

from __future__ import annotations

import socket

from contact_core.base.errors import CommunicationError

CONNECT_TIMEOUT = 1.0
"""How long an attempt to connect may take [s]."""

MAX_READ = 16_384
"""At most so much is read at a time [bytes]: a gripper that floods us cannot keep us busy."""


class GripperConnection:
    """A client of the gripper's server."""

    def __init__(self, host: str, port: int) -> None:
        """Prepare; nothing is sent.

        Args:
            host: Address of the gripper.
            port: Its TCP port.
        """
        self._address = host, port
        self._socket: socket.socket | None = None

    @property
    def connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._socket is not None

    def connect(self) -> None:
        """Connect, and wait for that.

        Raises:
            CommunicationError: If the gripper does not answer there.
        """
        try:
            self._socket = socket.create_connection(self._address, CONNECT_TIMEOUT)
        except OSError as error:
            host, port = self._address
            raise CommunicationError(f"no gripper at {host}:{port}: {error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)

    def send(self, line: str) -> None:
        """Send a line.

        Args:
            line: Without its end.

        Raises:
            CommunicationError: If the connection has broken.
        """
        assert self._socket is not None
        try:
            self._socket.sendall(line.encode("ascii") + b"\n")
        except OSError as error:
            raise CommunicationError(f"the connection broke: {error}") from error

    def receive(self) -> bytes:
        """Return what has arrived since; does not wait.

        Raises:
            CommunicationError: If the connection has ended.
        """
        assert self._socket is not None
        try:
            data = self._socket.recv(MAX_READ)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise CommunicationError(f"the connection broke: {error}") from error
        if not data:
            raise CommunicationError("the gripper closed the connection")
        return data

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
