"""The state machine: every mode, its reason, and the way out of it."""

import math
from dataclasses import replace
from itertools import product

import pytest

from contact_aware_control.config import SafetyConfig
from contact_aware_control.safety.status import Finding, LinkState, Mode, Request, Status
from contact_aware_control.safety.supervisor import (
    BAD_INPUTS,
    FAULTS,
    REFUSED,
    TRANSITIONS,
    Activity,
    Arming,
    Conditions,
    Event,
    Latch,
    Pause,
    Supervisor,
    SupervisorState,
)

PERIOD = 0.005


class RunningSupervisor:
    """A supervisor together with what it remembers."""

    def __init__(self, **values):
        self.supervisor = Supervisor(SafetyConfig(**values), PERIOD)
        self.state = SupervisorState()

    def handle(self, request, detail=""):
        self.state, done = self.supervisor.handle(self.state, request, detail)
        return done

    def __getattr__(self, name):
        """``machine.hold()`` asks for Request.HOLD."""
        return lambda detail="": self.handle(Request[name.upper()], detail)

    def accept_input(self):
        self.state = self.supervisor.accept_input(self.state)

    def update(self, conditions):
        self.state, mode, status = self.supervisor.update(self.state, conditions)
        return mode, status


GOOD = Conditions(state_age=0.0, contacts_age=0.0, has_reference=True)


@pytest.fixture
def supervisor():
    machine = RunningSupervisor()
    machine.activate()
    machine.update(GOOD)
    return machine


def test_inactive_until_activated():
    assert RunningSupervisor().update(GOOD) == (Mode.INACTIVE, Status.OK)


def test_nothing_is_sent_before_the_first_state():
    machine = RunningSupervisor()
    machine.activate()
    waiting = replace(GOOD, state_age=math.inf)
    assert machine.update(waiting) == (Mode.INACTIVE, Status.WAITING_FOR_STATE)
    assert machine.update(GOOD) == (Mode.TRACKING, Status.OK)


def test_states_that_are_all_rejected_are_named_as_the_reason():
    """For instance those of a robot that sends at another period than ours."""
    machine = RunningSupervisor()
    machine.activate()
    for _ in range(BAD_INPUTS):
        machine.reject_input("every 10 ms instead of every 5 ms")
    waiting = replace(GOOD, state_age=math.inf)
    assert machine.update(waiting) == (Mode.INACTIVE, Status.BAD_INPUT)
    assert machine.update(GOOD) == (Mode.FAULT, Status.BAD_INPUT)
    machine.reset()
    assert machine.update(GOOD) == (Mode.TRACKING, Status.OK)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, (Mode.TRACKING, Status.OK)),
        ({"has_reference": False}, (Mode.HOLD, Status.OK)),
        ({"state_age": 3.1 * PERIOD}, (Mode.HOLD, Status.STATE_STALE)),
        ({"state_age": 2.9 * PERIOD}, (Mode.TRACKING, Status.OK)),
        ({"contacts_age": 0.051}, (Mode.CONSERVATIVE, Status.CONTACTS_STALE)),
        ({"contacts_age": math.inf}, (Mode.CONSERVATIVE, Status.CONTACTS_STALE)),
        ({"contacts_age": 0.049}, (Mode.TRACKING, Status.OK)),
        ({"identifiable": False}, (Mode.CONSERVATIVE, Status.CONTACT_UNIDENTIFIABLE)),
        ({"reference_age": 0.26}, (Mode.HOLD, Status.REFERENCE_STALE)),
        ({"force_ratio": 6.1}, (Mode.TRACKING, Status.FORCE_EXCEEDED)),
    ],
)
def test_each_condition_has_its_mode_and_reason(supervisor, change, expected):
    assert supervisor.update(replace(GOOD, **change)) == expected


def test_short_outage_ends_by_itself(supervisor):
    supervisor.update(replace(GOOD, state_age=0.5))
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.OK)


def test_long_outage_waits_for_resume(supervisor):
    assert supervisor.update(replace(GOOD, state_age=1.5)) == (Mode.HOLD, Status.STATE_STALE)
    assert supervisor.state.link is LinkState.LOST
    assert supervisor.update(GOOD) == (Mode.HOLD, Status.NOT_ARMED)
    assert supervisor.state.link is LinkState.SYNC
    assert supervisor.resume()
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.OK)
    assert supervisor.state.link is LinkState.ARMED


