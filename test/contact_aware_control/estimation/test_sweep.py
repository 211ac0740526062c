"""The figures the estimator promises, over many poses: `make verify`."""

import numpy as np
import pytest

from contact_experiments.bench.contact_trials import Setting
from contact_experiments.bench.contacts import measure, measure_at_once, measure_pair, measure_tool

pytestmark = pytest.mark.verify

TRIALS = 200
NOISE = 0.3
LOCATION = {"lbr_link_5": 0.02, "lbr_link_6": 0.015, "lbr_link_7": 0.01}


@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_outer_links_are_located(bias):
    """With a bias of 0.5 Nm and a tare, within 1.5 x of the figures without."""
    slack = 1.5 if bias else 1.0
    rows = [measure(Setting(link, NOISE, bias), TRIALS) for link in LOCATION]
    for row in rows:
        assert row["location_p50"] <= slack * LOCATION[row["setting"]["link"]]
        assert row["force_p50"] <= slack * 2.5
        assert row["misleading"] <= 0.02
    assert np.mean([row["identifiable"] for row in rows[1:]]) >= 0.8
    assert np.mean([row["settling_p90"] for row in rows]) <= slack * 0.15


@pytest.mark.parametrize("link", [1, 2, 3, 4])
def test_inner_links_are_flagged(link):
    row = measure(Setting(f"lbr_link_{link}", NOISE), TRIALS)
    assert row["identifiable"] <= 0.05
    assert row["misleading"] <= 0.02


def test_friction_of_0_8_is_located():
    for link, limit in LOCATION.items():
        row = measure(Setting(link, NOISE, friction=0.8), TRIALS)
        assert row["location_p50"] <= limit
        assert row["misleading"] <= 0.02


@pytest.mark.parametrize(("first", "second"), [(4, 6), (4, 7), (5, 6), (5, 7), (6, 7)])
def test_a_second_distal_contact_is_found(first, second):
    assert measure_pair(first, second, NOISE, TRIALS)["found"] >= 0.75


@pytest.mark.parametrize("part", ["fingers", "held object"])
def test_the_tool_is_located(part):
    row = measure_tool(part, NOISE, TRIALS)
    assert row["right_link"] >= 0.8
    assert row["location_p50"] <= 0.03
    assert row["misleading"] <= 0.02


@pytest.mark.parametrize(("first", "second"), [(4, 6), (4, 7), (5, 6), (5, 7), (6, 7)])
def test_two_at_once_explain_the_torque(first, second):
    assert measure_at_once(first, second, NOISE, TRIALS)["explained"] >= 0.9
