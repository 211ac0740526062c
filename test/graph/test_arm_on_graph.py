"""Plans executed by the arm on the real graph, as `contact-stack bench risk --graph` does."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from contact_core.base.errors import SecondGraphError
from contact_experiments.bench.risk import execute
from contact_experiments.robust import arm_graph
from contact_experiments.robust.arm_runs import ArmCase, Execution

pytestmark = pytest.mark.graph


@pytest.mark.usefixtures("ros_domain")
def test_the_graph_puts_a_ball_down_as_one_process_does() -> None:
    """Controller and estimator are the real nodes; sensors draw other noise, and all else is equal.

    The reference runs into a table that is 3 mm higher than it believes.
    """
    time = np.linspace(0.0, 1.0, 51)
    course = 0.13 - 0.135 * np.clip(time / 0.9, 0.0, 1.0)
    case = ArmCase("nominal", tuple(time.tolist()), tuple(course.tolist()), 0.003)
    impact, gap, force = execute("approach", case, graph=True)
    expected = execute("approach", case, graph=False)
    assert impact == pytest.approx(expected[0], abs=2e-3)
    assert gap == pytest.approx(expected[1], abs=5e-4)
    assert force == pytest.approx(expected[2], rel=0.02)
    assert impact > 0.1


def test_a_domain_where_killed_nodes_are_remembered_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "0")
    domains = []

    def refused_once(execution: Execution, case: ArmCase, scene: Path) -> np.ndarray:
        domains.append(os.environ["ROS_DOMAIN_ID"])
        if len(domains) == 1:
            raise SecondGraphError("'/lbr/tamsi_sim' already runs")
        return np.zeros(3)

    monkeypatch.setattr(arm_graph, "_execute", refused_once)
    execute("approach", ArmCase("nominal", (0.0, 1.0), (0.1, 0.1), 0.0), graph=True)
    assert len(set(domains)) == 2
