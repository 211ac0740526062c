"""Kernels: what Python can call, and what it cannot."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from contact_core.base.kernel import inner_kernel, kernel
from contact_core.multibody.rigid_body.kinematics import cross

ROOT = Path(__file__).parents[3]


@inner_kernel
def _double(x: float) -> float:
    return 2.0 * x


@kernel
def _quadruple(x: float) -> float:
    return _double(_double(x))


TWICE = """
from contact_core.base.kernel import kernel

@kernel
def twice(x):
    return 2 * x
"""


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_compiled_code_that_was_cut_short_is_compiled_again(kind, share, tmp_path):
    (tmp_path / "twice.py").write_text(TWICE)
    command = [sys.executable, "-c", "from twice import twice; print(twice(4))"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(ROOT)])

    def run():
        subprocess.run(command, env=environment, check=True, capture_output=True)
        return {path: path.read_bytes() for path in tmp_path.glob(f"cache/**/*.{kind}")}

    whole = run()
    assert len(whole) == 1
    for path, content in whole.items():
        path.write_bytes(content[: int(share * len(content))])
    # How long it is differs by some bytes from process to process.
    for path, content in run().items():
        assert len(content) > 0.9 * len(whole[path])


def test_an_inner_kernel_is_for_kernels_and_refuses_python():
    assert _quadruple(1.5) == 6.0
    with pytest.raises(TypeError, match=r"_double is an inner kernel: kernels call it"):
        _double(1.5)
    with pytest.raises(TypeError, match=r"kinematics\.cross is an inner kernel"):
        cross(np.zeros(3), np.zeros(3))
