"""Things behind walls and in each other's way, moved by the arm on the simulator."""

import pytest

from contact_core.base.errors import ConfigError
from contact_experiments.push.clutter import CLUTTER, run_clutter


def test_nothing_is_pressed_against_a_wall_that_it_has_to_go_round():
    figures = run_clutter("wall", timeout=0.8)
    assert not figures["reached"]
    assert figures["searching_s"] == pytest.approx(0.8, abs=0.1)
    assert figures["force_peak_N"] == 0.0


def test_an_unknown_scene_is_refused():
    with pytest.raises(ConfigError, match="unknown scene 'wal'"):
        run_clutter("wal")


@pytest.mark.verify
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", CLUTTER)
def test_it_arrives_within_the_budget_of_a_move(name):
    figures = run_clutter(name)
    assert figures["reached"]
