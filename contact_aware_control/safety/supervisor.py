"""The state machine above the controllers: faults, hold and resume, watchdogs.

Four small machines run side by side; what happens is an :class:`Event`, and
:data:`TRANSITIONS` says where each machine goes from there. The mode of a tick follows from
their states and from the ages of what was received, in the order of :meth:`Supervisor.update`.

Not a certified safety function: it limits what this software asks of the robot, the
robot's own safety configuration has to protect people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeVar, cast

from contact_aware_control.config import SafetyConfig
from contact_aware_control.safety.status import Mode, Request, Status


class Activity(Enum):
    """Whether commands are sent."""

    OFF = auto()
    WAITING = auto()
    """Activated, but no joint state has come since."""
    RUNNING = auto()


class Pause(Enum):
    """Why the reference is paused until somebody calls resume."""

    NONE = auto()
    ASKED = auto()
    OUTAGE = auto()
    """The joint state was missing for longer than the recovery window."""


class Following(Enum):
    """Whether the robot follows commands; one that leaves after it did needs a resume."""

    NEW = auto()
    """It does; since the activation nothing was commanded."""
    SERVED = auto()
    """It does, and has been commanded."""
    NOT_YET = auto()
    """Its session has not begun to follow commands."""
    LEFT = auto()
    """It does not any more."""
    BACK = auto()
    """It does again, and waits for resume."""


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
    ROBOT_LEFT = auto()
    ROBOT_BACK = auto()
    FIND_SIMULATOR = auto()
    STATE_ARRIVED = auto()
    """A fresh joint state."""
    COMMANDED = auto()
    """The robot is given a command that it follows."""
    LONG_OUTAGE = auto()
    """The joint state is older than the recovery window."""
    INPUT_UNUSABLE = auto()
    """Too many messages in a row were rejected."""
    OVERLOAD = auto()
    """A contact force was too high for too long."""
    COMMANDS_UNSOUND = auto()
    """The gate refused too many commands in a row."""
    TORQUE = auto()
    """An external torque, or its rate, is too high."""


Machine = TypeVar("Machine", bound=Enum)

TRANSITIONS: dict[tuple[Enum, Event], Enum] = {
    (Activity.OFF, Event.ACTIVATE): Activity.WAITING,
    (Activity.WAITING, Event.STATE_ARRIVED): Activity.RUNNING,
    (Activity.WAITING, Event.DEACTIVATE): Activity.OFF,
    (Activity.RUNNING, Event.DEACTIVATE): Activity.OFF,
    (Activity.RUNNING, Event.ACTIVATE): Activity.WAITING,
    #
    (Pause.NONE, Event.HOLD): Pause.ASKED,
    (Pause.NONE, Event.LONG_OUTAGE): Pause.OUTAGE,
    (Pause.ASKED, Event.LONG_OUTAGE): Pause.OUTAGE,
    (Pause.ASKED, Event.RESUME): Pause.NONE,
    (Pause.ASKED, Event.RESET): Pause.NONE,
    (Pause.ASKED, Event.ACTIVATE): Pause.NONE,
    (Pause.OUTAGE, Event.RESUME): Pause.NONE,
    (Pause.OUTAGE, Event.RESET): Pause.NONE,
    (Pause.OUTAGE, Event.ACTIVATE): Pause.NONE,
    #
    (Following.NEW, Event.COMMANDED): Following.SERVED,
    (Following.NEW, Event.ROBOT_LEFT): Following.NOT_YET,
    (Following.NOT_YET, Event.ROBOT_BACK): Following.NEW,
    (Following.SERVED, Event.ROBOT_LEFT): Following.LEFT,
    (Following.SERVED, Event.ACTIVATE): Following.NEW,
    (Following.LEFT, Event.ROBOT_BACK): Following.BACK,
    (Following.LEFT, Event.ACTIVATE): Following.NOT_YET,
    (Following.BACK, Event.RESUME): Following.SERVED,
    (Following.BACK, Event.ROBOT_LEFT): Following.LEFT,
    (Following.BACK, Event.ACTIVATE): Following.NEW,
    #
    (Latch.CLEAR, Event.STOP): Latch.FAULT,
    (Latch.CLEAR, Event.INPUT_UNUSABLE): Latch.FAULT,
    (Latch.CLEAR, Event.OVERLOAD): Latch.FAULT,
    (Latch.CLEAR, Event.COMMANDS_UNSOUND): Latch.FAULT,
    (Latch.CLEAR, Event.TORQUE): Latch.FAULT,
    (Latch.CLEAR, Event.FIND_SIMULATOR): Latch.FAULT,
    (Latch.CLEAR, Event.PRESS_EXTERNAL_STOP): Latch.PRESSED,
    (Latch.FAULT, Event.PRESS_EXTERNAL_STOP): Latch.PRESSED,
    (Latch.FAULT, Event.RESET): Latch.CLEAR,
    (Latch.PRESSED, Event.RELEASE_EXTERNAL_STOP): Latch.FAULT,
}
"""(state of one machine, event) -> its next state; without an entry it stays."""

REFUSED = frozenset(
    {
        (Latch.PRESSED, Event.RESET),
        (Following.NOT_YET, Event.RESUME),
        (Following.LEFT, Event.RESUME),
    }
)
"""An event that one machine refuses changes none of them."""

FAULTS = {
    Event.STOP: Status.STOPPED,
    Event.INPUT_UNUSABLE: Status.BAD_INPUT,
    Event.OVERLOAD: Status.FORCE_EXCEEDED,
    Event.COMMANDS_UNSOUND: Status.COMMAND_REFUSED,
    Event.TORQUE: Status.TORQUE_EXCEEDED,
    Event.FIND_SIMULATOR: Status.WRONG_ROBOT,
    Event.PRESS_EXTERNAL_STOP: Status.EXTERNAL_STOP,
}
"""The reason that an event latches; the first one stays."""


@dataclass(frozen=True, slots=True)
class SupervisorState:
    """Everything the supervisor remembers from tick to tick.

    Attributes:
        activity: Whether commands are sent.
        pause: Why the reference is paused.
        following: Whether the robot follows commands.
        latch: Whether there is a fault.
        fault: Its reason; None without one.
        fault_detail: What led to it, in words.
        rejected: Number of messages that were rejected so far.
        rejected_in_a_row: Those since the last good one.
        overload: For how long a contact force has been too high [s].
    """

    activity: Activity = Activity.OFF
    pause: Pause = Pause.NONE
    following: Following = Following.NEW
    latch: Latch = Latch.CLEAR
    fault: Status | None = None
    fault_detail: str = ""
    rejected: int = 0
    rejected_in_a_row: int = 0
    overload: float = 0.0


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the watchdogs look at in one tick; ages are in seconds, inf for "never".

    Attributes:
        state_age: Of the joint state.
        contacts_age: Of the contact estimate.
        reference_age: Of a streamed reference; 0 for a trajectory known to its end.
        has_reference: Whether there is something to follow.
        identifiable: Whether the torques determine the contacts.
        force_ratio: Largest contact force over its limit; 0 where the controller does not
            bound forces.
        torque_exceeded: The external torque that is too high, in words; mostly empty.
    """

    state_age: float
    contacts_age: float
    reference_age: float = 0.0
    has_reference: bool = False
    identifiable: bool = True
    force_ratio: float = 0.0
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
            is pressed, or to resume while the robot does not follow commands).
        """
        if request is Request.REJECT_INPUT:
            return self.reject_input(state, detail), True
        event = Event[request.name]
        if not REFUSED.isdisjoint(((state.latch, event), (state.following, event))):
            return state, False
        if request is Request.STOP:
            detail = "stop was called"
        elif request is Request.PRESS_EXTERNAL_STOP:
            detail = detail or "the external stop was pressed"
        return _after(state, event, detail), True

    def accept_input(self, state: SupervisorState) -> SupervisorState:
        """Count a good message."""
        return replace(state, rejected_in_a_row=0) if state.rejected_in_a_row else state

    def reject_input(self, state: SupervisorState, detail: str = "") -> SupervisorState:
        """Count a message with NaN, wrong length or wrong names; too many are a fault.

        Args:
            state: What is remembered.
            detail: What is wrong with it.

        Returns:
            What is remembered now.
        """
        in_a_row = state.rejected_in_a_row + 1
        state = replace(state, rejected=state.rejected + 1, rejected_in_a_row=in_a_row)
        if in_a_row < self._config.bad_input_limit:
            return state
        count = f"{in_a_row} rejected messages in a row"
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
        if refused < self._config.refusal_limit:
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
        age = conditions.state_age
        # Ages are whole periods in lock-step: rounding must not decide.
        stale = age > (self._config.state_timeout_periods + 1e-6) * self._period
        if stale and self._config.recovery_window < age < math.inf:
            state = _after(state, Event.LONG_OUTAGE)
        elif not stale and state.activity is Activity.WAITING:
            state = _after(state, Event.STATE_ARRIVED)
        if state.activity is Activity.WAITING:
            return state, Mode.INACTIVE, state.fault or Status.WAITING_FOR_STATE
        if conditions.torque_exceeded:
            state = _after(state, Event.TORQUE, conditions.torque_exceeded)
        state = self._watch_force(state, conditions.force_ratio)
        if state.fault is not None:
            return state, Mode.FAULT, state.fault
        if stale:
            return state, Mode.HOLD, Status.STATE_STALE
        if state.following is Following.NEW:
            state = _after(state, Event.COMMANDED)
        elif state.following is not Following.SERVED:
            return state, Mode.HOLD, Status.NOT_COMMANDING
        return state, *self._decide(state, conditions)

    def _decide(self, state: SupervisorState, conditions: Conditions) -> tuple[Mode, Status]:
        """Decide with a fresh joint state, a robot that follows, and no fault."""
        trust = self._trust(state, conditions)
        if state.pause is Pause.OUTAGE:
            return Mode.HOLD, Status.STATE_STALE
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
        return Status.BAD_INPUT if state.rejected_in_a_row else Status.OK

    def _watch_force(self, state: SupervisorState, ratio: float) -> SupervisorState:
        """Latch a fault if a force stays above k f_max for T."""
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
        pause=_next(state.pause, event),
        following=_next(state.following, event),
        latch=_next(state.latch, event),
        fault=fault,
        fault_detail=fault_detail,
    )
    if event is Event.RESET:
        return replace(state, fault=None, fault_detail="", rejected_in_a_row=0, overload=0.0)
    return state


def _next(state: Machine, event: Event) -> Machine:
    """Return where one machine goes from a state."""
    return cast(Machine, TRANSITIONS.get((state, event), state))
