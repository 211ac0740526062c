"""Pushing objects of random shape: they lie in the scene as they came to rest."""

import itertools

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial import ConvexHull

from contact_core.robot.scene import Scene
from contact_experiments.tasks.crossing_pushes import COUNT, CrossingPushes, run_crossing
from contact_experiments.tasks.random_objects import RandomObject
from contact_experiments.tasks.random_pushes import LOWEST, LyingObject, RandomPush, pushable
from contact_stack.demo.push_anything.pusher import write_push_scene
from contact_stack.demo.push_anything.task import OBJECT, TABLE
from tamsi_sim.robot.plant import Plant

CORNERS = np.array([[0, 0, 0], [90, 0, 0], [90, 70, 0], [0, 70, 0], [30, 20, 60]], float)


@pytest.fixture(params=[1.0, 0.3])
def pyramid(request, tmp_path, monkeypatch):
    """An object that lies on its base, or on a side, as it fell; a small one is too low."""
    lines = ["v {} {} {}".format(*corner) for corner in CORNERS]
    lines += ["f {} {} {}".format(*(corners + 1)) for corners in ConvexHull(CORNERS).simplices]
    (tmp_path / "pyramid.obj").write_text("\n".join(lines))
    item = RandomObject(7, tmp_path / "pyramid.obj", 1e-3 * request.param, 0.1)
    monkeypatch.setattr(RandomObject, "read", lambda number: item)
    return item


def test_it_lies_as_it_came_to_rest_and_stays_there(pyramid, tmp_path):
    thing = LyingObject.of(7)
    body = pin.buildModelFromXML(thing.urdf(tmp_path).read_text(), pin.JointModelFreeFlyer())
    np.testing.assert_allclose(body.inertias[1].lever, 0.0, atol=1e-12)
    np.testing.assert_allclose(body.inertias[1].inertia, thing.moments, atol=1e-12)
    # Another pose of the same body: same volume, same moments about its axes.
    weighed = pin.buildModelFromXML(pyramid.urdf, pin.JointModelFreeFlyer()).inertias[1]
    assert ConvexHull(thing.corners).volume == pytest.approx(pyramid.hull.volume)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(thing.moments), np.linalg.eigvalsh(weighed.inertia), rtol=1e-9
    )
    assert pushable(7) == (np.ptp(thing.corners[:, 2]) >= LOWEST)

    task, conditions = RandomPush(7).draw()
    plant = Plant(Scene.load(str(write_push_scene(task, conditions, tmp_path))))
    start = plant.reset(0)
    for _ in range(40):
        plant.tick(start.position)
    pose = plant.truth().pose_of(OBJECT)
    assert np.linalg.norm(pose.translation - [*task.start[:2], TABLE + thing.height]) < 1e-3
    assert np.linalg.norm(pin.log3(pose.rotation)[:2]) < 1e-2
    assert task.reached(np.add(task.goal, [0.009, 0.0, 0.08]))
    assert not task.reached(np.add(task.goal, [0.011, 0.0, 0.0]))


@pytest.mark.parametrize("pyramid", [1.0], indirect=True)
def test_several_on_one_table_have_ways_that_cross_and_places_apart(pyramid):
    case = CrossingPushes.draw(3)
    assert case.goal == CrossingPushes.draw(3).goal
    starts, goals = (
        np.array([pose[:2] for pose in poses])
        for poses in zip(*((task.start, task.goal) for task in case.tasks.values()), strict=True)
    )
    far = 2.0 * case.tasks["thing0"].thing.radius
    for places in (starts, goals):
        assert all(np.linalg.norm(a - b) > far for a, b in itertools.combinations(places, 2))
    shares = [
        np.linalg.solve(np.stack((goals[i] - starts[i], starts[j] - goals[j]), 1), between)
        for i, j in itertools.combinations(range(COUNT), 2)
        for between in [starts[j] - starts[i]]
    ]
    assert any((share > 0.0).all() and (share < 1.0).all() for share in shares)

    figures = run_crossing(3, timeout=0.2)
    assert not figures["reached"] and figures["there"] == 0
    assert figures["left_mm"] == pytest.approx(
        1e3 * np.linalg.norm(goals - starts, axis=1).max(), abs=1.0
    )
