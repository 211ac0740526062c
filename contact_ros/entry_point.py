"""The life of a node's process: its start, and a clean end."""

from __future__ import annotations

import atexit
import faulthandler
import gc
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Protocol, runtime_checkable

import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown

from contact_core.base.errors import ContactStackError
from contact_core.base.signals import MAX_WAIT, end_with_parent, stop_signals
from contact_ros import network
from contact_ros.arguments import check_files, useless_remaps
from contact_ros.executor import GuardedExecutor

EXIT_ERROR = 2

STDERR = 2
"""File descriptor of the standard error."""

AGAIN = 1.0
"""So long after an interruption another one counts: a library may have lost the first [s]."""

RARELY = 1000
"""Collections of young garbage between two of all garbage."""

LAUNCHED = "CONTACT_STACK_LAUNCHED"
"""Our launch files set it for their nodes, which then end with the launch."""


@runtime_checkable
class Closable(Protocol):
    """A node with threads or files of its own, which it ends before it is destroyed."""

    def close(self) -> None:
        """End the threads; publishers still work."""


def run(
    factory: Callable[[], Node], args: Sequence[str] | None = None, reach: str = network.ENVIRONMENT
) -> int:
    """Run one node until SIGINT, SIGTERM or SIGHUP; every node's ``main`` calls this.

    Heavy imports belong into the factory: a signal is handled cleanly from here on. With SIGUSR1 it
    prints what each of its threads is doing, and goes on.

    Args:
        factory: Builds the node; called once ROS is initialised.
        args: The process's arguments, by default ``sys.argv``.
        reach: How far the node talks unless that is said, see :mod:`contact_ros.network`.

    Returns:
        The exit code: 0 after a signal, 2 after a :class:`ContactStackError`, which is
        printed as one line.
    """
    stop = _StopSignals()
    words = sys.argv if args is None else list(args)
    try:
        stop.listen()
        faulthandler.register(signal.SIGUSR1, STDERR)
        if LAUNCHED in os.environ:
            # By SIGTERM `ros2 launch` leaves what it has started to itself.
            end_with_parent()
        network.enter(reach)
        check_files(words)
        # Signals are ours, so that a node can still publish while it is closing.
        rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
        # What is being made is no garbage, and looking for it takes time.
        gc.disable()
        try:
            node = factory()
        finally:
            gc.enable()
        for said in useless_remaps(node, words):
            node.get_logger().warning(said)
        try:
            _spin(node, stop)
        finally:
            if isinstance(node, Closable):
                node.close()
            node.destroy_node()
    except KeyboardInterrupt:
        return 0
    except SystemError as error:
        # Compiled code that is interrupted ends with an error of its own.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        return 0
    except (ContactStackError, rclpy_implementation.RCLError) as error:
        print(f"{Path(sys.argv[0]).stem}: {_one_line(error)}", file=sys.stderr, flush=True)
        return EXIT_ERROR
    finally:
        stop.defer()
        try_shutdown()
        atexit.register(stop.ignore)
    return 0


def freeze_garbage_collector() -> None:
    """Exempt everything made so far from garbage collection.

    A node calls it when its set-up is complete: a full collection over the objects of
    the imported libraries would otherwise interrupt the control loop for milliseconds.
    """
    gc.collect()
    gc.freeze()
    # What is left is little, or a large message, which a collection would look through for nothing.
    gc.set_threshold(*gc.get_threshold()[:2], RARELY)
    # Or what is frozen is never freed, and libraries complain of leaks at the end.
    atexit.register(gc.unfreeze)


def _spin(node: Node, stop: _StopSignals) -> None:
    """Run the node's callbacks until a signal arrives."""
    stop.defer()
    executor = GuardedExecutor()
    executor.add_node(node)
    try:
        while not stop.requested:
            executor.spin_once(timeout_sec=MAX_WAIT)
    finally:
        executor.remove_node(node)
        executor.shutdown()


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


class _StopSignals:
    """They interrupt the set-up, but never a running callback.

    Attributes:
        requested: True once a signal has arrived.
    """

    def __init__(self) -> None:
        # No Event: its lock is not reentrant, and one signal interrupts the handler of another.
        self.requested = False
        self._deferred = True
        self._interrupted = -math.inf
        self._numbers = stop_signals()
        for number in self._numbers:
            signal.signal(number, self._handle)

    def listen(self) -> None:
        """From now on let a signal interrupt, also one that has already arrived.

        Raises:
            KeyboardInterrupt: If one has.
        """
        # A launcher may have blocked them to protect the imports of this process.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._numbers)
        self._deferred = False
        if self.requested:
            raise KeyboardInterrupt

    def defer(self) -> None:
        """From now on only note a signal."""
        self._deferred = True

    def ignore(self) -> None:
        """From now on take no notice; Python at its very end would die of a signal."""
        for number in self._numbers:
            signal.signal(number, signal.SIG_IGN)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        before, self._interrupted = self._interrupted, time.monotonic()
        if not self._deferred and self._interrupted - before > AGAIN:
            # What a library was just making is half made, and complains when it is freed.
            sys.unraisablehook = lambda unraisable: None
            raise KeyboardInterrupt
