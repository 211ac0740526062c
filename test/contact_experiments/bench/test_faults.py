"""No fault of the robot, its driver or who else is on the wire moves the arm beyond its bounds."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from contact_aware_control.safety.status import Mode, Status
from contact_experiments.bench.fault_run import FaultRun
from contact_experiments.bench.faults import (
    ALL_DRIVERS,
    BEGIN,
    END,
    KNOWN,
    LOST_PERIODS,
    SILENT,
    TRACKING,
    FaultOutcome,
    faults_of,
    measure,
    page,
    render,
)
from contact_experiments.bench.fri_robot import DRIVER_FAULTS, FRI_FAULTS, FriRobot
from contact_experiments.bench.fri_robot import NAME as FRI
from contact_experiments.fake import DRIVERS, FAULTS

PAGE = Path(__file__).resolve().parents[3] / "docs/faults.md"

UNSEEN = {"slow_clock"}
"""What looks like messages that come later and later."""
UNSEEN_IN_MOTION = {"torque_sign", "no_torque", "open_loop"}
"""What is no different from health until the arm touches something."""
UNSEEN_IN_SILENCE = {
    "position_mode",
    "poor_connection",
    "wrong_rate",
    "session_flickers",
    "command_lies",
}
"""What does not show in messages that tell positions and torques alone."""


QUICK = (*DRIVER_FAULTS, "cable_out", "replayed")
"""Faults below the driver `fri` that the quick tests try: in motion, and one of them in contact."""
VERIFY = pytest.mark.verify


def test_a_lost_state_holds_the_arm_within_three_periods() -> None:
    outcome = measure("lbr_fri", False, "outage")
    assert outcome.hold is not None
    assert outcome.hold <= (LOST_PERIODS + 0.5) * 0.005
    assert Status.STATE_STALE in outcome.reported
    assert outcome.broken == ()
    assert outcome.recovery is not None


def test_behind_a_delay_commands_do_not_begin_at_an_old_one() -> None:
    outcome = measure("lbr_fri", False, "delayed")
    assert outcome.hold is not None
    assert outcome.broken == ()
    assert outcome.recovery is not None


def test_in_contact_the_arm_presses_as_hard_as_it_may() -> None:
    run = FaultRun("lbr_fri", True)
    run.start()
    assert run.ticks[-1].mode is Mode.TRACKING
    assert 12.0 < run.ticks[-1].force < 18.0
    moved = [tick for tick in run.ticks if tick.mode in TRACKING]
    assert all(tick.status is not Status.STATE_STALE for tick in moved)


@pytest.mark.parametrize(
    "seeds", [(0,), pytest.param((1, 2), marks=pytest.mark.verify)], ids=["seed 0", "others"]
)
@pytest.mark.parametrize(
    ("driver", "fault"), [("lbr_fri", "torque_sign"), ("kuka_drivers", "pushed")]
)
def test_the_wall_is_not_pressed_harder(driver: str, fault: str, seeds: tuple[int, ...]) -> None:
    outcomes = [measure(driver, True, fault, seed) for seed in seeds]
    assert all(outcome.broken == () for outcome in outcomes)
    assert max(outcome.force / outcome.force_before for outcome in outcomes) <= 1.35
    if fault == "torque_sign":
        assert all(Status.UNBALANCED in outcome.reported for outcome in outcomes)


def test_a_bound_that_does_not_hold_is_known_for_that_case_alone() -> None:
    bad = FaultOutcome(
        "kuka_drivers", True, "position_mode", None, 0.1, 2.0, 10.0, 90.0, (), "", "", ("force",)
    )
    assert bad.unexpected == ()
    assert dataclasses.replace(bad, broken=("speed", "force")).unexpected == ("speed",)
    assert dataclasses.replace(bad, fault="dies").unexpected == ("force",)
    assert dataclasses.replace(bad, driver="lbr_fri").unexpected == ("force",)


def test_a_broken_bound_is_named_in_the_table() -> None:
    good = FaultOutcome("lbr_fri", True, "late", None, 0.1, 0.2, 10.0, 11.0, (), "", "", ())
    bad = FaultOutcome(
        "lbr_fri",
        True,
        "dies",
        0.015,
        2.0,
        0.2,
        10.0,
        11.0,
        (Status.STATE_STALE,),
        "",
        None,
        ("speed",),
    )
    text = render([good, bad])
    assert "| `late` | - | 10 % | 20 % | 10 to 11 N | - | by itself |" in text
    assert "| `dies` **speed** | 15 ms | 200 % | 20 % | 10 to 11 N | STATE_STALE | never |" in text
    before = f"prose {BEGIN} old {END} more"
    assert page(before, [good]).startswith(f"prose {BEGIN}\n")
    assert page(before, [good]).endswith(f"{END} more")
    assert " old " not in page(before, [good])


@pytest.mark.verify
@pytest.mark.parametrize("contact", [False, True], ids=["motion", "contact"])
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_breaks_a_bound(driver: str, contact: bool, fault: str) -> None:
    outcome = measure(driver, contact, fault)
    assert outcome.unexpected == ()
    assert outcome.recovery is not None, outcome
    unseen = set(UNSEEN)
    if not contact:
        unseen |= UNSEEN_IN_MOTION
    if driver in SILENT or (driver, fault) == ("lbr_fri2", "command_lies"):
        unseen |= UNSEEN_IN_SILENCE
    assert outcome.reported or fault in unseen, outcome
    if contact and fault in UNSEEN_IN_MOTION:
        assert Status.UNBALANCED in outcome.reported
    if fault == "pushed":
        assert Status.ENCODER_STUCK not in outcome.reported


@pytest.mark.parametrize(
    ("fault", "contact"),
    [
        pytest.param(
            fault,
            contact,
            id=f"{fault}-{'contact' if contact else 'motion'}",
            marks=() if fault in QUICK and (fault == "replayed" or not contact) else VERIFY,
        )
        for fault in FRI_FAULTS
        for contact in (False, True)
    ],
)
def test_no_fault_below_the_driver_fri_breaks_a_bound(fault: str, contact: bool) -> None:
    outcome = measure(FRI, contact, fault)
    assert outcome.broken == ()
    assert outcome.recovery is not None, outcome
    if fault in ("cable_out", "driver_killed"):
        assert outcome.hold is not None and outcome.hold <= (LOST_PERIODS + 0.5) * 0.005
    if fault in ("replayed", "foreign", "noise", "duplicates"):
        assert outcome.hold is None


def test_a_controller_that_is_gone_is_braked_for_and_held_for() -> None:
    run = FaultRun(FRI, False)
    run.start()
    robot = run.robot
    assert isinstance(robot, FriRobot)
    robot.inject("controller_stopped")
    told = [robot.target]
    for _ in range(150):
        run.tick()
        told.append(robot.target)
    steps = np.diff(told, axis=0) / 0.005
    assert np.abs(steps[0]).max() > 0.05
    assert np.abs(np.diff(steps, axis=0)).max() <= 50.0 * 0.005 + 1e-9
    assert np.abs(steps[20:]).max() == 0.0 and robot.commanding


@pytest.mark.verify
def test_every_fault_of_every_driver_is_on_the_page() -> None:
    text = PAGE.read_text()
    for driver in ALL_DRIVERS:
        for situation in ("in motion", "in contact"):
            _, _, rest = text.partition(f"## {driver}, {situation}\n")
            table = rest.partition("\n## ")[0]
            faults = faults_of(driver)
            assert [name for name in faults if f"| `{name}`" not in table] == []
            for name in faults:
                row = table.partition(f"| `{name}`")[2].partition("\n")[0]
                known = KNOWN.get((driver, situation == "in contact", name), ())
                assert ("**" in row) == bool(known), row
