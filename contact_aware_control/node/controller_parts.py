"""What the controller node keeps beside its tick: its clock, external stop and incident files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue

from contact_stack_msgs.msg import ContactArray
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.logging import get_logging_directory
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from contact_aware_control.incident_log import Incident, IncidentLog, save
from contact_aware_control.node.config import ExternalStopConfig, RecorderConfig
from contact_aware_control.safety.status import Finding, Request, Status
from contact_aware_control.safety.supervisor import (
    Activity,
    Arming,
    Latch,
    Pause,
    SupervisorState,
)
from contact_core.base.errors import ContactStackError
from contact_ros.diagnostics import AgeMonitor
from contact_ros.driver_profile import DriverProfile, StateReader
from contact_ros.guarded_node import waking_future
from contact_ros.qos import KEPT_STOPS, LIVE_STOPS
from contact_ros.real_time import keep_up_with_main_thread
from contact_ros.rivals import PERIOD, UNKNOWN, StampOrder, publishers

EXTERNAL_STOP_TOPIC = "external_stop"

MAX_STEP = 50_000_000
"""A paused simulation does not make longer ones [ns]: where a stamp has passed more, it goes on."""


class LoopClock:
    """Steady time that began as ROS time.

    ROS time may jump, when the system's clock is set or a simulator restarts. A watchdog
    must not: its ages are differences of this clock, which only ever goes on. It stands still
    while a simulator is paused, but for the periods that this makes one by one.

    Attributes:
        stopped: Whether it stands still.
    """

    def __init__(
        self,
        ros_now: Callable[[], int],
        period: int,
        steady_now: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Begin at the present ROS time.

        Args:
            ros_now: ROS time [ns].
            period: Of the driver's states [ns].
            steady_now: A steady clock [ns].
        """
        self._ros_now = ros_now
        self._steady_now = steady_now
        self._period = period
        self._offset = ros_now() - steady_now()
        self._stands_at = 0
        self._heard = self._skipped = 0
        self._goes_on = False
        self.stopped = False

    def now(self) -> int:
        """Return the time [ns]."""
        return self._stands_at if self.stopped else self._steady_now() + self._offset

    def stop(self, stopped: bool) -> None:
        """Let it stand still, or go on from there."""
        if stopped:
            self._stands_at = self.now()
        elif self.stopped:
            self._offset = self._stands_at - self._steady_now()
            self._goes_on = True
        self.stopped = stopped

    def hear(self, stamp: int) -> int | None:
        """Take the stamp of a driver's state.

        By how much stamps have passed over a pause, they say themselves: word of it may come late.

        Args:
            stamp: By the driver's clock [ns].

        Returns:
            The stamp if the driver's clock had stood still as well [ns]; None if nothing has
            happened since, in a pause.
        """
        passed, self._heard = stamp - self._heard, stamp
        if passed > MAX_STEP:
            self.stop(False)  # the word that it goes on may come later
        if self.stopped:
            if passed <= 0:
                return None
            self._stands_at += passed
        elif self._goes_on and passed > 0:
            self._skipped += passed - self._period
            self._goes_on = False
        return stamp - self._skipped

    def from_ros(self, stamp: int) -> int:
        """Translate a ROS time, with the clock of ROS as it is now.

        Args:
            stamp: ROS time [ns].

        Returns:
            The same moment on this clock [ns].
        """
        return stamp - self._ros_now() + self.now()


class ExternalStop:
    """Turn the messages of the topic, or their absence, into requests.

    It hears whoever publishes: a button that was pressed before the start, if it says so to late
    listeners, and one that nobody asks for what got lost.

    Attributes:
        subscriptions: What it hears; their callbacks may run in any one thread.
    """

    def __init__(
        self,
        node: Node,
        config: ExternalStopConfig,
        ask: Callable[[Request, str], object],
    ) -> None:
        """Listen.

        Args:
            node: The controller's node.
            config: How long the topic may be silent.
            ask: Asks the control loop; called by messages, and by :meth:`check`.
        """
        self._timeout = config.timeout
        self._age = AgeMonitor(config.timeout)
        self._ask = ask
        self._pressed = False
        self.subscriptions = tuple(
            node.create_subscription(Bool, EXTERNAL_STOP_TOPIC, self._arrived, quality)
            for quality in (KEPT_STOPS, LIVE_STOPS)
        )

    @property
    def pressed(self) -> bool:
        """Whether it is pressed now."""
        return self._pressed

    def check(self) -> None:
        """Count silence as a press, if it must not be silent."""
        if self._timeout > 0.0 and self._age.stale and not self._pressed:
            self._pressed = True
            self._ask(
                Request.PRESS_EXTERNAL_STOP,
                f"topic {EXTERNAL_STOP_TOPIC} has been silent for more than {self._timeout:g} s",
            )

    def _arrived(self, message: Bool) -> None:
        self._age.arrived()
        if message.data == self._pressed:
            return
        self._pressed = message.data
        if message.data:
            self._ask(Request.PRESS_EXTERNAL_STOP, "the external stop was pressed")
        else:
            self._ask(Request.RELEASE_EXTERNAL_STOP, "")


