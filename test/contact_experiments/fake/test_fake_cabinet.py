"""The fake cabinet: an arm behind FRI, and each of its faults by what it does on the wire."""

from __future__ import annotations

import copy
import os
import re
import signal
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_fri_client import START, TinyClient

from contact_core.base.errors import ConfigError
from contact_core.robot.description import RobotDescription
from contact_core.robot.scene import Scene
from contact_experiments.fake import DRIVERS, FakeArm, FakeConfig, Wall, cabinet, command
from contact_experiments.fake.cabinet import FakeCabinet, SceneBody, SpringBody
from contact_experiments.fake.cabinet_faults import CABINET_FAULTS
from contact_stack.cli import main
from tamsi_sim.cabinet import CabinetConfig, ClientConnection, Session, WireError
from tamsi_sim.cabinet.wire import VERSIONS, decode, unframe

MOTION = 300
"""Cycles until a fault begins: the session is active, and all answers have come for a while."""


@cache
def description() -> RobotDescription:
    return RobotDescription.load("iiwa14_wsg50")


class Run:
    """A fake cabinet and a client that moves its first joint, by 1 mrad with every answer."""

    def __init__(self, version: float = 1.15, body: Any = None, **config: Any) -> None:
        self.lines: list[str] = []
        self.config = CabinetConfig(version=version, **config)
        body = body or SpringBody(FakeArm(description(), START), 1e-3 * self.config.period)
        self.fake = FakeCabinet(self.config, body, self._say)
        self.client = TinyClient(version)
        self.sent: list[list[bytes]] = []
        self.foreign: list[bytes] = []
        self.path = [body.position]
        self.sessions: list[Session] = []
        self.unread = 0
        self._arrived: list[bytes] = []

    def run(self, cycles: int) -> Run:
        for _ in range(cycles):
            now = 1e-3 * self.config.period * len(self.sent)
            stamp = 1_700_000_000_000_000_000 + round(1e9 * now)
            sent, foreign = self.fake.cycle(now, stamp, self._arrived)
            self.sent.append(sent)
            self.foreign += foreign
            self._arrived = [a for a in map(self._answer, sent) if a is not None]
            self.path.append(self.fake.body.position)
            self.sessions.append(self.fake.cabinet.session)
        return self

    def _say(self, line: str) -> None:
        self.lines.append(line)

    def _answer(self, datagram: bytes) -> bytes | None:
        moves = self.sessions[-1:] == [Session.COMMANDING_ACTIVE]
        self.client.offset = self.client.offset + 0.001 * np.eye(7)[0] if moves else 0.0
        try:
            return self.client.answer(datagram)
        except (WireError, KeyError):
            self.unread += 1
            return None

    def read(self, datagram: bytes) -> dict[str, Any]:
        return decode("monitoring", unframe(VERSIONS[self.config.version], datagram))

    @property
    def last(self) -> dict[str, Any]:
        """The latest message that was sent."""
        return self.read(self.sent[-1][-1])


@cache
def sound() -> Run:
    """The same without a fault."""
    return Run().run(MOTION + 200)


@cache
def moving(version: float) -> Run:
    """Return a run before its fault, to be copied."""
    return Run(version).run(MOTION)


def start_fault(name: str, version: float = 1.15) -> Run:
    run = copy.deepcopy(moving(version))
    run.fake.inject(name)
    return run


@cache
def with_fault(name: str, cycles: int = 200, version: float = 1.15) -> Run:
    """Return a run that nobody continues."""
    return start_fault(name, version).run(cycles)


def test_a_client_moves_the_arm() -> None:
    run = sound()
    assert run.sessions[-1] is Session.COMMANDING_ACTIVE
    # Springs and dampers let it lag a little.
    np.testing.assert_allclose(run.path[-1], START + run.client.offset, atol=0.02)
    assert np.abs(np.diff(run.path, axis=0)).max() < 0.003
    assert not run.fake.cabinet.refused


