"""The figures of contact_aware_control on shortened runs, and methods of one's own in them."""

from __future__ import annotations

from pathlib import Path

import matplotlib.colors
import numpy as np
import pytest

from contact_aware_control.controllers import CONTROLLERS
from contact_aware_control.estimation import ESTIMATORS
from contact_core.base import sweep as sweeps
from contact_core.base.results import look_up
from contact_core.base.sweep import Plugin, Sweep, Workers
from contact_experiments.control.paper import PAPER
from contact_experiments.control.paper_figures import Effort, figure_5, figure_7, section_vi
from contact_experiments.control.trial import PARTICLE_FILTER, Trial, compared, run_trial
from contact_experiments.papers.figure import PaperFigure
from contact_experiments.papers.page import shown
from contact_stack.demo.contact_tracking.run_figures import draw_release
from contact_stack.demo.contact_tracking.variants import VARIANTS

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "papers"
IN_CONTACT = 3.4
"""The wrist leans on the edge from 2.7 s on; the impact is over 0.3 s later [s]."""
PERIOD = 0.005


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch):
    """Load an example of a method of one's own, for this test alone."""
    monkeypatch.setattr(sweeps, "_LOADED", set())
    for registry in (CONTROLLERS, ESTIMATORS):
        monkeypatch.setattr(registry, "_items", dict(registry._items))

    def load(name: str) -> Plugin:
        plugin = Plugin.read(EXAMPLES / name)
        plugin.load()
        return plugin

    return load


def course(end: float, force: float = 15.0, speed: float = 0.1, after: float = 1.0) -> Trial:
    """A run in contact from 1 s on, until a time [s]."""
    time = PERIOD * np.arange(1, round((end + after) / PERIOD) + 1)
    touching = (time > 1.0) & (time < end)
    nothing = np.zeros(len(time))
    return Trial(
        time=time,
        period=PERIOD,
        joint_velocity=np.full((len(time), 7), speed),
        position_error=np.where(touching, 0.02, 0.05),
        rotation_error=nothing,
        force=force * touching,
        location_error=nothing,
        summary={},
    )


@pytest.mark.parametrize("name", ["5", "6", "7", "VI"])
def test_every_claim_finds_its_number(name: str) -> None:
    """With all that is compared, for a moment: in free space nothing is measured."""
    wanted: PaperFigure = PAPER.figures[name]
    effort = Effort(seeds=1, until=0.05, timed=20)
    figure, numbers = wanted.make(Sweep(show=False), effort)
    for claim in wanted.claims:
        assert shown(claim, numbers)
        look_up(numbers, claim.key)
    names = {text.get_text() for text in figure.legends[0].get_texts()}
    wanted_names = ESTIMATORS if name == "VI" else CONTROLLERS
    assert len(names) >= len(wanted_names)


def test_a_controller_of_ones_own_is_in_the_figure_with_two_processes(load) -> None:
    plugin = load("04_own_controller.py")
    sweep = Sweep(Workers(processes=2), plugins=[plugin], show=False)
    effort = Effort(seeds=1, until=IN_CONTACT, controllers=("qp", "yielding"))
    figure, numbers = figure_5(sweep, effort)
    assert numbers["qp"]["force_p50_N"]["median"] == pytest.approx(15.0, abs=2.0)
    assert 15.0 < numbers["yielding"]["force_p50_N"]["median"] < 60.0
    assert numbers["yielding"]["contacts"]["median"] >= 1
    assert "yielding" in [text.get_text() for text in figure.legends[0].get_texts()]
    line = next(line for line in figure.axes[0].lines if line.get_label() == "yielding")
    ours = {matplotlib.colors.to_hex(variant.color) for variant in VARIANTS.values()}
    assert matplotlib.colors.to_hex(line.get_color()) not in ours


@pytest.mark.verify
def test_an_estimator_of_ones_own_is_in_the_figure(load) -> None:
    plugin = load("05_own_estimator.py")
    effort = Effort(
        seeds=1, until=IN_CONTACT, estimators=(PARTICLE_FILTER, "link_centres"), timed=50
    )
    figure, numbers = section_vi(Sweep(plugins=[plugin], show=False), effort)
    ours, own = (numbers[name]["location_p50_mm"] for name in effort.estimators)
    # The middle of a link is as far from its surface as the link is thick.
    assert ours["median"] < 10.0 < own["median"]
    assert numbers["update_ms"]["link_centres"]["p50"] > 0.0
    assert "link centres" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_trial_holds_nothing_that_depends_on_the_machine() -> None:
    first, again = (
        run_trial("mug_moving", VARIANTS["qp"].values, PARTICLE_FILTER, 3, 0.2) for _ in range(2)
    )
    assert first is not None and again is not None
    assert first.summary == again.summary
    assert "loop" not in first.summary


def test_numbers_of_a_separation_are_those_around_it() -> None:
    trial = course(end=3.0)
    faster = trial.joint_velocity.copy()
    faster[trial.time < 2.0] = 5.0
    moved = Trial(**{**vars(trial), "joint_velocity": faster})
    assert trial.separation_speed == pytest.approx(0.1)
    assert trial.separation_acceleration == pytest.approx(0.0)
    assert trial.peak_error == pytest.approx(0.02)
    assert moved.separation_speed == pytest.approx(0.1)
    never = course(end=3.0, force=0.0)
    assert never.separation_speed is never.separation_acceleration is never.peak_error is None


def test_seeds_are_aligned_at_the_end_of_their_contacts() -> None:
    """Two seeds that leave at other times, and one that never touches."""
    style = VARIANTS["qp"].style
    runs = {"qp": ([course(2.0), course(2.5, force=12.0)], style)}
    figure = draw_release(runs, 15.0, last=True)
    force = figure.axes[0]
    line = next(line for line in force.lines if line.get_label() == style["label"])
    time, values = (np.asarray(data) for data in line.get_data())
    assert values[time < 0.0].min() == 15.0
    assert values[time >= 0.0].max() == 0.0
    (band,) = force.collections
    low, high = band.get_paths()[0].get_extents().intervaly
    assert (low, high) == (0.0, 15.0)
    assert draw_release({"qp": ([course(2.0, force=0.0)], style)}, 15.0).legends


def test_who_cannot_follow_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller for tool poses only is in no figure of a joint trajectory."""
    from contact_aware_control.controllers import GreedyController
    from contact_core.base.errors import TrajectoryError

    class Refusing(GreedyController):
        def follow(self, reference, posture, force_limits):
            raise TrajectoryError("joint references are not followed")

    monkeypatch.setattr(CONTROLLERS, "_items", {**CONTROLLERS._items, "refusing": Refusing})
    assert "refusing" in compared()
    effort = Effort(seeds=1, until=0.05, controllers=("qp", "refusing"))
    _, numbers = figure_7(Sweep(show=False), effort)
    assert "qp" in numbers
    assert "refusing" not in numbers
