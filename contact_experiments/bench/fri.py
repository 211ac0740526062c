"""``contact-stack bench fri``: how soon the driver ``fri`` answers a robot, beside busy programs.

A process in the cabinet's place sends a message every period, under real-time scheduling, and takes
from the kernel when each answer came. A second node commands the arm for each state, as a
controller does, so that the driver waits for it. Two more processes only keep processors busy.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import numpy as np
from lbr_fri_idl.msg import LBRJointPositionCommand, LBRState

from contact_core.base.errors import CommunicationError
from contact_core.base.results import add_json_option, at_least, lines, write_json
from contact_core.base.sweep import Sweep
from contact_experiments.bench.graph import enter_graph
from contact_ros import NANOSECONDS, GraphClient
from contact_ros.qos import signal_publisher, signal_subscription
from contact_ros.real_time import RealTimeConfig, enter_real_time
from contact_stack.fri import wire
from contact_stack.fri.answering import KERNEL_TIME, SO_TIMESTAMPNS
from contact_stack.fri.wire import SessionState

RESULTS = Path("out/bench/fri")
"""Where results are kept: a benchmark that is interrupted goes on where it was."""

PERIODS = (10, 5, 2, 1)
"""Of the cabinet's messages [ms]."""

BUSY = 2
"""Processes that keep processors busy."""

PART = 10_000
"""Answers that are asked for at a time; what is interrupted goes on with the next part."""

VERSION = "1.15"
HOME = (0.0, 0.4, 0.0, -1.7, 0.0, -0.5, 0.0)

PRIORITY = 90
"""Of the process in the cabinet's place, above all others."""

WARM_UP = 1.0
"""Time from the first answer on before any counts, and in each state before the last [s]."""

START_TIMEOUT = 60.0
"""How long driver and commander may take to start [s]."""

STOP_TIMEOUT = 20.0
"""How long they may take to end [s]."""

LATE_SHARE = 0.5
"""An answer that takes a larger share of the period is late."""

RUN_DRIVER = "from contact_stack.fri.node import main; raise SystemExit(main())"


@dataclass(frozen=True, eq=False)
class AnswerPart:
    """Answers to some messages in a row.

    Attributes:
        period: Of the messages [ms].
        real_time: Whether driver and commander asked for real-time scheduling.
        times: From the message to the kernel's stamp of its answer [s]; inf where none came.
        repeats: Of the answers, those whose position was that of the one before.
        stalls: By message, whether the bench's own process, which has priority over all others,
            sent it late by more than an answer may take: then the machine stood still.
        load: Of the machine at the end: processes that run or want to.
    """

    period: int
    real_time: bool
    times: np.ndarray
    repeats: int
    stalls: np.ndarray
    load: float


class BenchCabinet:
    """Sends messages as a robot's cabinet does, and takes the times of their answers."""

    def __init__(self, port: int, period: int) -> None:
        """Prepare.

        Args:
            port: UDP port of the driver on this machine.
            period: Between two messages [ms].
        """
        self._address, self._period = ("127.0.0.1", port), period
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.setblocking(False)
        self.sequence = 0
        self._due = time.monotonic()
        self._sent: dict[int, float] = {}
        self.answered: dict[int, float] = {}
        self.position: tuple[float, ...] = ()
        self.repeats = 0
        self.stalled: set[int] = set()

    def close(self) -> None:
        """Free the port."""
        self._socket.close()

    def run(self, state: SessionState, count: int) -> np.ndarray:
        """Send messages, one every period.

        Args:
            state: Of the session.
            count: How many.

        Returns:
            (count) times of the answers [s]; inf where none came before the next message.
        """
        first = self.sequence + 1
        for _ in range(count):
            self._due += 1e-3 * self._period
            time.sleep(max(0.0, self._due - time.monotonic()))
            late = time.monotonic() - self._due
            self._receive()
            self._send(state)
            if late > LATE_SHARE * 1e-3 * self._period:
                self.stalled.add(self.sequence)
        time.sleep(1e-3 * self._period)
        self._receive()
        numbers = range(first, first + count)
        return np.array([self.answered.get(number, np.inf) for number in numbers])

    def _send(self, state: SessionState) -> None:
        self.sequence += 1
        seconds, nanoseconds = divmod(time.time_ns(), NANOSECONDS)
        joints, still = {"values": HOME}, {"values": [0.0] * wire.JOINTS}
        content: dict[str, Any] = {
            "header": {
                "identifier": wire.MONITORING_ID,
                "sequence": self.sequence,
                "reflected": 0,
            },
            "robot": {"joints": wire.JOINTS, "drives": [2] * wire.JOINTS, "control": 2},
            "measured": {
                **{name: joints for name in ("position", "commanded")},
                **{name: still for name in ("torque", "commanded_torque", "external")},
                "stamp": {"seconds": seconds, "nanoseconds": nanoseconds},
            },
            "connection": {
                "session": state,
                "quality": wire.LinkQuality.EXCELLENT,
                "period": self._period,
                "multiplier": 1,
            },
        }
        if state >= SessionState.COMMANDING_WAIT:
            content["interpolator"] = {"position": joints, "command_mode": 1, "overlay": 1}
        data = wire.message_class("Monitoring")(**content).SerializeToString()
        self._sent[self.sequence] = time.time()
        self._socket.sendto(data, self._address)

    def _receive(self) -> None:
        with suppress(BlockingIOError):
            while True:
                data, extra, *_ = self._socket.recvmsg(
                    wire.MAX_DATAGRAM, socket.CMSG_SPACE(KERNEL_TIME.size)
                )
                answer = wire.message_class("Command").FromString(data)
                seconds, nanoseconds = KERNEL_TIME.unpack(extra[0][2])
                number = answer.header.reflected
                taken = seconds + nanoseconds / NANOSECONDS - self._sent[number]
                self.answered[number] = taken
                position = tuple(answer.data.position.values)
                self.repeats += position == self.position
                self.position = position