def test_torques_have_the_signs_of_the_wire() -> None:
    arm = FakeArm(description(), START)
    arm.push = np.array([0.0, 0.0, 20.0])
    run = Run(body=SpringBody(arm, 0.005), command=True).run(150)
    measured = run.last["measured"]
    assert np.abs(measured["external"]).max() > 5.0
    np.testing.assert_allclose(measured["external"], arm.external_torque)
    np.testing.assert_allclose(measured["torque"], -arm.joint_torque)


def test_touches_a_surface() -> None:
    arm = FakeArm(description(), START)
    height = arm.point("tool", np.zeros(3))[2] + 0.002
    arm.surface = Wall("tool", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), height)
    run = Run(body=SpringBody(arm, 0.005)).run(200)
    assert np.abs(run.last["measured"]["external"]).max() > 0.5
    assert run.sessions[-1] is Session.COMMANDING_ACTIVE


def test_brakes_hold_the_arm_while_nobody_commands() -> None:
    run = Run(command=False).run(100)
    run.fake.body.arm.push = np.array([0.0, 0.0, 100.0])  # type: ignore[attr-defined]
    before = run.path[-1]
    np.testing.assert_array_equal(run.run(100).path[-1], before)


@pytest.mark.parametrize("multiplier", [2, 3])
def test_has_a_multiplier(multiplier: int) -> None:
    run = Run(multiplier=multiplier, period=3).run(MOTION * multiplier)
    assert run.sessions[-1] is Session.COMMANDING_ACTIVE
    assert len(run.sent) / run.client.count == pytest.approx(multiplier, rel=0.01)


def test_the_arm_of_a_scene_moves_as_well() -> None:
    body = SceneBody(Scene.load("free_space").every(0.004), 0)
    run = Run(body=body, period=4).run(MOTION)
    assert run.sessions[-1] is Session.COMMANDING_ACTIVE
    start = np.array(run.last["interpolator"]["position"])
    np.testing.assert_allclose(run.path[-1], start + run.client.offset, atol=0.03)
    assert run.client.offset[0] > 0.15
    np.testing.assert_allclose(run.last["measured"]["torque"], -body.joint_torque)


# Faults.


def test_every_fault_is_described_and_does_something() -> None:
    for name, fault in CABINET_FAULTS.items():
        assert re.fullmatch(r"[a-z_]+", name)
        assert len(fault.summary()) > 20 and fault.summary().endswith(".")
        run = with_fault(name)
        same = run.sent == sound().sent and run.sessions == sound().sessions
        assert not same or run.foreign or name in ("loses_few_answers", "wrong_checksum"), name
        assert f"{name}: {fault.summary()}" in run.lines


def test_no_fault_of_the_wire_moves_the_arm_faster_than_the_client_does() -> None:
    for name in CABINET_FAULTS:
        if name == "restarts_elsewhere":
            continue
        run = with_fault(name)
        assert np.abs(np.diff(run.path, axis=0)).max() < 0.005, name


@pytest.mark.parametrize("name", sorted(CABINET_FAULTS))
def test_every_fault_can_be_cured(name: str) -> None:
    run = start_fault(name).run(150)
    run.fake.cure()
    run.run(650)
    assert f"{name} has ended" in run.lines
    assert run.sessions[-1] is Session.COMMANDING_ACTIVE


ENDED_BY = {
    "cable_out": "the connection is not good",
    "loses_answers": "the connection is not good",
    "loses_messages": "the connection is not good",
    "late_messages": "the connection is not good",
    "piles_up": "the connection is not good",
    "swapped": "the connection is not good",
    "cut": "the connection is not good",
    "frozen": "the connection is not good",
    "quality_sinks": "the connection is not good",
    "session_flickers": "an answer without joint positions",
    "motion_cancelled": "the application's motion was cancelled",
    "safety_stop": "a safety stop",
    "drives_off": "the drives are off",
    "not_enabled": "nobody enables a motion",
}


