"""A WSG 50 that behaves and misbehaves like the real one, written from the manual of its language.

Source: Weiss Robotics, GCL Gripper Control Language, Reference Manual, firmware 4.0: one command a
line, ``ACK`` at once, ``FIN`` or ``ERR`` in the end; a motion needs a referenced gripper; a client
that leaves without BYE raises a FAST STOP, which FSACK acknowledges; GRIP with a width expects a
part there, within a tolerance before and a clamping travel about it. Lengths are openings in mm.
What the manual leaves open is a guess: which command a failure puts into the state ERROR (all but
GRIP without a part), and that a command during another one is refused.
"""

from __future__ import annotations

import re
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

STROKE = 110.0
DEFAULT_SPEED = 50.0
DEFAULT_FORCE = 20.0
STEP = 0.005
"""How often the fingers are moved [s]."""

FORCE_TIME = 0.05
"""How long the force takes to build up [s]."""

IDLE, GRIPPING, NO_PART, PART_LOST, HOLDING, RELEASING, POSITIONING, ERROR = range(8)

NOT_INITIALIZED, ALREADY_RUNNING, NOT_ENOUGH_PARAMS = 3, 4, 13
CMD_UNKNOWN, ACCESS_DENIED, CMD_FAILED, CMD_ABORTED = 14, 16, 18, 19
RANGE_ERROR, AXIS_BLOCKED = 28, 29

FAULTS = {
    "garbage": "Random bytes and lines of nothing, between its answers.",
    "nan": "Its position is NaN.",
    "absurd": "Its position is 5 m.",
    "pieces": "Its lines arrive in pieces of three bytes.",
    "half_lines": "The second half of every second line is missing, with its end.",
    "silent": "It answers nothing but a farewell.",
    "stuck": "It acknowledges motions, and does nothing.",
    "unasked": "It says that motions have ended that nobody asked for.",
    "fast_stop": "It stops by itself.",
    "loses_part": "The part is pulled out of its fingers.",
    "hangs_up": "It closes every connection at once.",
}
"""What can go wrong, by name."""


@dataclass
class _Motion:
    """What the fingers do: where to [mm], how fast [mm/s], for which command."""

    word: str
    target: float
    speed: float
    force: float = 0.0
    width: float = 0.0
    pressed: float = 0.0