def measure(period: int, real_time: bool, part: int, answers: int = PART) -> AnswerPart:
    """Let the driver answer for a while.

    Args:
        period: Of the messages [ms].
        real_time: Whether driver and commander ask for real-time scheduling.
        part: Number of the part, which tells it from the others.
        answers: How many messages count.

    Returns:
        The answers.

    Raises:
        CommunicationError: If the driver does not answer at all.
    """
    port = _free_port()
    with _driver(port, real_time), _processes(real_time):
        cabinet = BenchCabinet(port, period)
        try:
            with _real_time_here():
                return _measure(cabinet, period, real_time, answers)
        finally:
            cabinet.close()


def _measure(cabinet: BenchCabinet, period: int, real_time: bool, answers: int) -> AnswerPart:
    warm_up = round(1e3 * WARM_UP / period)
    end = time.monotonic() + START_TIMEOUT
    while not cabinet.answered:
        if time.monotonic() > end:
            raise CommunicationError(f"no answer within {START_TIMEOUT:g} s: see its log")
        cabinet.run(SessionState.MONITORING_READY, warm_up)
    for state in SessionState.MONITORING_READY, SessionState.COMMANDING_WAIT:
        cabinet.run(state, warm_up)
    cabinet.run(SessionState.COMMANDING_ACTIVE, 2 * warm_up)
    while cabinet.position == HOME:  # until the commander has begun
        if time.monotonic() > end:
            raise CommunicationError(f"no command within {START_TIMEOUT:g} s")
        cabinet.run(SessionState.COMMANDING_ACTIVE, warm_up)
    cabinet.repeats = 0
    times = cabinet.run(SessionState.COMMANDING_ACTIVE, answers)
    load = os.getloadavg()[0]
    numbers = range(cabinet.sequence - answers + 1, cabinet.sequence + 1)
    stalls = np.array([number in cabinet.stalled for number in numbers])
    return AnswerPart(period, real_time, times, cabinet.repeats, stalls, load)


def summary(parts: list[AnswerPart]) -> dict[str, Any]:
    """Sum up the parts of one case.

    Args:
        parts: All of the same period and scheduling.

    Returns:
        Its row of the table.
    """
    times = np.concatenate([part.times for part in parts])
    stalls = np.concatenate([part.stalls for part in parts])
    period = parts[0].period
    late = times > LATE_SHARE * 1e-3 * period
    # Whoever was to answer, or sent the next message, stood still as well.
    stood = np.convolve(stalls, np.ones(3), "same") > 0.0
    came = times[np.isfinite(times)]
    p50, p99, p999, longest = np.percentile(came, (50, 99, 99.9, 100)).tolist()
    return {
        "period": period,
        "scheduling": "real time" if parts[0].real_time else "ordinary",
        "messages": times.size,
        "late": int(late.sum()),
        "own": int((late & ~stood).sum()),
        "missing": int(times.size - came.size),
        "repeats": sum(part.repeats for part in parts),
        "stalls": int(stalls.sum()),
        "p50": p50,
        "p99": p99,
        "p999": p999,
        "max": longest,
        "load": float(np.mean([part.load for part in parts])),
    }