CONTACTS = "contacts"
"""Topic of what the estimator finds."""

FOUND = 10.0
"""How long two publishers stay found after their messages have last shown it [s]."""

MIXED_CONTACTS = Finding(
    Status.FOREIGN_STATE, f"the stamps of {CONTACTS} interleave, as those of two nodes do"
)
"""Told as soon as it is heard; who they are is known later."""


class RivalWatch:
    """Look who else publishes commands for this arm, or its states.

    Who only listens is welcome. Other joints may share a topic of joint states, and a driver that
    was started anew is two for a while: there what its messages say decides. Who was found stays
    found until one of them is gone, or nothing more has shown it for a while.

    Attributes:
        finding: What is wrong; None while nobody else is there.
        senders: Who they are that stream targets, if more than one may; else empty.
    """

    def __init__(
        self,
        node: Node,
        profile: DriverProfile,
        reader: StateReader,
        followed: Callable[[], Sequence[str]],
    ) -> None:
        """Look again and again, in the executor's thread.

        Args:
            node: The controller's node.
            profile: The driver.
            reader: Of its states.
            followed: Tells the topics on which targets have come of late.
        """
        self.finding: Finding | None = None
        self.senders = ""
        self._followed = followed
        self._node, self._profile, self._reader = node, profile, reader
        self._contacts, self._shortest = StampOrder(repeats=False), 0.5 * profile.period
        self._foreign: dict[str, tuple[list[str], float]] = {}  # topic -> who, and until when
        self._timer = node.create_timer(
            PERIOD, self._update, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def passes(self, contacts: ContactArray) -> bool:
        """Tell whether contacts may be those of the one estimator, whose stamps go on.

        Args:
            contacts: As they have just arrived.
        """
        step = self._contacts.heard(contacts)
        if step < self._shortest and self._contacts.interleaved(self._shortest):
            self.finding = MIXED_CONTACTS
        return step > 0.0

    def _update(self) -> None:
        before, self.senders = (
            self.senders,
            shared_targets({topic: publishers(self._node, topic) for topic in self._followed()}),
        )
        if self.senders and self.senders != before:
            self._node.get_logger().warning(self.senders)
        states = self._profile.needed_topics
        topics = (self._profile.command_topic, *states)
        names = [publishers(self._node, self._profile.topic(topic)) for topic in topics]
        odd = [self._reader.interleaved(topic) for topic in states]
        finding = shared_contacts(publishers(self._node, CONTACTS))
        for topic, who, interleaved in zip(states, names[1:], odd, strict=True):
            others = self._profile.state_topics[topic] is not JointState and len(_named(who)) > 1
            if len(who) > 1 and (interleaved or others):
                self._foreign[topic] = who, time.monotonic() + FOUND
            found, until = self._foreign.get(topic, ([], 0.0))
            if found == who and time.monotonic() < until:
                finding = _shared(Status.FOREIGN_STATE, topic, who)
        if len(names[0]) > 1:
            finding = _shared(Status.FOREIGN_COMMAND, self._profile.command_topic, names[0])
        # Last, for contacts are heard in another thread meanwhile.
        two = self._contacts.interleaved(self._shortest)
        self.finding = finding or (MIXED_CONTACTS if two else None)
        self._contacts.forget()


def shared_contacts(publishers: Sequence[str]) -> Finding | None:
    """Say who publishes contacts, if more than one node does.

    Args:
        publishers: Name of the node behind each publisher.

    Returns:
        Their names; None if it is one. A node that was started anew may be seen twice for a while,
        the one that died without its name.
    """
    who = _named(publishers)
    return _shared(Status.FOREIGN_STATE, CONTACTS, who) if len(who) > 1 else None


def _named(publishers: Sequence[str]) -> list[str]:
    return sorted({name for name in publishers if UNKNOWN not in name})


def shared_targets(publishers: Mapping[str, Sequence[str]]) -> str:
    """Say who streams targets, if more than one node may.

    Args:
        publishers: Topic on which targets have come of late -> names of the nodes behind it.

    Returns:
        Their names and what happens; empty if there is one.
    """
    several = any(len(names) > 1 for names in publishers.values())  # nodes may share a name
    if not several and len({name for names in publishers.values() for name in names}) < 2:
        return ""
    who = " and ".join(f"{name} ({topic})" for topic, names in publishers.items() for name in names)
    return f"targets may come from {who}: the last one counts, so let one node publish them"


NOT_ACTIVE = (
    "the controller is inactive: activate it (after a cleanup, configure it first), with "
    "contact_aware_controller/change_state or the pre-flight check"
)
"""Why nothing moves, and the remedy."""


def answer_to(request: Request, done: bool, before: SupervisorState) -> str:
    """Return what a client is told.

    Args:
        request: What it asked for: HOLD, RESUME, STOP or RESET.
        done: False if that is refused.
        before: What the supervisor remembered before.

    Returns:
        What has changed, or why nothing has, and what to do.
    """
    fault = "" if before.fault is None else before.fault.name
    held = before.pause is Pause.ASKED
    if not done:
        return f"refused: {_refused(before)}"
    reset = "release the external stop, then call" if before.latch is Latch.PRESSED else "call"
    if request is Request.STOP:
        return (
            f"{fault} stops it already: {reset} reset" if fault else "stopped: call reset to go on"
        )
    if request is Request.RESET:
        ended = [f"the fault {fault}"] if fault else []
        ended += ["the hold"] if held else []
        return f"{' and '.join(ended)} ended" if ended else "there was no fault"
    if request is Request.HOLD and fault:
        return f"held, and {fault} stops it: {reset} reset, which ends both"
    if request is Request.HOLD and before.activity is Activity.OFF:
        return "held: activate the controller, then call resume to go on"
    if request is Request.HOLD:
        return "held already: call resume to go on" if held else "held: call resume to go on"
    ended = ["it goes on after the hold"] if held else []
    ended += ["the link is armed again"] if before.arming is Arming.ON_RESUME else []
    return ", ".join(ended) or "nothing was held"


def _refused(before: SupervisorState) -> str:
    if before.latch is Latch.PRESSED:
        return "the external stop is pressed: release it, then call reset"
    if before.fault is not None:
        return f"{before.fault.name} stops it: call reset, which ends a hold, too"
    if before.activity is Activity.OFF:
        return NOT_ACTIVE
    loss = before.loss
    if loss is None or loss.status is Status.WAITING_FOR_STATE:
        return f"there is no joint state yet: {Status.WAITING_FOR_STATE.remedy}"
    return f"there is no link to the robot, {loss.status.name}: {loss.detail}; {loss.status.remedy}"


def _shared(status: Status, topic: str, names: list[str]) -> Finding:
    return Finding(status, f"{topic} is published by {' and '.join(names)}")


class IncidentFiles:
    """Write records beside the control loop, in a thread of their own."""

    def __init__(
        self,
        node: Node,
        log: IncidentLog,
        config: RecorderConfig,
        lock: threading.Lock,
        service: str,
    ) -> None:
        """Offer the service.

        Args:
            node: The controller's node.
            log: What is written.
            config: Where, and how often at most.
            lock: Held while the loop ticks.
            service: Name of the service that writes a record.
        """
        self._node = node
        self._logger = node.get_logger()
        self._log = log
        self._lock = lock
        folder = config.folder or Path(str(get_logging_directory())) / "flight"
        self._folder = Path(folder).expanduser()
        self._files_left = config.files
        self._records: SimpleQueue[tuple[Incident, Future | None] | None] = SimpleQueue()
        # It waits for records: to start a thread takes the loop as long as others are busy.
        self._thread = threading.Thread(target=self._run, name="incident records", daemon=True)
        self._thread.start()
        self._service = node.create_service(Trigger, service, self._dump)
        self.last = ""

    def close(self) -> None:
        """Wait until everything is written."""
        self._records.put(None)
        self._thread.join()

    def write(self, reason: str, done: Future | None = None) -> None:
        """Write a record in the background; the lock is held.

        Args:
            reason: Why.
            done: Gets the path, or the error as text.
        """
        if done is None:
            if self._files_left == 0:
                return
            self._files_left -= 1
        self._records.put((self._log.record(reason), done))

    def _run(self) -> None:
        while (item := self._records.get()) is not None:
            keep_up_with_main_thread()
            self._save(*item)

    def _save(self, record: Incident, done: Future | None) -> None:
        path = self._folder / f"{time.strftime('%Y%m%d_%H%M%S')}_{record.reason}.npz"
        number = 1
        while path.exists():
            number += 1
            path = path.with_stem(f"{path.stem.removesuffix(f'_{number - 1}')}_{number}")
        try:
            save(record, path)
        except (OSError, ContactStackError) as error:
            text = self.last = f"the incident record cannot be written: {error}"
            self._logger.error(text)
        else:
            text = self.last = str(path)
            self._logger.info(f"incident record: contact-stack replay {path}")
        if done is not None:
            done.set_result((path.exists(), text))

    async def _dump(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        done = waking_future(self._node)
        with self._lock:
            self.write("on_request", done)
        response.success, response.message = await done
        return response
