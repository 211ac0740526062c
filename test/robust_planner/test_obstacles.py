"""Obstacles: distances against brute force, motions along them against inclined planes."""

from __future__ import annotations

import itertools
from typing import Any

import casadi
import numpy as np
import pytest
from matplotlib.path import Path as Outline

from contact_core.base.errors import ConfigError
from robust_planner import (
    BodyPoint,
    ContactTrajectory,
    FailureConfig,
    Normal,
    Obstacle,
    RiskSettings,
    RobustProblem,
    Samples,
    Uniform,
    build_model,
    draw_worlds,
    quantities,
    simulate_worlds,
)
from robust_planner.contact_model import GRAVITY, Body, ContactModel, PlanningProblemError
from robust_planner.obstacles import signed_distance
from robust_planner.risk.risk_planner import check_risk
from robust_planner.risk.worlds import spread_worlds

POLYGONS = [
    ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)),
    ((0.2, -0.4), (0.7, -0.3), (0.9, 0.4), (0.1, 0.6), (-0.5, 0.1)),
    ((-0.3, -0.2), (0.3, -0.2), (0.3, 0.1), (0.2, 0.2), (-0.3, 0.2)),
]


def distance_function(corners: tuple[tuple[float, float], ...]) -> casadi.Function:
    point = casadi.SX.sym("p", 2)
    distance, normal = signed_distance(point, corners)
    slope = casadi.gradient(distance, point)
    return casadi.Function("distance", [point], [distance, normal, slope])


@pytest.mark.parametrize("corners", POLYGONS, ids=len)
def test_distance_is_that_of_the_nearest_point_of_the_outline(
    corners: tuple[tuple[float, float], ...],
) -> None:
    points = np.random.default_rng(0).uniform(-0.9, 0.9, (300, 2))
    distance = np.asarray(distance_function(corners)(points.T)[0]).ravel()
    ring = np.array([*corners, corners[0]])
    nearest = np.full(len(points), np.inf)
    for a, b in itertools.pairwise(ring):
        share = np.clip((points - a) @ (b - a) / np.sum((b - a) ** 2), 0.0, 1.0)
        way = np.linalg.norm(points - a - share[:, None] * (b - a), axis=1)
        nearest = np.minimum(nearest, way)
    inside = Outline(corners).contains_points(points)
    assert 10 < inside.sum() < 290
    np.testing.assert_allclose(distance, np.where(inside, -nearest, nearest), atol=1e-9)


@pytest.mark.parametrize("corners", POLYGONS, ids=len)
def test_normal_is_the_gradient_of_the_distance(corners: tuple[tuple[float, float], ...]) -> None:
    function = distance_function(corners)
    for point in np.random.default_rng(1).uniform(-1.0, 1.0, (100, 2)):
        _, normal, slope = (np.asarray(value).ravel() for value in function(point))
        steps = 1e-6 * np.eye(2)
        numeric = [
            float(function(point + step)[0] - function(point - step)[0]) / 2e-6 for step in steps
        ]
        np.testing.assert_allclose(normal, numeric, atol=1e-6)
        np.testing.assert_allclose(slope, normal, atol=1e-9)
        assert np.linalg.norm(normal) == pytest.approx(1.0)


def test_nothing_is_infinite_at_a_corner() -> None:
    for value in distance_function(POLYGONS[0])((1.0, 0.0)):
        assert np.isfinite(np.asarray(value)).all()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "has no parts"),
        ({"a": [[0, 0], [1, 0]]}, "three or more corners"),
        ({"a": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]}, "three or more corners"),
        ({"a": [[0, 0], [1, 0], [1]]}, "three or more corners"),
        ({"a": 3}, "three or more corners"),
        ({"a": [[0, 0], [1, 0], [0.1, 0.1], [0, 1]]}, "corners of a convex polygon"),
    ],
)
def test_what_is_no_convex_polygon_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"obstacle 'hole'.*{message}"):
        Obstacle("hole", parts)


def test_names_that_mean_something_else_are_refused() -> None:
    with pytest.raises(ConfigError, match="obstacle 'start'"):
        Obstacle("start", {"a": POLYGONS[0]})


def test_clockwise_corners_are_turned() -> None:
    given = Obstacle("hole", {"a": POLYGONS[0][::-1]})
    assert sorted(given.parts["a"]) == sorted(POLYGONS[0])
    assert given.parts["a"] != POLYGONS[0][::-1]


