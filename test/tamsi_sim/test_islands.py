"""Contact islands: what is together, in which order, and that it does not change the result."""

from itertools import pairwise, product

import numpy as np
import pytest
from builders import GRAVITY, arm_instance, body_urdf, box, engine_of, ground_instance, pose

from contact_core.robot.scene import Instance
from tamsi_sim.arrays.data import ISLANDS
from tamsi_sim.arrays.status import StepStatus


def boxes(positions):
    """Return an engine with boxes on a ground, 1 mm deep in what they stand on."""
    bodies = [
        Instance(f"box_{k}", body_urdf(f"box_{k}", box(0.1, 0.1, 0.1)), pose(*p), True, GRAVITY)
        for k, p in enumerate(positions)
    ]
    return engine_of([*bodies, ground_instance()], 2e-3)


def groups(engine):
    """Return the sets of boxes that are one island."""
    work = engine.work
    found = []
    for island in range(work.counters[ISLANDS]):
        rows = slice(work.islands.first_row[island], work.islands.first_row[island + 1])
        found.append(set((work.islands.order[rows] // 6).tolist()))
    return found


def test_towers_are_islands_and_the_ground_joins_nothing():
    positions = [(0.3 * (k % 3), 0.0, 0.049 + 0.099 * (k // 3)) for k in range(6)]
    engine = boxes(positions)
    engine.evaluate()
    assert sorted(map(sorted, groups(engine))) == [[0, 3], [1, 4], [2, 5]]


def test_a_box_in_the_air_is_an_island():
    engine = boxes([(0.0, 0.0, 0.049), (1.0, 0.0, 3.0)])
    engine.evaluate()
    assert sorted(map(sorted, groups(engine))) == [[0], [1]]


def test_every_contact_belongs_to_the_island_of_its_bodies():
    engine = boxes([(0.3 * (k % 3), 0.0, 0.049 + 0.099 * (k // 3)) for k in range(9)])
    count = engine.evaluate()
    work = engine.work
    assert sorted(work.islands.contact[:count]) == list(range(count))
    for island, members in enumerate(groups(engine)):
        first, last = work.islands.first_contact[island], work.islands.first_contact[island + 1]
        for c in work.islands.contact[first:last]:
            columns = work.jacobian.columns[c]
            assert set((work.jacobian.dof[c, :columns] // 6).tolist()) <= members


def test_rows_and_degrees_of_freedom_are_inverse_orders():
    engine = boxes([(0.0, 0.0, 0.049), (1.0, 0.0, 3.0), (0.0, 0.0, 0.148)])
    engine.evaluate()
    np.testing.assert_array_equal(
        engine.work.islands.place[engine.work.islands.order], np.arange(18)
    )


def test_a_shuffled_tower_has_the_band_of_an_ordered_one():
    """Cuthill-McKee: every row reaches no further than the next box."""
    levels = [3, 0, 4, 1, 5, 2]
    engine = boxes([(0.0, 0.0, 0.049 + 0.099 * level) for level in levels])
    engine.evaluate()
    work = engine.work
    assert work.counters[ISLANDS] == 1
    for row in range(36):
        assert work.islands.row_end[row] == min(6 * (row // 6) + 11, 35)


def test_an_arm_without_contact_is_one_island():
    engine = engine_of([arm_instance()], touch=lambda a, b: False)
    engine.evaluate()
    assert engine.work.counters[ISLANDS] == 1
    np.testing.assert_array_equal(engine.work.islands.order, np.arange(8))


def test_branches_are_eliminated_from_their_leaves():
    """Two arms on one torso: Newton's matrix has no entry between them, and gets none."""
    link = """<link name="{0}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"
      ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    joint = """<joint name="{1}_joint" type="revolute"><parent link="{0}"/><child link="{1}"/>
      <origin xyz="0.2 0 0.1"/><axis xyz="0 1 0"/><limit effort="1" velocity="1" lower="-1"
      upper="1"/></joint>"""
    names = ["torso", "left", "left_hand", "right", "right_hand"]
    joints = [("base", "torso"), *pairwise(names[:3]), ("torso", "right"), ("right", "right_hand")]
    parts = [link.format(name) for name in ("base", *names)] + [joint.format(*j) for j in joints]
    engine = engine_of([Instance("robot", f"<robot name='robot'>{''.join(parts)}</robot>")])
    assert engine.step(3) == StepStatus.OK
    work, dof = engine.work, engine.built.joints
    assert work.islands.order[-1] == dof["torso_joint"]
    rows = {name: work.islands.place[dof[f"{name}_joint"]] for name in names}
    for a, b in product(("left", "left_hand"), ("right", "right_hand")):
        assert work.newton.system[work.islands.row_start[rows[a]] + rows[b]] == 0.0


def test_separate_boxes_move_as_if_each_were_alone():
    """Together and alone agree to rounding, also where one of them tumbles."""
    positions = [(0.5 * k, 0.0, 0.06) for k in range(3)]
    together = boxes(positions)
    rng = np.random.default_rng(0)
    v = rng.uniform(-1.0, 1.0, (3, 6))
    together.v[:] = v.ravel()
    assert together.step(200) == StepStatus.OK
    for k, position in enumerate(positions):
        alone = boxes([position])
        alone.v[:] = v[k]
        assert alone.step(200) == StepStatus.OK
        np.testing.assert_allclose(together.v[6 * k : 6 * k + 6], alone.v, atol=1e-9)


@pytest.mark.parametrize("shuffle", [0, 1, 2])
def test_the_order_of_the_instances_does_not_matter(shuffle):
    positions = np.array([(0.0, 0.105 * (k % 3), 0.049 + 0.099 * (k // 3)) for k in range(9)])
    order = np.random.default_rng(shuffle).permutation(9)
    plain, shuffled = boxes(positions), boxes(positions[order])
    for engine in (plain, shuffled):
        engine.applied[1::6] = 0.3
        assert engine.step(20) == StepStatus.OK
    np.testing.assert_allclose(shuffled.v.reshape(9, 6), plain.v.reshape(9, 6)[order], atol=1e-7)
