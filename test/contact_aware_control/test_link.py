"""The link to the robot: what a misbehaving one does to it, driver by driver, and the way back.

The fake robot is on the other side of our own driver profiles; it shares no code with them.
"""

import dataclasses

import numpy as np
import pytest
from link_bench import LinkBench

from contact_aware_control.safety.status import LinkState, Mode, Request, Status
from contact_core.robot.arm_state import RobotCondition
from contact_core.robot.description import RobotDescription
from contact_experiments.fake import Wall

FLOOR = Wall("tool", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.2)
ALL = ("lbr_fri", "lbr_fri2", "kuka_drivers", "ros2_control")

# What is said, and after how many periods at most; None for what does not break the link for long.
NAMED = {
    "dies": ("STATE_STALE", 4),
    "restarts": ("STATE_STALE", 4),
    "restarts_elsewhere": ("STATE_STALE", 4),
    "restarts_elsewhere_quickly": ("STATE_STALE", 4),
    "long_outage": ("STATE_STALE", 4),
    "hung": ("STATE_FROZEN", 5),
    "frozen": ("STATE_FROZEN", 20),
    "degrees": ("STATE_IMPLAUSIBLE", 1),
    "beyond_limits": ("STATE_IMPLAUSIBLE", 1),
    "huge": ("STATE_IMPLAUSIBLE", 1),
    "joint_order": ("STATE_IMPLAUSIBLE", 1),
    "foreign_states": ("STATE_IMPLAUSIBLE", 1),
    "old_stamps": ("STATE_OUT_OF_ORDER", 1),
    "future_stamps": ("STATE_OUT_OF_ORDER", 1),
    "swapped": ("STATE_OUT_OF_ORDER", 2),
    # These begin to show after half a second, at the seam of the recording.
    "replayed": ("STATE_OUT_OF_ORDER", 101),
    "replayed_restamped": ("STATE_IMPLAUSIBLE", 101),
    # And this once the joint should be elsewhere.
    "encoder_stuck": ("ENCODER_STUCK", 200),
}
# What only the driver of the Fast Robot Interface tells.
TOLD = {
    "leaves_commanding": ("NOT_COMMANDING", 1),
    "drives_off": ("DRIVES_OFF", 1),
    "safety_stop": ("SAFETY_VIOLATED", 1),
    "position_mode": ("WRONG_CONTROL_MODE", 1),
    "poor_connection": ("CONNECTION_POOR", 2),
}
CASES = [(driver, fault, *NAMED[fault]) for driver in ALL for fault in NAMED]
CASES += [(driver, fault, *TOLD[fault]) for driver in ALL[:2] for fault in TOLD]
# Where it does not tell, the arm does not follow.
CASES += [
    (driver, fault, "NOT_COMMANDING", 200)
    for driver in ALL[2:]
    for fault in ("leaves_commanding", "drives_off", "safety_stop")
]
CASES += [("lbr_fri", "foreign_commands", "FOREIGN_COMMAND", 2)]
SMOKE = {
    ("lbr_fri", "restarts_elsewhere_quickly"),
    ("lbr_fri", "frozen"),
    ("lbr_fri", "swapped"),
    ("lbr_fri", "foreign_commands"),
    ("kuka_drivers", "leaves_commanding"),
}


def moving(driver="lbr_fri", **values):
    """A bench on its way, with its bookkeeping emptied."""
    run = LinkBench(driver, **values)
    run.run(0.1)
    run.follow(np.full(7, 0.15), 2.0)
    run.run(1.2)
    assert run.last.mode is Mode.TRACKING
    for kept in (run.status, run.commands, run.speeds):
        kept.clear()
    return run


def press(robot):
    """Put a floor into the tool's way."""
    height = float(robot.arm.point("tool", np.zeros(3))[2])
    robot.arm.surface = dataclasses.replace(FLOOR, offset=height + 0.001)


@pytest.mark.parametrize(
    ("driver", "fault", "name", "periods"),
    [
        case if case[:2] in SMOKE else pytest.param(*case, marks=pytest.mark.verify)
        for case in CASES
    ],
)
def test_each_fault_is_held_named_and_resumed(driver, fault, name, periods):
    run = moving(driver)
    run.robot.inject(fault, 2.0)
    run.run(1.1)
    assert run.held_after(0) <= periods
    assert name in run.names()
    assert "CONTACTS_STALE" not in run.names()
    # After the loss nothing is sent, so that the robot meets no old command.
    lost = next(k for k, status in enumerate(run.status) if status.link is not LinkState.ARMED)
    assert all(command is None for command in run.commands[lost:])
    run.run(1.5)
    assert run.last.status is Status.NOT_ARMED
    assert name in run.last.detail or run.last.detail.startswith("after STATE_")
    rested = run.robot.arm.q.copy()
    began = len(run.status)
    assert run.ask(Request.RESUME)
    run.run(0.02)
    first = run.commands[began]
    # Commands begin where the robot is, whatever it did meanwhile.
    stiffness = RobotDescription.load(run.robot.config.robot).joints.stiffness
    torque = run.robot.arm.external_torque / np.array(stiffness)
    np.testing.assert_allclose(first + torque, rested, atol=3e-3)
    run.run(0.3)
    assert run.last.mode is Mode.TRACKING
    if fault != "foreign_commands":
        assert (np.abs(run.speeds) < run.velocity_limits).all()