def thrown(obstacle: Obstacle, radius: float = 0.0) -> ContactModel:
    """A ball of 1 kg that may be pushed along x; it does not turn."""
    q = casadi.SX.sym("q", 2)
    return build_model(
        "ball", q, [Body(q, 1.0)], [BodyPoint("tip", q, radius)], np.array([[1.0], [0.0]]),
        ("x", "z"), ("force",), obstacles=[obstacle],
    )  # fmt: skip


def test_a_moved_obstacle_is_as_far_as_a_body_that_is_moved_back() -> None:
    model = thrown(Obstacle("hole", {"left": POLYGONS[1], "right": POLYGONS[2]}), 0.05)
    assert model.contact_names == ("tip", "tip/hole.left", "tip/hole.right")
    assert model.grounded.tolist() == [True, False, False]
    assert quantities(model)[-2:] == ("hole.x", "hole.z")
    for q, shift in np.random.default_rng(2).normal(size=(20, 2, 2)):
        distance, normal, tangent = (np.asarray(term) for term in model.shifted(q, shift))
        functions = (model.distance, model.normal_jacobian, model.tangent_jacobian, model.normals)
        phi, jacobian, sides, out = (np.asarray(function(q - shift)) for function in functions)
        np.testing.assert_allclose(distance[1:], phi[1:], atol=1e-12)
        np.testing.assert_allclose(normal[1:], jacobian[1:], atol=1e-12)
        np.testing.assert_allclose(tangent[2:], sides[2:], atol=1e-12)
        np.testing.assert_allclose(out.T, jacobian, atol=1e-12)
        assert distance[0, 0] == pytest.approx(q[1] - 0.05)


def test_a_ball_on_a_body_that_turns_slides_as_its_surface_does() -> None:
    """What is fixed to the body where it touches, moved by differences of the configuration."""

    def place(q: np.ndarray, arm: np.ndarray) -> np.ndarray:
        sine, cosine = np.sin(q[2]), np.cos(q[2])
        turned = np.array([cosine * arm[0] + sine * arm[1], cosine * arm[1] - sine * arm[0]])
        return q[:2] + turned

    q, arm, radius = casadi.SX.sym("q", 3), np.array([0.3, -0.2]), 0.07
    sine, cosine = casadi.sin(q[2]), casadi.cos(q[2])
    tip = q[:2] + casadi.vertcat(cosine * arm[0] + sine * arm[1], cosine * arm[1] - sine * arm[0])
    spin = casadi.SX.zeros(3, 3)
    spin[1, 2] = 1.0
    model = build_model(
        "bar", q, [Body(q[:2], 1.0, q[2], 0.1)], [BodyPoint("tip", tip, radius, spin)],
        np.eye(3)[:, :1], ("x", "z", "pitch"), ("force",),
        obstacles=[Obstacle("hole", {"a": POLYGONS[1]})],
    )  # fmt: skip
    for state, speed in np.random.default_rng(3).normal(size=(10, 2, 3)):
        normals = np.asarray(model.normals(state)).T
        sides = np.asarray(model.tangent_jacobian(state)) @ speed
        for (x, z), side in zip(normals, sides[::2], strict=True):
            # Where it touches, in the frame of the body.
            touch = place(np.array([0.0, 0.0, -state[2]]), -radius * np.array([x, z])) + arm
            ahead, behind = (place(state + step * speed, touch) for step in (1e-6, -1e-6))
            assert side == pytest.approx((ahead - behind) @ [z, -x] / 2e-6, abs=1e-7)


def test_obstacles_in_space_are_refused() -> None:
    q = casadi.SX.sym("q", 3)
    with pytest.raises(PlanningProblemError, match="obstacles in 3-D"):
        build_model(
            "ball", q, [Body(q, 1.0)], [BodyPoint("tip", q)], np.eye(3)[:, :1], ("x", "y", "z"),
            ("force",), obstacles=[Obstacle("hole", {"a": POLYGONS[0]})],
        )  # fmt: skip


