"""Every simulator takes the steps of a scene, and can start again."""

import sys

import numpy as np
import pytest

from contact_experiments.tamsi.benchmark.runners import (
    DRAKE_SAP,
    DRAKE_TAMSI,
    MUJOCO,
    OURS,
    RUNNERS,
    DrakeRunner,
    PeerError,
    table_cost,
)


@pytest.mark.parametrize("name", [OURS, DRAKE_TAMSI, DRAKE_SAP, MUJOCO])
@pytest.mark.parametrize("scene", ["gripper_stiff", "towers_8"])
def test_a_second_run_repeats_the_first(short, name, scene):
    """And moves: the gripper falls and is braked, the towers settle."""
    if name == MUJOCO:
        pytest.importorskip("mujoco")
    cut = short(scene, 40)
    runner = RUNNERS[name](cut)
    ends = []
    for _ in range(2):
        runner.restart()
        np.testing.assert_allclose(runner.state()[0], cut.q, atol=1e-12)
        runner.run()
        ends.append(np.concatenate(runner.state()))
    np.testing.assert_array_equal(*ends)
    assert np.abs(ends[0][: len(cut.q)] - cut.q).max() > 1e-5


def test_all_simulators_move_the_gripper_alike(short):
    """120 ms of shaking: lift by force alone, within the softness of contacts."""
    pytest.importorskip("mujoco")
    cut = short("gripper_stiff", 40)
    lifts = []
    for make in RUNNERS.values():
        runner = make(cut)
        runner.run()
        lifts.append(runner.state()[0][0])
    assert lifts[0] < -0.1
    np.testing.assert_allclose(lifts, lifts[0], atol=2e-3)


def test_mujoco_counts_contacts(short):
    pytest.importorskip("mujoco")
    assert RUNNERS[MUJOCO](short("towers_8", 20)).contacts() == pytest.approx(32.0, abs=4.0)


def test_a_missing_library_is_a_peer_error(short, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(PeerError, match="pip install"):
        RUNNERS[MUJOCO](short("gripper_stiff", 2))


def test_an_approximation_that_drake_does_not_have_is_a_peer_error(short):
    with pytest.raises(PeerError, match="newton"):
        DrakeRunner(short("gripper_stiff", 2), "newton")


def test_reading_the_table_of_forces_is_part_of_drakes_cost(short):
    assert table_cost(short("gripper_stiff", 100)) > 0.0
