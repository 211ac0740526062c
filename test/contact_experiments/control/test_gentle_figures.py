"""Figures beyond the paper: arms that are not as described, and things that move."""

from __future__ import annotations

from functools import partialmethod

import numpy as np
import pytest

from contact_aware_control.config import ControllerConfig
from contact_core.base.results import look_up
from contact_core.base.sweep import Sweep
from contact_experiments.control import gentle_figures
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_experiments.control.gentle_figures import GentleEffort, Press, press
from contact_experiments.control.moving_ball import FORWARD, SIDEWAYS, PushFigures
from contact_experiments.control.paper import PAPER
from contact_experiments.control.wrong_arm import (
    FAULTS,
    FeltTouch,
    WrongArmOutcome,
    run_touched,
    wrong_arm_figures,
)
from contact_experiments.papers.page import shown

LIMIT = ControllerConfig().force.limit


def made_up_press(arm, seed, calibrated, values):
    return Press(14.0 + seed, 16.0 + seed, 10.0, 0.0, on_cart=True)


def made_up_touch(faults, seed, calibrated):
    touch = FeltTouch("lbr_link_6", np.zeros(3), np.ones(3), 0.0, 0.05, 100, 0, [0.01] * 100)
    return WrongArmOutcome(0.0, (touch,))


def made_up_push(values, link, direction, speed):
    force = 10.0 if values["controller"] == "qp" else 100.0
    return PushFigures(0.3, 40.0, 2 * force, force, force, 0, 0, 0.0, 1.0, 0.1, 0.2, ("OK",))


@pytest.mark.parametrize("name", ["wrong arms", "touches", "moving ball"])
def test_every_claim_finds_its_number(name, monkeypatch):
    monkeypatch.setattr(gentle_figures, "press", made_up_press)
    monkeypatch.setattr(gentle_figures, "run_touched", made_up_touch)
    monkeypatch.setattr(gentle_figures, "push", made_up_push)
    figure, numbers = PAPER.figures[name].make(Sweep(show=False), GentleEffort())
    for claim in PAPER.figures[name].claims:
        assert shown(claim, numbers)
        assert look_up(numbers, claim.key) is not None or "50 cm/s" in claim.key
    assert len(figure.legends[0].get_texts()) >= 2


def test_only_pushes_to_which_a_link_can_yield_are_judged(monkeypatch):
    monkeypatch.setattr(gentle_figures, "push", made_up_push)
    effort = GentleEffort(directions=(FORWARD, SIDEWAYS), speeds=(0.25, 0.5))
    _, numbers = gentle_figures.moving_ball(Sweep(show=False), effort)
    assert numbers["qp"]["50 cm/s"]["pushes"] == 0
    assert numbers["qp"]["25 cm/s"]["pushes"] == 2 * len(effort.links)
    assert numbers["qp"]["25 cm/s"]["all_hold"] == 2 * len(effort.links)
    assert numbers["impedance"]["25 cm/s"]["all_hold"] == 0


def test_an_arm_with_friction_is_gentle_and_feels_no_phantoms(monkeypatch):
    """Not calibrated: contacts in 92 % of the ticks, and 223 mm of error, by white noise alone."""
    # It has put the mug down, and goes up.
    monkeypatch.setattr(ClosedLoopRun, "run", partialmethod(ClosedLoopRun.run, until=6.5))
    found = press("friction", 5, False, {})
    assert found.p50 <= 1.15 * LIMIT
    assert found.p99 <= 1.6 * LIMIT
    assert found.phantoms <= 0.01
    assert found.on_cart


@pytest.mark.verify
@pytest.mark.parametrize("seed", [7, 8])
@pytest.mark.parametrize("arm", FAULTS)
def test_a_calibrated_arm_is_gentle(arm, seed):
    exact = press("as described", seed, True, {})
    found = press(arm, seed, True, {})
    assert found.p99 <= 1.6 * LIMIT
    if arm != "heavy friction":
        assert found.p50 <= 1.15 * LIMIT
        assert found.phantoms <= 0.01
        assert found.free_error <= 1.3 * exact.free_error


@pytest.mark.verify
@pytest.mark.parametrize("arm", [arm for arm in FAULTS if arm != "heavy friction"])
def test_a_calibrated_arm_feels_what_touches_it(arm):
    figures = wrong_arm_figures([run_touched(FAULTS[arm], seed, True) for seed in (7, 8)])
    assert figures["phantoms"] <= 0.01
    assert figures["misleading"] <= 0.03
    assert figures["located"] >= 0.7
