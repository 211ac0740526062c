"""Signed distances agree with Coal's over random points, inside and outside."""

import coal
import numpy as np
import pytest

from contact_core.multibody.collision.shapes import Shape, ShapeKind, shape_from_coal, shape_to_coal
from contact_core.multibody.collision.signed_distance import signed_distance

SHAPES = [
    Shape(ShapeKind.SPHERE, (0.3, 0.0, 0.0)),
    Shape(ShapeKind.BOX, (0.2, 0.3, 0.1)),
    Shape(ShapeKind.CAPSULE, (0.1, 0.25, 0.0)),
    Shape(ShapeKind.CYLINDER, (0.2, 0.3, 0.0)),
    Shape(ShapeKind.HALF_SPACE),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.kind.name)
def test_distance_and_normal_against_coal(shape):
    probe_radius = 1e-6
    size = np.array(shape.size)
    rng = np.random.default_rng(0)
    for point in rng.uniform(-0.6, 0.6, (200, 3)):
        distance, *normal = signed_distance(int(shape.kind), size, *point)
        result = coal.DistanceResult()
        expected = coal.distance(
            shape_to_coal(shape),
            coal.Transform3s.Identity(),
            coal.Sphere(probe_radius),
            coal.Transform3s(np.eye(3), point),
            coal.DistanceRequest(),
            result,
        )
        if distance > 0 or shape.kind is not ShapeKind.CYLINDER:
            assert distance == pytest.approx(expected + probe_radius, abs=2e-6)
        else:  # Coal's penetration depth of a curved shape is only an upper bound
            assert distance >= expected - probe_radius
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-12)
        on_surface = point - distance * np.array(normal)
        assert signed_distance(int(shape.kind), size, *on_surface)[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.kind.name)
def test_a_point_without_unique_normal_still_gets_one(shape):
    _, *normal = signed_distance(int(shape.kind), np.array(shape.size), 0.0, 0.0, 0.0)
    assert np.linalg.norm(normal) == pytest.approx(1.0)


@pytest.mark.parametrize("shape", SHAPES[:4], ids=lambda shape: shape.kind.name)
def test_coal_round_trip_and_bounding_sphere(shape):
    assert shape_from_coal(shape_to_coal(shape), "shape") == shape
    size = np.array(shape.size)
    directions = np.random.default_rng(0).normal(size=(2000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    on_sphere = shape.bounding_radius * directions
    distances = [signed_distance(int(shape.kind), size, *point)[0] for point in on_sphere]
    assert -1e-12 <= min(distances) < 0.1 * shape.bounding_radius


@pytest.mark.parametrize("shape", SHAPES[:4], ids=lambda shape: shape.kind.name)
def test_area_against_thin_shell_volume(shape):
    """The volume within +-t of the surface is 2 t times the area, for small t."""
    size = np.array(shape.size)
    reach, thickness, count = 0.45, 5e-3, 600_000
    points = np.random.default_rng(0).uniform(-reach, reach, (count, 3))
    inside = sum(abs(signed_distance(int(shape.kind), size, *p)[0]) < thickness for p in points)
    volume = inside / count * (2 * reach) ** 3
    assert volume / (2 * thickness) == pytest.approx(shape.area, rel=0.05)