@pytest.mark.parametrize("name", sorted(set(CABINET_FAULTS) - {"damaged", "interpolator_nan"}))
def test_what_a_fault_does_to_the_motion(name: str) -> None:
    run = with_fault(name)
    ended = [line for line in run.lines if line.startswith("motion ended")]
    assert ended[:1] == ([f"motion ended: {ENDED_BY[name]}"] if name in ENDED_BY else [])


def test_outages() -> None:
    run = with_fault("cable_out")
    assert not any(run.sent[MOTION:])
    run = with_fault("short_outage")
    assert [len(sent) for sent in run.sent[MOTION : MOTION + 5]] == [0, 0, 0, 1, 1]
    assert run.sessions[-1] is Session.COMMANDING_ACTIVE


def test_late_piled_up_doubled_and_swapped_messages() -> None:
    counts = [run["header"]["sequence"] for run in _messages(with_fault("late_messages"))]
    assert np.diff(counts).tolist() == [1] * (len(counts) - 1)
    assert counts[-1] == with_fault("late_messages").fake.cabinet.sequence - 3
    piles = {len(sent) for sent in with_fault("piles_up").sent[MOTION:]}
    assert piles == {0, 40}
    doubles = with_fault("duplicates").sent[MOTION:]
    assert all(len(sent) == 2 and sent[0] == sent[1] for sent in doubles)
    swapped = [run["header"]["sequence"] for run in _messages(with_fault("swapped"))]
    assert set(np.diff(swapped)) == {-1, 3}
    replayed = with_fault("replayed")
    assert replayed.read(replayed.sent[-1][0])["header"]["sequence"] == MOTION + 200
    assert len(replayed.sent[-1]) == 2 and replayed.sent[-1][1] in replayed.sent[MOTION + 99]


def _messages(run: Run) -> list[dict[str, Any]]:
    return [run.read(datagram) for sent in run.sent[MOTION:] for datagram in sent]


def test_others_send_from_elsewhere() -> None:
    run = with_fault("foreign")
    theirs = run.read(run.foreign[-1])
    ours = run.last
    assert theirs["header"] == ours["header"]
    np.testing.assert_allclose(
        np.subtract(theirs["measured"]["position"], ours["measured"]["position"]), 0.2
    )
    noise = with_fault("noise").foreign
    assert len(noise) == 600 and len(set(map(len, noise))) > 100


@pytest.mark.parametrize(
    ("name", "group", "field", "value"),
    [
        ("wrong_identifier", "header", "identifier", 0x34001),
        ("joint_count", "robot", "joints", 6),
        ("wrong_mode", "interpolator", "command_mode", 3),
        ("wrong_period", "connection", "period", 10),
        ("safety_stop", "robot", "safety", 1),
        ("drives_off", "robot", "drives", 7 * [1]),
        ("quality_sinks", "connection", "quality", 1),
        ("motion_cancelled", "connection", "session", 2),
    ],
)
def test_wrong_messages_say_what_is_wrong(name: str, group: str, field: str, value: Any) -> None:
    run = with_fault(name, 5)
    assert run.last[group][field] == value
    assert run.read(run.sent[MOTION - 1][0])[group][field] != value


def test_what_is_not_a_number() -> None:
    assert np.isnan(with_fault("nan").last["measured"]["position"][3])
    assert np.isnan(with_fault("interpolator_nan", 5).last["interpolator"]["position"]).all()
    assert len(with_fault("joint_count").last["measured"]["position"]) == 6


@pytest.mark.parametrize("version", [1.15, 2.5, 2.7])
def test_speaks_another_version(version: float) -> None:
    run = with_fault("wrong_version", version=version)
    datagram = run.sent[-1][0]
    if version == 2.7:
        with pytest.raises(WireError):
            run.read(datagram)
    else:
        assert ("commanded" in run.read(datagram)["measured"]) == (version == 2.5)


def test_damages_messages() -> None:
    for name in ("wrong_checksum", "damaged", "cut"):
        run = with_fault(name, version=2.7)
        assert run.unread >= 90, name


