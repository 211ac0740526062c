"""What the control loop is given, remembers, works with in a tick, and says: plain data."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from operator import attrgetter

import numpy as np

from contact_aware_control.contact import ContactReport
from contact_aware_control.controllers import (
    ControllerInput,
    ControllerOutput,
    ControllerState,
)
from contact_aware_control.reference.base import Goal, Guidance
from contact_aware_control.safety.command_gate import GateState
from contact_aware_control.safety.follow_watch import FollowState
from contact_aware_control.safety.joint_bounds import Bound
from contact_aware_control.safety.reflex import ReflexState
from contact_aware_control.safety.state_checks import CheckState
from contact_aware_control.safety.status import Finding, LinkState, Mode, Status
from contact_aware_control.safety.supervisor import SupervisorState
from contact_aware_control.safety.transition import DONE, TransitionState
from contact_core.robot.arm_state import ArmState

NANOSECONDS = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class LoopInputs:
    """What one tick is given. Nobody changes it afterwards.

    Attributes:
        now: Time of the tick [ns].
        arm: The latest joint state; the same object again if there is no newer one.
        report: The latest contacts; the same object again if there are no newer ones.
        goal: What to follow, checked by a GoalChecker; another object starts anew. None: hold.
        earlier: Joint states that have arrived since the last tick before ``arm``, oldest first.
        finding: What else is wrong, such as somebody else on the wire.
    """

    now: int
    arm: ArmState | None = None
    report: ContactReport | None = None
    goal: Goal | None = None
    earlier: tuple[ArmState, ...] = ()
    finding: Finding | None = None


@dataclass(slots=True, eq=False)
class LoopState:
    """Everything the control loop remembers from tick to tick; plain data.

    A tick fills a copy of the last one; nobody changes it afterwards.

    Attributes:
        supervisor: Link to the robot, faults, pauses and watchdogs.
        checks: What the checks of the joint states remember.
        controller: What the controller remembers.
        gate: What the gate remembers, the present command above all; None while there is none.
        follow: What is remembered of how the robot follows commands; None while there are none.
        reflex: What the reflex remembers.
        arm: The last sound joint state since the activation.
        report: The last sound contacts.
        goal: What is followed.
        reference_time: Time since the start of the goal, without pauses [s].
        reference_rate: How fast that time passes, in [0, 1].
        mode: Of the last tick.
        transition: From one motion to the next, if one is under way.
        last: What the last tick was given; shows which messages are new.
        ticks: Number of ticks so far.
        deadline_misses: Number of ticks that came more than half a period late.
        ramp_ticks: Number of ticks since the slow start began.
        sent: (n) the last command that left [rad]; None if none has since the activation.
        nominal: (n) the command that there would be without contacts [rad]; None: the present one.
        vouched: (n) how far contacts that were vouched for have taken the command from it [rad];
            None: not at all.
    """

    supervisor: SupervisorState = field(default_factory=SupervisorState)
    checks: CheckState = field(default_factory=CheckState)
    controller: ControllerState = field(default_factory=ControllerState)
    gate: GateState | None = None
    follow: FollowState | None = None
    reflex: ReflexState = field(default_factory=ReflexState)
    arm: ArmState | None = None
    report: ContactReport | None = None
    goal: Goal | None = None
    reference_time: float = 0.0
    reference_rate: float = 1.0
    mode: Mode = Mode.INACTIVE
    transition: TransitionState = DONE
    last: LoopInputs | None = None
    ticks: int = 0
    deadline_misses: int = 0
    ramp_ticks: int = 0
    sent: np.ndarray | None = None
    nominal: np.ndarray | None = None
    vouched: np.ndarray | None = None

    def copy(self) -> LoopState:
        """Return the same, for a tick to fill."""
        return LoopState(*_everything(self))

    @property
    def command(self) -> np.ndarray | None:
        """The present command q_cmd, shape (n) [rad]; None while there is none."""
        return None if self.gate is None else self.gate.command

    def free_torque(self, report: ContactReport | None) -> np.ndarray:
        """Return what the arm feels of contacts, without bias and payload (n) [Nm].

        Args:
            report: That of the estimator, which counts if it knows; None if there is none.
        """
        arm, memory = self.arm, self.reflex.memory
        assert arm is not None
        told = None if report is None else report.free_torque
        if told is not None and told.size == arm.position.size:
            return told
        return arm.external_torque if memory is None else arm.external_torque - memory[1]


_everything = attrgetter(*(entry.name for entry in fields(LoopState)))
"""Of a state; to ask `dataclasses.replace` takes four times as long."""


class Purpose(Enum):
    """What a command is for; which limiters it passes depends on that."""

    FOLLOW = "to follow the reference, QP (24)"
    YIELD = "to give way to contacts, as the controller asks for"
    RELAX = "to give way without the controller, which failed"
    FLOAT = "to go along with what bends the springs"
    REACT = "to react to a fault"
    REST = "to come to rest"
    STAY = "to stay where it is"


@dataclass(slots=True, eq=False, kw_only=True)
class TickContext(ControllerInput):
    """What a tick of an arm that is commanded works with, beside what its controller knows.

    Attributes:
        before: What was remembered.
        after: What is remembered from now on, filled as the tick goes on.
        arm: The last sound joint state.
        gate: What the gate remembers, the present command above all.
        status: Why the command is this one.
        begins: Whether something else is wanted from this tick on; a transition leads there.
        guidance: What a hand may lead the arm by; None: it may not.
        follows: Whether a reference is followed.
        pulled: Whether a contact takes the command away from the nominal one.
        doubted: Whether nothing vouches for those contacts; then the deviation bound holds.
        purpose: What the command is for.
        bound: How fast it may be.
        fraction: Share of the step bound that may be used.
        output: The controller's; None where nothing is followed.
    """

    before: LoopState
    after: LoopState
    arm: ArmState
    gate: GateState
    status: Status
    begins: bool
    guidance: Guidance | None
    follows: bool
    pulled: bool
    doubted: bool
    purpose: Purpose = Purpose.STAY
    bound: Bound = Bound.YIELDING
    fraction: float = 1.0
    output: ControllerOutput | None = None


@dataclass(slots=True, eq=False)
class LoopStatus:
    """What happened in one tick; nobody changes it afterwards.

    Attributes:
        mode: What the controller does.
        status: Why.
        reference_time: Time since the start of the goal, without pauses [s].
        output: The controller's diagnostics; its command is the one before the limits.
        ticks: Number of ticks so far.
        deadline_misses: Number of ticks that came more than half a period late.
        rejected_messages: Number of rejected messages so far.
        link: State of the link to the robot.
        detail: What led to a latched fault, which rule a refused command breaks, or why the link
            was lost, with the numbers; empty if nothing is wrong.
        reference_rate: How fast reference time passed in this tick: 1 as programmed, 0 while the
            reference waits or nothing is followed.
    """

    mode: Mode
    status: Status
    reference_time: float
    output: ControllerOutput
    ticks: int
    deadline_misses: int
    rejected_messages: int
    link: LinkState = LinkState.LOST
    detail: str = ""
    reference_rate: float = 0.0

    @property
    def remedy(self) -> str:
        """What a person can do about the status."""
        return self.status.remedy
