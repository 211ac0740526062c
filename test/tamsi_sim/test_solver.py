"""tamsi Fig. 4: plain Newton cycles at a slip-stick transition, with TALS it converges.

And the envelope factorisation against LAPACK.
"""

import numpy as np
import pytest
from builders import body_urdf, box, engine_of, pose

from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.scheme.solver import solve_in_place

MASS, WEIGHT = 0.33, 0.33 * 9.8
STIFFNESS = 1e4
BOX = """<robot name="sled"><link name="base"/><link name="sled">
  <inertial><mass value="0.33"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision name="foot"><geometry><sphere radius="0.1"/></geometry></collision>
  </link><joint name="slide" type="prismatic"><parent link="base"/><child link="sled"/>
  <axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="100" velocity="10"/></joint></robot>"""


def sled(**solver):
    """Return the paper's 2-D box: it slides along x, pressed down by its weight."""
    press = 0.1 - WEIGHT / STIFFNESS
    instances = [
        Instance("sled", BOX, pose(z=press)),
        Instance("ground", body_urdf("ground", box(40, 4, 1)), pose(z=-0.5)),
    ]
    config = SolverConfig(relative_tolerance=1e-9, **solver)
    return engine_of(instances, 0.01, Surface(2 * STIFFNESS, 0.0, 1.0), config)


def run_to_the_transition(engine):
    """Step under 4 cos(2 pi t) at the end of each step, up to t = 0.160 s."""
    for k in range(16):
        engine.applied[0] = 4.0 * np.cos(2 * np.pi * (k + 1) * 0.01)
        assert engine.step(1) == StepStatus.OK
    engine.applied[0] = 4.0 * np.cos(2 * np.pi * 0.17)


def test_tals_converges_in_three_iterations():
    engine = sled()
    run_to_the_transition(engine)
    assert engine.v[0] > 1e-4
    assert engine.step(1) == StepStatus.OK
    assert abs(engine.v[0]) < 1e-4
    residuals = engine.work.newton.residuals[:3]
    np.testing.assert_allclose(residuals[:2], [1.307e-2, 2.989e-2], rtol=1e-3)
    assert residuals[2] < 1e-12


def test_plain_newton_cycles():
    engine = sled(line_search=False, max_substeps=1)
    run_to_the_transition(engine)
    before = engine.q.copy(), engine.v.copy()
    assert engine.step(1) == StepStatus.NOT_CONVERGED
    np.testing.assert_allclose(engine.work.newton.residuals[2:20], 6.47e-2, rtol=1e-2)
    # A failed step leaves the last good state.
    np.testing.assert_array_equal(engine.q, before[0])
    np.testing.assert_array_equal(engine.v, before[1])


def solve(matrix, vector):
    """Solve with the narrowest envelope that holds the matrix."""
    n = len(matrix)
    coupled = (matrix != 0.0) | (matrix != 0.0).T | np.eye(n, dtype=bool)
    last = np.maximum.accumulate(n - 1 - np.argmax(coupled[:, ::-1], axis=1))
    first = np.searchsorted(last, np.arange(n))
    ends = np.cumsum(last + 1 - first)
    entries = np.concatenate([matrix[i, first[i] : last[i] + 1] for i in range(n)])
    x = vector.copy()
    solve_in_place(entries, x, ends - last - 1, last, 0, n)
    return x


@pytest.mark.parametrize("density", [0.05, 0.3, 1.0])
def test_against_numpy(density):
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 30):
        for _ in range(20):
            # Structurally symmetric, unsymmetric values, dominant diagonal: like (23).
            mask = np.triu(rng.random((n, n)) < density)
            mask |= mask.T
            matrix = np.where(mask, rng.standard_normal((n, n)), 0.0) + 2 * n * np.eye(n)
            vector = rng.standard_normal(n)
            np.testing.assert_allclose(
                solve(matrix, vector), np.linalg.solve(matrix, vector), rtol=1e-10
            )


def test_separate_blocks_do_not_mix():
    matrix = np.kron(np.eye(3), np.array([[2.0, 1.0], [0.5, 3.0]]))
    vector = np.array([1.0, 2.0, 0.0, 0.0, 3.0, 4.0])
    solution = solve(matrix, vector)
    assert not solution[2:4].any()
    np.testing.assert_allclose(matrix @ solution, vector)


def test_singular_matrix_gives_no_finite_answer():
    assert not np.isfinite(solve(np.zeros((2, 2)), np.ones(2))).all()
