"""The cabinet's end of the cable: datagrams to one client, and from nobody else."""

from __future__ import annotations

import ipaddress
import socket

from contact_core.base.errors import ConfigError
from tamsi_sim.cabinet.wire import MAX_DATAGRAM

MAX_ARRIVED = 1000
"""So many datagrams are taken in one go: a flood must not hold up the cycle."""

BUFFER = 65536
"""Of the system, for what has arrived [bytes]."""


class ClientConnection:
    """A UDP socket.

    Attributes:
        client: Address and port of the client.
        unsent: Datagrams that the network did not take.
    """

    def __init__(self, client: str, port: int, source: str = "") -> None:
        """Open the socket.

        Args:
            client: Address of the client.
            port: Where the client listens.
            source: ADDRESS:PORT to send from, empty for any address: a client on this machine has
                the port, so it is any port for that, and the client's for others.

        Raises:
            ConfigError: If an address is unknown, or the port is taken.
        """
        self._foreign = self.unsent = 0
        try:
            if not client:
                raise ValueError("no address")
            self.client = (socket.gethostbyname(client), port)
            here = ipaddress.ip_address(self.client[0]).is_loopback
            address, _, own = source.rpartition(":")
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            self._socket.bind((address, int(own or (0 if here else port))))
        except (OSError, OverflowError, ValueError) as error:
            raise ConfigError(
                f"no connection to client {client}, port {port}, from '{source}': {error}"
            ) from error

    @property
    def address(self) -> str:
        """Where it sends from, as a client has to know it."""
        address, port = self._socket.getsockname()
        return f"{address}:{port}"

    def fileno(self) -> int:
        """Return the file descriptor, to wait for answers."""
        return self._socket.fileno()

    def send(self, datagram: bytes) -> None:
        """Send to the client; what the network does not take is lost."""
        try:
            self._socket.sendto(datagram, self.client)
        except OSError:
            self.unsent += 1

    def receive(self) -> list[bytes]:
        """Return what has arrived from the client, without waiting."""
        arrived = []
        for _ in range(MAX_ARRIVED):
            try:
                datagram, sender = self._socket.recvfrom(MAX_DATAGRAM + 1)
            except OSError:
                break
            if sender == self.client:
                arrived.append(datagram)
            else:
                self._foreign += 1
        return arrived

    def take_foreign(self) -> int:
        """Return how many datagrams of others than the client have come since the last call."""
        count, self._foreign = self._foreign, 0
        return count

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