@pytest.mark.verify
@pytest.mark.parametrize("driver", ALL)
@pytest.mark.parametrize("fault", ["outage", "late", "restarts_quickly"])
def test_a_short_outage_ends_by_itself(driver, fault):
    run = moving(driver)
    run.robot.inject(fault)
    run.run(1.0)
    assert "STATE_STALE" in run.names()
    assert run.last.mode is Mode.TRACKING
    assert (np.abs(run.speeds) < 0.2).all()


@pytest.mark.parametrize(
    "driver", ["lbr_fri", pytest.param("kuka_drivers", marks=pytest.mark.verify)]
)
@pytest.mark.parametrize("touches", [False, True])
@pytest.mark.parametrize("fault", ["restarts_quickly", "outage"])
def test_commands_begin_where_the_driver_holds_the_arm(driver, touches, fault):
    """They went on from our last one, 0.02 rad from where a new session began."""
    run = moving(driver)
    if touches:
        press(run.robot)
        run.run(0.5)
    run.robot.inject(fault)
    run.run(0.05)
    assert run.last.link is LinkState.LOST
    while run.commands[-1] is None:
        assert len(run.status) < 1000
        run.run(0.005)
    step = np.abs(run.commands[-1] - run.held)
    assert (step <= 0.8 * 0.005 * run.velocity_limits).all()


@pytest.mark.parametrize("fault", ["dies", "degrees"])
def test_resume_is_refused_while_the_state_is_not_sound(fault):
    run = moving()
    run.robot.inject(fault)
    run.run(0.3)
    assert not run.ask(Request.RESUME)
    run.run(0.05)
    assert run.last.link is LinkState.LOST
    assert run.last.detail


@pytest.mark.parametrize("fault", ["degrees", "drives_off"])
def test_a_robot_that_is_not_well_at_the_start_is_never_commanded(fault):
    """85.9 rad were, with status OK."""
    run = LinkBench()
    run.robot.inject(fault, 0.5)
    run.run(0.45)
    assert run.commands == [None] * len(run.commands)
    assert run.last.mode is Mode.INACTIVE
    assert run.last.status is not Status.OK
    # Nobody has been surprised yet: it is armed by itself.
    run.run(0.2)
    assert run.last.link is LinkState.ARMED


@pytest.mark.verify
@pytest.mark.parametrize("fault", ["restarts", "restarts_elsewhere", "long_outage"])
@pytest.mark.parametrize("driver", ["lbr_fri", "kuka_drivers"])
def test_restarted_in_contact_the_arm_stays_where_it_is(driver, fault):
    """It moved with 6.5 rad/s and pressed with 185 N."""
    run = moving(driver)
    robot = run.robot
    press(robot)
    run.run(0.5)
    force = robot.arm.contact_force
    assert force > 5.0
    run.speeds.clear()
    robot.inject(fault)
    run.run(3.0)
    assert run.ask(Request.RESUME)
    run.run(0.1)
    assert (np.abs(run.speeds) < run.velocity_limits).all()
    assert robot.arm.contact_force < 1.5 * force


def test_at_rest_a_simulator_may_repeat_every_bit(robot, arm_state):
    """Frozen is what does not change although the command does."""
    from loop_bench import TICK, Bench, Q

    run = Bench(robot, arm_state)
    for _ in range(400):
        _, status = run.tick(state=arm_state(run.now + TICK, Q, Q))
    assert (status.mode, status.status) == (Mode.HOLD, Status.OK)


def test_what_a_robot_says_is_named_by_its_cause(robot, arm_state):
    from loop_bench import TICK, Bench, Q

    run = Bench(robot, arm_state)
    run.tick()
    all_wrong = RobotCondition(False, False, False, False, False)
    state = dataclasses.replace(arm_state(run.now + TICK, Q), condition=all_wrong)
    assert run.tick(state=state)[1].status is Status.SAFETY_VIOLATED
