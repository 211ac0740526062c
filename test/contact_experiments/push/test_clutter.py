"""Things behind walls and in each other's way, moved by the arm on the simulator."""

import pytest

from contact_core.base.errors import ConfigError
from contact_experiments.push.clutter import run_clutter

ARRIVE = ("wall", "along a wall", "into a corner", "another box", "edge", "first")


def test_a_move_through_clutter_begins_with_a_search_and_presses_on_nothing():
    figures = run_clutter("another box", timeout=5.0)
    assert not figures["reached"]
    assert figures["searches"] >= 1
    assert figures["force_peak_N"] < 20.0


def test_an_unknown_scene_is_refused():
    with pytest.raises(ConfigError, match="unknown scene 'wal'"):
        run_clutter("wal")


@pytest.mark.verify
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ARRIVE)
def test_it_arrives_within_the_budget_of_a_move(name):
    figures = run_clutter(name)
    assert figures["reached"]
