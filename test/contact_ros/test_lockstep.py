"""Lock-step: a tick ends when everybody is done, and who is missing is named."""

from __future__ import annotations

from typing import Any

import pytest
from contact_stack_msgs.msg import LockstepTick

from contact_core.base.errors import CommunicationError, ConfigError
from contact_ros.lockstep import TICK_TOPIC, Barrier, Participant, TickInputs
from contact_ros.qos import LOCKSTEP

FOREVER = 60.0
pytestmark = pytest.mark.graph


class _Simulator:
    """Opens one tick after the other, of 5 ms each."""

    def __init__(self, graph, participants, ticks: int, **options: Any) -> None:
        self.completed: list[int] = []
        self._ticks = ticks
        options = {"timeout": FOREVER, **options}
        self.barrier = Barrier(
            graph.node("simulator"), participants, on_complete=self._complete, **options
        )

    def _complete(self, k: int) -> None:
        self.completed.append(k)
        if k < self._ticks:
            self.barrier.open(k + 1, (k + 1) * 5_000_000)


class _Peer:
    """A participant that is done at once, except with the tick it refuses."""

    def __init__(self, graph, name: str, refused: int | None = None, error: str = "") -> None:
        self.ticks: list[tuple[int, int]] = []
        self._refused = refused
        self._error = error
        self.participant = Participant(graph.node(name), name, self._tick)
        self.participant.announce()

    def _tick(self, k: int, stamp: int) -> None:
        self.ticks.append((k, stamp))
        if k != self._refused:
            self.participant.done(k)
        elif self._error:
            self.participant.done(k, self._error)


def test_two_participants_get_every_tick_once_and_in_order(graph) -> None:
    peers = [_Peer(graph, "estimator"), _Peer(graph, "controller")]
    simulator = _Simulator(graph, ["estimator", "controller"], ticks=200)
    graph.spin_until(lambda: len(simulator.completed) == 201)
    assert simulator.completed == list(range(201))
    for peer in peers:
        assert peer.ticks == [(k, k * 5_000_000) for k in range(1, 201)]


def test_a_participant_may_start_long_after_the_simulator(graph) -> None:
    simulator = _Simulator(graph, ["estimator", "controller"], ticks=3)
    _Peer(graph, "estimator")
    graph.spin_until(lambda: simulator.barrier.missing == ("controller",))
    assert simulator.completed == []
    late = _Peer(graph, "controller")
    graph.spin_until(lambda: len(simulator.completed) == 4)
    assert [k for k, _ in late.ticks] == [1, 2, 3]


def test_the_participant_that_does_not_answer_is_named(graph) -> None:
    _Peer(graph, "estimator", refused=2)
    _Peer(graph, "controller")
    _Simulator(graph, ["estimator", "controller"], ticks=5, timeout=1.0)
    with pytest.raises(CommunicationError, match="tick 2 still waits for estimator after 1 s"):
        graph.spin_until(lambda: False)


def test_the_participants_that_never_start_are_named(graph) -> None:
    _Peer(graph, "controller")
    simulator = _Simulator(graph, ["demo", "estimator", "controller"], ticks=1, timeout=1.0)
    with pytest.raises(CommunicationError, match="tick 0 still waits for demo, estimator"):
        graph.spin_until(lambda: False)
    assert simulator.completed == []


def test_an_error_of_a_participant_stops_the_run_with_its_text(graph) -> None:
    _Peer(graph, "estimator", refused=1, error="particles are not finite")
    _Simulator(graph, ["estimator"], ticks=5)
    with pytest.raises(CommunicationError, match="'estimator' failed at tick 1: particles are"):
        graph.spin_until(lambda: False)


def test_a_node_that_is_no_participant_does_not_advance_the_run(graph) -> None:
    simulator = _Simulator(graph, ["estimator"], ticks=2)
    stranger = _Peer(graph, "stranger")
    _Peer(graph, "estimator")
    graph.spin_until(lambda: len(simulator.completed) == 3 and len(stranger.ticks) == 2)
    assert simulator.completed == [0, 1, 2]


