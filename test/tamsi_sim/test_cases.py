"""The paper's cases as the configuration has them."""

import numpy as np
import pytest

from contact_experiments.tamsi.cases import ParallelGripper


def test_gripper_has_eight_velocities_and_sixteen_pairs():
    case = ParallelGripper.load()
    engine = case.engine()
    assert len(engine.v) == 8
    assert len(engine.built.arrays.pairs.routine) == 16
    assert case.time_step == 3e-3


def test_gripper_is_shaken_by_the_papers_motion():
    """Period 0.5 s and amplitude 15 cm, 2 A from top to bottom."""
    case = ParallelGripper()
    status, positions, _ = case.engine().roll(case.forces(334))
    assert status == 0
    assert np.ptp(positions[:, 0]) == pytest.approx(0.3, rel=0.02)
    period = round(0.5 / 3e-3)
    assert positions[period, 0] == pytest.approx(positions[0, 0], abs=0.01)


def test_soft_pads_touch_at_more_points():
    counts = []
    for stiffness, dissipation in ((1e4, 10.0), (1e3, 3.0)):
        case = ParallelGripper(stiffness=stiffness, dissipation=dissipation)
        engine = case.engine()
        engine.roll(case.forces(300))
        counts.append(len(engine.contacts()))
    assert counts[0] == 4
    assert counts[1] > 10
