"""The table of reliability: judges by other means, and a cell of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from contact_experiments.bench import reliability
from contact_experiments.bench.reliability import CASES, FAMILIES, run_cell, touching
from contact_experiments.robust.sliding import slide, slide_in_plane
from contact_experiments.robust.touching import touch_down
from contact_stack import cli
from robust_planner import (
    FailureConfig,
    Normal,
    RiskSettings,
    ShootingConfig,
    draw_worlds,
    true_rate,
)

G = 9.81


def test_a_fall_ends_as_fast_as_it_must() -> None:
    height = np.array([-0.05, 0.0, 0.05])
    gaps, impacts = touch_down(np.zeros(30), 0.01, 1.5, 0.1, height, 1e5, 50.0)
    np.testing.assert_allclose(impacts, np.sqrt(2.0 * G * (0.1 - height)), rtol=1e-12)
    np.testing.assert_allclose(gaps, -1.5 * G / 1e5, atol=1e-4)


def test_in_the_plane_a_body_slides_as_on_a_line_and_through_curves() -> None:
    """Along one direction as in exact time; thrown across a push as an adaptive integrator says."""
    draw = np.random.default_rng(0)
    force, friction, mass = draw.normal(0.0, 20.0, 20), draw.uniform(0.1, 0.8, 50), np.full(50, 3.0)
    way = np.array([0.6, 0.8])
    x, v = slide_in_plane(np.outer(force, way), 0.05, friction, mass, np.zeros(2))
    places, speeds = slide(force, 0.05, friction, mass, mass)
    np.testing.assert_allclose(x, np.outer(places, way), atol=2e-4)
    np.testing.assert_allclose(v, np.outer(speeds, way), atol=2e-3)
    push, thrown = np.array([15.0, 0.0]), np.array([0.0, 2.0])
    x, v = slide_in_plane(np.tile(push, (5, 1)), 0.05, friction, mass, thrown)
    for mu, place, speed in zip(friction, x, v, strict=True):

        def acceleration(_: float, state: np.ndarray, mu: float = mu) -> np.ndarray:
            return np.r_[state[2:], push / 3.0 - mu * G * state[2:] / np.hypot(*state[2:])]

        exact = solve_ivp(acceleration, (0.0, 0.25), np.r_[0.0, 0.0, thrown], rtol=1e-9).y[:, -1]
        np.testing.assert_allclose(np.r_[place, speed], exact, atol=2e-4)


def test_the_judge_of_a_table_agrees_with_time_stepping() -> None:
    """Drops under random forces; none of 500 worlds is judged otherwise but at the bound."""
    example = CASES["table_approach"].example()
    problem = example.robust_problem
    controls = np.random.default_rng(0).normal(10.0, 20.0, (problem.knots, 1))
    worlds = draw_worlds(problem, {"height": Normal(0.0, 0.01)}, 500, 0, "test")
    _, speeds = touch_down(
        controls[:-1, 0], problem.time_step, 1.5, 0.1, worlds.height, problem.stiffness,
        problem.dissipation,
    )  # fmt: skip
    failure = FailureConfig(impact_speed=float(np.median(speeds)), final_gap=1.0)
    example = dataclasses.replace(example, failure=failure)
    judged = touching(1.5, 0.05)(example, controls, worlds)
    ours = true_rate(problem, failure, controls, worlds, 10)
    assert judged.failures == 250
    assert abs(judged.failures - ours.failures) <= ours.undecided + 2


def test_a_cell_is_planned_and_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES["light_puck"]
    quick = RiskSettings(
        worlds=8, samples=400, checks=2000, shooting=ShootingConfig(nodes=11, iterations=15)
    )
    easy = dataclasses.replace(
        case, worlds=5000, example=lambda: dataclasses.replace(case.example(), search=quick)
    )
    monkeypatch.setattr(reliability, "CASES", {"light_puck": easy})
    cell = run_cell("light_puck", "measured", 0.2, 200)
    assert cell["status"] == "SUCCEEDED"
    assert cell["high"] <= 0.2
    assert cell["promised"] <= 0.2
    found = reliability.summary([cell])
    assert (found["promised"], found["kept"], found["broken"]) == (1, 1, 0)
    assert len(reliability.row(cell).split("|")) == len(
        reliability.HEADER.split("\n")[0].split("|")
    )


@pytest.mark.verify
def test_the_table_is_reliable(tmp_path: Path) -> None:
    """Of all in one dimension, at three risks: the true rate is not above what was accepted."""
    code = cli.main(
        ["bench", "reliability", "--problem", "block", "sled", "puck", "ice", "--risk", "0.02",
         "0.05", "0.2", "--out", f"{tmp_path}", "--json", f"{tmp_path}/cells.json"]
    )  # fmt: skip
    assert code == 0
    found = json.loads((tmp_path / "cells.json").read_text())["summary"]
    assert found["cells"] == 4 * 3 * len(FAMILIES)
    assert found["broken"] <= 0.05 * found["promised"]
    assert found["promised"] >= 0.9 * found["cells"]
