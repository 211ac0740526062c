"""The command that replays incident records."""

import json

import numpy as np
import pytest

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.incident_log import IncidentLog, save
from contact_aware_control.loop_state import LoopInputs, LoopState
from contact_aware_control.safety.status import Request
from contact_core.robot.arm_state import ArmState, SoundCommand
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_stack import cli

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])


@pytest.fixture
def record(tmp_path):
    """Write a record; ``record(spoil=True)`` changes one recorded command."""

    def write(spoil=False):
        description = RobotDescription.load("iiwa14_wsg50")
        config = ControllerConfig()
        loop, state = ControlLoop(Robot.from_description(description), config), LoopState()
        log = IncidentLog(config, description, state, 10.0)
        for request in (Request.ACTIVATE, Request.STOP):
            state, _ = loop.handle(state, request)
            log.note(request)
            for _ in range(20):
                now = 5_000_000 * (len(log.record("").ticks) + 1)
                unknown = np.full(7, np.nan)
                arm = ArmState(now, Q, unknown, Q + 0.01, unknown)
                inputs = LoopInputs(now, arm, ContactReport(now, ()))
                state, command, status = loop.tick(state, inputs)
                log.tick(inputs, state, SoundCommand(command.position + 1e-6 * spoil), status)
        path = tmp_path / "incident.npz"
        save(log.record("STOPPED"), path)
        return str(path)

    return write


def test_a_faithful_record_agrees(record, capsys):
    assert cli.main(["replay", record()]) == 0
    text = capsys.readouterr().out
    assert "FAULT        STOPPED" in text
    assert text.endswith("the replay agrees\n")


def test_a_changed_command_is_a_difference(record, capsys):
    assert cli.main(["replay", record(spoil=True), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert not result["agrees"]
    assert result["different"] == result["ticks"] == 40
    assert result["stretches"][-1]["replayed"] == ["STOPPED"]


def test_the_tolerance_decides(record):
    path = record(spoil=True)
    assert cli.main(["replay", path, "--tolerance", "1e-5"]) == 0


@pytest.mark.parametrize("tolerance", ["nan", "-1", "inf"])
def test_a_tolerance_that_decides_nothing_is_refused(tolerance, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["replay", "incident.npz", f"--tolerance={tolerance}"])
    assert f"--tolerance: {tolerance} (valid: finite, 0.0 or more)" in capsys.readouterr().err


def test_no_record_is_one_line(tmp_path, capsys):
    assert cli.main(["replay", str(tmp_path / "missing.npz")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
