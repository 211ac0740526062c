"""Errors of other threads, raised in the thread that runs the callbacks."""

from __future__ import annotations

from rclpy.node import Node


class ErrorRelay:
    """Carry an error from a worker thread to the node's executor, where it is raised.

    An error in a thread would otherwise end that thread and leave the node half alive.
    """

    def __init__(self, node: Node) -> None:
        """Create the relay.

        Args:
            node: The node whose executor raises the errors.
        """
        self._error: BaseException | None = None
        self._wake = node.create_guard_condition(self._raise)

    def __call__(self, error: BaseException) -> None:
        """Hand over an error; may be called from any thread.

        Args:
            error: The error to raise in the executor.
        """
        self._error = error
        self._wake.trigger()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error
