"""Convex parts cover a mesh and little else, are the same every time, and kept whole."""

import hashlib
import subprocess
import sys
from pathlib import Path

import coal
import numpy as np
import pytest
from concave_meshes import WALL, WIDTH, trough
from scipy.spatial import ConvexHull

from contact_core.base.errors import ModelError
from contact_core.multibody.collision import convex_parts as module
from contact_core.multibody.collision.convex_mesh import convex_hull
from contact_core.multibody.collision.convex_parts import (
    convex_hulls,
    convex_parts,
    depth_of_surface,
    gap_of_hull,
    volume_ratio,
)
from contact_core.multibody.collision.shapes import triangles_from_coal
from contact_experiments.models.packages import folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "contact_stack" / "convex_parts"


@pytest.fixture(scope="module")
def parts_of_trough(tmp_path_factory):
    """What several tests look at; nothing was kept before."""
    pytest.importorskip("coacd")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return convex_parts(*trough(), 0.02, "trough")


def test_hulls_of_one_mesh_are_found_once():
    points, triangles = trough()
    ((first, _),), excess = convex_hulls(points, triangles, "trough", 0.0)
    ((again, _),), same = convex_hulls(points.copy(), triangles.copy(), "trough", 0.0)
    assert (again is first, same) == (True, excess)
    for other in (
        (points * 2.0, triangles, "trough", 0.0),
        (points, triangles[2:], "trough", 0.0),
        (points, triangles, "other", 0.0),
        (points, triangles, "trough", 0.0, 1e-3),
    ):
        assert convex_hulls(*other)[0][0][0] is not first


def test_a_trough_is_deep_in_its_hull_and_has_less_volume():
    points, triangles = trough()
    hull = convex_hull(points, "trough")
    # Deepest are middles of its floor, above which the hull is hollow.
    assert depth_of_surface(points, triangles, [hull]) == pytest.approx(WALL)
    hollow = (WIDTH - 2.0 * WALL) * (WIDTH - WALL) / WIDTH**2
    assert volume_ratio(points, triangles) == pytest.approx(1.0 / (1.0 - hollow))
    assert volume_ratio(points, triangles[:, ::-1]) == pytest.approx(1.0 / (1.0 - hollow))
    soup = np.arange(3 * len(triangles)).reshape(-1, 3)
    assert volume_ratio(points[triangles].reshape(-1, 3), soup) == pytest.approx(
        1.0 / (1.0 - hollow)
    )
    assert volume_ratio(points, triangles[1:]) is None


