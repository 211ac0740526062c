"""Lock-step: simulated time advances when every participant has handled the last tick.

Messages of the hardware carry no tick, so a barrier runs beside them. The simulator
publishes its outputs, then ``lockstep/tick``; each participant publishes its own outputs,
then ``lockstep/done``. A participant announces itself with the done of tick 0, and all
these messages reach a late subscriber too, so that no first message is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from contact_stack_msgs.msg import LockstepDone, LockstepTick
from rclpy.node import Node

from contact_core.base.errors import CommunicationError, ConfigError
from contact_ros.qos import LOCKSTEP
from contact_ros.stamps import NANOSECONDS, steady_timer, to_nanoseconds, to_time
from contact_ros.validation import ending, ending_errors

TICK_TOPIC = "lockstep/tick"
DONE_TOPIC = "lockstep/done"

ANNOUNCEMENT = 0
"""The tick a participant is done with when it has started; the first real tick is 1."""


class Barrier:
    """The simulator's side: open a tick, and learn when everything of it is done.

    Tick 0 is open from the start and is done when all participants have announced
    themselves. Time runs out only while a tick is open.
    """

    def __init__(
        self,
        node: Node,
        participants: Sequence[str],
        timeout: float,
        on_complete: Callable[[int], None],
        own: Sequence[str] = (),
        start_timeout: float | None = None,
    ) -> None:
        """Wait for the participants to announce themselves.

        Args:
            node: The simulator's node.
            participants: Names of the nodes to wait for.
            timeout: Longest time the participants may take for one tick [s].
            on_complete: Called with the number of the tick once all are done with it.
            own: Further conditions of every tick but tick 0 that the simulator itself
                reports with :meth:`mark`, e.g. that a command has arrived.
            start_timeout: Longest time until all have announced themselves [s]; by
                default as long as a tick may take.

        Raises:
            ConfigError: If a name occurs twice.
        """
        names = [*participants, *own]
        if len(set(names)) != len(names):
            raise ConfigError(f"lock-step participants {names} are not all different")
        self._participants = frozenset(participants)
        self._own = frozenset(own)
        self._timeout = timeout
        self._allowed = timeout if start_timeout is None else start_timeout
        self._on_complete = on_complete
        self._k = ANNOUNCEMENT
        self._missing: set[str] = set(participants)
        self._publisher = node.create_publisher(LockstepTick, TICK_TOPIC, LOCKSTEP)
        self._subscription = node.create_subscription(
            LockstepDone, DONE_TOPIC, self._done, LOCKSTEP
        )
        self._timer = steady_timer(node, self._allowed, self._time_out)

    @property
    def k(self) -> int:
        """Number of the tick that is open, or was last."""
        return self._k

    @property
    def missing(self) -> tuple[str, ...]:
        """What the open tick still waits for, sorted; empty if no tick is open."""
        return tuple(sorted(self._missing))

    def open(self, k: int, stamp: int) -> None:
        """Publish a tick; the simulator has published all its outputs before.

        Args:
            k: Number of the tick, at least 1.
            stamp: Simulated time of its outputs [ns].

        Raises:
            CommunicationError: If the last tick is not done.
        """
        if self._missing:
            raise CommunicationError(f"tick {k} cannot open: {self._waiting()}")
        self._k = k
        self._missing = set(self._participants | self._own)
        self._allowed = self._timeout
        self._timer.timer_period_ns = round(self._allowed * NANOSECONDS)
        self._timer.reset()
        self._publisher.publish(LockstepTick(k=k, stamp=to_time(stamp)))

    def mark(self, name: str) -> None:
        """Report that one of the simulator's own conditions holds for the open tick.

        Args:
            name: Name of the condition.

        Raises:
            ConfigError: If the barrier has no such condition of its own.
        """
        if name not in self._own:
            raise ConfigError(f"'{name}' is no condition of this barrier's own")
        self._arrived(name)

    def _done(self, message: LockstepDone) -> None:
        if message.name not in self._participants or message.k != self._k:
            return
        if message.error:
            raise ending(
                CommunicationError(f"'{message.name}' failed at tick {message.k}: {message.error}")
            )
        self._arrived(message.name)

    def _arrived(self, name: str) -> None:
        if name not in self._missing:
            return
        self._missing.discard(name)
        if not self._missing:
            self._timer.cancel()
            with ending_errors():
                self._on_complete(self._k)

    def _time_out(self) -> None:
        self._timer.cancel()
        if self._missing:
            raise ending(CommunicationError(f"{self._waiting()} after {self._allowed:g} s"))

    def _waiting(self) -> str:
        return f"tick {self._k} still waits for {', '.join(self.missing)}"


class Participant:
    """A node that takes part in lock-step beside the simulator."""

    def __init__(self, node: Node, name: str, on_tick: Callable[[int, int], None]) -> None:
        """Listen to the ticks.

        Args:
            node: The participating node.
            name: The name the simulator knows it by.
            on_tick: Called with the number and the stamp [ns] of each tick.
        """
        self._name = name
        self._on_tick = on_tick
        self._last = ANNOUNCEMENT
        self._publisher = node.create_publisher(LockstepDone, DONE_TOPIC, LOCKSTEP)
        self._subscription = node.create_subscription(
            LockstepTick, TICK_TOPIC, self._tick, LOCKSTEP
        )

    def announce(self) -> None:
        """Tell the simulator that this node has started and is listening."""
        self.done(ANNOUNCEMENT)

    def done(self, k: int, error: str = "") -> None:
        """Report a tick as handled; all outputs of it have been published.

        Args:
            k: Number of the tick.
            error: Why this node cannot go on; the simulator then stops.
        """
        self._publisher.publish(LockstepDone(name=self._name, k=k, error=error))

    def _tick(self, message: LockstepTick) -> None:
        """Pass a tick on; two simulators in one graph would corrupt each other silently.

        Raises:
            CommunicationError: If the tick is not after the last.
        """
        if message.k <= self._last:
            raise ending(
                CommunicationError(
                    f"tick {message.k} came after tick {self._last}: another lock-step simulation "
                    "runs in this graph; stop it, or give this one a ROS_DOMAIN_ID of its own"
                )
            )
        self._last = message.k
        self._on_tick(message.k, to_nanoseconds(message.stamp))


class TickInputs:
    """Match a participant's inputs to the open tick by their stamps."""

    def __init__(
        self, names: Sequence[str], on_complete: Callable[[int, Mapping[str, Any]], None]
    ) -> None:
        """Prepare for the first tick.

        Args:
            names: Names of the inputs every tick needs.
            on_complete: Called with the number of the tick and the sample of each input
                once all have arrived.
        """
        self._samples: dict[str, tuple[int, Any] | None] = dict.fromkeys(names)
        self._on_complete = on_complete
        self._open: tuple[int, int] | None = None

    def tick(self, k: int, stamp: int) -> None:
        """Open a tick.

        Args:
            k: Its number.
            stamp: The stamp its inputs carry [ns].
        """
        self._open = (k, stamp)
        self._check()

    def put(self, name: str, stamp: int, sample: Any) -> None:
        """Add a sample; it may arrive before its tick.

        Args:
            name: Name of the input.
            stamp: Its stamp [ns].
            sample: What :meth:`tick`'s callback receives.

        Raises:
            ConfigError: If there is no such input.
        """
        if name not in self._samples:
            raise ConfigError(f"'{name}' is no input of the tick: {', '.join(self._samples)}")
        self._samples[name] = (stamp, sample)
        self._check()

    @property
    def missing(self) -> tuple[str, ...]:
        """The inputs the open tick still waits for; empty if no tick is open."""
        if self._open is None:
            return ()
        stamp = self._open[1]
        return tuple(
            name for name, entry in self._samples.items() if entry is None or entry[0] != stamp
        )

    def _check(self) -> None:
        if self._open is None or self.missing:
            return
        k = self._open[0]
        self._open = None
        with ending_errors():
            self._on_complete(k, {n: entry[1] for n, entry in self._samples.items() if entry})
