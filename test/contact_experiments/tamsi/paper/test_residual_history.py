"""tamsi Fig. 4: Newton's residuals at the first transition, t = 0.160 s."""

import numpy as np
import pytest

from contact_experiments.tamsi.paper.residual_history import residual_history


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