def test_resume_during_an_outage_is_refused(supervisor):
    supervisor.update(replace(GOOD, state_age=1.5))
    assert not supervisor.resume()
    assert supervisor.update(replace(GOOD, state_age=1.6)) == (Mode.HOLD, Status.STATE_STALE)
    assert supervisor.update(GOOD) == (Mode.HOLD, Status.NOT_ARMED)


def test_a_short_outage_with_a_jump_waits_for_resume(supervisor):
    supervisor.update(replace(GOOD, state_age=0.05))
    jumped = replace(GOOD, continuous=False)
    assert supervisor.update(jumped) == (Mode.HOLD, Status.NOT_ARMED)
    assert supervisor.update(GOOD) == (Mode.HOLD, Status.NOT_ARMED)


def test_nothing_is_sound_before_a_state_has_come(supervisor):
    """The age of the last one may still be low."""
    supervisor.update(replace(GOOD, finding=Finding(Status.DRIVES_OFF, "")))
    waiting = replace(GOOD, arrived=False)
    assert supervisor.update(waiting) == (Mode.HOLD, Status.DRIVES_OFF)
    assert supervisor.update(GOOD) == (Mode.HOLD, Status.NOT_ARMED)


def test_messages_without_a_new_state_are_no_silence(supervisor):
    old = replace(GOOD, state_age=0.5, arrived=False)
    repeated = replace(old, hearing=True)
    assert supervisor.update(repeated) == (Mode.HOLD, Status.STATE_FROZEN)
    assert supervisor.update(old) == (Mode.HOLD, Status.STATE_STALE)
    supervisor.update(replace(GOOD, finding=Finding(Status.CONNECTION_POOR, "")))
    assert supervisor.update(repeated) == (Mode.HOLD, Status.CONNECTION_POOR)


def test_hold_and_resume(supervisor):
    supervisor.hold()
    assert supervisor.update(GOOD) == (Mode.HOLD, Status.OK)
    supervisor.resume()
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.OK)


def test_a_short_outage_after_a_long_one_does_not_hide_the_reason(supervisor):
    supervisor.update(replace(GOOD, state_age=1.5))
    supervisor.update(replace(GOOD, state_age=0.02))
    assert supervisor.update(GOOD) == (Mode.HOLD, Status.NOT_ARMED)
    supervisor.resume()
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.OK)


def test_a_late_state_just_after_resume_does_not_undo_it(supervisor):
    supervisor.update(replace(GOOD, state_age=1.5))
    supervisor.update(GOOD)
    supervisor.resume()
    supervisor.update(replace(GOOD, state_age=0.02))
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.OK)


def test_stop_is_latched_until_reset(supervisor):
    supervisor.stop()
    assert supervisor.update(GOOD) == (Mode.FAULT, Status.STOPPED)
    supervisor.resume()
    assert supervisor.update(GOOD) == (Mode.FAULT, Status.STOPPED)
    supervisor.reset()
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.OK)


def test_force_has_to_stay_too_high_before_it_is_a_fault(supervisor):
    config = SafetyConfig()
    high = replace(GOOD, force_ratio=config.force_fault_factor + 0.1)
    ticks = round(config.force_fault_time / PERIOD)
    for _ in range(ticks - 1):
        assert supervisor.update(high)[0] is Mode.TRACKING
    supervisor.update(GOOD)
    for _ in range(ticks - 1):
        assert supervisor.update(high)[0] is Mode.TRACKING
    supervisor.update(high)
    supervisor.update(high)
    assert supervisor.update(GOOD) == (Mode.FAULT, Status.FORCE_EXCEEDED)


@pytest.mark.parametrize(("force", "fault"), [(49.0, False), (51.0, True)])
def test_a_force_to_stop_at_is_a_fault_at_once_planned_or_not(force, fault):
    machine = RunningSupervisor(stop_force=50.0)
    machine.activate()
    machine.update(GOOD)
    machine.update(replace(GOOD, force=force, force_ratio=0.5))
    assert machine.update(GOOD)[0] is (Mode.FAULT if fault else Mode.TRACKING)
    assert ("a force of 51.0 N" in machine.state.fault_detail) is fault


@pytest.mark.parametrize(("good", "fault"), [(1, True), (2, False)])
def test_a_stream_of_which_half_is_bad_is_a_fault(supervisor, good, fault):
    """Every second state was NaN, and the arm went on."""
    for _ in range(10 * BAD_INPUTS):
        supervisor.reject_input()
        for _ in range(good):
            supervisor.accept_input()
    mode = supervisor.update(GOOD)[0]
    assert mode is (Mode.FAULT if fault else Mode.TRACKING)


