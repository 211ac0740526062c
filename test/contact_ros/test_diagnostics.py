"""Diagnostics arrive as standard messages on the standard topic."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from contact_ros.diagnostics import Diagnostics, Health, Level
from contact_ros.qos import DIAGNOSTICS

pytestmark = pytest.mark.graph


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
    assert [(value.key, value.value) for value in status.values] == [("state_age_s", "0.25")]
