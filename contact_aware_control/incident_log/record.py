"""A stretch of the control loop's life: its state at the start, all inputs, all outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.control_loop import ContactReport
from contact_aware_control.goal import Goal
from contact_aware_control.safety.request import Request
from contact_aware_control.safety.status import Mode, Status
from contact_core.arm_state import ArmState
from contact_core.description import RobotDescription


@dataclass(frozen=True, slots=True, eq=False)
class TickRecord:
    """One tick.

    Attributes:
        now: Time of the tick [ns].
        requests: What was asked since the tick before.
        state: The joint state given to the loop.
        report: The contacts given to it.
        goal: What it was to follow.
        command: (n) its answer q_cmd [rad]; None if none was sent.
        mode: What it did.
        status: Why.
    """

    now: int
    requests: tuple[Request, ...]
    state: ArmState | None
    report: ContactReport | None
    goal: Goal | None
    command: np.ndarray | None
    mode: Mode
    status: Status


@dataclass(frozen=True, eq=False)
class FlightRecord:
    """What a replay needs; nothing outside the record is used.

    Attributes:
        reason: Why it was written.
        robot: The robot.
        config: Every parameter of the controller.
        snapshot: The loop before the first tick, see :mod:`.snapshot`.
        known: The inputs the snapshot refers to.
        ticks: The ticks, oldest first.
    """

    reason: str
    robot: RobotDescription
    config: ControllerConfig
    snapshot: bytes
    known: Sequence[object]
    ticks: Sequence[TickRecord]
