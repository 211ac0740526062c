"""The robot's surface: placement, uniform sampling, projection."""

import numpy as np
import pytest

from contact_aware_control.estimation.surface import (
    HIDDEN_DEPTH,
    ROUNDING,
    edge_normal,
    hidden,
    new_placement,
    place,
    project,
    sample,
    surface_of_robot,
    surface_of_shapes,
    to_shape,
    to_world,
)
from contact_core.base.errors import ModelError
from contact_core.multibody.collision.shapes import PlacedShape, Shape, ShapeKind
from contact_core.multibody.collision.signed_distance import signed_distance

Q = np.array([0.1, 0.6, 0.2, -1.5, 0.1, 1.0, 0.3])


@pytest.fixture
def placed(robot):
    surface, links = surface_of_robot(robot)
    placement = new_placement(surface)
    robot.update(Q)
    place(surface, robot.joint_rotations, robot.joint_origins, placement)
    return surface, placement, links


def single(kind, size):
    surface = surface_of_shapes(
        [PlacedShape("s", "b", Shape(kind, size), None)],
        [(np.eye(3), np.zeros(3))],
        [1],
        np.array([True]),
    )
    placement = new_placement(surface)
    place(surface, np.eye(3)[None], np.zeros((1, 3)), placement)
    return surface, placement


def distance_to(surface, placement, shape, point):
    local = to_shape(placement, shape, *point)
    return signed_distance(surface.kind[shape], surface.size[shape], *local)[0]


def distances(surface, placement, point):
    return np.array([distance_to(surface, placement, s, point) for s in range(surface.kind.size)])


def test_shapes_are_where_the_links_are(robot, placed):
    _, placement, links = placed
    shapes = [shape for shape in robot.collision_shapes if shape.body in links]
    assert links == tuple(shape.body for shape in shapes)
    for s, shape in enumerate(shapes):
        pose = robot.link_pose(shape.body) * shape.placement
        np.testing.assert_allclose(placement.rotation[s], pose.rotation, atol=1e-12)
        np.testing.assert_allclose(placement.translation[s], pose.translation, atol=1e-12)


def test_samples_are_on_the_surface_of_the_union(placed):
    surface, placement, _ = placed
    rng = np.random.default_rng(0)
    for _ in range(500):
        shape, *rest = sample(surface, placement, rng)
        point = to_world(placement, shape, *rest[:3])
        all_distances = distances(surface, placement, point)
        assert all_distances[shape] == pytest.approx(0.0, abs=1e-12)
        assert all_distances.min() >= -HIDDEN_DEPTH
        assert np.linalg.norm(rest[3:]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (ShapeKind.SPHERE, (0.3, 0.0, 0.0)),
        (ShapeKind.BOX, (0.2, 0.3, 0.1)),
        (ShapeKind.CAPSULE, (0.1, 0.25, 0.0)),
        (ShapeKind.CYLINDER, (0.2, 0.3, 0.0)),
    ],
)
def test_sampling_is_uniform(kind, size):
    """The second moments of z over the surface have closed forms; x and y do not favour a side."""
    surface, placement = single(kind, size)
    rng = np.random.default_rng(0)
    points = np.array([sample(surface, placement, rng)[1:4] for _ in range(20000)])
    a, b, c = size
    if kind is ShapeKind.SPHERE:
        expected = a**2 / 3
    elif kind is ShapeKind.BOX:
        faces = np.array([b * c, a * c, a * b])
        expected = faces @ np.array([c**2 / 3, c**2 / 3, c**2]) / faces.sum()
    elif kind is ShapeKind.CAPSULE:
        expected = (b * b**2 / 3 + a * (b**2 + a * b + a**2 / 3)) / (a + b)
    else:
        expected = (2 * b * b**2 / 3 + a * b**2) / (a + 2 * b)
    assert np.mean(points[:, 2] ** 2) == pytest.approx(expected, rel=0.03)
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=0.02)


def test_projection_of_an_outside_point_is_the_closest_of_the_union(placed):
    surface, placement, _ = placed
    rng = np.random.default_rng(1)
    changed = 0
    for _ in range(500):
        start, *rest = sample(surface, placement, rng)
        point = np.array(to_world(placement, start, *rest[:3])) + 0.03 * rng.standard_normal(3)
        closest = distances(surface, placement, point).min()
        if closest < 0.0:
            continue
        shape, *rest = project(surface, placement, start, *point)
        projected = np.array(to_world(placement, shape, *rest[:3]))
        assert np.linalg.norm(projected - point) == pytest.approx(closest, abs=1e-9)
        outward = placement.rotation[shape] @ np.array(rest[3:])
        np.testing.assert_allclose(point - projected, closest * outward, atol=1e-9)
        changed += shape != start
    assert changed > 20


def test_projection_of_an_inside_point_is_on_the_surface(placed):
    surface, placement, _ = placed
    rng = np.random.default_rng(2)
    buried, count = 0, 0
    for _ in range(500):
        start, *rest = sample(surface, placement, rng)
        point = np.array(to_world(placement, start, *rest[:3])) + 0.01 * rng.standard_normal(3)
        if distances(surface, placement, point).min() >= 0.0:
            continue
        shape, *rest = project(surface, placement, start, *point)
        projected = to_world(placement, shape, *rest[:3])
        assert distance_to(surface, placement, shape, projected) == pytest.approx(0.0, abs=1e-9)
        buried += hidden(surface, placement, shape, *projected)
        count += 1
    assert count > 100
    assert buried < 0.05 * count


def test_only_candidate_links_are_sampled_and_projected_to(robot):
    surface, links = surface_of_robot(robot, ("lbr_link_6",))
    placement = new_placement(surface)
    robot.update(Q)
    place(surface, robot.joint_rotations, robot.joint_origins, placement)
    rng = np.random.default_rng(0)
    for _ in range(100):
        shape, *rest = sample(surface, placement, rng)
        assert links[shape] == "lbr_link_6"
        point = np.array(to_world(placement, shape, *rest[:3])) + 0.2 * rng.standard_normal(3)
        assert links[project(surface, placement, shape, *point)[0]] == "lbr_link_6"


def test_unknown_links_and_half_spaces_are_refused(robot):
    with pytest.raises(ModelError, match=r"no collision shape on link 'elbow'.*lbr_link_6"):
        surface_of_robot(robot, ("elbow",))
    with pytest.raises(ModelError, match="half space"):
        single(ShapeKind.HALF_SPACE, (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("kind", "size"), [(ShapeKind.BOX, (0.1, 0.02, 0.03)), (ShapeKind.CYLINDER, (0.1, 0.03, 0.0))]
)
def test_near_an_edge_a_force_may_have_the_direction_of_a_round_one(kind, size):
    """A force along the bisector of an edge was outside the friction cones of both its faces."""
    surface, _ = single(kind, size)
    end = size[2] if kind is ShapeKind.BOX else size[1]
    x, _, z = np.eye(3)
    for inside, direction in ((0.0, x + z), (0.5 * ROUNDING, 2.0 * x + z)):
        is_edge, *normal = edge_normal(surface, 0, *(size[0] * x + (end - inside) * z))
        assert is_edge
        np.testing.assert_allclose(normal, direction / np.linalg.norm(direction), atol=1e-9)
    for point in (size[0] * x + (end - ROUNDING) * z, size[0] * x, end * z):
        assert not edge_normal(surface, 0, *point)[0]
