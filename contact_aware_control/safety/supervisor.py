"""The state machine above the controllers: watchdogs, hold and resume, latched faults.

Not a certified safety function: it limits what this software asks of the robot, the
robot's own safety configuration has to protect people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from contact_aware_control.config import SafetyConfig
from contact_aware_control.safety.request import Request
from contact_aware_control.safety.status import Mode, Status


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
    """

    state_age: float
    contacts_age: float
    reference_age: float = 0.0
    has_reference: bool = False
    identifiable: bool = True
    force_ratio: float = 0.0


class Supervisor:
    """Decides the mode of every tick.

    Attributes:
        rejected: Number of messages that were rejected so far.
        fault_detail: What led to the latched fault, in words; empty without a fault.
    """

    def __init__(self, config: SafetyConfig, period: float) -> None:
        """Start inactive.

        Args:
            config: Times and factors.
            period: Time between ticks [s].
        """
        self._config = config
        self._period = period
        self._active = False
        self._held = False
        self._fault: Status | None = None
        self._rejected_in_a_row = 0
        self._outage = 0.0
        self._overload = 0.0
        self._started = False
        self._pressed = False
        self._absent = False
        self._served = False
        self._left = False
        self.rejected = 0
        self.fault_detail = ""

    @property
    def fault(self) -> Status | None:
        """Reason of the latched fault, if there is one."""
        return self._fault

    def handle(self, request: Request, detail: str = "") -> bool:
        """Do what is asked.

        Args:
            request: What.
            detail: The reason, in words.

        Returns:
            False if it is refused: a reset while the external stop is pressed, or to resume
            while the robot does not follow commands.
        """
        match request:
            case Request.ACTIVATE:
                self.activate()
            case Request.DEACTIVATE:
                self.deactivate()
            case Request.HOLD:
                self.hold()
            case Request.RESUME:
                return self.resume()
            case Request.STOP:
                self.stop()
            case Request.RESET:
                return self.reset()
            case Request.PRESS_EXTERNAL_STOP:
                self.press_external_stop(detail)
            case Request.RELEASE_EXTERNAL_STOP:
                self.release_external_stop()
            case Request.REJECT_INPUT:
                self.reject_input(detail)
            case Request.ROBOT_LEFT:
                self.robot_left()
            case Request.ROBOT_BACK:
                self.robot_back()
        return True

    def activate(self) -> None:
        """Begin to send commands as soon as there is a joint state."""
        self._active = True
        self._held = False
        self._left = False
        self._served = False
        self._started = False
        self._outage = 0.0

    def deactivate(self) -> None:
        """Send no commands any more."""
        self._active = False

    def hold(self) -> None:
        """Hold the commanded position until :meth:`resume`; the reference is paused."""
        self._held = True

    def resume(self) -> bool:
        """Go on where :meth:`hold` or an outage interrupted.

        Returns:
            False, and nothing happens, while the robot does not follow commands.
        """
        if self._absent:
            return False
        self._held = False
        self._left = False
        self._outage = 0.0
        return True

    def robot_left(self) -> None:
        """The robot follows no commands any more; once it has, it takes :meth:`resume`."""
        self._absent = True
        self._left = self._served
        self._held = self._held or self._left

    def robot_back(self) -> None:
        """The robot follows commands again."""
        self._absent = False

    def stop(self) -> None:
        """Stop until :meth:`reset`."""
        self._latch(Status.STOPPED, "stop was called")

    def press_external_stop(self, detail: str = "") -> None:
        """Stop until the external stop is released and :meth:`reset` is called.

        Args:
            detail: What pressed it, in words.
        """
        self._pressed = True
        self._latch(Status.EXTERNAL_STOP, detail or "the external stop was pressed")

    def release_external_stop(self) -> None:
        """Permit a reset; nothing moves yet."""
        self._pressed = False

    def reset(self) -> bool:
        """Clear a fault; the arm is held at its commanded position.

        Returns:
            False, and nothing happens, while the external stop is pressed.
        """
        if self._pressed:
            return False
        self._fault = None
        self.fault_detail = ""
        self._held = self._left
        self._rejected_in_a_row = 0
        self._outage = 0.0
        self._overload = 0.0
        return True

    def accept_input(self) -> None:
        """Count a good message."""
        self._rejected_in_a_row = 0

    def reject_input(self, detail: str = "") -> None:
        """Count a message with NaN, wrong length or wrong names; too many are a fault.

        Args:
            detail: What is wrong with it.
        """
        self.rejected += 1
        self._rejected_in_a_row += 1
        if self._rejected_in_a_row >= self._config.bad_input_limit:
            count = f"{self._rejected_in_a_row} rejected messages in a row"
            self._latch(Status.BAD_INPUT, f"{count}, the last: {detail}" if detail else count)

    def update(self, conditions: Conditions) -> tuple[Mode, Status]:
        """Decide what to do in this tick.

        Args:
            conditions: Ages and measurements.

        Returns:
            The mode, and the reason for it.
        """
        if not self._active:
            return Mode.INACTIVE, Status.OK
        stale = self._watch_state(conditions.state_age)
        if not self._started:
            return Mode.INACTIVE, self._fault or Status.WAITING_FOR_STATE
        self._watch_force(conditions.force_ratio)
        if self._fault is not None:
            return Mode.FAULT, self._fault
        if stale:
            return Mode.HOLD, Status.STATE_STALE
        if self._absent or self._left:
            return Mode.HOLD, Status.NOT_COMMANDING
        self._served = True
        return self._decide(conditions)

    def _decide(self, conditions: Conditions) -> tuple[Mode, Status]:
        """Decide with a fresh joint state and no fault."""
        trust = self._trust(conditions)
        if self._rejected_in_a_row:
            trust = Status.BAD_INPUT if trust == Status.OK else trust
        if self._held:
            outage = self._outage > self._config.recovery_window
            return Mode.HOLD, Status.STATE_STALE if outage else trust
        if not conditions.has_reference:
            return Mode.HOLD, trust
        if conditions.reference_age > self._config.reference_timeout:
            return Mode.HOLD, Status.REFERENCE_STALE
        if trust in (Status.CONTACTS_STALE, Status.CONTACT_UNIDENTIFIABLE):
            return Mode.CONSERVATIVE, trust
        return Mode.TRACKING, trust

    def _trust(self, conditions: Conditions) -> Status:
        if conditions.contacts_age > self._config.contacts_timeout:
            return Status.CONTACTS_STALE
        if not conditions.identifiable:
            return Status.CONTACT_UNIDENTIFIABLE
        if conditions.force_ratio > self._config.force_fault_factor:
            return Status.FORCE_EXCEEDED
        return Status.OK

    def _watch_state(self, age: float) -> bool:
        """Return whether the state is stale; after a long outage wait for resume."""
        # Ages are whole periods in lock-step: rounding must not decide.
        if age > (self._config.state_timeout_periods + 1e-6) * self._period:
            # A short outage after a long one must not hide why the arm is held.
            self._outage = max(self._outage, age) if math.isfinite(age) else 0.0
            if self._outage > self._config.recovery_window:
                self._held = True
            return True
        self._started = True
        if not self._held:
            self._outage = 0.0
        return False

    def _watch_force(self, ratio: float) -> None:
        """Latch a fault if a force stays above k f_max for T."""
        if ratio > self._config.force_fault_factor:
            self._overload += self._period
            if self._overload > self._config.force_fault_time:
                self._latch(
                    Status.FORCE_EXCEEDED,
                    f"a contact force was {ratio:.1f} times its limit, for more than "
                    f"{self._config.force_fault_time:g} s",
                )
        else:
            self._overload = 0.0

    def _latch(self, reason: Status, detail: str) -> None:
        """Enter the fault mode; the first reason stays."""
        if self._fault is None:
            self._fault = reason
            self.fault_detail = detail