COLUMNS = (
    ("period [ms]", "period", 1, "d"), ("", "scheduling", 1.0, ""),
    ("messages", "messages", 1, "d"), ("late", "late", 1, "d"), ("of them none", "missing", 1, "d"),
    ("no new command", "repeats", 1, "d"), ("machine stood", "stalls", 1, "d"),
    ("late while it ran", "own", 1, "d"),
    ("p50 [ms]", "p50", 1e3, ".2f"), ("p99", "p99", 1e3, ".2f"), ("p99.9", "p999", 1e3, ".2f"),
    ("max", "max", 1e3, ".2f"), ("load", "load", 1.0, ".1f"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--period",
        type=int,
        choices=PERIODS,
        action="append",
        help="only this one [ms] (repeatable)",
    )
    parser.add_argument(
        "--parts",
        type=at_least(1),
        default=1,
        help=f"of {PART} messages each; those that are done are not repeated (default: 1)",
    )
    parser.add_argument(
        "--ordinary",
        action=argparse.BooleanOptionalAction,
        help="only without real-time scheduling, or only with it (default: both)",
    )
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0.

    Raises:
        CommunicationError: If the driver does not start.
    """
    load = enter_graph()
    kinds = (True, False) if args.ordinary is None else (not args.ordinary,)
    cases = [(period, kind) for period in args.period or PERIODS for kind in kinds]
    tasks = [(*case, part) for case in cases for part in range(args.parts)]
    done = Sweep(folder=RESULTS).run(measure, tasks, "fri", one_at_a_time=True)
    rows = []
    for period, kind in cases:
        found = [part for part in done if (part.period, part.real_time) == (period, kind)]
        rows.append(summary(found))
    print("\n".join((*lines(rows, COLUMNS), "")))
    processors = len(os.sched_getaffinity(0))
    print(f"{BUSY} busy processes beside it, {processors} processors; load before: {load:.1f}")
    write_json({"load": load, "cases": rows, "parts": [_without_times(p) for p in done]}, args.json)
    return 0


def _without_times(part: AnswerPart) -> dict[str, Any]:
    return {k: v for k, v in asdict(part).items() if k not in ("times", "stalls")}


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _driver(port: int, real_time: bool) -> Iterator[None]:
    """Run the driver's node."""
    parameters = [f"port:={port}", f"version:='{VERSION}'", "robot:=iiwa14", "allow_late:=true"]
    if not real_time:
        parameters.append("real_time.priority:=0")
    words = [word for p in parameters for word in ("-p", p)]
    command = [sys.executable, "-c", RUN_DRIVER, "--ros-args", "-r", "__ns:=/lbr", *words]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as driver:
        try:
            yield
        finally:
            driver.send_signal(signal.SIGINT)
            driver.wait(STOP_TIMEOUT)


@contextmanager
def _processes(real_time: bool) -> Iterator[None]:
    """Run what commands the arm, and what keeps processors busy."""
    spawn = multiprocessing.get_context("spawn")
    started: list[SpawnProcess] = [spawn.Process(target=_command, args=(real_time,), daemon=True)]
    started += [spawn.Process(target=_keep_busy, daemon=True) for _ in range(BUSY)]
    for process in started:
        process.start()
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.join()


def _keep_busy() -> None:
    while True:
        pass


def _command(real_time: bool) -> None:
    """Command the first joint to and fro for every state."""
    step = 0

    def answer(state: LBRState) -> None:
        nonlocal step
        step += 1
        position = np.array(HOME)
        position[0] += 0.01 * np.sin(0.005 * step)
        if state.session_state == SessionState.COMMANDING_ACTIVE:
            publisher.publish(LBRJointPositionCommand(joint_position=position))

    with GraphClient("commander") as client:
        publisher = client.node.create_publisher(
            LBRJointPositionCommand, "command/joint_position", signal_publisher(lockstep=False)
        )
        client.node.create_subscription(
            LBRState, "state", answer, signal_subscription(lockstep=False)
        )
        enter_real_time(RealTimeConfig() if real_time else RealTimeConfig(priority=0))
        client.wait_until(lambda: False, timeout=1e6)


@contextmanager
def _real_time_here() -> Iterator[None]:
    """Schedule this process before all others, where that is permitted."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)
