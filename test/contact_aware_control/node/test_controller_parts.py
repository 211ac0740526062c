"""What clients are told, who streams targets, and threads beside the loop."""

from __future__ import annotations

import threading
from unittest.mock import MagicMock, Mock

import pytest
from contact_stack_msgs.msg import ContactArray
from sensor_msgs.msg import JointState

from contact_aware_control.config import ControllerConfig
from contact_aware_control.node import controller_parts
from contact_aware_control.node.config import RecorderConfig
from contact_aware_control.node.controller_parts import (
    FOUND,
    IncidentFiles,
    RivalWatch,
    answer_to,
    shared_contacts,
    shared_targets,
)
from contact_aware_control.safety.status import Finding, LinkState, Request, Status
from contact_aware_control.safety.supervisor import (
    Activity,
    Arming,
    Supervisor,
    SupervisorState,
)

ACTIVE = SupervisorState(Activity.ON, LinkState.ARMED, arming=Arming.SEAMLESS)
SILENT = Finding(Status.STATE_STALE, "no state for 1.200 s")
LOST = SupervisorState(Activity.ON, LinkState.LOST, arming=Arming.ON_RESUME, loss=SILENT)
BACK = SupervisorState(Activity.ON, LinkState.SYNC, arming=Arming.ON_RESUME, loss=SILENT)
WAITING = SupervisorState(Activity.ON)
OFF = SupervisorState()


def after(state: SupervisorState, *requests: Request) -> SupervisorState:
    supervisor = Supervisor(ControllerConfig().safety, 0.005)
    for request in requests:
        state, _ = supervisor.handle(state, request)
    return state


HELD = after(ACTIVE, Request.HOLD)
STOPPED = after(HELD, Request.STOP)
PRESSED = after(ACTIVE, Request.PRESS_EXTERNAL_STOP)


@pytest.mark.parametrize(
    ("before", "request_", "done", "said"),
    [
        (ACTIVE, Request.HOLD, True, "held: call resume to go on"),
        (HELD, Request.HOLD, True, "held already: call resume to go on"),
        (HELD, Request.RESUME, True, "it goes on after the hold"),
        (ACTIVE, Request.RESUME, True, "nothing was held"),
        (BACK, Request.RESUME, True, "the link is armed again"),
        (LOST, Request.RESUME, False,
         "refused: there is no link to the robot, STATE_STALE: no state for 1.200 s; check the"),
        (WAITING, Request.RESUME, False, "refused: there is no joint state yet: check that the"),
        (OFF, Request.RESUME, False, "refused: the controller is inactive: activate it (after"),
        (OFF, Request.HOLD, True, "held: activate the controller, then call resume"),
        (ACTIVE, Request.STOP, True, "stopped: call reset to go on"),
        (STOPPED, Request.STOP, True, "STOPPED stops it already: call reset"),
        (STOPPED, Request.HOLD, True, "held, and STOPPED stops it: call reset, which ends both"),
        (STOPPED, Request.RESUME, False, "refused: STOPPED stops it: call reset, which ends a"),
        (PRESSED, Request.RESUME, False, "refused: the external stop is pressed: release it, "),
        (STOPPED, Request.RESET, True, "the fault STOPPED and the hold ended"),
        (ACTIVE, Request.RESET, True, "there was no fault"),
        (PRESSED, Request.RESET, False,
         "refused: the external stop is pressed: release it, then call reset"),
    ],
)  # fmt: skip
def test_each_answer_says_what_is_so_and_what_to_do(before, request_, done, said) -> None:
    """A refused resume said ``OK: ; ``, whatever was done said nothing."""
    supervisor = Supervisor(ControllerConfig().safety, 0.005)
    assert supervisor.handle(before, request_)[1] == done
    assert answer_to(request_, done, before).startswith(said)


def test_nodes_that_stream_targets_at_once_are_named() -> None:
    assert not shared_targets({})
    assert not shared_targets({"target_joint": ["/lbr/a"], "target_pose": ["/lbr/a"]})
    said = "targets may come from /lbr/a (target_joint) and /lbr/b (%s): the last one counts"
    twins = "targets may come from /lbr/a (target_joint) and /lbr/a (target_joint): the last"
    assert shared_targets({"target_joint": ["/lbr/a", "/lbr/a"]}).startswith(twins)
    two = shared_targets({"target_joint": ["/lbr/a", "/lbr/b"]})
    assert two.startswith(said % "target_joint")
    kinds = shared_targets({"target_joint": ["/lbr/a"], "target_pose": ["/lbr/b"]})
    assert kinds.startswith(said % "target_pose")


def test_a_set_up_that_is_interrupted_leaves_no_thread_that_keeps_the_process() -> None:
    """Its node is never closed; a launch had to kill it."""
    before = set(threading.enumerate())
    files = IncidentFiles(Mock(), Mock(), RecorderConfig(folder="x"), threading.Lock(), "dump")
    begun = set(threading.enumerate()) - before
    assert begun
    assert all(thread.daemon for thread in begun)
    files.close()
    assert not any(thread.is_alive() for thread in begun)


