"""What slides and rolls over flush shapes does as on one."""

import math

import numpy as np
import pytest

from contact_core.multibody.collision.seams import find_neighbours
from contact_core.multibody.collision.shapes import Shape, ShapeKind
from contact_core.robot.surface import Surface
from tamsi_sim import StepStatus, World

LENGTH, PLATES = 2.0, 20
WIDTH = LENGTH / PLATES


def _plate(x, y=0.0, size=(WIDTH, 1.0, 0.1), drop=0.0):
    z = -0.5 * size[2] - drop
    return (
        f'<collision><origin xyz="{x:.9f} {y:.9f} {z:.9f}"/><geometry>'
        f'<box size="{size[0]} {size[1]} {size[2]}"/></geometry></collision>'
    )


MIDDLES = [-0.5 * LENGTH + WIDTH * (i + 0.5) for i in range(PLATES)]
FLOORS = {
    "one": [_plate(0.0, size=(LENGTH, 1.0, 0.1))],
    "flush": [_plate(x) for x in MIDDLES],
    "tiles": [_plate(x, y, (WIDTH, WIDTH, 0.1)) for x in MIDDLES for y in MIDDLES[5:15]],
    "of different thickness": [
        _plate(x, size=(WIDTH, 1.0, 0.02 + 0.01 * i)) for i, x in enumerate(MIDDLES)
    ],
    "overlapping": [_plate(x, size=(1.5 * WIDTH, 1.0, 0.1)) for x in MIDDLES],
    "with gaps": [_plate(x, size=(WIDTH - 5e-5, 1.0, 0.1)) for x in MIDDLES],
}
THINGS = {
    "box": ('<box size="0.05 0.05 0.05"/>', 0.025, (0, 0, 0)),
    "turned box": ('<box size="0.05 0.05 0.05"/>', 0.025, (0, 0, 0.5)),
    "puck": ('<cylinder radius="0.04" length="0.03"/>', 0.015, (0, 0, 0)),
    "plank": ('<box size="0.35 0.05 0.02"/>', 0.01, (0, 0, 0)),
    "ball": ('<sphere radius="0.025"/>', 0.025, (0, 0, 0)),
    "can": ('<cylinder radius="0.025" length="0.08"/>', 0.025, (math.pi / 2, 0, 0)),
    "capsule": ('<capsule radius="0.025" length="0.08"/>', 0.025, (math.pi / 2, 0, 0)),
}
ROLL = ("ball", "can", "capsule")


def _world(floor):
    world = World(surface=Surface(2e4, 5.0, 0.1))
    if floor == "instances":
        for i, x in enumerate(MIDDLES):
            world.add(f"plate{i}", f'<robot name="p"><link name="p">{_plate(x)}</link></robot>')
        return world
    return world.add(
        "floor", f'<robot name="f"><link name="f">{"".join(FLOORS[floor])}</link></robot>'
    )


def _thing(collisions, mass=1.0, inertia=1e-2):
    return (
        '<robot name="t" version="1.2"><link name="t"><inertial>'
        f'<mass value="{mass}"/><inertia ixx="{inertia}" '
        f'iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial>'
        f"{collisions}</link></robot>"
    )


CUBE = _thing('<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>')


def _run(floor, thing):
    """Return how far it comes in 1.2 s, how fast it is then, and how much its height changes."""
    geometry, height, rpy = THINGS[thing]
    text = _thing(f"<collision><geometry>{geometry}</geometry></collision>", 5.0, 3e-3)
    engine = _world(floor).add("t", text, (-0.75, 0.013, height), rpy, free=True).build()
    engine.step(300)
    engine.v[0] = 1.0
    engine.v[4] = 1.0 / height if thing in ROLL else 0.0
    heights = []
    for _ in range(120):
        assert engine.step(10) == StepStatus.OK
        heights.append(engine.q[2])
    return engine.q[0] + 0.75, np.linalg.norm(engine.v[:3]), np.ptp(heights)


@pytest.mark.parametrize("thing", THINGS)
def test_it_goes_as_far_as_on_one_plate(thing):
    way, speed, _ = _run("one", thing)
    for floor in ("flush", "tiles"):
        found, rest, bump = _run(floor, thing)
        assert found == pytest.approx(way, rel=0.02), floor
        assert rest == pytest.approx(speed, abs=0.02), floor
        # Of 1.2 mm by which patches, and 5 mm by which points sink in.
        assert bump < 1e-3, floor


@pytest.mark.verify
@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("floor", [*FLOORS, "instances"])
def test_it_goes_as_far_on_any_floor(floor, thing):
    way, speed, _ = _run("one", thing)
    found, rest, _ = _run(floor, thing)
    assert found == pytest.approx(way, rel=0.03)
    assert rest == pytest.approx(speed, abs=0.03)


def test_a_sled_of_two_boxes_lies_as_one_does():
    def load(shapes):
        text = _thing("".join(shapes))
        engine = World().add_ground().add("s", text, (0, 0, 0.1), free=True).build()
        assert engine.step(500) == StepStatus.OK
        return sorted((round(p.point[0], 6), round(p.point[1], 6)) for p in engine.contacts())

    whole = load([_plate(0.0, size=(0.2, 0.1, 0.1))])
    halves = load([_plate(x, size=(0.1, 0.1, 0.1)) for x in (-0.05, 0.05)])
    np.testing.assert_allclose(whole, halves, atol=1e-5)
    assert len(whole) == 4


def test_an_edge_on_a_seam_is_held():
    # Of both plates only points of the seam touch.
    half = 0.05 * math.sqrt(2.0)
    engine = _world("flush").add("t", CUBE, (0, 0, half), (0, math.pi / 4, 0), free=True).build()
    for _ in range(20):
        assert engine.step(5) == StepStatus.OK
        assert engine.q[2] > half - 2e-3
        engine.v[3:] = 0.0


def test_a_step_in_the_floor_still_stops():
    steps = [_plate(-0.5, size=(1.0, 1.0, 0.1)), _plate(0.5, size=(1.0, 1.0, 0.2), drop=-0.02)]
    world = World(surface=Surface(2e4, 5.0, 0.1))
    world.add("floor", f'<robot name="f"><link name="f">{"".join(steps)}</link></robot>')
    engine = world.add("t", CUBE, (-0.2, 0, 0.05), free=True).build()
    engine.v[0] = 1.0
    assert engine.step(1000) == StepStatus.OK
    assert engine.q[0] < -0.04


def test_neighbours_are_those_that_touch_on_one_body_and_something_may_meet():
    cube, ball = Shape(ShapeKind.BOX, (0.05,) * 3), Shape(ShapeKind.SPHERE, (0.05, 0.0, 0.0))
    shapes, bodies = [cube, cube, ball, cube, ball], np.array([0, 0, 0, 1, 1])
    poses = [(np.eye(3), np.array([x, 0.0, 0.0])) for x in (0.0, 0.1, 0.4, 0.2, 0.5)]
    meet = bodies[:, None] != bodies

    def neighbours():
        first, found = find_neighbours(shapes, bodies, poses, meet)
        return [sorted(row.tolist()) for row in np.split(found, first[1:-1])]

    assert neighbours() == [[1], [0], [], [], []]
    # One of the two meets the other body's cube alone, and the other its ball.
    meet[0, 4] = meet[4, 0] = meet[1, 3] = meet[3, 1] = False
    assert neighbours() == [[], [], [], [], []]