def test_clocks_and_counters() -> None:
    stamps = [
        message["measured"]["stamp"]["seconds"] for message in _messages(with_fault("clock_jumps"))
    ]
    assert max(stamps) == 1_700_000_000 + 2 - 10
    frozen = _messages(with_fault("frozen"))
    assert all(message == frozen[0] for message in frozen)


def test_restarts() -> None:
    run = with_fault("restarts", 600)
    assert not any(run.sent[MOTION : MOTION + 399])
    assert run.sessions[MOTION + 400] is Session.IDLE
    assert run.last["header"]["sequence"] < 600
    np.testing.assert_allclose(run.path[-1], run.path[MOTION], atol=0.01)
    moved = with_fault("restarts_elsewhere", 600)
    assert moved.path[-1][0] == pytest.approx(run.path[-1][0] - 0.3)
    lost = with_fault("session_lost", 20)
    assert lost.last["connection"]["session"] == Session.IDLE


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown fault 'cable_ou'.*cable_out"):
        Run().fake.inject("cable_ou")


def test_a_fault_lasts_as_long_as_it_is_told() -> None:
    run = Run().run(MOTION)
    run.fake.inject("cable_out", 0.05)
    run.run(20)
    assert [bool(sent) for sent in run.sent[MOTION:]] == [False] * 10 + [True] * 10


# The connection.


def test_takes_only_what_the_client_sends() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind(("127.0.0.1", 0))
        client.settimeout(10.0)
        connection = ClientConnection("127.0.0.1", client.getsockname()[1], "127.0.0.2:0")
        connection.send(b"first")
        datagram, cabinet = client.recvfrom(100)
        assert datagram == b"first" and cabinet[0] == "127.0.0.2"
        assert connection.address == f"127.0.0.2:{cabinet[1]}"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.sendto(b"foreign", cabinet)
        client.sendto(b"ours", cabinet)
        assert connection.receive() == [b"ours"]
        assert connection.take_foreign() == 1 and connection.take_foreign() == 0
        assert connection.receive() == []
        with pytest.raises(ConfigError, match="no connection"):
            ClientConnection("127.0.0.1", 30200, f"127.0.0.2:{cabinet[1]}")
        for address in ("", "no.such.host.invalid"):
            with pytest.raises(ConfigError, match="no connection"):
                ClientConnection(address, 30200)
        connection.close()


def test_a_client_that_knows_its_robot_hears_it_from_its_own_port() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind(("0.0.0.0", 0))
        port = client.getsockname()[1]
        client.connect(("127.0.0.2", port))
        client.settimeout(0.2)
        elsewhere = ClientConnection("127.0.0.1", port, "127.0.0.2:0")
        elsewhere.send(b"unheard")
        with pytest.raises(TimeoutError):
            client.recv(100)
        connection = ClientConnection("127.0.0.1", port, f"127.0.0.2:{port}")
        connection.send(b"heard")
        client.settimeout(10.0)
        assert client.recv(100) == b"heard"
        client.send(b"answer")
        assert connection.receive() == [b"answer"]
        for each in (elsewhere, connection):
            each.close()


def test_what_the_network_does_not_take_is_lost() -> None:
    connection = ClientConnection("127.0.0.1", 9, "127.0.0.1:0")
    connection.send(bytes(70_000))
    assert connection.unsent == 1
    connection.close()