class FakeGripper:
    """The gripper, its fingers and its server, in a thread of its own.

    Attributes:
        part: Width of what is between the fingers [mm]; 0 for nothing.
        fault: What is wrong now, one of FAULTS; empty for nothing.
        opening: Where the fingers are [mm].
        state: What GRIPSTATE says.
        heard: The commands so far, without questions.
        port: Where it listens.
    """

    def __init__(self, port: int = 0, part: float = 0.0, referenced: bool = True) -> None:
        """Listen on this machine, the fingers open by 80 mm.

        Args:
            port: TCP port; 0 for any that is free.
            part: Width of what is between the fingers [mm]; 0 for nothing.
            referenced: Whether it was referenced before.
        """
        self.part, self.fault = part, ""
        self.opening, self.speed, self.force = 80.0, 0.0, 0.0
        self.state = IDLE
        self.heard: list[str] = []
        self._referenced = referenced
        self._motion: _Motion | None = None
        self._tolerance, self._travel = 5.0, 5.0
        self._held = 0.0
        self._lines = 0
        self._clients: dict[socket.socket, bytes] = {}
        self._listener = socket.create_server(("127.0.0.1", port))
        self._listener.setblocking(False)
        self.port = int(self._listener.getsockname()[1])
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self.run, name="fake gripper", daemon=True)

    def start(self) -> None:
        """Live in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Die, as by a loss of power."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        for client in [*self._clients, self._listener]:
            client.close()
        self._selector.close()

    def run(self) -> None:
        """Live in this thread until :meth:`stop`."""
        while not self._stopping.is_set():
            for key, _ in self._selector.select(STEP):
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    self._read(key.fileobj)
            self._misbehave()
            self._move(STEP)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        client.setblocking(False)
        self._clients[client] = b""
        self._selector.register(client, selectors.EVENT_READ)

    def _leave(self, client: socket.socket, announced: bool) -> None:
        self._selector.unregister(client)
        del self._clients[client]
        client.close()
        if not announced:
            self._fast_stop()

    def _read(self, client: socket.socket) -> None:
        try:
            data = client.recv(4096)
        except OSError:
            data = b""
        if not data:
            self._leave(client, announced=False)
            return
        *lines, rest = (self._clients[client] + data).split(b"\n")
        self._clients[client] = rest
        for line in lines:
            text = line.decode("ascii", "replace").strip()
            if self.fault == "silent" and text != "BYE()":
                continue
            if not text.endswith("?"):
                self.heard.append(text)
            self._say(client, self._answer(text))
            if text == "BYE()":
                self._leave(client, announced=True)
                return

    def _say(self, client: socket.socket, line: str) -> None:
        if self.fault == "hangs_up":
            client.shutdown(socket.SHUT_RDWR)
            return
        data = f"{line}\r\n".encode()
        self._lines += 1
        if self.fault == "half_lines" and self._lines % 2:
            data = data[: len(data) // 2]
        pieces = [data[k : k + 3] for k in range(0, len(data), 3)]
        for piece in pieces if self.fault == "pieces" else [data]:
            try:
                client.sendall(piece)
            except OSError:
                return

    def _tell(self, line: str) -> None:
        """Say something that is no answer."""
        for client in self._clients:
            self._say(client, line)

    def _answer(self, text: str) -> str:
        if match := re.fullmatch(r"([A-Z]+)\?", text):
            return self._value(match[1])
        if match := re.fullmatch(r"(PWT|CLT)=([\d.]+)", text):
            self._tolerance, self._travel = (
                (float(match[2]), self._travel)
                if match[1] == "PWT"
                else (self._tolerance, float(match[2]))
            )
            return f"{match[1]}={float(match[2])}"
        if match := re.fullmatch(r"([A-Z]+)\(([-\d., ]*)\)", text):
            words = [word for word in match[2].split(",") if word.strip()]
            return self._command(match[1], [float(word) for word in words])
        return f"ERR {CMD_UNKNOWN}"

    def _value(self, word: str) -> str:
        position: float = {"nan": float("nan"), "absurd": 5000.0}.get(self.fault, self.opening)
        values: dict[str, float] = {
            "POS": round(position, 2),
            "SPEED": round(self.speed, 2),
            "FORCE": round(self.force, 2),
            "GRIPSTATE": self.state,
            "PWT": self._tolerance,
            "CLT": self._travel,
        }
        return f"{word}={values[word]}" if word in values else f"ERR {word} {CMD_UNKNOWN}"

    def _command(self, word: str, numbers: list[float]) -> str:
        commands: dict[str, Callable[..., int]] = {
            "BYE": lambda: 0,
            "STOP": self._stop,
            "FASTSTOP": self._fast_stop,
            "FSACK": self._acknowledge,
            "HOME": self._home,
            "MOVE": self._start_move,
            "GRIP": self._start_grip,
            "RELEASE": self._start_release,
        }
        if word not in commands:
            return f"ERR {word} {CMD_UNKNOWN}"
        moves = word in ("HOME", "MOVE", "GRIP", "RELEASE")
        if moves and self.state == ERROR:
            return f"ERR {word} {ACCESS_DENIED}"
        if moves and self._motion is not None:
            return f"ERR {word} {ALREADY_RUNNING}"
        if moves and word != "HOME" and not self._referenced:
            return f"ERR {word} {NOT_INITIALIZED}"
        try:
            code = commands[word](*numbers)
        except TypeError:
            code = NOT_ENOUGH_PARAMS
        return f"ERR {word} {code}" if code else f"ACK {word}"

    def _stop(self) -> int:
        if self._motion is not None:
            self._tell(f"ERR {self._motion.word} {CMD_ABORTED}")
        self._rest(IDLE)
        return 0

    def _fast_stop(self) -> int:
        self._rest(ERROR)
        return 0

    def _acknowledge(self) -> int:
        self.state = IDLE if self.state == ERROR else self.state
        return 0

    def _home(self, outwards: float = 1.0) -> int:
        return self._begin(_Motion("HOME", STROKE if outwards else 0.0, DEFAULT_SPEED), POSITIONING)

    def _start_move(self, target: float, speed: float = DEFAULT_SPEED) -> int:
        return self._begin(_Motion("MOVE", target, speed), POSITIONING)

    def _start_grip(
        self, force: float = DEFAULT_FORCE, width: float = 0.0, speed: float = DEFAULT_SPEED
    ) -> int:
        if self.state == HOLDING:
            return ACCESS_DENIED
        if not 5.0 <= force <= 80.0:
            return RANGE_ERROR
        return self._begin(
            _Motion("GRIP", width - 0.5 * self._travel, speed, force, width), GRIPPING
        )

    def _start_release(self, distance: float = 5.0, speed: float = DEFAULT_SPEED) -> int:
        if self.state not in (HOLDING, NO_PART, PART_LOST):
            return ACCESS_DENIED
        return self._begin(_Motion("RELEASE", self.opening + distance, speed), RELEASING)

    def _begin(self, motion: _Motion, state: int) -> int:
        outside = not -0.5 * self._travel <= motion.target <= STROKE
        if outside or not 5.0 <= motion.speed <= 420.0:
            return RANGE_ERROR
        self._motion, self.state, self.force = motion, state, 0.0
        return 0

    def _rest(self, state: int) -> None:
        self._motion, self.state, self.speed = None, state, 0.0
        self.force = self.force if state == HOLDING else 0.0

    def _end(self, state: int, code: int = 0) -> None:
        """End the motion, and say so."""
        assert self._motion is not None
        word = self._motion.word
        self._rest(state)
        self._tell(f"ERR {word} {code}" if code else f"FIN {word}")

    def _move(self, duration: float) -> None:
        motion = self._motion
        if motion is None:
            if self.state == HOLDING and self._slips():
                self.opening, self.force, self.state = self._held - self._travel, 0.0, PART_LOST
            return
        if self.fault == "stuck":
            return
        most = motion.speed * duration
        way = min(max(motion.target - self.opening, -most), most)
        stop = self._stop_of(way)
        blocked = stop is not None and self.opening + way <= stop
        self.opening = stop if blocked and stop is not None else self.opening + way
        self.speed = 0.0 if blocked else way / duration
        arrived = abs(self.opening - motion.target) < 1e-6
        if motion.word == "GRIP":
            self._press(motion, blocked, arrived, duration)
        elif arrived:
            self._referenced = self._referenced or motion.word == "HOME"
            self._end(IDLE)
        elif blocked:
            self._end(ERROR, AXIS_BLOCKED)

    def _press(self, motion: _Motion, blocked: bool, arrived: bool, duration: float) -> None:
        if blocked and self.opening > motion.width + 0.5 * self._tolerance:
            self._end(ERROR, AXIS_BLOCKED)
        elif blocked:
            motion.pressed += duration
            self.force = motion.force * min(1.0, motion.pressed / FORCE_TIME)
            if motion.pressed >= FORCE_TIME:
                self._held = self.opening
                self._end(HOLDING)
        elif arrived:
            self._end(NO_PART, CMD_FAILED)

    def _stop_of(self, way: float) -> float | None:
        """Return where closing fingers are stopped: by the part, or by each other."""
        if way >= 0.0:
            return None
        return self.part if 0.0 < self.part <= self.opening + 1e-9 else 0.0

    def _slips(self) -> bool:
        """Whether what was held is there no more."""
        return self._held > 0.0 and abs(self.part - self._held) > 1.0

    def _misbehave(self) -> None:
        if self.fault == "garbage":
            self._tell("\x00\xff%&=POS=" + 300 * "x")
            self._tell("POS")
        elif self.fault == "unasked":
            self._tell("FIN GRIP")
        elif self.fault == "fast_stop":
            self._fast_stop()
            self.fault = ""
        elif self.fault == "loses_part":
            self.part, self.fault = 0.0, ""


def serve(gripper: FakeGripper, faults: Iterable[tuple[float, str]]) -> None:
    """Let a gripper live in this thread, and go wrong in time; ends by a signal.

    Args:
        gripper: The gripper.
        faults: When [s] which fault begins, in order; an empty one cures.
    """

    def misbehave() -> None:
        began = time.monotonic()
        for at, fault in faults:
            time.sleep(max(0.0, began + at - time.monotonic()))
            gripper.fault = fault

    threading.Thread(target=misbehave, daemon=True).start()
    try:
        gripper.run()
    finally:
        gripper.stop()
