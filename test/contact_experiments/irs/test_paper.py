"""The paper bundled_gradients: its numbers, its pictures, and a stranger's mode beside ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from contact_core.base import sweep as sweeps
from contact_core.base.errors import ConfigError
from contact_core.base.results import look_up
from contact_core.base.sweep import Plugin, Sweep, Workers
from contact_experiments.irs.paper import PAPER
from contact_experiments.irs.paper.orders import section_vi_e
from contact_experiments.irs.paper.plans import figure_1, figure_9
from contact_experiments.irs.runs import PlanRun, run_system
from contact_experiments.papers.command import PAPERS
from irs_planner import SMOOTHING_MODES

OWN_MODE = Path(__file__).parents[3] / "examples" / "papers" / "02_own_smoothing_mode.py"
QUIET = Sweep(show=False)


def claimed(figure: str, numbers: dict, systems: tuple[str, ...] = ()) -> list:
    """Look up ours for every claim of a figure, of some systems."""
    claims = PAPER.figures[figure].claims
    keys = [c.key for c in claims if not systems or c.key.split(".")[0] in systems]
    return [look_up(numbers, key) for key in keys]


def test_the_paper_is_registered_and_complete():
    assert PAPERS["bundled_gradients"] is PAPER
    assert set(PAPER.figures) == {*"12345789", "VI-E"}
    assert "Fig. 6" in PAPER.absent


@pytest.mark.parametrize("name", "23457")
def test_every_claim_of_a_small_figure_has_a_number(name):
    _, numbers = PAPER.figures[name].make(QUIET)
    assert None not in claimed(name, numbers)


def test_figure_3_first_order_misses_the_jump_and_zero_order_does_not():
    _, numbers = PAPER.figures["3"].make(QUIET)
    slopes = numbers["slope_at_the_jump"]
    assert slopes["first_order"]["highest"] == 0.0
    assert slopes["zero_order"]["median"] == pytest.approx(slopes["closed_form"], rel=0.1)


def test_quadrotor_with_the_authors_rotors_reaches_their_costs():
    costs = run_system("quadrotor", "exact", 0).costs
    recorded = [3411.400, 3360.296, 3375.657, 3384.372, 3446.913, 3525.168]
    np.testing.assert_allclose(costs[1:], recorded, atol=1e-3)


def test_dubins_hard_is_solved_by_the_first_order_bundle():
    assert run_system("dubins_hard", "first", 0).best <= 800.0


@pytest.mark.verify
def test_dubins_hard_stalls_with_exact_gradients_and_needs_many_samples_of_zero_order():
    assert run_system("dubins_hard", "exact", 0).best >= 1500.0
    assert run_system("dubins_hard", "zero", 0, 3000).best <= 830.0


def test_an_unknown_system_is_refused():
    with pytest.raises(ConfigError, match=r"unknown system 'cart'.*pendulum"):
        run_system("cart", "exact", 0)


def test_figure_1_shows_a_plan_that_stands_still_and_one_that_pushes():
    figure, numbers = figure_1(QUIET, ("pushing",))
    assert numbers["pushing"]["exact"]["distance_left_m"] == pytest.approx(0.5**0.5)
    assert numbers["pushing"]["bundled"]["distance_left_m"] < 0.2
    assert len(figure.axes) == 10


def test_a_mode_of_a_stranger_is_planned_with_in_every_process_and_shown(monkeypatch):
    monkeypatch.setattr(SMOOTHING_MODES, "_items", dict(SMOOTHING_MODES._items))
    monkeypatch.setattr(sweeps, "_LOADED", set())
    plugin = Plugin.read(OWN_MODE)
    plugin.load()
    sweep = Sweep(Workers(2), plugins=[plugin], show=False)
    figure, numbers = figure_9(sweep, ("pendulum",), range(2))
    pendulum = numbers["pendulum"]
    assert list(pendulum) == ["exact", "first", "zero", "mirrored"]
    assert pendulum["exact"]["best"] == pytest.approx(357.2965, abs=1e-3)
    assert len(pendulum["mirrored"]["costs"]) == 2
    assert pendulum["mirrored"]["costs"] != pendulum["first"]["costs"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["exact", "first order", "zero order", "mirrored samples"]
    assert len({line.get_color() for line in figure.axes[0].get_lines()}) == 4
    assert len(OWN_MODE.read_text().splitlines()) < 40


class Pretended:
    """A sweep whose second-order iterations take 36 times as long."""

    def run(self, function, tasks, label="", one_at_a_time=False):
        if function is run_system:
            return [
                PlanRun((4.0, 2.0 + seed, 3.0), np.zeros((2, 3)), "", 0) for _, _, seed, _ in tasks
            ]
        assert one_at_a_time
        return [3.6 if "second" in task[0] else 0.1 for task in tasks]


def test_section_vi_e_compares_both_orders():
    figure, numbers = section_vi_e(Pretended(), rounds=2, seeds=range(3))
    assert None not in claimed("VI-E", numbers)
    assert numbers["zero"]["ratio"] == pytest.approx({"median": 36, "lowest": 36, "highest": 36})
    assert numbers["zero"]["second_order_best"]["median"] == 3.0
    assert len(figure.legends[0].get_texts()) == 4
