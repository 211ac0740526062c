"""TALS in implicit Euler: it lands in stiction, unless the configuration moves (Sec. IV-B)."""

from contact_experiments.tamsi.cases import StickSlipBox
from contact_experiments.tamsi.integrators.integrator import make_integrator


def test_every_landing_of_the_box_succeeds():
    """The box's tangent space does not turn, so that a limited update lands where it should."""
    case = StickSlipBox()
    moved = make_integrator("ie_fn_tals", case.engine(), case.excitation())
    moved.step(100)
    effort = moved.effort
    assert effort.limited == effort.landings >= 2
    assert effort.missed == 0
    assert effort.retries == 0


def test_without_tals_nothing_is_limited():
    case = StickSlipBox()
    moved = make_integrator("ie_fn", case.engine(), case.excitation())
    moved.step(100)
    assert moved.effort.limited == moved.effort.landings == 0
    assert moved.effort.retries > 10
