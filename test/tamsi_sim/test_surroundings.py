"""Surroundings that change while the arm is simulated, against what mechanics says of them."""

from __future__ import annotations

import numpy as np
import pytest

from contact_core.base.errors import ConfigError
from contact_core.robot.scene import Scene
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.robot.plant import Plant
from tamsi_sim.robot.surroundings import LIFTING_SPEED, SurroundingsConfig

GRAVITY = 9.81


@pytest.fixture(scope="module")
def shared():
    return Plant(Scene.load("push_box"))


@pytest.fixture
def plant(shared):
    shared.surroundings.change(SurroundingsConfig())
    shared.surroundings.advance(60.0)
    shared.reset(0)
    run(shared, 0.2)
    return shared


def run(plant, seconds):
    """Let the arm hold still."""
    for _ in range(round(seconds / 0.005)):
        measured = plant.tick(np.array(plant.scene.config.robot.initial_positions))
        assert measured.status is StepStatus.OK


def box(plant):
    """Return where the box is, and how fast."""
    item = next(item for item in plant.truth().objects if item.name == "box")
    return item.position, item.velocity


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_a_box_brakes_by_the_friction_that_is_set(plant, factor):
    plant.surroundings.change(SurroundingsConfig(friction=factor))
    plant.engine.set_velocity("box", (0.4, 0.0, 0.0))
    run(plant, 0.01)
    before = box(plant)[1][0]
    run(plant, 0.04)
    assert before - box(plant)[1][0] == pytest.approx(0.04 * factor * 0.3 * GRAVITY, rel=0.02)


def test_a_box_sinks_in_by_its_weight_over_the_stiffness(plant):
    usual = box(plant)[0][2]
    depth = 0.25 - usual
    assert depth > 0.0
    plant.surroundings.change(SurroundingsConfig(stiffness=0.25))
    run(plant, 1.0)
    assert 0.25 - box(plant)[0][2] == pytest.approx(4.0 * depth, rel=0.02)


def test_a_table_takes_up_with_it_what_stands_on_it(plant):
    start, _ = box(plant)
    plant.surroundings.change(SurroundingsConfig(obstacle="table", height=-0.05))
    run(plant, 0.5)
    assert plant.surroundings.height("table") == pytest.approx(-0.5 * LIFTING_SPEED)
    run(plant, 1.0)
    table = next(item for item in plant.truth().objects if item.name == "table")
    assert table.position[2] == pytest.approx(0.2 - 0.05)
    np.testing.assert_allclose(box(plant)[0] - start, [0.0, 0.0, -0.05], atol=1e-4)
    plant.reset(0)  # a new start leaves it where it is
    assert plant.surroundings.height("table") == -0.05
    plant.surroundings.change(SurroundingsConfig())
    run(plant, 1.5)
    assert plant.surroundings.height("table") == 0.0
    assert box(plant)[0][2] == pytest.approx(start[2], abs=1e-5)


def test_what_cannot_be_changed_is_refused(plant):
    with pytest.raises(ConfigError, match=r"'box'.*table"):
        plant.surroundings.change(SurroundingsConfig(obstacle="box"))
    drake = Scene.load("push_box").on("drake")
    other = Plant(drake).surroundings
    other.change(SurroundingsConfig())
    with pytest.raises(ConfigError, match="engine drake"):
        other.change(SurroundingsConfig(friction=2.0))