def test_over_the_mouth_of_a_thin_cup_its_hull_is_far_from_it():
    """Its surface is nowhere deeper in the hull than its walls are thick."""
    walls, floor = 0.002, 0.002
    angles = 2.0 * np.pi * np.arange(48) / 48
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(48)])
    outer, inner = [0.04, 0.04, 1.0], [0.04 - walls, 0.04 - walls, 1.0]
    rings = [ring * outer, ring * outer + [0, 0, 0.1], ring * inner + [0, 0, 0.1],
             ring * inner + [0, 0, floor]]  # fmt: skip
    points = np.vstack([*rings, [[0, 0, 0], [0, 0, floor]]])
    k = np.arange(48)
    following = (k + 1) % 48
    triangles = [np.column_stack([np.full(48, 192), following, k]),
                 np.column_stack([np.full(48, 193), 144 + k, 144 + following])]  # fmt: skip
    for below in (0, 48, 96):
        a, b, c, d = below + k, below + following, below + 48 + following, below + 48 + k
        triangles += [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
    triangles = np.vstack(triangles)
    hull, center = convex_hull(points, "cup")
    assert depth_of_surface(points, triangles, [(hull, center)]) == pytest.approx(walls, rel=0.01)
    gap = gap_of_hull(points, triangles, hull, center, 0.005)
    radius = (0.04 - walls) * np.cos(np.pi / 48)
    assert gap == pytest.approx(radius, rel=1e-6)
    assert gap_of_hull(points, triangles, hull, center, 0.04) == 0.0
    area = 24 * np.sin(2.0 * np.pi / 48)
    solid = area * (0.04**2 * 0.1 - (0.04 - walls) ** 2 * (0.1 - floor))
    assert volume_ratio(points, triangles) == pytest.approx(area * 0.04**2 * 0.1 / solid)


def test_a_notch_between_two_great_triangles_is_seen():
    """The middles of the triangles are only two thirds as deep as the side between them."""
    bottom = np.array([[0.0, 0, 0], [1, 0, 0], [0.6, 0.5, 0], [1, 1, 0], [0, 1, 0]])
    points = np.vstack([bottom, bottom + np.array([0.0, 0.0, 2.0])])
    sides = [(a, (a + 1) % 5) for a in range(5)]
    triangles = np.array([t for a, b in sides for t in ((a, b, b + 5), (a, b + 5, a + 5))])
    depth = depth_of_surface(points, triangles, [convex_hull(points, "notch")])
    assert depth == pytest.approx(0.4)


@pytest.mark.parametrize("turn", [1, -1], ids=["from outside", "from inside"])
def test_parts_are_the_trough_and_not_its_hollow(cache, parts_of_trough, turn):
    points, triangles = trough()
    parts = parts_of_trough
    if turn < 0:
        parts = convex_parts(points, triangles[:, ::turn], 0.02, "trough")
    assert len(parts) >= 3
    volume = ConvexHull(points).volume / volume_ratio(points, triangles)
    assert sum(ConvexHull(part).volume for part in parts) == pytest.approx(volume, rel=0.01)
    hulls = [convex_hull(part, "trough") for part in parts]
    assert depth_of_surface(points, triangles, hulls) < 0.02 * WIDTH
    rng = np.random.default_rng(0)
    samples = rng.uniform([-0.5 * WIDTH, 0, 0], [0.5 * WIDTH, WIDTH, WIDTH], (2000, 3))
    hollow = (abs(samples[:, 0]) < 0.5 * WIDTH - WALL) & (samples[:, 2] > WALL)
    heights = [(samples - c) @ h.planes[:, :3].T - h.planes[:, 3] for h, c in hulls]
    distance = np.min([height.max(axis=1) for height in heights], axis=0)
    assert distance[hollow].min() > -0.02 * WIDTH
    assert distance[~hollow].max() < 0.02 * WIDTH


# In the package example-robot-data; not all of them are closed.
PUBLIC = (
    "talos_data/meshes/gripper/inner_double_collision.STL",
    "tiago_description/meshes/head/head_1_collision.dae",
    "tiago_description/meshes/pmb2/base/base_collision.stl",
)


@pytest.mark.verify
@pytest.mark.parametrize("name", PUBLIC)
def test_parts_of_public_meshes_are_as_near_to_them_as_they_shall_be(cache, name):
    pytest.importorskip("coacd")
    path = folder("example-robot-data") / name
    if not path.is_file():
        pytest.skip("example-robot-data is not installed: pip install -e '.[models]'")
    points, triangles = triangles_from_coal(coal.MeshLoader().load(str(path), np.ones(3)))
    extent = np.ptp(points, axis=0).max()
    hull, center = convex_hull(points, name)
    assert gap_of_hull(points, triangles, hull, center, 0.0) > 0.1 * extent
    hulls = [convex_hull(part, name) for part in convex_parts(points, triangles, 0.02, name)]
    # CoACD measures on a closed copy of a mesh that is not closed.
    assert depth_of_surface(points, triangles, hulls) < 2.0 * 0.02 * extent
    heights = [(points - c) @ h.planes[:, :3].T - h.planes[:, 3] for h, c in hulls]
    outside = np.min([height.max(axis=1) for height in heights], axis=0)
    assert outside.max() < 0.002 * extent


SCRIPT = """
import hashlib
from concave_meshes import trough
from contact_core.multibody.collision.convex_parts import convex_parts
parts = convex_parts(*trough(), 0.02, "trough")
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""


def test_parts_are_the_same_in_another_process(tmp_path, parts_of_trough):
    helpers = Path(__file__).parents[3] / "helpers"
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": f"{helpers.parents[1]}:{helpers}"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    here = hashlib.sha256(b"".join(part.tobytes() for part in parts_of_trough)).hexdigest()
    assert done.stdout.strip() == here


def test_parts_are_kept_by_content_and_settings_and_found_anew_if_damaged(cache, monkeypatch):
    coacd = pytest.importorskip("coacd")
    runs, found = [], []
    run = coacd.run_coacd

    def run_once(*arguments, **settings):
        """Have all the same parts: here it matters alone how often they are looked for."""
        runs.append(1)
        found.append(found[0] if found else run(*arguments, **settings))
        return found[-1]

    monkeypatch.setattr(coacd, "run_coacd", run_once)
    points, triangles = trough()
    first = convex_parts(points, triangles, 0.02, "a")
    again = convex_parts(points, triangles, 0.02, "b")
    assert len(runs) == 1
    for part, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(part, same)
    convex_parts(points, triangles, 0.05, "a")
    convex_parts(2.0 * points, triangles, 0.02, "a")
    assert len(runs) == len(list(cache.iterdir())) == 3
    for path in cache.iterdir():
        path.write_bytes(path.read_bytes()[:100])
    for part, same in zip(first, convex_parts(points, triangles, 0.02, "a"), strict=True):
        np.testing.assert_array_equal(part, same)
    assert len(runs) == 4
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert len(convex_parts(points, triangles, 0.02, "a")) == len(first)


def test_without_the_library_the_error_says_how_to_install_it(cache, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(ModelError, match=r"CoACD.*pip install 'contact_stack\[decomposition\]'"):
        convex_parts(*trough(), 0.02, "cup")