def test_bad_inputs_in_a_row_are_a_fault(supervisor):
    limit = BAD_INPUTS
    for _ in range(limit - 1):
        supervisor.reject_input()
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.BAD_INPUT)
    for _ in range(2 * limit):
        supervisor.accept_input()
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.OK)
    for _ in range(limit):
        supervisor.reject_input()
    assert supervisor.update(GOOD) == (Mode.FAULT, Status.BAD_INPUT)
    assert supervisor.state.rejected == 2 * limit - 1
    supervisor.reset()
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.OK)


def test_the_first_fault_is_the_one_reported(supervisor):
    supervisor.stop()
    for _ in range(20):
        supervisor.reject_input()
    assert supervisor.state.fault is Status.STOPPED


def test_deactivated_arm_gets_no_commands(supervisor):
    supervisor.deactivate()
    assert supervisor.update(GOOD) == (Mode.INACTIVE, Status.OK)


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.OK])
def test_every_status_has_a_remedy(status):
    assert len(status.remedy) > 10


def test_numbers_are_those_of_the_message():
    """ControllerStatus.msg is what other processes read."""
    from contact_core.base.files import share

    text = share("msgs", "msg", "ControllerStatus.msg").read_text()
    constants = dict(
        line.split()[1].split("=")
        for line in text.splitlines()
        if line.startswith("uint8 ") and "=" in line
    )
    expected = {member.name: str(int(member)) for member in [*Mode, *LinkState, *Status]}
    assert constants == expected


def test_external_stop_is_latched_until_it_is_released_and_reset(supervisor):
    supervisor.press_external_stop()
    assert supervisor.update(GOOD) == (Mode.FAULT, Status.EXTERNAL_STOP)
    assert not supervisor.reset()
    assert supervisor.update(GOOD) == (Mode.FAULT, Status.EXTERNAL_STOP)
    supervisor.release_external_stop()
    assert supervisor.update(GOOD) == (Mode.FAULT, Status.EXTERNAL_STOP)
    assert supervisor.reset()
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.OK)


def test_a_stop_stays_pressed_under_an_earlier_fault(supervisor):
    """The first reason stays, but a reset has to wait for the release as well."""
    supervisor.stop()
    supervisor.press_external_stop()
    assert supervisor.update(GOOD) == (Mode.FAULT, Status.STOPPED)
    assert not supervisor.reset()


def test_a_simulator_in_the_place_of_the_robot_is_a_fault(supervisor):
    supervisor.find_wrong_robot("a simulator answers")
    assert supervisor.update(GOOD) == (Mode.FAULT, Status.WRONG_ROBOT)
    supervisor.reset()
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.OK)


def test_faults_say_what_led_to_them(supervisor):
    for _ in range(BAD_INPUTS):
        supervisor.reject_input("position is not finite")
    supervisor.update(GOOD)
    assert supervisor.state.fault_detail == (
        "10 rejected messages of late, the last: position is not finite"
    )
    supervisor.reset()
    assert supervisor.state.fault_detail == ""
    for _ in range(200):
        supervisor.update(replace(GOOD, force_ratio=7.0))
    assert "7.0 times its limit" in supervisor.state.fault_detail


LEFT = replace(GOOD, finding=Finding(Status.NOT_COMMANDING, "its session has ended"))


def test_a_robot_that_left_is_held_until_it_is_back_and_resume(supervisor):
    assert supervisor.update(LEFT) == (Mode.HOLD, Status.NOT_COMMANDING)
    assert not supervisor.resume()
    assert supervisor.update(GOOD) == (Mode.HOLD, Status.NOT_ARMED)
    assert supervisor.state.loss == LEFT.finding
    assert supervisor.resume()
    assert supervisor.update(GOOD) == (Mode.TRACKING, Status.OK)


def test_a_reset_does_not_resume_a_robot_that_left(supervisor):
    supervisor.update(LEFT)
    supervisor.stop()
    assert supervisor.update(GOOD) == (Mode.FAULT, Status.STOPPED)
    supervisor.reset()
    assert supervisor.update(GOOD) == (Mode.HOLD, Status.NOT_ARMED)


