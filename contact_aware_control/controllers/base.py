"""What every controller is: a step from its state and the measurements to a command."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.controllers.contact_selection import ContactSet
from contact_aware_control.reference.base import Assignment, Reference
from contact_aware_control.safety.status import Status
from contact_aware_control.tracking import check_trackable


def _nothing() -> np.ndarray:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class ControllerState:
    """Everything a controller remembers from tick to tick.

    Attributes:
        assignment: What it follows; None before the first one.
        contacts: The contacts it considers, and what it knows of their forces.
        damping_weight: w of (24a), relative to the tracking term.
    """

    assignment: Assignment | None = None
    contacts: ContactSet = field(default_factory=ContactSet)
    damping_weight: float = 0.0


@dataclass(slots=True, eq=False)
class ControllerInput:
    """What a controller knows in one tick; it changes nothing of it.

    Attributes:
        time: Reference time [s].
        position: (n) measured q [rad].
        command: (n) present command q_cmd [rad].
        lower: (n) lower bound on q_cmd+ - q_cmd [rad].
        upper: (n) upper bound on q_cmd+ - q_cmd [rad].
        torque: (n) external torque without bias and payload [Nm]; NaN where it is not known.
        offset: (n) bias and payload, which the springs carry as well [Nm]; None: none.
        widest: The same bounds for giving way, which may be faster; None: no faster.
        contacts: Estimated contacts; None if they are old: the last ones have to do, and
            the arm moves with strong damping.
        conservative: The contacts are not trusted: keep a margin to the force limits.
        unexplained_force: What the torques prove beyond the contacts [N]; then the torques
            themselves are bounded.
        rate: How fast reference time passes; 1 as programmed.
        nominal: (n) the command that there would be without contacts [rad]; None: the present one.
    """

    time: float
    position: np.ndarray
    command: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    contacts: Sequence[ContactEstimate] | None
    conservative: bool = False
    unexplained_force: float = 0.0
    rate: float = 1.0
    nominal: np.ndarray | None = None
    torque: np.ndarray | None = None
    offset: np.ndarray | None = None
    widest: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(slots=True, eq=False)
class ControllerOutput:
    """The command, and why it is what it is. Failure is a status, not an exception.

    Nobody changes it afterwards.

    Attributes:
        command: (n) q_cmd+ [rad]; equal to q_cmd if the controller failed.
        status: OK, QP_INFEASIBLE (force limits had to be relaxed) or QP_FAILED.
        contact_links: Links in contact, one per row of the model.
        measured_force: (nc) [N].
        predicted_force: (nc) forces the model predicts for ``command`` [N].
        force_limit: (nc) [N].
        active_constraints: Names of the constraints that hold the command back, e.g.
            "force lbr_link_6".
        slack: How far the force limits had to be relaxed [N].
        damping_weight: w of (24a).
        iterations: Of the QP solver.
        position_error: Distance of the measured tool to the reference [m].
        rotation_error: Angle of the measured tool to the reference [rad].
        nominal: (n) the command that there would be now without contacts [rad]; None: this one.
        yields: Whether the wider bounds for giving way are needed.
    """

    command: np.ndarray
    status: Status = Status.OK
    contact_links: tuple[str, ...] = ()
    measured_force: np.ndarray = field(default_factory=_nothing)
    predicted_force: np.ndarray = field(default_factory=_nothing)
    force_limit: np.ndarray = field(default_factory=_nothing)
    active_constraints: tuple[str, ...] = ()
    slack: float = 0.0
    damping_weight: float = 0.0
    iterations: int = 0
    position_error: float = math.nan
    rotation_error: float = math.nan
    nominal: np.ndarray | None = None
    yields: bool = False


class Controller(ABC):
    """Follows one reference after the other; what it remembers is its callers' state.

    Attributes:
        limits_force: Whether contact forces are bounded; False for baselines.
        bounds_step: Whether the bounds on step and speed apply to its command; False only
            for a baseline whose abrupt motion is to be seen.
    """

    limits_force: bool
    bounds_step: bool = True

    @abstractmethod
    def step(
        self, state: ControllerState, inputs: ControllerInput
    ) -> tuple[ControllerState, ControllerOutput]:
        """Compute the next command; the same arguments give the same bits.

        Args:
            state: From :meth:`follow` or the last step; it has an assignment.
            inputs: What is known in this tick.

        Returns:
            (what is remembered; the command within the bounds of the inputs, and diagnostics).
        """

    def give_way(
        self, state: ControllerState, inputs: ControllerInput
    ) -> tuple[ControllerState, ControllerOutput]:
        """Follow nothing, and yield to forces above their limits; who has limits overrides this.

        Args:
            state: What is remembered.
            inputs: What is known in this tick; its time and rate do not count.

        Returns:
            (what is remembered; the command, which is the present one where nothing presses).
        """
        return state, ControllerOutput(command=inputs.command)

    def follow(
        self, reference: Reference, posture: np.ndarray, force_limits: Mapping[str, float]
    ) -> ControllerState:
        """Start to follow a reference, from reference time 0.

        Args:
            reference: The motion, already checked.
            posture: (n) joint positions to stay near where the reference leaves a choice [rad].
            force_limits: Force limit [N] by link, where contact is planned.

        Returns:
            A state without contacts.

        Raises:
            TrajectoryError: If the controller cannot follow this kind of reference.
        """
        check_trackable(reference)
        return ControllerState(Assignment(reference, posture, dict(force_limits)))
