"""The doctor's report and exit code."""

from __future__ import annotations

import argparse
import json

import pytest

from contact_stack import cli, doctor
from contact_stack.checks import Check, CheckStatus


@pytest.mark.graph
def test_this_machine_can_run_the_stack(ros_domain: int, capsys) -> None:
    assert cli.main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"]
    names = {check["name"] for check in report["checks"]}
    assert {"Python", "ROS 2", "contact_stack_msgs", "lbr_fri_idl", "communication"} <= names
    assert all(check["status"] in ("OK", "WARN") for check in report["checks"])
    assert all(check["remedy"] for check in report["checks"] if check["status"] != "OK")


def options(json: str | None) -> argparse.Namespace:
    return argparse.Namespace(json=json, types=False, driver_source=None, install_hints=False)


@pytest.fixture
def findings(monkeypatch) -> list[Check]:
    found: list[Check] = []
    monkeypatch.setattr(doctor, "software", lambda: iter(found))
    monkeypatch.setattr(doctor, "network", lambda: iter(()))
    monkeypatch.setattr(doctor, "machine", lambda: iter(()))
    return found


@pytest.mark.parametrize(("status", "code"), [("OK", 0), ("WARN", 0), ("FAIL", 1)])
def test_only_a_failure_gives_exit_code_1(findings, status: str, code: int) -> None:
    findings += [Check("a", CheckStatus.OK, "fine"), Check("b", CheckStatus(status), "found")]
    assert doctor.main(options(json="-")) == code


def test_a_person_reads_the_status_and_the_remedy(findings, capsys) -> None:
    findings.append(Check("numba", CheckStatus.FAIL, "not installed", "run `make setup`"))
    doctor.main(options(json=None))
    assert capsys.readouterr().out == "FAIL  numba: not installed\n      -> run `make setup`\n"