def test_at_the_start_the_robot_may_come_after_us():
    """The session of a robot begins without following commands: no resume is needed then."""
    machine = RunningSupervisor()
    machine.activate()
    assert machine.update(LEFT) == (Mode.INACTIVE, Status.NOT_COMMANDING)
    assert machine.update(GOOD) == (Mode.TRACKING, Status.OK)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Request.HOLD, Mode.HOLD),
        (Request.STOP, Mode.FAULT),
        (Request.PRESS_EXTERNAL_STOP, Mode.FAULT),
        (Request.DEACTIVATE, Mode.INACTIVE),
        (Request.RESUME, Mode.TRACKING),
        (Request.RESET, Mode.TRACKING),
        (Request.RELEASE_EXTERNAL_STOP, Mode.TRACKING),
        (Request.REJECT_INPUT, Mode.TRACKING),
        (Request.ACTIVATE, Mode.TRACKING),
    ],
)
def test_requests(supervisor, request_, expected):
    assert supervisor.handle(request_)
    assert supervisor.update(GOOD)[0] is expected


@pytest.mark.parametrize("request_", [Request.HOLD, Request.STOP])
def test_what_keeps_an_arm_still_outlasts_an_inactive_controller(supervisor, request_):
    """A hold was granted and forgotten: the next goal moved the arm."""
    supervisor.deactivate()
    assert supervisor.handle(request_)
    for _ in range(2):
        supervisor.activate()
        assert supervisor.update(GOOD)[0] in (Mode.HOLD, Mode.FAULT)
        supervisor.deactivate()


HOLDS = {
    Request.ACTIVATE: lambda s: s.activity is Activity.ON,
    Request.DEACTIVATE: lambda s: s.activity is Activity.OFF,
    Request.HOLD: lambda s: s.pause is Pause.ASKED,
    Request.RESUME: lambda s: (
        s.activity is Activity.ON
        and s.latch is Latch.CLEAR
        and s.link is not LinkState.LOST
        and s.pause is Pause.NONE
        and s.arming is not Arming.ON_RESUME
    ),
    Request.STOP: lambda s: s.latch is not Latch.CLEAR,
    Request.RESET: lambda s: s.latch is Latch.CLEAR and s.fault is None and s.pause is Pause.NONE,
    Request.PRESS_EXTERNAL_STOP: lambda s: s.latch is Latch.PRESSED,
    Request.RELEASE_EXTERNAL_STOP: lambda s: s.latch is not Latch.PRESSED,
    Request.FIND_WRONG_ROBOT: lambda s: s.latch is not Latch.CLEAR,
}
"""What has to be so once a request was granted."""


@pytest.mark.parametrize("request_", HOLDS)
def test_a_request_is_granted_if_and_only_if_it_has_its_effect(request_):
    """Resume was granted to an arm that was stopped, and scripts went on."""
    supervisor = Supervisor(SafetyConfig(), PERIOD)
    for machines in product(Activity, LinkState, Arming, Pause, Latch):
        activity, link, arming, pause, latch = machines
        fault = None if latch is Latch.CLEAR else Status.STOPPED
        before = SupervisorState(activity, link, 0.0, arming, None, pause, latch, fault)
        after, done = supervisor.handle(before, request_)
        assert done == HOLDS[request_](after), machines
        assert done or after == before


def test_the_table_leads_nowhere_but_within_one_machine():
    """Every state of every machine can be entered, and left again."""
    for (state, _), following in TRANSITIONS.items():
        assert type(state) is type(following)
        assert state is not following
    for machine in (Activity, LinkState, Arming, Pause, Latch):
        entered = {state for state in TRANSITIONS.values() if isinstance(state, machine)}
        left = {state for state, _ in TRANSITIONS if isinstance(state, machine)}
        assert entered == left == set(machine)


def test_every_event_is_a_request_or_an_observation():
    used = {event for _, event in TRANSITIONS}
    assert used == set(Event)
    assert set(FAULTS) < used
    assert {event for _, event in REFUSED} < {
        Event[r.name] for r in Request if r.name in Event.__members__
    }


def test_the_same_arguments_give_the_same_answer(supervisor):
    """What is remembered is not changed: a tick can be computed again."""
    before = supervisor.state
    first = supervisor.supervisor.update(before, replace(GOOD, force_ratio=7.0))
    assert supervisor.supervisor.update(before, replace(GOOD, force_ratio=7.0)) == first
    assert before == supervisor.state