@pytest.mark.parametrize(
    ("publishers", "said"),
    [
        (["/lbr/contact_estimator"], None),
        (["/lbr/contact_estimator", "/lbr/contact_estimator"], None),
        (["/_NODE_NAMESPACE_UNKNOWN_/_NODE_NAME_UNKNOWN_", "/lbr/contact_estimator"], None),
        (["/lbr/contact_estimator", "/lbr/liar"], "/lbr/contact_estimator and /lbr/liar"),
    ],
)
def test_an_estimator_that_was_started_anew_is_no_other_node(publishers, said) -> None:
    found = shared_contacts(publishers)
    assert (found is None) == (said is None)
    if found is not None:
        assert found.status is Status.FOREIGN_STATE
        assert said in found.detail


PERIOD = 5_000_000
"""Of states, and so of contacts [ns]."""


def listening() -> RivalWatch:
    profile = MagicMock(period=1e-9 * PERIOD, needed_topics=())
    return RivalWatch(MagicMock(), profile, Mock(), list)


def stamped(stamp: int) -> ContactArray:
    message = ContactArray()
    message.header.stamp.nanosec = stamp
    return message


@pytest.mark.parametrize(
    "offset",
    [
        pytest.param(0, id="copies, or a second estimator"),
        pytest.param(-PERIOD, id="late copies"),
        pytest.param(PERIOD // 5, id="stamps of its own"),
        pytest.param(80 * PERIOD, id="ahead of all states"),
    ],
)
def test_contacts_of_two_sources_are_told_apart_before_the_graph_says_so(offset) -> None:
    """A burst between two looks at the graph moved an untouched arm by 171 mm."""
    watch, used = listening(), []
    for i in range(100, 200):
        for mine in (True, False):
            message = stamped(i * PERIOD + (0 if mine else offset))
            if watch.passes(message) and not mine and watch.finding is None:
                used.append(i)
    assert watch.finding is not None
    assert watch.finding.status is Status.FOREIGN_STATE
    assert len(used) <= (0 if offset <= 0 else 10)


def test_who_publishes_states_too_stays_found_until_it_is_gone(monkeypatch) -> None:
    """Their messages do not show it all the time; an arm was armed in between.

    Nor does it last for ever: one may be a gripper, and what showed it a mistake.
    """
    driver, both = ["/lbr/driver"], ["/lbr/driver", "/rogue"]
    profile = MagicMock(
        period=1e-9 * PERIOD, needed_topics=("joint_states",), topic=str,
        state_topics={"joint_states": JointState}, command_topic="command",
    )  # fmt: skip

    def found(names: list[str], now: float, *, shows: bool) -> bool:
        there = {"joint_states": names}
        monkeypatch.setattr(controller_parts, "publishers", lambda _, topic: there.get(topic, []))
        monkeypatch.setattr(controller_parts.time, "monotonic", lambda: now)
        reader.interleaved.return_value = shows
        watch._update()
        return watch.finding is not None and "/lbr/driver and /rogue" in watch.finding.detail

    reader = Mock()
    watch = RivalWatch(MagicMock(), profile, reader, list)
    assert not found(both, 0.0, shows=False)
    assert found(both, 1.0, shows=True)
    assert found(both, 1.0 + 0.9 * FOUND, shows=False)
    assert not found(driver, 1.0 + 0.95 * FOUND, shows=False)
    assert not found(both, 1.0 + FOUND, shows=False)


@pytest.mark.parametrize("interleaved", [False, True])
def test_a_driver_that_was_started_anew_is_no_other_node(monkeypatch, interleaved) -> None:
    monkeypatch.setattr(
        controller_parts, "publishers",
        lambda _, topic: 2 * ["/lbr/driver"] if topic == "state" else [],
    )  # fmt: skip
    profile = MagicMock(
        period=1e-9 * PERIOD, needed_topics=("state",), topic=str, state_topics={"state": object}
    )
    reader = Mock(interleaved=Mock(return_value=interleaved))
    watch = RivalWatch(MagicMock(), profile, reader, list)
    watch._update()
    assert (watch.finding is not None) == interleaved


def test_a_finding_about_contacts_ends_with_what_it_is_about() -> None:
    watch = listening()
    for i in range(100, 120):
        watch.passes(stamped(i * PERIOD))
        watch.passes(stamped(i * PERIOD))
    watch._update()
    assert watch.finding is not None
    for i in range(120, 220):
        assert watch.passes(stamped(i * PERIOD))
    watch._update()
    assert watch.finding is None


def test_an_estimator_that_goes_on_is_one_source() -> None:
    """After a restart of the driver its clock may be behind; messages may get lost."""
    watch = listening()
    for stamp in (*range(100, 200), *range(10, 60), *range(60, 160, 7)):
        watch.passes(stamped(stamp * PERIOD))
        assert watch.finding is None