@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_a_ball_slides_down_a_slope_as_friction_lets_it(radius: float) -> None:
    """Or rests, beyond tan(30 degrees): g (sin - mu cos) t^2 / 2 along it, in every world."""
    angle, duration = np.radians(30.0), 0.5
    along, out = np.array([np.cos(angle), -np.sin(angle)]), np.array([np.sin(angle), np.cos(angle)])
    top = np.array([0.0, 10.0])
    wedge = [top - 4.0 * along, top + 4.0 * along, top - 4.0 * out]
    slope = Obstacle("slope", {"wedge": wedge})
    start = top + radius * out
    problem = RobustProblem(
        name="slope", model=thrown(slope, radius), start=(*start.tolist(), 0.0, 0.0),
        goal=(*start.tolist(), 0.0, 0.0), duration=duration, knots=501, friction=0.5,
        state_weight=(1.0,) * 4, control_weight=(1.0,),
    )  # fmt: skip
    worlds = draw_worlds(problem, {"friction": Uniform(0.0, 0.8)}, 12, 0, "test")
    motion = simulate_worlds(problem, np.zeros((501, 1)), worlds)
    way = motion.position[:, -1] - start
    pull = GRAVITY * (np.sin(angle) - worlds.friction * np.cos(angle))
    assert 0 < (pull <= 0.0).sum() < len(pull)
    np.testing.assert_allclose(way @ along, np.maximum(pull, 0.0) * duration**2 / 2.0, atol=3e-3)
    np.testing.assert_allclose(way @ out, 0.0, atol=1e-9)
    np.testing.assert_allclose(motion.normal_force[:, 1:, 1], GRAVITY * np.cos(angle), rtol=1e-6)
    # In the world: what rests is held straight up.
    rests = int(worlds.friction.argmax())
    plan = ContactTrajectory(
        time=np.zeros(501), position=motion.position[rests], velocity=motion.velocity[rests],
        control=np.zeros((501, 1)), normal_force=motion.normal_force[rests],
        tangent_force=motion.tangent_force[rests].reshape(501, 2, 2), slip=motion.slip[rests],
        limit_force=motion.limit_force[rests],
    )  # fmt: skip
    held = plan.contact_force(problem.model)[1:].sum(axis=1)
    np.testing.assert_allclose(held, [[0.0, 0.0, GRAVITY]] * 500, atol=1e-6)


def over_a_gap() -> RobustProblem:
    walls = {
        "left": [[-1.0, 0.0], [-0.1, 0.0], [-0.1, 0.5], [-1.0, 0.5]],
        "right": [[1.0, 0.0], [0.1, 0.0], [0.1, 0.5], [1.0, 0.5]],
    }
    return RobustProblem(
        name="gap", model=thrown(Obstacle("gap", walls), 0.05), start=(0.0, 0.6, 0.0, 0.0),
        goal=(0.0, 0.05, 0.0, 0.0), duration=0.5, knots=251, friction=0.1,
        state_weight=(1.0,) * 4, control_weight=(1.0,),
    )  # fmt: skip


def test_worlds_differ_in_where_an_obstacle_is() -> None:
    """A ball that falls between two walls hits the one that is in its way."""
    problem = over_a_gap()
    uncertain = {"gap.x": Normal(0.0, 0.2)}
    worlds = draw_worlds(problem, uncertain, 40, 0, "test")
    shift = worlds.values(problem.model, "gap.x")
    assert np.array_equal(shift, worlds.shift[:, 0])
    assert spread_worlds(problem, uncertain, 8, 0.1, 0).shift[0, 0] == pytest.approx(0.0)
    final = simulate_worlds(problem, np.zeros((251, 1)), worlds).position[:, -1]
    through = np.abs(shift) < 0.05
    on_top = np.abs(shift) > 0.1
    assert through.any()
    assert on_top.any()
    np.testing.assert_allclose(final[through], [[0.0, 0.05]] * through.sum(), atol=1e-6)
    np.testing.assert_allclose(final[on_top, 1], 0.55, atol=1e-6)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_start_inside_an_obstacle_that_is_off_is_refused(side: float) -> None:
    """The ball begins 50 mm over the walls, which reach below it on one side."""
    problem, failure = over_a_gap(), FailureConfig(contact_force=50.0)
    aside = Uniform(side * 0.4 - 0.1, side * 0.4 + 0.1)
    uncertain = {"gap.x": aside, "gap.z": Uniform(-0.1, 0.05)}
    check_risk(problem, uncertain, failure, 0.05, RiskSettings())
    uncertain["gap.z"] = Samples((0.0, 0.0, 0.0, 0.07))
    wall = "left" if side > 0.0 else "right"
    with pytest.raises(ConfigError, match=rf"starts inside an .* 20 mm inside 'gap\.{wall}'"):
        check_risk(problem, uncertain, failure, 0.05, RiskSettings())
