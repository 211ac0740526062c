"""What stands, stands, and what does not, falls: things placed on each other at random.

The centre of mass of the upper one is 5 mm inside the support polygon, or 5 mm outside. A lying
cylinder or capsule rests on a line, along which it is moved; across it nothing would hold it.

They are set down without touching yet and weigh in by at most 0.25 mm. Softer still, a thing 5 mm
inside a rim may swing over it as it sinks in: at 0.5 mm about one in six does.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest
from builders import (
    GRAVITY,
    body_urdf,
    box,
    box_points,
    cylinder,
    drum_points,
    engine_of,
    hull_mesh,
)
from scipy.spatial import ConvexHull

from contact_core.robot.scene import Instance
from contact_core.robot.surface import Surface
from tamsi_sim.arrays.status import StepStatus

MARGIN = 5e-3  # of the centre of mass, inside the support polygon or outside [m]
SINKING = (2.5e-5, 2.5e-4)  # m g / k [m]
# A tall box on the rim's edge of a disc rocks by a degree for two seconds, and stands.
SETTLING, WATCHED = 3.0, 3.0  # [s]
FAR, TURNED = 2e-3, np.deg2rad(1.0)  # moved
SPACING = 2.0  # between two placements [m]
MU = 0.5
UPPER = ("box", "cylinder", "lying_cylinder", "lying_capsule", "mesh")
LOWER = ("box", "cylinder", "mesh")
BATCH = 20
# Pairs of which 2 of 1000 are tall, stand 5 mm from a rim, and move where they sink by 0.2 mm.
ROCKING = (("box", "cylinder"), ("cylinder", "cylinder"))


@dataclass
class Solid:
    """A shape with its flat side or its line down, its centre of mass above the footprint's middle.

    ``outline`` is the footprint, (n, 2), or its radius; a line has two points.
    """

    geometry: str
    turn: np.ndarray
    height: float
    outline: np.ndarray | float
    gyration: tuple[float, float, float]
    capsule: bool = False


def random_solid(rng, kind, folder, name):
    if kind == "box":
        x, y, z = rng.uniform(0.04, 0.15, 3)
        corners = box_points(x, y, z)[::2, :2]
        gyration = ((y**2 + z**2) / 12, (x**2 + z**2) / 12, (x**2 + y**2) / 12)
        return Solid(box(x, y, z), np.eye(3), z, ordered(corners), gyration)
    if kind == "mesh":
        radius, height, corners = (
            rng.uniform(0.03, 0.07),
            rng.uniform(0.04, 0.12),
            rng.integers(3, 12),
        )
        points = drum_points(radius, height, corners)
        outline = ordered(points[:corners, :2])
        across = radius**2 / 4 + height**2 / 12
        geometry = hull_mesh(folder, name, points)
        return Solid(geometry, np.eye(3), height, outline, (across, across, radius**2 / 2))
    radius, length = rng.uniform(0.025, 0.06), rng.uniform(0.05, 0.14)
    across = radius**2 / 4 + length**2 / 12
    gyration = (across, across, radius**2 / 2)
    if kind == "cylinder":
        return Solid(cylinder(radius, length), np.eye(3), length, radius, gyration)
    line = np.array([[-length / 2, 0.0], [length / 2, 0.0]])
    turn = pin.rpy.rpyToMatrix(0.0, np.pi / 2, 0.0)
    capsule = kind == "lying_capsule"
    return Solid(cylinder(radius, length), turn, 2 * radius, line, gyration, capsule)


def ordered(points):
    """Return the corners of a convex polygon, counter-clockwise."""
    return points[ConvexHull(points).vertices]


def beyond(outline, direction):
    """Return how far a footprint reaches from its middle in a direction, and the margin's share.

    The second number is the cosine between direction and the border's normal.
    """
    if isinstance(outline, float):
        return outline, 1.0
    sides = np.roll(outline, -1, axis=0) - outline
    normals = np.column_stack([sides[:, 1], -sides[:, 0]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    reach = np.einsum("ij,ij->i", normals, outline) / np.maximum(normals @ direction, 1e-9)
    return reach.min(), (normals @ direction)[reach.argmin()]


def placed(rng, upper, lower, inside):
    """Return where the upper thing's middle is on the lower one, and its yaw; None if nowhere."""
    line = not isinstance(upper.outline, float) and len(upper.outline) == 2
    angle = rng.uniform(-np.pi, np.pi)
    if line and not isinstance(lower.outline, float):
        # At right angles to an edge: across an oblique one it would roll off.
        side = lower.outline[1] - lower.outline[0]
        angle = np.arctan2(-side[0], side[1])
    direction = np.array([np.cos(angle), np.sin(angle)])
    reach, share = beyond(lower.outline, direction)
    # A line's margin is along it.
    margin = MARGIN if line else MARGIN / share
    way = reach - margin if inside else reach + margin
    if way < 0.0 or (line and not inside and way > 0.5 * np.ptp(upper.outline[:, 0])):
        return None
    return way * direction, angle if line else rng.uniform(-np.pi, np.pi)


