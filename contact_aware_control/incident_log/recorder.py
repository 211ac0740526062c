"""Keeps the last seconds of the control loop, cheaply, until someone wants them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from contact_aware_control.control_loop import ContactReport, ControlLoop, LoopStatus
from contact_aware_control.goal import Goal
from contact_aware_control.incident_log import snapshot
from contact_aware_control.incident_log.record import FlightRecord, TickRecord
from contact_aware_control.safety.request import Request
from contact_aware_control.safety.status import Mode, Status
from contact_core.arm_state import ArmState
from contact_core.description import RobotDescription

SEGMENTS = 2
"""The requested time is divided into this many segments; one more is kept."""

BAD = frozenset((Status.STATE_STALE, Status.QP_FAILED, Status.FORCE_EXCEEDED, Status.BAD_INPUT))
"""Statuses that are worth a record, besides faults."""


@dataclass
class _Segment:
    """Some seconds, from a snapshot on."""

    snapshot: bytes
    known: tuple[object, ...]
    ticks: list[TickRecord] = field(default_factory=list)


class FlightRecorder:
    """A rolling record: the loop's state now and then, and every input and output.

    Recording a tick keeps references to its inputs, which nobody changes; nothing is
    copied or written until :meth:`record` is called.
    """

    def __init__(self, loop: ControlLoop, robot: RobotDescription, duration: float) -> None:
        """Start to record; the loop must not have been asked for anything yet.

        Args:
            loop: The loop.
            robot: The robot it was built from.
            duration: How far back a record goes at least [s].
        """
        self._loop = loop
        self._robot = robot
        self._length = max(1, round(duration / loop.config.period / SEGMENTS))
        self._segments: deque[_Segment] = deque(maxlen=SEGMENTS + 1)
        self._requests: list[Request] = []
        self._fault = False
        self._good_ticks = self._length * SEGMENTS
        self._start_segment()

    def note(self, request: Request) -> None:
        """Note what was asked of the loop before its next tick.

        Args:
            request: What.
        """
        self._requests.append(request)

    def tick(
        self,
        now: int,
        state: ArmState | None,
        report: ContactReport | None,
        goal: Goal | None,
        command: np.ndarray | None,
        status: LoopStatus,
    ) -> bool:
        """Note a tick; the arguments are those of the loop's tick and its answer.

        Args:
            now: Time [ns].
            state: The joint state.
            report: The contacts.
            goal: The goal.
            command: (n) the command [rad].
            status: What happened.

        Returns:
            True when a fault begins, or something is wrong again after a good time as long
            as a record.
        """
        requests = tuple(self._requests)
        self._requests.clear()
        self._segments[-1].ticks.append(
            TickRecord(now, requests, state, report, goal, command, status.mode, status.status)
        )
        fault = status.mode is Mode.FAULT
        bad = fault or status.status in BAD
        began = bad and self._good_ticks >= self._length * SEGMENTS
        began |= fault and not self._fault
        self._fault = fault
        self._good_ticks = 0 if bad else self._good_ticks + 1
        return began

    def roll(self) -> None:
        """Begin a new segment if it is time; called where a tenth of a millisecond is free."""
        if len(self._segments[-1].ticks) >= self._length and not self._requests:
            self._start_segment()

    def record(self, reason: str) -> FlightRecord:
        """Return what is known now; it does not change any more.

        Args:
            reason: Why it is wanted.

        Returns:
            The record.
        """
        first = self._segments[0]
        return FlightRecord(
            reason=reason,
            robot=self._robot,
            config=self._loop.config,
            snapshot=first.snapshot,
            known=first.known,
            ticks=[tick for segment in self._segments for tick in segment.ticks],
        )

    def _start_segment(self) -> None:
        self._segments.append(_Segment(*snapshot.take(self._loop)))
