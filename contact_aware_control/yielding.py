"""How the command yields: to forces above limits, within a deviation bound, and to a hand.

:class:`Known` is what a tick starts from and :class:`Move` what it comes to; the control loop makes
the one and passes the other on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate, ContactReport
from contact_aware_control.controllers import (
    Controller,
    ControllerInput,
    ControllerOutput,
    ControllerState,
)
from contact_aware_control.controllers.contact_jacobian import magnitude
from contact_aware_control.lever_arms import LeverArms
from contact_aware_control.loop_state import NANOSECONDS
from contact_aware_control.reference.base import Goal, Guidance
from contact_aware_control.safety.command_gate import Bound, CommandGate, GateState
from contact_aware_control.safety.command_limits import CommandGuard
from contact_aware_control.safety.deviation_bound import DeviationBound
from contact_aware_control.safety.reflex import ReflexState
from contact_aware_control.safety.status import FOLLOWING, Mode, Status
from contact_aware_control.safety.transition import DONE, TransitionState
from contact_core.base.low_pass import followed_share
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot

BOUNDED = (Status.OK, Status.CONTACT_UNIDENTIFIABLE)
"""What the deviation bound explains better."""


class Known(NamedTuple):
    """What a tick of an arm that is commanded starts from.

    Attributes:
        time: Of the tick [ns].
        arm: The last sound joint state.
        report: The last sound contacts.
        goal: What is followed.
        gate: What the gate remembers, the present command above all.
        mode: Of the tick.
        begins: Whether something else is wanted from this tick on.
        ramp_ticks: Number of ticks since the slow start began.
        nominal: (n) the command that there would be without contacts [rad]; None: the present one.
        bounded: Whether nothing vouches for the contacts.
        vouched: (n) how far contacts that were vouched for have taken the command from the one
            without any [rad]; None: not at all.
    """

    time: int
    arm: ArmState
    report: ContactReport | None
    goal: Goal | None
    gate: GateState
    mode: Mode
    begins: bool
    ramp_ticks: int
    nominal: np.ndarray | None
    bounded: bool
    vouched: np.ndarray | None

    @property
    def guidance(self) -> Guidance | None:
        """What a hand may lead the arm by, if it may."""
        if self.goal is None or self.mode not in FOLLOWING:
            return None
        reference = self.goal.reference
        return reference if isinstance(reference, Guidance) else None


class Move(NamedTuple):
    """What is wanted of the arm, and what is remembered of how it came about.

    Attributes:
        command: (n) what the gate is asked to pass [rad]; None while there is none.
        bound: How fast it may be.
        status: Why it is this one.
        reflex: What the reflex remembers.
        controller: What the controller remembers.
        reference_time: Time since the start of the goal [s].
        reference_rate: How fast it passes.
        transition: From one motion to the next, if one is under way.
        rate: How fast reference time passed in this tick; 0 where nothing is followed.
        output: The controller's; None where nothing is followed.
        nominal: (n) the command that there would be now without contacts [rad]; None: this one.
        vouched: (n) how far contacts that are vouched for have taken the command from it [rad];
            None: not at all.
    """

    command: np.ndarray | None
    bound: Bound
    status: Status
    reflex: ReflexState
    controller: ControllerState
    reference_time: float
    reference_rate: float
    transition: TransitionState = DONE
    rate: float = 0.0
    output: ControllerOutput | None = None
    nominal: np.ndarray | None = None
    vouched: np.ndarray | None = None


class Yielding:
    """Gives way; it remembers nothing."""

    def __init__(
        self,
        robot: Robot,
        config: ControllerConfig,
        controller: Controller,
        gate: CommandGate,
        guard: CommandGuard,
        deviation_bound: DeviationBound,
    ) -> None:
        """Take what a command is made and bounded by.

        Args:
            robot: The arm; it is updated.
            config: Every parameter.
            controller: Knows the contacts.
            gate: Knows how fast a command may be.
            guard: Knows workspace and self-collision.
            deviation_bound: How far a command may yield to what may be no contact.
        """
        self._n = robot.n
        self._config = config
        self._controller = controller
        self._gate = gate
        self._guard = guard
        self._deviation_bound = deviation_bound
        self._softness = 1.0 / robot.stiffness
        self._release_share = followed_share(config.period, config.force.release_time)
        self._levers = LeverArms(robot, config.reflex.held_reach)
        self._most_torque = config.reflex.torque_share * robot.effort_limits

    def give_way(self, known: Known, move: Move) -> Move:
        """Follow nothing; yield where a contact force is above its limit.

        Args:
            known: What the tick starts from.
            move: What is wanted so far; its command is the present one.

        Returns:
            What is wanted now; with the same command where nothing presses.
        """
        command = known.gate.command
        doubted = known.guidance is not None and known.bounded
        if doubted or (np.abs(known.arm.external_torque) > self._most_torque).any():
            # A phantom must not lead the arm: what presses shows in the springs, too.
            return move._replace(command=self._floats(known, move))
        controller, output = self._controller.give_way(
            move.controller, self.told(known, move, 0.0, *self._room(known))
        )
        move = move._replace(controller=controller)
        if output.status is Status.QP_FAILED:
            move = move._replace(command=self.relax(known, move.reflex))
        elif (output.command != command).any():
            guarded, _ = self._guard.limit(command, output.command - command, yields=True)
            move = move._replace(command=guarded)
        if move.command is command and self._floats(known, move) is command:
            return move
        return self.within_bound(known, move)

    def within_bound(self, known: Known, move: Move) -> Move:
        """Hold back a command that yields to what may be no contact, and say so.

        Args:
            known: What the tick starts from.
            move: What is wanted so far.

        Returns:
            What is wanted now.
        """
        command = move.command
        assert command is not None
        before = known.gate.command if known.nominal is None else known.nominal
        nominal = before if move.nominal is None else move.nominal
        # Where nothing is followed, the first command that yields leaves the nominal one behind.
        move, held = move._replace(nominal=nominal), False
        if known.bounded:
            pulled = move.reflex.unexplained_force > 0.0 or self._deviation_bound.is_pulled(
                known.report
            )
            vouched = _shrunk(known.vouched, known.gate.command - before) if pulled else None
            shift = np.zeros(self._n) if vouched is None else vouched
            command, held = self._deviation_bound.limit(
                known.gate.command, (before + shift, nominal + shift), command, pulled
            )
            move = move._replace(vouched=vouched)
        else:
            move = move._replace(vouched=command - nominal)
        if held:
            room = self._gate.room(known.gate, known.arm.position, move.bound)
            command = known.gate.command + np.clip(command - known.gate.command, *room)
            status = Status.AMBIGUOUS_LOAD if move.status in BOUNDED else move.status
            move = move._replace(command=command, status=status)
        if held or known.mode not in FOLLOWING or known.guidance is not None:
            move = move._replace(command=self._floats(known, move))
        return move

    def relax(self, known: Known, reflex: ReflexState) -> np.ndarray:
        """Hold without the controller; above a force limit let the springs follow the arm.

        They give up what is above the limit, with the time constant of a force that is
        followed: an arm that is pushed goes along, one that is not stays where it is.

        Args:
            known: What the tick starts from.
            reflex: What the reflex remembers.

        Returns:
            (n) the command [rad]; the present one where nothing presses.
        """
        command, position = known.gate.command, known.arm.position
        contacts = () if known.report is None else known.report.contacts
        ratio = self.force_ratio(known.goal, contacts)
        if reflex.unexplained_force > 0.0:
            ratio = max(ratio, reflex.unexplained_force / self._config.force.limit)
        if ratio <= 1.0:
            return command
        share = (1.0 - 1.0 / ratio) * self._release_share
        room = self._room(known)
        relaxed: np.ndarray = command + np.clip(share * (position - command), *room)
        return relaxed

    def told(
        self, known: Known, move: Move, rate: float, lower: np.ndarray, upper: np.ndarray
    ) -> ControllerInput:
        """Return what the controller is told, see :class:`ControllerInput`.

        Args:
            known: What the tick starts from.
            move: What is wanted so far.
            rate: How fast reference time passes.
            lower: (n) lower bound on the change of the command [rad].
            upper: (n) upper bound [rad].
        """
        report = None if self.is_blind(known) else known.report
        return ControllerInput(
            time=move.reference_time,
            position=known.arm.position,
            command=known.gate.command,
            lower=lower,
            upper=upper,
            contacts=None if report is None else report.contacts,
            conservative=known.mode is Mode.CONSERVATIVE,
            unexplained_force=move.reflex.unexplained_force,
            rate=rate,
            nominal=known.nominal,
            torque=self._free_torque(known, move.reflex),
            widest=self._widest(known, move.reflex),
        )

    def is_blind(self, known: Known) -> bool:
        """Tell whether the contacts are too old.

        Args:
            known: What the tick starts from.
        """
        return age(known.time, known.report) > self._config.safety.contacts_timeout

    def force_ratio(self, goal: Goal | None, contacts: Sequence[ContactEstimate]) -> float:
        """Return the largest contact force over its limit; 0 for baselines, which have no limit.

        Args:
            goal: What is followed; None: nothing.
            contacts: Those that count.
        """
        if not contacts or not self._controller.limits_force:
            return 0.0
        # A hand that leads the arm may push harder than it has to.
        limits: Mapping[str, float] = {}
        if goal is not None and not isinstance(goal.reference, Guidance):
            limits = goal.force_limits
        default = self._config.force.limit
        return max(
            magnitude(contact.force_world)
            / max(limits.get(contact.link, default), self._config.force.contact_off, 1e-3)
            for contact in contacts
        )

    def _floats(self, known: Known, move: Move) -> np.ndarray:
        """Let the springs go along with what presses harder than a load does.

        Where the arm really is decides, no estimate: what shows in the torques alone moves
        nothing.
        """
        assert move.command is not None
        position, offset = known.arm.position, move.reflex.offset
        springs = (position - move.command) / self._softness
        if offset is not None:
            springs = springs - offset
        if known.guidance is not None:
            springs = np.where(known.guidance.free, springs, 0.0)
        force = self._levers.least_force(position, springs)
        if known.guidance is not None:
            most = known.guidance.force
        else:
            planned = () if known.goal is None else known.goal.force_limits.values()
            most = max(self._config.safety.float_force, *planned, 0.0)
        if force <= most:
            return move.command
        change = move.command - known.gate.command + (1.0 - most / force) * self._softness * springs
        floating: np.ndarray = known.gate.command + np.clip(change, *self._room(known))
        return floating

    def _free_torque(self, known: Known, reflex: ReflexState) -> np.ndarray:
        """Return the external torque (n) without bias and payload [Nm]."""
        told = None if known.report is None else known.report.free_torque
        if told is not None and told.size == self._n:
            return told
        offset = reflex.offset
        torque = known.arm.external_torque
        return torque if offset is None else torque - offset

    def _room(self, known: Known) -> tuple[np.ndarray, np.ndarray]:
        """Return the changes by which the command may give way, (lower, upper), each (n) [rad]."""
        room = self._gate.room(known.gate, known.arm.position, Bound.YIELDING)
        return room if known.guidance is None else known.guidance.within(room)

    def _widest(self, known: Known, reflex: ReflexState) -> tuple[np.ndarray, np.ndarray] | None:
        """Return how fast the arm may give way; None where nothing is there to give way to."""
        touched = reflex.unexplained_force > 0.0 or (known.report and known.report.contacts)
        if not (self._controller.limits_force and touched):
            return None
        return self._room(known)


def age(now: int, sample: ArmState | ContactReport | None) -> float:
    """Return the age of a message; a stamp in the future is as suspicious as an old one.

    Args:
        now: Time of the tick [ns].
        sample: The message; None: there is none.

    Returns:
        [s]; inf without a message.
    """
    return math.inf if sample is None else abs(now - sample.stamp) * NANOSECONDS


def _shrunk(vouched: np.ndarray | None, deviation: np.ndarray) -> np.ndarray | None:
    """Return what is left of a deviation (n) that was vouched for; what was given back is gone."""
    if vouched is None or not vouched.any():
        return None
    left: np.ndarray = min(max(vouched @ deviation / (vouched @ vouched), 0.0), 1.0) * vouched
    return left