def moved(upper_kind, lower_kind, inside, count, seed, folder, stiffer=1.0):
    """Place things and return which of them moved, (count)."""
    rng = np.random.default_rng(seed)
    instances, surfaces = [], {}
    for k in range(count):
        place = None
        while place is None:
            upper = random_solid(rng, upper_kind, folder, f"upper_{k}")
            lower = random_solid(rng, lower_kind, folder, f"lower_{k}")
            place = placed(rng, upper, lower, inside)
        offset, yaw = place
        mass = rng.uniform(0.1, 2.0)
        stiffness = stiffer * mass * 9.81 / rng.uniform(*SINKING)
        turn = pin.rpy.rpyToMatrix(0.0, 0.0, yaw) @ upper.turn
        base = np.array([SPACING * (k % 10), SPACING * (k // 10), 0.0])
        top = 0.5 * lower.height + 0.5 * upper.height
        place = pin.SE3(turn, base + np.array([*offset, top]))
        inertia = tuple(mass * g for g in upper.gyration)
        urdf = body_urdf(f"upper_{k}", upper.geometry, mass, inertia, upper.capsule)
        instances.append(Instance(f"upper_{k}", urdf, place, True, GRAVITY))
        urdf = body_urdf(f"lower_{k}", lower.geometry)
        turn = pin.rpy.rpyToMatrix(0.0, 0.0, 0.0)
        instances.append(Instance(f"lower_{k}", urdf, pin.SE3(turn, base)))
        surfaces[f"upper_{k}"] = surfaces[f"lower_{k}"] = Surface(2.0 * stiffness, 5.0, MU)
    engine = engine_of(
        instances,
        surface_of=lambda instance, link: surfaces[instance],
        touch=lambda a, b: a[0] != b[0] and a[0].split("_")[1] == b[0].split("_")[1],
    )
    assert engine.step(round(SETTLING / engine.time_step)) == StepStatus.OK
    start = poses(engine)
    assert engine.step(round(WATCHED / engine.time_step)) == StepStatus.OK
    end = poses(engine)
    return np.array(
        [
            np.linalg.norm(b.translation - a.translation) > FAR
            or np.linalg.norm(pin.log3(a.rotation.T @ b.rotation)) > TURNED
            for a, b in zip(start, end, strict=True)
        ]
    )


def poses(engine):
    return [pin.XYZQUATToSE3(engine.q[i : i + 7]) for i, _ in engine.built.free_bodies.values()]


@pytest.mark.parametrize("lower", LOWER)
@pytest.mark.parametrize("upper", UPPER)
def test_what_stands_stands_and_what_does_not_falls(tmp_path, upper, lower):
    assert not moved(upper, lower, True, 4, 0, tmp_path).any()
    assert moved(upper, lower, False, 4, 1, tmp_path).all()


@pytest.mark.verify
@pytest.mark.parametrize("lower", LOWER)
@pytest.mark.parametrize("upper", UPPER)
def test_a_thousand_placements_of_every_pair(tmp_path, upper, lower):
    batches = range(1000 // BATCH)
    standing = [moved(upper, lower, True, BATCH, 100 + k, tmp_path) for k in batches]
    falling = [moved(upper, lower, False, BATCH, 200 + k, tmp_path) for k in batches]
    soft = [k for k, found in zip(batches, standing, strict=True) if found.any()]
    stiff = [moved(upper, lower, True, BATCH, 100 + k, tmp_path, 10.0) for k in soft]
    assert not np.any(stiff)
    assert np.mean(falling) >= 1.0 - 1e-3
    if (upper, lower) in ROCKING and 1e-3 < np.mean(standing) <= 2e-3:
        pytest.xfail("2 of 1000 rock on what is soft, or fall off as they sink")
    assert np.mean(standing) <= 1e-3