def test_the_command_over_the_loopback() -> None:
    """The only test with a clock: a process of its own, a client, a fault, and Ctrl-C."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.bind(("127.0.0.1", 0))
        wire.settimeout(60.0)
        words = ["fake", "cabinet", "--fri", "2.7", "--period", "10", "--fault", "session_lost"]
        words += ["--port", str(wire.getsockname()[1]), "--at", "0"]
        run = "import sys; from contact_stack.cli import main; sys.exit(main(sys.argv[1:]))"
        process = subprocess.Popen(
            [sys.executable, "-c", run, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
        )  # fmt: skip
        client, states, end = TinyClient(2.7), set(), time.monotonic() + 60.0
        while states != {0, 1, 2, 3, 4} and time.monotonic() < end:
            datagram, cabinet = wire.recvfrom(1500)
            if answer := client.answer(datagram):
                wire.sendto(answer, cabinet)
            states.add(client.seen["connection"]["session"])
            if 3 in states and len(states) < 4:
                states.clear()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30.0)
    assert process.returncode == 130 and not errors
    assert "FRI 2.7 from" in output and "session closed: the application has ended" in output
    assert "answers refused" in output
    assert 4 in states


def test_needs_no_ros() -> None:
    """Where rclpy and the messages cannot be imported it lists its faults and says its options."""
    script = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("rclpy", "lbr_fri_idl", "std_msgs", "sensor_msgs"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Nothing())
from contact_stack.cli import main
assert main(["fake", "cabinet", "--list-faults"]) == 0
assert not [name for name in sys.modules if name.startswith("rclpy")]
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert set(re.findall(r"^cabinet: (\w+)", run.stdout, re.MULTILINE)) == set(CABINET_FAULTS)


def test_names_the_drivers_without_their_messages() -> None:
    assert tuple(DRIVERS) == command.DRIVERS
    assert FakeConfig().robot == command.ROBOT


def test_a_cabinet_refuses_an_arm_that_is_no_lbr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = tmp_path / "scene.yaml"
    scene.write_text("{name: five, robot: {description: ur5e}}")
    for words in (["--robot", "fr3_wsg50"], ["--scene", str(scene)]):
        assert main(["fake", "cabinet", *words]) == 2
        assert "cabinet moves an LBR of KUKA's" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "-1", "70000"])
def test_a_cabinet_s_client_has_a_port(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fake", "cabinet", "--port", port]) == 2
    assert f"port {port} of a cabinet's client" in (error := capsys.readouterr().err)
    assert "1 to 65535" in error


@pytest.mark.parametrize(
    ("words", "whose"),
    [
        (["lbr_fri", "--period", "2"], "cabinet"),
        (["lbr_fri", "--by-hand"], "kuka_drivers"),
        (["cabinet", "--rate", "100"], "lbr_fri and lbr_fri2 and kuka_drivers and ros2_control"),
        (["wsg50", "--robot", "iiwa7"], "lbr_fri"),
        (["kuka_drivers", "--port", "3"], "wsg50 and cabinet"),
    ],
)
def test_an_option_of_another_device_is_refused(
    words: list[str], whose: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fake", *words]) == 2
    assert f"{words[0]} takes no {words[1]}: it is for {whose}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "valid"),
    [
        (["lbr_fri", "--rate", "0"], "1.0 to 1000.0"),
        (["lbr_fri", "--rate", "-5"], "1.0 to 1000.0"),
        (["lbr_fri", "--seed", "-1"], "0 or more"),
        (["lbr_fri", "--at", "nan"], "0.0 or more"),
        (["lbr_fri", "--for", "-1"], "0.0 or more"),
        (["lbr_fri", "--surface", "nan"], "-10.0 to 10.0"),
        (["wsg50", "--part", "-1"], "0.0 to 0.11"),
    ],
)
def test_a_number_that_no_device_can_have_is_refused(
    words: list[str], valid: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["fake", *words])
    error = capsys.readouterr().err
    assert f"argument {words[1]}: " in error and valid in error


def test_a_namespace_that_is_no_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fake", "lbr_fri", "--namespace", "3x"]) == 2
    assert "--namespace '3x' is no name in ROS" in capsys.readouterr().err


def test_a_client_may_be_on_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the cabinet sends from the client's port, and somebody else from any other one."""
    run = with_fault("late_messages")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cabinet, "enter_real_time", lambda config: None)
    monkeypatch.setattr(run.fake, "cycle", interrupted)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    with pytest.raises(KeyboardInterrupt):
        cabinet.run_cabinet(run.fake, ClientConnection("192.0.2.1", port), "", 0.0, None)
