"""Diagnostics: reports on the standard topic, ages of signals, clocks that differ."""

from __future__ import annotations

import math

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from contact_ros.diagnostics import (
    FORGET,
    MAX_SENDERS,
    AgeMonitor,
    ClockMonitor,
    ClockOffsets,
    Diagnostics,
    Health,
    Level,
)
from contact_ros.qos import DIAGNOSTICS
from contact_ros.stamps import NANOSECONDS, to_time


@pytest.mark.graph
def test_a_report_has_the_nodes_name_its_level_and_its_figures(graph) -> None:
    node = graph.node("controller", "-r", "__ns:=/lbr")
    health = Health(Level.WARN, "state is stale: is the driver running?", {"state_age_s": 0.25})
    reports: list[DiagnosticArray] = []
    graph.node("monitor").create_subscription(
        DiagnosticArray, "/diagnostics", reports.append, DIAGNOSTICS
    )
    Diagnostics(node, lambda: health)
    graph.spin_until(lambda: bool(reports))
    status = reports[0].status[0]
    assert status.name == "/lbr/controller"
    assert status.level == DiagnosticStatus.WARN
    assert status.message == health.message
    assert status.hardware_id == "lbr"
    assert [(value.key, value.value) for value in status.values] == [("state_age_s", "0.25")]


def test_a_signal_that_never_arrived_is_stale() -> None:
    monitor = AgeMonitor(limit=1.0, clock=lambda: 0)
    assert math.isinf(monitor.age)
    assert monitor.stale


def test_a_signal_is_stale_only_beyond_its_limit_and_fresh_again_on_arrival() -> None:
    now = [5_000_000_000]
    monitor = AgeMonitor(limit=0.015, clock=lambda: now[0])
    monitor.arrived()
    now[0] += 15_000_000
    assert monitor.age == pytest.approx(0.015)
    assert not monitor.stale
    now[0] += 1_000_000
    assert monitor.stale
    monitor.arrived()
    assert not monitor.stale


def ns(seconds: float) -> int:
    return round(seconds * NANOSECONDS)


@pytest.mark.parametrize("offset", [0.5, -0.5])
def test_an_offset_is_told_from_delays(offset: float) -> None:
    """Every message of both is late, some by more than the limit."""
    offsets = ClockOffsets(limit=0.1)
    for k, delay in enumerate([0.3, 0.01, 0.5, 0.02, 0.2]):
        now = ns(k + delay)
        offsets.heard("good", ns(k), now)
        offsets.heard("bad", ns(k + offset), now)
    assert offsets.beyond(now) == {"bad": pytest.approx(offset, abs=0.011)}


def test_an_offset_below_the_limit_is_agreement() -> None:
    offsets = ClockOffsets(limit=1.0)
    offsets.heard("node", ns(100.9), ns(100.0))
    assert not offsets.beyond(ns(100.0))


def test_a_clock_that_was_set_right_is_no_longer_reported() -> None:
    offsets = ClockOffsets(limit=0.1)
    offsets.heard("node", ns(100.0), ns(90.0))
    assert offsets.beyond(ns(90.0))
    for k in range(91, 97):
        offsets.heard("node", ns(k), ns(k))
    assert not offsets.beyond(ns(96.0))


def test_a_node_that_has_gone_is_forgotten() -> None:
    offsets = ClockOffsets(limit=0.1)
    offsets.heard("node", ns(100.0), ns(90.0))
    assert not offsets.beyond(ns(90.0 + FORGET))


@pytest.mark.graph
def test_the_node_is_named_with_its_offset(graph) -> None:
    node = graph.node("controller")
    monitor = ClockMonitor(node, limit=0.1)
    publisher = graph.node("far").create_publisher(DiagnosticArray, "/diagnostics", DIAGNOSTICS)
    assert monitor.warning == ""

    def warned() -> bool:
        report = DiagnosticArray(status=[DiagnosticStatus(name="/lbr/irs_planner")])
        report.header.stamp = to_time(node.get_clock().now().nanoseconds - ns(3.0))
        publisher.publish(report)
        return bool(monitor.warning)

    graph.spin_until(warned)
    assert monitor.warning.startswith("the clock of /lbr/irs_planner is 3.0")
    assert "s behind ours: synchronise" in monitor.warning


def test_many_senders_cost_no_time() -> None:
    """Their names would cost time in every report, and memory for ever."""
    offsets = ClockOffsets(limit=0.1)
    offsets.heard("ours", 5_000_000_000, 0)
    for k in range(20_000):
        offsets.heard(f"sender {k}", 1_000_000_000, k)
    assert len(offsets.beyond(20_000)) == MAX_SENDERS
    assert "ours" in offsets.beyond(20_000)
    later = 60_000_000_000
    offsets.heard("new", later + 2_000_000_000, later)
    assert offsets.beyond(later) == {"new": 2.0}
