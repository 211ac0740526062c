"""The state machine above the controllers: the link to the robot, faults, hold and resume.

Five small machines run side by side; what happens is an :class:`Event`, and
:data:`TRANSITIONS` says where each machine goes from there. The mode of a tick follows from
their states and from what was received, in the order of :meth:`Supervisor.update`.

Commands leave only while the :class:`LinkState` is ARMED. It is LOST when states are missing or
not sound, goes through SYNC, where the command is read from the robot again, and is armed by
itself at first, or after a short outage without a jump; otherwise by resume.

Not a certified safety function: it limits what this software asks of the robot, the
robot's own safety configuration has to protect people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeVar, cast

from contact_aware_control.config import SafetyConfig
from contact_aware_control.safety.status import Finding, LinkState, Mode, Request, Status


class Activity(Enum):
    """Whether commands are to be sent."""

    OFF = auto()
    ON = auto()


class Arming(Enum):
    """What it takes to command a robot whose states are sound."""

    FIRST = auto()
    """Nothing: since the activation it has not been commanded."""
    SEAMLESS = auto()
    """Nothing, after a short outage without a jump."""
    ON_RESUME = auto()
    """Somebody who looks at the arm, and calls resume."""


class Pause(Enum):
    """Whether the reference is paused until somebody calls resume; no activation ends that."""

    NONE = auto()
    ASKED = auto()


class Latch(Enum):
    """Whether there is a fault, which only a reset clears."""

    CLEAR = auto()
    FAULT = auto()
    PRESSED = auto()
    """A fault that cannot be reset: the external stop is pressed."""


class Event(Enum):
    """What makes a machine change its state: a request of the same name, or an observation."""

    ACTIVATE = auto()
    DEACTIVATE = auto()
    HOLD = auto()
    RESUME = auto()
    STOP = auto()
    RESET = auto()
    PRESS_EXTERNAL_STOP = auto()
    RELEASE_EXTERNAL_STOP = auto()
    FIND_WRONG_ROBOT = auto()
    STATE_LOST = auto()
    """States are missing, or something is wrong with them."""
    BROKEN = auto()
    """That lasts, or is more than a delay, or the robot is not as it was."""
    STATE_SOUND = auto()
    """A sound state has arrived."""
    ARM = auto()
    """Nothing speaks against commands."""
    INPUT_UNUSABLE = auto()
    """Too many messages were rejected."""
    OVERLOAD = auto()
    """A contact force was too high for too long."""
    COMMANDS_UNSOUND = auto()
    """The gate refused too many commands in a row."""
    TORQUE = auto()
    """An external torque, or its rate, is too high."""


Machine = TypeVar("Machine", bound=Enum)

TRANSITIONS: dict[tuple[Enum, Event], Enum] = {
    (Activity.OFF, Event.ACTIVATE): Activity.ON,
    (Activity.ON, Event.DEACTIVATE): Activity.OFF,
    #
    (LinkState.LOST, Event.STATE_SOUND): LinkState.SYNC,
    (LinkState.SYNC, Event.STATE_LOST): LinkState.LOST,
    (LinkState.SYNC, Event.ARM): LinkState.ARMED,
    (LinkState.SYNC, Event.ACTIVATE): LinkState.LOST,
    (LinkState.SYNC, Event.DEACTIVATE): LinkState.LOST,
    (LinkState.ARMED, Event.STATE_LOST): LinkState.LOST,
    (LinkState.ARMED, Event.ACTIVATE): LinkState.LOST,
    (LinkState.ARMED, Event.DEACTIVATE): LinkState.LOST,
    #
    (Arming.FIRST, Event.ARM): Arming.SEAMLESS,
    (Arming.SEAMLESS, Event.BROKEN): Arming.ON_RESUME,
    (Arming.SEAMLESS, Event.ACTIVATE): Arming.FIRST,
    (Arming.ON_RESUME, Event.RESUME): Arming.SEAMLESS,
    (Arming.ON_RESUME, Event.ACTIVATE): Arming.FIRST,
    #
    (Pause.NONE, Event.HOLD): Pause.ASKED,
    (Pause.ASKED, Event.RESUME): Pause.NONE,
    (Pause.ASKED, Event.RESET): Pause.NONE,
    #
    (Latch.CLEAR, Event.STOP): Latch.FAULT,
    (Latch.CLEAR, Event.INPUT_UNUSABLE): Latch.FAULT,
    (Latch.CLEAR, Event.OVERLOAD): Latch.FAULT,
    (Latch.CLEAR, Event.COMMANDS_UNSOUND): Latch.FAULT,
    (Latch.CLEAR, Event.TORQUE): Latch.FAULT,
    (Latch.CLEAR, Event.FIND_WRONG_ROBOT): Latch.FAULT,
    (Latch.CLEAR, Event.PRESS_EXTERNAL_STOP): Latch.PRESSED,
    (Latch.FAULT, Event.PRESS_EXTERNAL_STOP): Latch.PRESSED,
    (Latch.FAULT, Event.RESET): Latch.CLEAR,
    (Latch.PRESSED, Event.RELEASE_EXTERNAL_STOP): Latch.FAULT,
}
"""(state of one machine, event) -> its next state; without an entry it stays."""

BAD_INPUTS = 10
"""A fault follows so many rejected messages; two good ones make up for one."""

MAX_REFUSALS = 10
"""So many commands that the gate refuses in a row are a fault."""

REFUSED = frozenset(
    {
        (Latch.PRESSED, Event.RESET),
        (Latch.PRESSED, Event.RESUME),
        (Latch.FAULT, Event.RESUME),
        (LinkState.LOST, Event.RESUME),
        (Activity.OFF, Event.RESUME),
    }
)
"""An event that one machine refuses changes none of them."""

FAULTS = {
    Event.STOP: Status.STOPPED,
    Event.INPUT_UNUSABLE: Status.BAD_INPUT,
    Event.OVERLOAD: Status.FORCE_EXCEEDED,
    Event.COMMANDS_UNSOUND: Status.COMMAND_REFUSED,
    Event.TORQUE: Status.TORQUE_EXCEEDED,
    Event.FIND_WRONG_ROBOT: Status.WRONG_ROBOT,
    Event.PRESS_EXTERNAL_STOP: Status.EXTERNAL_STOP,
}
"""The reason that an event latches; the first one stays."""


@dataclass(frozen=True, slots=True)
class SupervisorState:
    """Everything the supervisor remembers from tick to tick.

    Attributes:
        activity: Whether commands are to be sent.
        link: State of the link to the robot.
        settled: For how long states have been sound since it was lost [s].
        arming: What it takes to arm it.
        loss: Why it was lost; None if it never was.
        pause: Whether the reference is paused.
        latch: Whether there is a fault.
        fault: Its reason; None without one.
        fault_detail: What led to it, in words.
        rejected: Number of messages that were rejected so far.
        rejected_lately: Those of late; two good ones make up for one.
        overload: For how long a contact force has been too high [s].
    """

    activity: Activity = Activity.OFF
    link: LinkState = LinkState.LOST
    settled: float = 0.0
    arming: Arming = Arming.FIRST
    loss: Finding | None = None
    pause: Pause = Pause.NONE
    latch: Latch = Latch.CLEAR
    fault: Status | None = None
    fault_detail: str = ""
    rejected: int = 0
    rejected_lately: float = 0.0
    overload: float = 0.0


@dataclass(slots=True)
class Conditions:
    """What the watchdogs look at in one tick; ages are in seconds, inf for "never".

    Attributes:
        state_age: Of the last sound joint state.
        arrived: Whether one has come since the last tick.
        continuous: Whether the robot is as it was when the link was lost.
        knows_command: Whether the driver says which command the robot holds.
        hearing: Whether messages come, sound or not.
        finding: What is wrong with the robot, its states, or who else commands it.
        contacts_age: Of the contact estimate.
        reference_age: Of a streamed reference; 0 for a trajectory known to its end.
        has_reference: Whether there is something to follow.
        identifiable: Whether the torques determine the contacts.
        force_ratio: Largest contact force over its limit; 0 where the controller does not
            bound forces.
        force: The greatest that a contact presses with, or that the torques prove [N].
        torque_exceeded: The external torque that is too high, in words; mostly empty.
    """

    state_age: float
    contacts_age: float
    arrived: bool = True
    continuous: bool = True
    knows_command: bool = True
    hearing: bool = False
    finding: Finding | None = None
    reference_age: float = 0.0
    has_reference: bool = False
    identifiable: bool = True
    force_ratio: float = 0.0
    force: float = 0.0
    torque_exceeded: str = ""


class Supervisor:
    """Decides the mode of every tick; what it remembers is its callers' SupervisorState."""

    def __init__(self, config: SafetyConfig, period: float) -> None:
        """Take times and factors.

        Args:
            config: Times and factors.
            period: Time between ticks [s].
        """
        self._config = config
        self._period = period

    def handle(
        self, state: SupervisorState, request: Request, detail: str = ""
    ) -> tuple[SupervisorState, bool]:
        """Do what is asked between two ticks.

        Args:
            state: What is remembered.
            request: What is asked.
            detail: The reason, in words.

        Returns:
            (what is remembered now; False if it is refused: a reset while the external stop
            is pressed, or to resume while something else keeps the arm from going on).
        """
        if request is Request.REJECT_INPUT:
            return self.reject_input(state, detail), True
        event = Event[request.name]
        machines = state.latch, state.link, state.activity
        if not REFUSED.isdisjoint((machine, event) for machine in machines):
            return state, False
        if request is Request.STOP:
            detail = "stop was called"
        elif request is Request.PRESS_EXTERNAL_STOP:
            detail = detail or "the external stop was pressed"
        return _after(state, event, detail), True

    def accept_input(self, state: SupervisorState) -> SupervisorState:
        """Count a good message."""
        if not state.rejected_lately:
            return state
        return replace(state, rejected_lately=max(0.0, state.rejected_lately - 0.5))

    def reject_input(self, state: SupervisorState, detail: str = "") -> SupervisorState:
        """Count a message with NaN, wrong length or wrong names; too many are a fault.

        A stream of which every second message is rejected is as little use as none.

        Args:
            state: What is remembered.
            detail: What is wrong with it.

        Returns:
            What is remembered now.
        """
        lately = state.rejected_lately + 1.0
        state = replace(state, rejected=state.rejected + 1, rejected_lately=lately)
        if lately < BAD_INPUTS:
            return state
        count = f"{BAD_INPUTS} rejected messages of late"
        return _after(
            state, Event.INPUT_UNUSABLE, f"{count}, the last: {detail}" if detail else count
        )

    def refuse_command(self, state: SupervisorState, refused: int, rule: str) -> SupervisorState:
        """Take note of a command that the gate refused; too many in a row are a fault.

        Args:
            state: What is remembered.
            refused: How many it refused in a row.
            rule: Which rule the command breaks, with the numbers.

        Returns:
            What is remembered now.
        """
        if refused < MAX_REFUSALS:
            return state
        detail = f"{refused} refused commands in a row, the last: {rule}"
        return _after(state, Event.COMMANDS_UNSOUND, detail)

    def update(
        self, state: SupervisorState, conditions: Conditions
    ) -> tuple[SupervisorState, Mode, Status]:
        """Decide what to do in this tick.

        Args:
            state: What is remembered.
            conditions: Ages and measurements.

        Returns:
            (what is remembered now, the mode, the reason for it).
        """
        if state.activity is Activity.OFF:
            return state, Mode.INACTIVE, Status.OK
        state = self._watch_link(state, conditions)
        lost = Status.WAITING_FOR_STATE if state.loss is None else state.loss.status
        if state.arming is Arming.FIRST:
            return state, Mode.INACTIVE, state.fault or lost
        if conditions.torque_exceeded:
            state = _after(state, Event.TORQUE, conditions.torque_exceeded)
        state = self._watch_force(state, conditions.force_ratio, conditions.force)
        if state.fault is not None:
            return state, Mode.FAULT, state.fault
        if state.link is LinkState.LOST:
            return state, Mode.HOLD, lost
        if state.link is LinkState.SYNC:
            waits = state.arming is Arming.ON_RESUME
            return state, Mode.HOLD, Status.NOT_ARMED if waits else lost
        return state, *self._decide(state, conditions)

    def _watch_link(self, state: SupervisorState, conditions: Conditions) -> SupervisorState:
        """Lose the link, or find it again."""
        age = conditions.state_age
        loss = conditions.finding
        # Ages are whole periods in lock-step: rounding must not decide.
        if loss is None and age > (self._config.state_timeout_periods + 1e-6) * self._period:
            loss = self._outage(state, conditions)
        if loss is not None:
            state = replace(_after(state, Event.STATE_LOST), loss=loss)
            short = conditions.finding is None and age <= self._config.recovery_window
            return state if short else _after(state, Event.BROKEN)
        if state.link is LinkState.LOST and conditions.arrived:
            state = replace(_after(state, Event.STATE_SOUND), settled=0.0)
            if not conditions.continuous:
                state = _after(state, Event.BROKEN)
        if state.link is LinkState.SYNC:
            state = replace(state, settled=state.settled + self._period)
            if state.arming is not Arming.ON_RESUME and self._knows_command(state, conditions):
                state = _after(state, Event.ARM)
        return state

    def _knows_command(self, state: SupervisorState, conditions: Conditions) -> bool:
        """Tell whether it shows which command the robot holds: it says so, or has come to rest."""
        if conditions.knows_command or state.arming is Arming.FIRST:
            return True
        return state.settled > self._config.settling_time

    def _outage(self, state: SupervisorState, conditions: Conditions) -> Finding:
        """Return why there is no state to work with."""
        age = conditions.state_age
        if not conditions.hearing:
            silent = Status.WAITING_FOR_STATE if age == math.inf else Status.STATE_STALE
            return Finding(silent, f"no state for {age:.3f} s")
        loss = state.loss if state.link is LinkState.LOST else None
        if loss is not None and loss.status not in (Status.WAITING_FOR_STATE, Status.STATE_STALE):
            return loss
        return Finding(Status.STATE_FROZEN, f"the stamp has stood still for {age:.3f} s")

    def _decide(self, state: SupervisorState, conditions: Conditions) -> tuple[Mode, Status]:
        """Decide with a link that is armed, and no fault."""
        trust = self._trust(state, conditions)
        if state.pause is Pause.ASKED or not conditions.has_reference:
            return Mode.HOLD, trust
        if conditions.reference_age > self._config.reference_timeout:
            return Mode.HOLD, Status.REFERENCE_STALE
        if trust in (Status.CONTACTS_STALE, Status.CONTACT_UNIDENTIFIABLE):
            return Mode.CONSERVATIVE, trust
        return Mode.TRACKING, trust

    def _trust(self, state: SupervisorState, conditions: Conditions) -> Status:
        """Return what is doubtful about contacts and messages."""
        if conditions.contacts_age > self._config.contacts_timeout:
            return Status.CONTACTS_STALE
        if not conditions.identifiable:
            return Status.CONTACT_UNIDENTIFIABLE
        if conditions.force_ratio > self._config.force_fault_factor:
            return Status.FORCE_EXCEEDED
        return Status.BAD_INPUT if state.rejected_lately else Status.OK

    def _watch_force(self, state: SupervisorState, ratio: float, force: float) -> SupervisorState:
        """Latch a fault if a force stays above k f_max for T, or is above the one to stop at."""
        limit = self._config.stop_force
        if 0.0 < limit < force:
            detail = f"a force of {force:.1f} N presses on the arm, which stops above {limit:g} N"
            return _after(state, Event.OVERLOAD, detail)
        if ratio <= self._config.force_fault_factor:
            return replace(state, overload=0.0) if state.overload else state
        state = replace(state, overload=state.overload + self._period)
        if state.overload <= self._config.force_fault_time:
            return state
        return _after(
            state,
            Event.OVERLOAD,
            f"a contact force was {ratio:.1f} times its limit, for more than "
            f"{self._config.force_fault_time:g} s",
        )


def _after(state: SupervisorState, event: Event, detail: str = "") -> SupervisorState:
    """Return what is remembered after an event, by the table."""
    fault, fault_detail = state.fault, state.fault_detail
    if event in FAULTS and state.latch is Latch.CLEAR:
        fault, fault_detail = FAULTS[event], detail
    state = replace(
        state,
        activity=_next(state.activity, event),
        link=_next(state.link, event),
        arming=_next(state.arming, event),
        pause=_next(state.pause, event),
        latch=_next(state.latch, event),
        fault=fault,
        fault_detail=fault_detail,
    )
    if event is Event.ACTIVATE:
        state = replace(state, loss=None)
    if event is Event.RESET:
        return replace(state, fault=None, fault_detail="", rejected_lately=0.0, overload=0.0)
    return state


def _next(state: Machine, event: Event) -> Machine:
    """Return where one machine goes from a state."""
    return cast(Machine, TRANSITIONS.get((state, event), state))