def test_the_simulators_own_condition_holds_the_tick_until_it_is_marked(graph) -> None:
    _Peer(graph, "controller")
    simulator = _Simulator(graph, ["controller"], ticks=1, own=["command"])
    graph.spin_until(lambda: simulator.barrier.missing == ("command",))
    assert simulator.completed == [0]
    with pytest.raises(CommunicationError, match="tick 2 cannot open: tick 1 still waits"):
        simulator.barrier.open(2, 0)
    simulator.barrier.mark("command")
    assert simulator.completed == [0, 1]
    simulator.barrier.mark("command")
    assert simulator.completed == [0, 1]
    with pytest.raises(ConfigError, match="controller"):
        simulator.barrier.mark("controller")


def test_a_second_simulation_in_the_graph_is_noticed(graph) -> None:
    """Its ticks would be taken for ours, and both runs be wrong without a word."""
    _Peer(graph, "controller")
    first = _Simulator(graph, ["controller"], ticks=100)
    graph.spin_until(lambda: len(first.completed) == 101)
    rival = graph.node("rival").create_publisher(LockstepTick, TICK_TOPIC, LOCKSTEP)
    rival.publish(LockstepTick(k=1))
    with pytest.raises(CommunicationError, match="tick 1 came after tick 100: another lock-step"):
        graph.spin_until(lambda: False)


def test_time_does_not_run_out_between_two_ticks(graph) -> None:
    """A paused simulator is not a participant that is missing."""
    _Peer(graph, "controller")
    simulator = _Simulator(graph, ["controller"], ticks=1, timeout=0.3)
    graph.spin_until(lambda: len(simulator.completed) == 2)
    waited = []
    graph.node("watch").create_timer(0.9, lambda: waited.append(True))
    graph.spin_until(lambda: bool(waited))
    simulator.barrier.open(2, 0)
    graph.spin_until(lambda: simulator.completed == [0, 1, 2])


def test_participants_need_names_of_their_own(graph) -> None:
    with pytest.raises(ConfigError, match="controller"):
        _Simulator(graph, ["controller", "controller"], ticks=1)


class _Inputs(TickInputs):
    """Inputs of two names that remember which ticks were complete."""

    def __init__(self) -> None:
        self.completed: list[tuple[int, dict[str, Any]]] = []
        super().__init__(
            ["state", "contacts"], lambda k, samples: self.completed.append((k, dict(samples)))
        )


def test_a_tick_is_complete_when_all_inputs_have_its_stamp() -> None:
    inputs = _Inputs()
    inputs.put("state", 5, "q5")
    inputs.tick(1, 5)
    assert inputs.missing == ("contacts",)
    inputs.put("contacts", 5, "c5")
    assert inputs.completed == [(1, {"state": "q5", "contacts": "c5"})]


def test_inputs_may_all_come_before_the_tick() -> None:
    inputs = _Inputs()
    inputs.put("state", 5, "q5")
    inputs.put("contacts", 5, "c5")
    assert not inputs.completed
    inputs.tick(1, 5)
    assert len(inputs.completed) == 1


def test_a_sample_of_another_stamp_does_not_count() -> None:
    inputs = _Inputs()
    inputs.tick(2, 10)
    inputs.put("state", 10, "q10")
    inputs.put("contacts", 5, "c5")
    assert not inputs.completed
    inputs.put("contacts", 10, "c10")
    assert inputs.completed == [(2, {"state": "q10", "contacts": "c10"})]


def test_a_tick_is_complete_only_once() -> None:
    inputs = _Inputs()
    inputs.tick(1, 5)
    inputs.put("state", 5, "q5")
    inputs.put("contacts", 5, "c5")
    inputs.put("contacts", 5, "again")
    assert len(inputs.completed) == 1
    assert inputs.missing == ()


def test_an_unknown_input_is_named() -> None:
    with pytest.raises(ConfigError, match="'wrench' is no input"):
        _Inputs().put("wrench", 5, None)
