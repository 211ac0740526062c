"""The cases of TALS, tamsi Sec. III-A and Fig. 3."""

import math

import numpy as np
import pytest

from tamsi_sim.scheme.line_search import transition_limit

STICTION = 1e-4
TOLERANCE = 1e-6
COSINE = math.cos(math.pi / 3)


def limit(v, dv, landing=0.0):
    return transition_limit(*v, *dv, STICTION, TOLERANCE, COSINE, landing)


def test_update_that_does_not_matter_passes():
    assert limit([1e-3, 0.0], [5e-7, 0.0]) == 1.0


def test_updates_into_and_within_stiction_pass():
    assert limit([5e-5, 0.0], [-3e-5, 2e-5]) == 1.0
    assert limit([1e-2, 0.0], [-1e-2 + 5e-5, 0.0]) == 1.0
    assert limit([5e-5, 0.0], [1.0, 0.0]) == 1.0


def test_crossing_through_stiction_lands_where_velocity_and_update_are_at_right_angles():
    v, dv = np.array([1e-2, 5e-5]), np.array([-3e-2, 0.0])
    landed = v + limit(v, dv) * dv
    assert landed @ dv == pytest.approx(0.0, abs=1e-12)
    assert np.linalg.norm(landed) < STICTION


def test_in_one_dimension_the_paper_lands_at_rest_and_drake_at_half_the_stiction_velocity():
    v, dv = np.array([1e-2, 0.0]), np.array([-3e-2, 0.0])
    assert (v + limit(v, dv) * dv)[0] == pytest.approx(0.0, abs=1e-15)
    assert (v + limit(v, dv, landing=0.5) * dv)[0] == pytest.approx(0.5 * STICTION)


def test_turns_of_the_slip_velocity_are_limited():
    v, dv = np.array([1e-2, 0.0]), np.array([-1.1e-2, 2e-2])
    landed = v + limit(v, dv) * dv
    turn = math.acos(landed @ v / np.linalg.norm(landed) / np.linalg.norm(v))
    assert turn == pytest.approx(math.pi / 3)


def test_small_turns_pass():
    assert limit([1e-2, 0.0], [5e-3, 5e-3]) == 1.0


def test_alpha_is_always_a_share():
    rng = np.random.default_rng(0)
    for _ in range(5000):
        v = rng.standard_normal(2) * 10.0 ** rng.uniform(-6, 0)
        dv = rng.standard_normal(2) * 10.0 ** rng.uniform(-6, 0)
        for landing in (0.0, 0.5):
            assert 0.0 < limit(v, dv, landing) <= 1.0
