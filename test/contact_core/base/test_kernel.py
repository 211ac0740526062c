"""Kernels: what Python can call, and what it cannot."""

import numpy as np
import pytest

from contact_core.base.kernel import inner_kernel, kernel
from contact_core.multibody.rigid_body.kinematics import cross


@inner_kernel
def _double(x: float) -> float:
    return 2.0 * x


@kernel
def _quadruple(x: float) -> float:
    return _double(_double(x))


def test_an_inner_kernel_is_for_kernels_and_refuses_python():
    assert _quadruple(1.5) == 6.0
    with pytest.raises(TypeError, match=r"_double is an inner kernel: kernels call it"):
        _double(1.5)
    with pytest.raises(TypeError, match=r"kinematics\.cross is an inner kernel"):
        cross(np.zeros(3), np.zeros(3))
