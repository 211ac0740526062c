"""Contact geometry: normals are gradients of the distance, in every scene."""

import math

import coal
import numpy as np
import pytest
from contact_steps import STARTS, contacts

from contact_core.base.errors import ConfigError
from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes import Polygon, load_scene, scene_from_mapping, scene_names


@pytest.mark.parametrize("name", scene_names())
def test_normal_jacobian_is_the_gradient_of_the_distance(name):
    model, rng, step = PlanarQuasiDynamics(load_scene(name)), np.random.default_rng(0), 1e-6
    for _ in range(20):
        state = np.array(STARTS[name]) + rng.normal(scale=0.1, size=model.state_size)
        _, direction, normal, _ = contacts(model, state)
        np.testing.assert_allclose(np.linalg.norm(direction, axis=1), 1.0)
        for k, d in enumerate(step * np.eye(model.state_size)):
            expected = (contacts(model, state + d)[0] - contacts(model, state - d)[0]) / (2 * step)
            # A sample within a step of a corner would see two normals; none does.
            np.testing.assert_allclose(normal[:, k], expected, atol=2e-5)


def test_numbers_of_pairs():
    """Neighbouring links, parts of one body and fixed bodies never touch."""
    pairs = {n: len(PlanarQuasiDynamics(load_scene(n)).arrays.pair) for n in STARTS}
    # Hand: 12 circles against the ball, 6 x 6 - 1 between fingers, 2 x 2 base to distal.
    assert pairs["planar_hand"] == 12 + 35 + 4
    assert pairs["box_pushing"] == 1
    assert pairs["box_pivoting"] == 1 + 4 + 1


def test_friction_coefficients_combine_like_resistors():
    """2 a b / (a + b) = 2/3 for 0.5 and 1."""
    model = PlanarQuasiDynamics(load_scene("box_pushing"))
    np.testing.assert_allclose(model.arrays.friction, 2.0 / 3.0)


def test_circle_and_box_distance_against_coal():
    scene = {
        "gravity": [0.0, 0.0],
        "objects": [
            {
                "name": "box",
                "mass": 1.0,
                "inertia": 1.0,
                "friction": 0.0,
                "shapes": [{"box": {"size": [0.4, 0.2], "center": [0.1, 0.0], "angle": 0.3}}],
            }
        ],
        "robots": [
            {
                "name": "hand",
                "friction": 0.5,
                "links": [
                    {"name": "y", "joint": "prismatic_y", "stiffness": 1.0},
                    {
                        "name": "z",
                        "parent": "y",
                        "joint": "prismatic_z",
                        "stiffness": 1.0,
                        "shapes": [{"circle": {"radius": 0.05}}],
                    },
                ],
            }
        ],
    }
    model = PlanarQuasiDynamics(scene_from_mapping(scene))
    box, ball = coal.Box(0.4, 0.2, 10.0), coal.Sphere(0.05)
    rng = np.random.default_rng(0)
    for state in rng.uniform(-0.5, 0.5, (100, 5)):
        gap, direction, _, _ = contacts(model, state)
        y, z, angle = state[:3]
        cosine, sine = math.cos(angle), math.sin(angle)
        center = np.array([y + cosine * 0.1, z + sine * 0.1, 0.0])
        turn = coal.Transform3s(rotation(angle + 0.3), center)
        place = coal.Transform3s(np.eye(3), np.array([state[3], state[4], 0.0]))
        result = coal.DistanceResult()
        expected = coal.distance(box, turn, ball, place, coal.DistanceRequest(), result)
        assert gap[0] == pytest.approx(expected, abs=1e-6)
        np.testing.assert_allclose(direction[0], result.normal[:2], atol=1e-5)


def rotation(angle):
    cosine, sine = math.cos(angle), math.sin(angle)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def test_a_square_polygon_is_a_box():
    def scene(shape):
        values = {
            "gravity": [0.0, 0.0],
            "objects": [
                {"name": "o", "mass": 1.0, "inertia": 1.0, "friction": 0.5, "shapes": [shape]}
            ],
            "robots": [
                {
                    "name": "hand",
                    "friction": 0.5,
                    "links": [
                        {
                            "name": "y",
                            "joint": "prismatic_y",
                            "stiffness": 1.0,
                            "shapes": [{"circle": {"radius": 0.01}}],
                        }
                    ],
                }
            ],
        }
        return PlanarQuasiDynamics(scene_from_mapping(values))

    corners = [-0.2, -0.1, 0.2, -0.1, 0.2, 0.1, -0.2, 0.1]
    models = [scene({"polygon": {"vertices": corners}}), scene({"box": {"size": [0.4, 0.2]}})]
    assert models[0].object_radii == pytest.approx(np.hypot(0.2, 0.1))
    rng = np.random.default_rng(0)
    for _ in range(50):
        state = rng.normal(scale=0.3, size=4)
        for a, b in zip(*(contacts(model, state) for model in models), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize(
    "corners", [[0, 0, 1, 0], [0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0.4, 0.4, 0, 1]]
)
def test_polygons_have_to_be_convex_and_counterclockwise(corners):
    with pytest.raises(ConfigError, match="polygon"):
        Polygon(tuple(map(float, corners)))
