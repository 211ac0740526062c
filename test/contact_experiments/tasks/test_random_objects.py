"""Dropping and lifting objects of random shape, on one that is written here."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from contact_core.base.errors import ContactStackError
from contact_experiments.tasks import random_objects
from contact_experiments.tasks.random_objects import RandomObject, drawn, drop, grasp, lift

# A wedge with a flat side: the narrowest place is between that side and the corner opposite.
CORNERS = np.array(
    [[0, 0, 0], [60, 0, 0], [60, 50, 0], [0, 50, 0], [20, 20, 40], [40, 20, 40], [30, 30, 42]],
    float,
)


@pytest.fixture
def wedge(tmp_path):
    lines = ["v {} {} {}".format(*corner) for corner in CORNERS]
    lines += ["f {} {} {}".format(*(corners + 1)) for corners in ConvexHull(CORNERS).simplices]
    (tmp_path / "wedge.obj").write_text("\n".join(lines))
    return RandomObject(7, tmp_path / "wedge.obj", 1e-3, 0.1)


def test_a_draw_has_every_object_once_and_begins_like_a_longer_one():
    numbers = list(drawn(3))
    assert sorted(numbers) == list(range(1000))
    assert next(drawn(3)) == numbers[0] != next(drawn(4))


def test_it_is_held_at_its_narrowest_place(wedge):
    held = grasp(wedge)
    corners = wedge.corners @ held.rotation.T + held.translation
    np.testing.assert_allclose(np.abs(corners[:, 1]).max(), 0.021, atol=1e-9)
    np.testing.assert_allclose(corners[:, 1].min(), -corners[:, 1].max(), atol=1e-9)
    tip = corners[np.argmax(wedge.corners[:, 2])]
    np.testing.assert_allclose(tip[[0, 2]], 0.0, atol=1e-9)


def test_what_is_too_wide_does_not_fit(wedge):
    assert grasp(RandomObject(7, wedge.mesh, 3e-3, 0.1)) is None


def test_it_comes_to_rest_and_gains_nothing(wedge, monkeypatch):
    monkeypatch.setattr(RandomObject, "read", lambda number: wedge)
    found = drop(7, 5e-3)
    assert found["rest"] and found["fine"] and found["status"] == "OK"
    assert found["gain"] < 1e-3


def test_it_stays_where_the_hand_holds_it(wedge, monkeypatch):
    monkeypatch.setattr(RandomObject, "read", lambda number: wedge)
    monkeypatch.setattr(random_objects, "HOLD", 1.0)
    found = lift(7)
    assert found["status"] == "OK"
    assert found["slip"] < 2e-3 and found["turn"] < 2e-2
    assert found["creep"] < 1e-6 and found["twist"] < 1e-6


def test_without_the_objects_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(random_objects, "find_spec", lambda name: None)
    with pytest.raises(ContactStackError, match="pip install 'contact_stack\\[tasks\\]'"):
        RandomObject.read(0)
