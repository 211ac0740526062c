"""The benchmark's figures as JSON, as a table and as a picture."""

import dataclasses

import numpy as np
import pytest

from contact_experiments.tamsi.benchmark.compliance import ContactAgreement, Fit
from contact_experiments.tamsi.benchmark.measure import SceneResult, measure
from contact_experiments.tamsi.benchmark.report import (
    HEADER,
    UNITS,
    details_json,
    fit_lines,
    machine,
    missing_lines,
    plot_cost,
    row,
    scene_json,
)

KEYS = {
    "ours_us", "drake_ktamsi_us", "drake_ksap_us", "mujoco_us", "mujoco_default_us",
    "ratio_drake_ktamsi", "ratio_drake_ksap", "ratio_mujoco", "ratio_mujoco_default", "contacts",
    "nv",
}  # fmt: skip


@pytest.fixture
def result():
    """Return three rounds, without MuJoCo."""
    return SceneResult(
        name="pile",
        nv=12,
        bodies=2,
        pairs=8,
        microseconds={
            "ours": np.array([1.0, 2.0, 4.0]),
            "ours_parity": np.array([2.0, 2.0, 2.0]),
            "drake_ktamsi": np.array([10.0, 10.0, 10.0]),
            "drake_ksap": np.array([20.0, 60.0, 100.0]),
        },
        contacts={"ours": 7.5, "ours_parity": 7.5, "drake_ktamsi": np.nan},
        missing={"mujoco": "MuJoCo is not installed"},
        fit=None,
        velocity_error=1e-12,
        position_error=1e-4,
    )


def test_ratio_is_the_median_of_the_rounds_ratios(result):
    figures = scene_json(result)
    assert set(figures) == KEYS
    assert figures["ours_us"] == 2.0
    assert figures["drake_ksap_us"] == 60.0
    assert figures["ratio_drake_ktamsi"] == 5.0
    assert figures["ratio_drake_ksap"] == 25.0
    assert (figures["nv"], figures["contacts"]) == (12, 7.5)


def test_a_missing_peer_has_no_figures(result):
    figures = scene_json(result)
    assert figures["mujoco_us"] is None
    assert figures["ratio_mujoco"] is None
    assert missing_lines([result]) == ["pile: MuJoCo: MuJoCo is not installed"]


def test_spread_and_agreement_are_in_the_details(result):
    details = details_json(result)
    assert details["ratio_spread"] == {"drake_ktamsi": [2.5, 10.0], "drake_ksap": [20.0, 30.0]}
    assert details["velocity_error_parity"] == 1e-12
    assert details["contacts"] == {"ours": 7.5, "ours_parity": 7.5, "drake_ktamsi": None}
    assert details["rounds"] == 3


def test_rows_are_as_wide_as_the_header(result):
    assert len(row(result)) == len(HEADER)
    assert "5.00 (2.50..10.00)" in row(result)
    assert HEADER.index("MuJoCo") > HEADER.index("kSap")
    assert UNITS.count("us/step") == 6


def test_a_row_of_unequal_physics_has_a_star(result):
    """MuJoCo at the same median depth, once on as many contact points and once on twice as many."""
    costs = {**result.microseconds, "mujoco": np.array([1.0, 2.0, 4.0])}
    ours = ContactAgreement(1e-4, 10.0)
    for count, equal in ((11.0, True), (20.0, False)):
        fit = Fit(4e-3, ContactAgreement(1.1e-4, count), ours)
        shown = dataclasses.replace(result, fit=fit, microseconds=costs)
        assert ("*" not in row(shown)) == equal
        assert len(row(shown)) == len(HEADER)
        assert details_json(shown)["mujoco_fit"]["equal"] is equal
        (line,) = fit_lines([shown])
        assert "0.110 mm of MuJoCo, 0.100 mm of ours" in line


def test_machine_names_the_versions_of_the_peers():
    about = machine()
    assert about["versions"]["drake"].startswith("1.")
    assert set(about["versions"]) >= {"drake", "mujoco", "numba"}
    assert about["cores"] >= 1


@pytest.mark.parametrize("simulators", [("ours",), ("ours", "ours_parity", "drake_ktamsi")])
def test_picture_with_and_without_peers(short, tmp_path, simulators):
    result = measure(short("gripper_stiff", 20), 1, simulators)
    assert plot_cost([result], [result], tmp_path / "cost.png").stat().st_size > 10_000
    assert plot_cost([result], [], tmp_path / "alone.png").stat().st_size > 10_000
