"""tamsi Fig. 4 and 5: Newton's residuals, error and cost of implicit Euler with the box."""

import numpy as np
import pytest

from contact_experiments.tamsi.cases import StickSlipBox
from contact_experiments.tamsi.paper import box_figures
from contact_experiments.tamsi.paper.box_figures import (
    WorkPrecisionPoint,
    cost_at,
    first_order_range,
    gain,
    localized_error,
    measure,
    residual_history,
)


def test_localized_error_starts_every_window_at_the_solution_itself():
    """An offset of the whole solution within sliding is no error of the flow, Sec. IV."""
    case = StickSlipBox()
    exact = [0.3]
    for m in range(2):
        exact.append(case.reference(exact[-1], 0.025 * m, 0.025, 1e-6))
    assert localized_error(case, np.array(exact), 1e-6) < 1e-12
    off = np.add(exact, [0.0, 0.01, 0.01])
    # The second window starts 0.01 too fast and ends 0.01 too fast: only the first is wrong.
    assert localized_error(case, off, 1e-6) == pytest.approx(0.01 / np.sqrt(2.0), rel=1e-6)


def test_tals_never_fails_and_saves_work_with_large_steps():
    """Fig. 5: without TALS work grows for errors above v_s, at the same error."""
    with_tals, without = (measure(name, 2.5e-2, 1e-6) for name in ("ie_fn_tals", "ie_fn"))
    assert with_tals.retries == 0
    assert without.retries > 10
    assert with_tals.error == pytest.approx(without.error, rel=1e-2)
    assert without.evaluations > 2.5 * with_tals.evaluations


def points(errors, costs):
    return [
        WorkPrecisionPoint("ie_fn", 1.0, error, cost, 0, 0, True)
        for error, cost in zip(errors, costs, strict=True)
    ]


def test_cost_is_interpolated_on_logarithmic_axes():
    curve = points([1e-2, 1e-4], [10, 1000])
    assert cost_at(curve, 1e-3) == pytest.approx(100.0)
    assert cost_at(curve, 1e-1) == 10
    assert cost_at(curve, 1e-5) == np.inf


def test_gain_is_the_largest_ratio_at_equal_error():
    ratio, error = gain(points([1e-2, 1e-4], [40, 1000]), points([1e-2, 1e-4], [10, 1000]))
    assert ratio == pytest.approx(4.0)
    assert error == pytest.approx(1e-2)


def test_the_range_of_first_order_ends_where_work_no_longer_falls():
    errors = [1e-5, 1e-4, 1e-3, 2e-3, 1e-2]
    assert first_order_range(points(errors, [10000, 1000, 100, 50, 10])) == 1e-2
    assert first_order_range(points(errors, [10000, 1000, 190, 110, 100])) == 1e-3


@pytest.mark.verify
@pytest.mark.parametrize("newton", ["fn", "qn"])
@pytest.mark.parametrize("control", ["", "_ec"])
def test_figure_5(newton, control):
    """First order near v_s and below with and without TALS; TALS saves work above v_s."""
    without, with_tals = (
        [box_figures.measure(name, setting) for setting in box_figures.settings(name)]
        for name in (f"ie_{newton}{control}", f"ie_{newton}{control}_tals")
    )
    for curve in (without, with_tals):
        assert all(point.finished for point in curve)
        small = [p for p in curve if p.error < 2e-4]
        slope = np.polyfit(
            np.log([p.error for p in small]), np.log([p.evaluations for p in small]), 1
        )[0]
        assert -1.15 < slope < -0.85
    ratio, error = gain(without, with_tals)
    assert ratio > 1.5
    assert error > 1e-3


def test_tals_restores_convergence():
    history = residual_history("ie_fn_tals")
    assert history.converged
    assert history.time == pytest.approx(0.16, abs=1e-12)
    np.testing.assert_allclose(history.residuals[:2], [1.307e-2, 2.989e-2], rtol=5e-4)
    assert len(history.residuals) == 3
    assert history.residuals[2] < 1e-12


def test_plain_newton_cycles():
    history = residual_history("ie_fn")
    assert not history.converged
    assert history.time == pytest.approx(0.16, abs=1e-12)
    assert history.residuals[0] == pytest.approx(1.307e-2, rel=5e-4)
    np.testing.assert_allclose(history.residuals[1:], 6.47e-2, rtol=5e-4)
