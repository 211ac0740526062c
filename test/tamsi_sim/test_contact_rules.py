"""Rules by groups say what a table of all shapes says, and sweep and prune finds what is close."""

import numpy as np
import pytest

from contact_core.robot.surface import Material, Surface
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.contact_rules import PASS, find_rules, group_shapes
from tamsi_sim.simulation.world import World

MATERIALS = [Material(1e4, 1.0, 0.1 * k) for k in range(3)]
BOX = """<robot name="box"><link name="box"><inertial><mass value="0.5"/>
  <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision name="box"><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link></robot>"""


@pytest.mark.parametrize("seed", range(20))
def test_rules_of_groups_are_those_of_their_shapes(seed):
    """Whatever the table says, of shapes of several kinds on bodies with one to three of them."""
    rng = np.random.default_rng(seed)
    bodies = np.sort(rng.integers(-1, 12, 24))
    kind = rng.integers(0, 1 + seed % 5, 24)
    between = rng.integers(PASS, 3, (5, 5))
    between = np.triu(between) + np.triu(between, 1).T
    table = between[np.ix_(kind, kind)]
    if seed % 2:  # One pair that is not like others.
        table[0, -1] = table[-1, 0] = PASS
    apart = bodies[:, None] != bodies
    table[~apart] = PASS
    group, rules = group_shapes(table, bodies)
    np.testing.assert_array_equal(rules[np.ix_(group, group)][apart], table[apart])


def test_things_that_are_alike_are_one_group():
    """Forty boxes and a robot of ten links, which do not touch each other, on a ground."""
    boxes, links, ground = range(40), range(40, 50), 50
    bodies = np.array([*boxes, *links, -1])
    table = np.zeros((51, 51), dtype=np.int64)
    table[np.ix_(links, links)] = table[ground, ground] = PASS
    np.fill_diagonal(table, PASS)
    group, rules = group_shapes(table, bodies)
    assert len(rules) <= 3
    apart = bodies[:, None] != bodies
    np.testing.assert_array_equal(rules[np.ix_(group, group)][apart], table[apart])


def test_hulls_meet_if_any_of_their_shapes_do():
    bodies = np.array([0, 0, 1, 2])
    table = np.full((4, 4), PASS)
    table[1, 2] = table[2, 1] = 0
    group, hulls, rules = find_rules(table, MATERIALS, bodies, [[0, 1], [2], [3]])
    np.testing.assert_array_equal(
        rules.hulls[np.ix_(hulls, hulls)], [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    )
    assert rules.friction[rules.shapes[group[1], group[2]]] == 0.0


def boxes(count, seed=0, spread=0.2):
    """Boxes at random places in a cube, on no ground."""
    rng = np.random.default_rng(seed)
    world = World(gravity=(0.0, 0.0, 0.0), surface=Surface(100.0, 0.0, 0.0))
    for k in range(count):
        place, turn = rng.uniform(0.0, spread, 3), rng.uniform(-3.0, 3.0, 3)
        # Far apart at first, or the world would not be built.
        world.add(f"box_{k}", BOX, (k, 0.0, 0.0), turn.tolist(), free=True)
        yield place
    yield world


def scattered(count, seed, spread):
    *places, world = boxes(count, seed, spread)
    engine = world.build()
    for k, place in enumerate(places):
        engine.q[7 * k : 7 * k + 3] = place
    return engine


@pytest.mark.parametrize("seed", range(5))
def test_sweep_finds_what_all_pairs_find_in_their_order(seed):
    engine = scattered(30, seed, 0.6)
    for step in range(3):
        engine.evaluate()
        sweep, hulls = engine.work.sweep, engine.built.arrays.hulls
        centers = engine.work.poses.hull
        distance = np.linalg.norm(centers[:, None] - centers, axis=2)
        close = np.argwhere(np.triu(distance <= hulls.radius[:, None] + hulls.radius, 1))
        found = [
            (i, j) for i in range(30) for j in sweep.partner[sweep.first[i] : sweep.first[i + 1]]
        ]
        assert found == [tuple(pair) for pair in close.tolist()]
        engine.q[step::7] += 0.2 * np.sin(np.arange(30))  # Another order, or another axis.


def test_what_is_found_does_not_depend_on_the_sweep_before():
    engine = scattered(30, 1, 0.4)
    engine.evaluate()
    start, before = engine.save(), engine.work.contacts.point.copy()
    engine.q[::7] *= -3.0
    engine.evaluate()
    engine.restore(start)
    engine.evaluate()
    np.testing.assert_array_equal(engine.work.contacts.point, before)


def test_rules_and_workspace_grow_with_the_number_of_things():
    sizes = []
    for count in (64, 128):
        engine = scattered(count, 0, 100.0)
        sizes.append(sum(array.nbytes for array in arrays_of((engine.work, engine.built.arrays))))
    assert sizes[1] < 2.1 * sizes[0]


def arrays_of(selection):
    for field in selection:
        if isinstance(field, tuple):
            yield from arrays_of(field)
        elif isinstance(field, np.ndarray):
            yield field


def test_workspace_grows_when_everything_touches():
    """80 boxes in one place: more contacts, close pairs and entries of the matrix than usual."""
    engine = scattered(80, 2, 0.24)
    engine.drives.target_rate[:] = 1.0
    before = engine.work
    assert engine.step(3) == StepStatus.OK
    assert len(engine.work.contacts.depth) > len(before.contacts.depth)
    assert len(engine.work.newton.system) > len(before.newton.system)
    assert engine.work.state is before.state
    np.testing.assert_array_equal(engine.drives.target, 3.0)
    assert engine.counters[0] == 3


def test_growth_changes_nothing():
    """The same motion in one call, step by step, recorded, and as a rollout on two threads."""
    engine = scattered(80, 2, 0.24)
    start, zeros = engine.save(), np.zeros((3, len(engine.v)))
    twin = scattered(80, 2, 0.24)
    assert engine.step(3) == StepStatus.OK
    status, q, v = twin.roll(zeros)
    assert status == StepStatus.OK
    np.testing.assert_array_equal(engine.v, v[-1])
    fresh = scattered(80, 2, 0.24)
    found = fresh.rollouts(start.q, start.v, np.stack([zeros] * 2), threads=2, forces=True)
    assert not found.status.any()
    np.testing.assert_array_equal(found.q[0], q)
    np.testing.assert_array_equal(found.q[1], q)
    assert np.isfinite(found.contact_force).all()
