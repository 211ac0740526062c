"""tamsi Sec. IV-B: landings in stiction miss it when the contacts' tangent spaces turn."""

import pytest

from contact_experiments.tamsi.paper.moving_configuration import compare, run


def test_no_landing_misses_while_the_tangent_space_stays():
    found = compare("box", 1e-2, duration=1.0)
    assert found.finished
    assert found.with_tals.landings >= 2
    assert found.missed == 0.0
    assert found.gain > 1.2


def missed_share(time_step, duration):
    effort, finished = run("spinning mug", "ie_fn_tals", time_step, duration)
    assert finished
    return effort.missed / effort.landings


def test_landings_of_a_spinning_mug_miss():
    """The more the configuration moves within a step, the more of them."""
    small, large = (missed_share(h, 0.5) for h in (5e-4, 1e-2))
    assert small < large
    assert large > 0.05


@pytest.mark.verify
def test_the_share_of_missed_landings_grows_with_the_step():
    shares = [missed_share(h, 1.0) for h in (1e-3, 2e-3, 5e-3)]
    assert shares[0] < shares[1] < shares[2]
