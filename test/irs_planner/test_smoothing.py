"""Smoothing modes are found by name, and a stranger's is as good as ours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from contact_core.base.config import from_mapping, parameter
from contact_core.base.errors import ConfigError
from irs_planner import SMOOTHING_MODES, PlannerSettings, SmoothingMode, build_problem, load_example
from irs_planner.irs_lqr import plan
from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes import load_scene
from irs_planner.smooth_dynamics import Pendulum
from irs_planner.smoothing import first_order_jacobians, mode_names


@pytest.fixture
def stranger(monkeypatch):
    """A mode that was registered after everything was imported."""
    mode = SmoothingMode("stranger's", first_order_jacobians)
    monkeypatch.setitem(SMOOTHING_MODES._items, "stranger", mode)
    return "stranger"


def test_names_are_those_that_fit_the_system():
    assert mode_names() == ("exact", "first", "zero", "log_barrier")
    assert mode_names(Pendulum()) == ("exact", "first", "zero")
    assert mode_names(PlanarQuasiDynamics(load_scene("box_pushing"))) == mode_names()
    assert mode_names(sampled=True) == ("first", "zero")


def test_settings_accept_what_is_registered_later_and_list_it(stranger):
    assert from_mapping(PlannerSettings, {"mode": stranger}).mode == stranger
    with pytest.raises(ConfigError, match=r"'newton' \(valid: exact, .*, stranger\)"):
        from_mapping(PlannerSettings, {"mode": "newton"})


def test_a_strangers_mode_plans_what_the_same_mode_of_ours_plans(stranger):
    problem = build_problem(load_example("pushing"))
    ours, theirs = (
        plan(problem, PlannerSettings(mode=mode, iterations=2, samples=10))
        for mode in ("first", stranger)
    )
    np.testing.assert_array_equal(ours.inputs, theirs.inputs)
    assert ours.iterations[0].std == theirs.iterations[0].std == pytest.approx(0.3)


def test_an_unknown_mode_is_refused_with_the_valid_ones():
    problem = build_problem(load_example("pendulum"))
    with pytest.raises(ConfigError, match=r"unknown smoothing mode 'newton'.*zero"):
        plan(problem, PlannerSettings(mode="newton"))


def test_options_may_be_a_registry():
    @dataclass(frozen=True)
    class Config:
        mode: str = parameter("first", "mode", options=SMOOTHING_MODES)

    assert from_mapping(Config, {"mode": "zero"}).mode == "zero"
