"""Our engine, in parity settings, follows what Drake's kTamsi once computed."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from contact_core.base.errors import ConfigError
from contact_experiments.tamsi.benchmark import golden
from contact_experiments.tamsi.benchmark.golden import EVERY, GoldenTrajectory, record
from contact_experiments.tamsi.benchmark.scenes import make_scene
from tamsi_sim.drake.parity import PARITY

FOLDER = Path(__file__).parents[3] / "tamsi_sim" / "golden"


@pytest.mark.parametrize("name", EVERY)
def test_engine_follows_the_golden_trajectory(name):
    """Over the whole scene: 5 s of the gripper, 4 s of the arm, 4.5 s of the hand."""
    scene, stored = make_scene(name), GoldenTrajectory.load(FOLDER / f"{name}.npz")
    status, positions, velocities = scene.engine(PARITY).roll(scene.forces)
    assert status == 0
    every = stored.every
    assert len(stored.velocities) == scene.steps // every
    np.testing.assert_allclose(velocities[every::every], stored.velocities, rtol=0, atol=1e-9)
    np.testing.assert_allclose(positions[every::every], stored.positions, rtol=0, atol=1e-9)


def test_files_are_those_of_the_scenes_and_small():
    files = list(FOLDER.glob("*"))
    assert {file.stem for file in files} == set(EVERY)
    assert sum(file.stat().st_size for file in files) < 1_000_000


def test_another_law_of_friction_does_not_follow():
    """The tolerance tells the paper's law from Drake's, v_s = 1e-4 m/s."""
    scene = make_scene("gripper_stiff")
    stored = GoldenTrajectory.load(FOLDER / "gripper_stiff.npz")
    linear = dataclasses.replace(PARITY, friction_law="linear")
    _, _, velocities = scene.engine(linear).roll(scene.forces)
    assert np.abs(velocities[stored.every :: stored.every] - stored.velocities).max() > 1e-6


def test_recording_and_reading(tmp_path, monkeypatch):
    monkeypatch.setattr(golden, "EVERY", {"gripper_stiff": 500})
    golden.record_all(tmp_path)
    again = GoldenTrajectory.load(tmp_path / "gripper_stiff.npz")
    stored = GoldenTrajectory.load(FOLDER / "gripper_stiff.npz")
    np.testing.assert_allclose(again.velocities, stored.velocities[24::25], rtol=0, atol=1e-12)
    with pytest.raises(ConfigError, match=r"castle\.npz"):
        GoldenTrajectory.load(tmp_path / "castle.npz")


@pytest.mark.verify
@pytest.mark.parametrize("name", EVERY)
def test_drake_still_computes_the_same(name):
    stored = GoldenTrajectory.load(FOLDER / f"{name}.npz")
    again = record(make_scene(name), stored.every)
    np.testing.assert_allclose(again.velocities, stored.velocities, rtol=0, atol=1e-9)
