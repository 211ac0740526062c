"""A camera is as late and as wrong as it is told to be."""

import numpy as np
import pinocchio as pin
import pytest

from contact_core.robot.scene_config import CameraConfig
from tamsi_sim.robot.camera import Camera

TICK = 5_000_000
"""[ns]"""
POSE = pin.SE3(pin.rpy.rpyToMatrix(0.1, -0.2, 2.0), np.array([0.5, -0.1, 0.3]))


def watch(config, seconds, seed=0, start=0):
    camera = Camera(config, seed)
    ticks = range(start, start + round(seconds * 1e9), TICK)
    return [(now, picture) for now in ticks for picture in camera.see(now, lambda: {"box": POSE})]


def test_noise_is_as_large_as_it_is_told():
    config = CameraConfig(noise=0.004, turn_noise=0.03, dropouts=0.0)
    poses = [picture.poses["box"] for _, picture in watch(config, 60.0)]
    shifts = np.array([pose.translation - POSE.translation for pose in poses])
    turns = np.array([pin.log3(POSE.rotation.T @ pose.rotation) for pose in poses])
    np.testing.assert_allclose(shifts.std(axis=0), 0.004, rtol=0.1)
    np.testing.assert_allclose(turns.std(axis=0), 0.03, rtol=0.1)
    np.testing.assert_allclose(shifts.mean(axis=0), 0.0, atol=5e-4)


@pytest.mark.parametrize("start", [0, 1_700_000_000_000_000_123])
def test_pictures_come_as_often_and_as_late_as_they_are_told(start):
    config = CameraConfig(rate=30.0, delay=0.1, dropouts=0.2)
    seen = watch(config, 100.0, start=start)
    assert len(seen) == pytest.approx(0.8 * 30.0 * 99.9, rel=0.03)
    lags = np.array([now - picture.stamp for now, picture in seen])
    assert lags.min() >= 0.1e9
    assert lags.max() < 0.1e9 + TICK
    assert np.diff([picture.stamp for _, picture in seen]).min() >= 1e9 / 30.0 - TICK


def test_without_faults_it_sees_what_is_there_at_once():
    config = CameraConfig(noise=0.0, turn_noise=0.0, delay=0.0, dropouts=0.0, rate=200.0)
    seen = watch(config, 1.0)
    assert len(seen) == 200
    assert all(now == picture.stamp for now, picture in seen)
    assert all(picture.poses["box"].isApprox(POSE) for _, picture in seen)


def test_pictures_that_were_missed_are_not_made_up_for():
    camera = Camera(CameraConfig(delay=0.0, dropouts=0.0), 0)
    moments = [0, 10_000_000_000, 10_005_000_000, 10_040_000_000]
    counts = [len(camera.see(now, lambda: {"box": POSE})) for now in moments]
    assert counts == [1, 1, 0, 1]


def test_the_same_seed_gives_the_same_pictures():
    first, again, other = (watch(CameraConfig(), 1.0, seed) for seed in (3, 3, 4))
    assert [p.poses["box"].translation.tolist() for _, p in first] == [
        p.poses["box"].translation.tolist() for _, p in again
    ]
    assert first[0][1].poses["box"] != other[0][1].poses["box"]
