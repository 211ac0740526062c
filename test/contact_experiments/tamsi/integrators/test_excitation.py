"""Forces of time: what kernels compute is what Python computes."""

import numpy as np

from contact_experiments.tamsi.integrators.excitation import Excitation, excite


def test_kernel_and_numpy_agree():
    rng = np.random.default_rng(0)
    excitation = Excitation(*rng.standard_normal((4, 5)))
    times = rng.uniform(0.0, 10.0, 7)
    applied = np.zeros(5)
    for time, expected in zip(times, excitation.at(times), strict=True):
        excite(excitation, time, applied)
        np.testing.assert_allclose(applied, expected, rtol=1e-14)


def test_a_constant_force_is_constant():
    force = np.array([1.0, -2.0])
    excitation = Excitation.constant(force)
    force[:] = 0.0
    np.testing.assert_array_equal(excitation.at(np.array([0.0, 7.0])), [[1.0, -2.0]] * 2)
