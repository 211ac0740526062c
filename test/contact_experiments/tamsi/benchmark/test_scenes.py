"""What the scenes of the benchmark are."""

import numpy as np
import pytest

from contact_core.base.errors import ConfigError
from contact_core.robot.scene_config import SolverConfig
from contact_experiments.tamsi.benchmark.blocks import pile, towers
from contact_experiments.tamsi.benchmark.scenes import SCENES, make_scene
from tamsi_sim.drake.parity import PARITY


def test_names():
    assert list(SCENES) == [
        "gripper_soft", "gripper_stiff", "arm_mug", "allegro", "quadruped", "humanoid", "towers_8",
        "towers_32", "islands_32", "islands_128", "islands_512", "pile_32", "heap_8", "heap_32",
        "heap_128", "bin_24", "balls_125", "balls_216", "balls_666",
    ]  # fmt: skip
    with pytest.raises(ConfigError, match="towers_8"):
        make_scene("castle")


@pytest.mark.parametrize(("name", "clusters"), [("pile_32", 1), ("islands_32", 32)])
def test_blocks_in_contact_form_clusters(name, clusters):
    scene = make_scene(name)
    engine = scene.engine(PARITY)
    engine.step(20)
    group = np.arange(32)
    for contact in engine.contacts():
        blocks = [i for i in (contact.instance_a, contact.instance_b) if i != "floor"]
        if len(blocks) == 2:
            a, b = (group[int(block.removeprefix("block_"))] for block in blocks)
            group[group == a] = b
    assert len(set(group)) == clusters


def test_towers_stand_apart_and_the_walls_blocks_do_not_touch_sideways():
    centers = np.array(towers(8))
    assert len({tuple(center[:2]) for center in centers}) == 2
    assert set(np.round(centers[:, 2], 6)) == {0.05, 0.15, 0.25, 0.35}
    wall = np.array(pile())
    assert len(wall) == 32
    for level in set(wall[:, 2]):
        row = np.sort(wall[wall[:, 2] == level, 1])
        assert np.diff(row).min() > 0.1


def test_mug_stays_in_the_arms_gripper():
    """To the end of the swing, or the benchmark would time a falling mug."""
    scene = make_scene("arm_mug")
    engine = scene.engine(PARITY)
    status, _, _ = engine.roll(scene.forces)
    assert status == 0
    links = {contact.link_b for contact in engine.contacts()}
    links |= {contact.link_a for contact in engine.contacts()}
    assert {"finger_left", "finger_right", "mug"} <= links


@pytest.mark.parametrize("name", ["heap_32", "bin_24"])
def test_a_heap_comes_to_rest_in_its_bin(name):
    scene = make_scene(name)
    engine = scene.engine(SolverConfig())
    status, positions, velocities = engine.roll(scene.forces)
    centers = positions.reshape(len(positions), -1, 7)[:, :, :3]
    assert status == 0
    assert np.abs(centers[-1, :, :2]).max() < np.abs(centers[0, :, :2]).max() + 0.08
    assert centers[-1, :, 2].min() > 0.012
    assert np.median(np.abs(velocities[-1])) < 0.02


@pytest.mark.parametrize("name", ["quadruped", "humanoid"])
def test_legged_robot_squats_and_does_not_fall(scene_of, name):
    scene = scene_of(name)
    engine = scene.engine(SolverConfig())
    status, positions, _ = engine.roll(scene.forces)
    assert status == 0
    assert len(engine.contacts()) >= 3
    height = positions[:, 2]
    assert height.min() > 0.8 * height[0]
    assert np.ptp(height[len(height) // 2 :]) > 0.005
