"""Primitives in the place of a mesh: boxes, cylinders, capsules and spheres.

The graph knows where on the surface of primitives a contact is. The surface of a link is cut into
pieces until a primitive in the place of each stands off it by no more than asked. What has walls
in four of the six directions counts as solid: the shells of links have openings for joints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import scipy

from contact_core.multibody.collision.shapes import Shape, ShapeKind

CELLS = 40  # of the longest extent of a link
_CLOSED = 4  # directions with a wall, from which on something is inside
MAX_PARTS = 10
_CUTS = np.linspace(0.0, 1.0, 7)[1:-1]  # where a piece may be cut, as shares of its extent
_STEPS, _ROUGH_STEPS = 40, 6  # towards the middle of a circle
_ROUGH_POINTS = 1000  # of a piece whose volume is compared
_SAMPLES = 400  # on the surface of a primitive
_REFINED, _TRIES = 3, 120  # primitives that are refined, and how often each is changed
_MARGIN = 0.9  # of the tolerance is what is aimed at, between samples there is more
_SMALL = 0.3  # weight of what sticks out where nothing else helps
_SHRINK, _SHRINKS = 0.9, 20  # each time, and how often
_LEAST = 2e-3  # half a width of a primitive [m]
_FEWEST = 24  # points that are worth a piece


@dataclass(frozen=True)
class PrimitiveFit:
    """Primitives in the place of a link.

    Attributes:
        shapes: Each with its pose in the frame of the link.
        excess: How far the furthest point of their surface is off the link [m].
        shortfall: How far the link sticks out of them at most [m].
    """

    shapes: tuple[tuple[Shape, pin.SE3], ...]
    excess: float
    shortfall: float


def fit_primitives(points: np.ndarray, triangles: np.ndarray, tolerance: float) -> PrimitiveFit:
    """Put primitives in the place of a surface.

    Args:
        points: (n, 3) its corners [m].
        triangles: (m, 3) corners of its triangles.
        tolerance: How far primitives may stand off it [m], and it may stick out of them by half
            of that.

    Returns:
        The primitives. Where MAX_PARTS do not do, the link sticks out of them further.
    """
    body, goal = _Body(points, triangles), _MARGIN * tolerance
    parts = [_fit(body, body.surface, goal)]
    while len(parts) < MAX_PARTS:
        worst = max(parts, key=lambda part: part.error)
        halves = _cut(worst.points) if worst.error > goal else None
        if halves is None:
            break
        parts = [part for part in parts if part is not worst]
        parts += [_fit(body, half, goal) for half in halves]
    # What cannot be small enough is left out, as between the walls of a shell that is open.
    parts = [part if part.error <= goal else _smaller(body, part, goal) for part in parts]
    parts = [part for part in parts if part.error <= goal] or parts[:1]
    outside = [_height(body.surface, part.shape, part.pose) for part in parts]
    excess = max(body.distance(_surface_of(part.shape, part.pose)).max() for part in parts)
    shapes = tuple((part.shape, part.pose) for part in parts)
    return PrimitiveFit(shapes, float(excess), max(float(np.min(outside, axis=0).max()), 0.0))


@dataclass(frozen=True)
class _Part:
    """Points of the surface, and their primitive; its error is compared with the tolerance [m]."""

    points: np.ndarray
    shape: Shape
    pose: pin.SE3
    error: float


class _Body:
    """A link as points of its surface, and as cells that it fills."""

    def __init__(self, points: np.ndarray, triangles: np.ndarray) -> None:
        extent = float(np.ptp(points, axis=0).max())
        self.pitch = max(extent / CELLS, 1e-4)
        samples = np.vstack([points[np.unique(triangles)],
                             _sample(points[triangles], 0.7 * self.pitch)])  # fmt: skip
        _, kept = np.unique(np.round(samples / (0.5 * self.pitch)), axis=0, return_index=True)
        # The corners of its hull are where it is widest: these are kept as they are.
        hull = scipy.spatial.ConvexHull(samples, qhull_options="QJ").vertices
        self.surface = samples[np.unique(np.concatenate([kept, hull]))]
        self._nearest = scipy.spatial.cKDTree(self.surface)
        self._low = self.surface.min(axis=0) - self.pitch
        cells = self._cell(self.surface)
        filled = np.zeros(cells.max(axis=0) + 2, dtype=bool)
        filled[tuple(cells.T)] = True
        self._solid = filled | (_walls(filled) >= _CLOSED)

    def _cell(self, points: np.ndarray) -> np.ndarray:
        return np.floor((points - self._low) / self.pitch).astype(int)

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Distances of points from the body [m], zero inside."""
        cells = self._cell(points)
        within = ((cells >= 0) & (cells < self._solid.shape)).all(axis=1)
        inside = np.zeros(len(points), dtype=bool)
        inside[within] = self._solid[tuple(cells[within].T)]
        distances = np.zeros(len(points))
        distances[~inside] = self._nearest.query(points[~inside])[0]
        return distances


def _walls(filled: np.ndarray) -> np.ndarray:
    """In how many of the six directions of a grid there is something that is filled."""
    count = np.zeros(filled.shape, dtype=np.int8)
    for axis in range(3):
        count += np.logical_or.accumulate(filled, axis=axis)
        count += np.flip(np.logical_or.accumulate(np.flip(filled, axis), axis=axis), axis)
    return count


def _sample(corners: np.ndarray, spacing: float) -> np.ndarray:
    """Points on triangles (m, 3, 3), in a grid that is no wider than the spacing [m]."""
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    steps = np.clip(np.ceil(sides / spacing).astype(int), 1, 2 * CELLS)
    found = [corners.mean(axis=1)]
    for count in np.unique(steps[steps > 1]):
        shares = np.array([(i, j, count - i - j) for i in range(count + 1)
                           for j in range(count + 1 - i)]) / count  # fmt: skip
        found.append(np.einsum("sk,mkx->msx", shares, corners[steps == count]).reshape(-1, 3))
    return np.vstack(found)


def _fit(body: _Body, points: np.ndarray, tolerance: float, weight: float = 2.0) -> _Part:
    """Fit the primitive that is closest to points, around all of them if that will do.

    The weight says how much worse it is that points stick out than that it stands off.
    """
    found = []
    for shape, pose in _candidates(points):
        distance = body.distance(_surface_of(shape, pose))
        # Where several are equally good at their worst, the one that is closer elsewhere.
        found.append((float(distance.max() + 0.5 * distance.mean()), shape, pose))
    found.sort(key=lambda item: item[0])
    error, shape, pose = found[0]
    if error > tolerance:
        fewer = np.vstack([points[:: max(len(points) // _SAMPLES, 1)], _corners(points)])
        refined = [_refined(body, fewer, weight, *item[1:]) for item in found[:_REFINED]]
        error, shape, pose = min(refined, key=lambda item: item[0])
    return _Part(points, shape, pose, error)


def _smaller(body: _Body, part: _Part, goal: float) -> _Part:
    """Fit a primitive that is rather too small than larger than asked."""
    found = _fit(body, part.points, goal, _SMALL)
    shape, pose = found.shape, found.pose
    for _ in range(_SHRINKS):
        excess = float(body.distance(_surface_of(shape, pose)).max())
        if excess <= goal:
            break
        x, y, z = (_SHRINK * size for size in shape.size)
        shape = Shape(shape.kind, (x, y, z))
    return _Part(part.points, shape, pose, excess)


def _refined(
    body: _Body, points: np.ndarray, weight: float, shape: Shape, pose: pin.SE3
) -> tuple[float, Shape, pin.SE3]:
    """Move the sides of a primitive until neither it nor the points stand off much."""
    count = {ShapeKind.BOX: 3, ShapeKind.SPHERE: 1}.get(shape.kind, 2)

    def primitive(change: np.ndarray) -> tuple[Shape, pin.SE3]:
        size = np.zeros(3)
        size[:count] = np.maximum(np.array(shape.size[:count]) + change[3:], _LEAST)
        x, y, z = (float(value) for value in size)
        return Shape(shape.kind, (x, y, z)), pose * pin.SE3(np.eye(3), change[:3])

    def error(change: np.ndarray) -> float:
        moved = primitive(change)
        excess = body.distance(_surface_of(*moved, _SAMPLES // 2)).max()
        return float(max(excess, weight * _height(points, *moved).max()))

    step = 0.15 * max(shape.size)
    start = np.vstack([np.zeros(3 + count), step * np.eye(3 + count)])
    start[4:] *= -1.0  # smaller, first of all
    options = {"initial_simplex": start, "maxfev": _TRIES, "xatol": 1e-4, "fatol": 1e-4}
    result = scipy.optimize.minimize(
        error, np.zeros(3 + count), method="Nelder-Mead", options=options
    )
    return float(result.fun), *primitive(result.x)


def _height(points: np.ndarray, shape: Shape, pose: pin.SE3) -> np.ndarray:
    """How far points are above the surface of a primitive, or at most below it [m]."""
    x, y, z = ((points - pose.translation) @ pose.rotation).T
    a, b, c = shape.size
    match shape.kind:
        case ShapeKind.BOX:
            over = np.column_stack([np.abs(x) - a, np.abs(y) - b, np.abs(z) - c])
        case ShapeKind.CYLINDER:
            over = np.column_stack([np.hypot(x, y) - a, np.abs(z) - b])
        case _:
            return np.asarray(np.sqrt(x**2 + y**2 + np.maximum(np.abs(z) - b, 0.0) ** 2) - a)
    outside = np.linalg.norm(np.maximum(over, 0.0), axis=1)
    return np.asarray(outside + np.minimum(over.max(axis=1), 0.0))


def _candidates(points: np.ndarray, steps: int = _STEPS) -> list[tuple[Shape, pin.SE3]]:
    """Primitives that hold points (n, 3), about their principal axes and those of their frame."""
    corners = _corners(points)
    found = []
    for axes in (np.eye(3), _principal(points)):
        local = corners @ axes
        low, high = local.min(axis=0), local.max(axis=0)
        half = 0.5 * np.maximum(high - low, 1e-4)
        box = Shape(ShapeKind.BOX, (float(half[0]), float(half[1]), float(half[2])))
        found.append((box, pin.SE3(axes, axes @ (0.5 * (low + high)))))
        for k in range(3):
            # The axis becomes z; the other two follow it cyclically.
            turn = axes[:, [(k + 1) % 3, (k + 2) % 3, k]]
            found += _round(corners @ turn, turn, steps)
    return found


def _round(local: np.ndarray, turn: np.ndarray, steps: int) -> list[tuple[Shape, pin.SE3]]:
    """A cylinder and a capsule along z around points."""
    center, radius = _circle(local[:, :2], steps)
    low, high = float(local[:, 2].min()), float(local[:, 2].max())
    middle = np.array([*center, 0.5 * (low + high)])
    half = max(0.5 * (high - low), 1e-4)
    cylinder = Shape(ShapeKind.CYLINDER, (radius, half, 0.0))
    found = [(cylinder, pin.SE3(turn, turn @ middle))]
    # Each point may be below a cap by as much as it is away from the rim.
    sunk = np.sqrt(np.maximum(radius**2 - ((local[:, :2] - center) ** 2).sum(axis=1), 0.0))
    bottom, top = float((local[:, 2] + sunk).min()), float((local[:, 2] - sunk).max())
    if top > bottom + 1e-4:
        capsule = Shape(ShapeKind.CAPSULE, (radius, 0.5 * (top - bottom), 0.0))
        found.append((capsule, pin.SE3(turn, turn @ np.array([*center, 0.5 * (top + bottom)]))))
    else:
        ball = np.array([*center, 0.5 * (low + high)])
        reach = float(np.linalg.norm(local - ball, axis=1).max())
        found.append((Shape(ShapeKind.SPHERE, (reach, 0.0, 0.0)), pin.SE3(turn, turn @ ball)))
    return found


def _circle(points: np.ndarray, steps: int) -> tuple[np.ndarray, float]:
    """Centre and radius of a circle around points (n, 2), the smallest to some percent."""
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    for step in range(1, steps):
        away = points - center
        furthest = away[np.argmax((away**2).sum(axis=1))]
        center = center + furthest / (step + 2)
    first = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radii = [float(np.linalg.norm(points - it, axis=1).max()) for it in (center, first)]
    return (center, radii[0]) if radii[0] < radii[1] else (first, radii[1])


def _corners(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points, all of them if they span no volume."""
    try:
        return np.asarray(points[scipy.spatial.ConvexHull(points).vertices])
    except scipy.spatial.QhullError:
        return points


def _principal(points: np.ndarray) -> np.ndarray:
    """Principal axes of points, as columns of a rotation."""
    _, axes = np.linalg.eigh(np.cov(points.T))
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    return np.asarray(axes)


def _cut(points: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Cut points by the plane after which the boxes and cylinders around them are smallest."""
    best, halves = np.inf, None
    for axes in (np.eye(3), _principal(points)):
        local = points @ axes
        low, high = local.min(axis=0), local.max(axis=0)
        for k in range(3):
            for share in _CUTS:
                side = local[:, k] < low[k] + share * (high[k] - low[k])
                if min(side.sum(), (~side).sum()) < _FEWEST:
                    continue
                volume = sum(_volume(points[part]) for part in (side, ~side))
                if volume < best:
                    best, halves = volume, (points[side], points[~side])
    return halves


def _volume(points: np.ndarray) -> float:
    """Volume [m^3] of the smallest primitive around points, roughly."""
    volumes = []
    for shape, _ in _candidates(points[:: 1 + len(points) // _ROUGH_POINTS], _ROUGH_STEPS):
        a, b, c = shape.size
        volumes.append({
            ShapeKind.BOX: 8.0 * a * b * c,
            ShapeKind.CYLINDER: 2.0 * np.pi * a**2 * b,
            ShapeKind.CAPSULE: np.pi * a**2 * (2.0 * b + 4.0 / 3.0 * a),
            ShapeKind.SPHERE: 4.0 / 3.0 * np.pi * a**3,
        }[shape.kind])  # fmt: skip
    return min(volumes)


def _surface_of(shape: Shape, pose: pin.SE3, count: int = _SAMPLES) -> np.ndarray:
    """Points on the surface of a primitive, evenly spread [m]."""
    k = np.arange(count) + 0.5
    height, angle = 1.0 - 2.0 * k / count, np.pi * (1.0 + np.sqrt(5.0)) * k
    ring = np.sqrt(1.0 - height**2)
    ball = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), height])
    a, b, c = shape.size
    match shape.kind:
        case ShapeKind.BOX:
            # Its corners stand off most.
            corners = np.array(np.meshgrid(*3 * [[-1.0, 0.0, 1.0]])).reshape(3, -1).T
            cube = np.vstack([ball / np.abs(ball).max(axis=1, keepdims=True), corners])
            points = cube * (a, b, c)
        case ShapeKind.CYLINDER:
            rim = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(count)])
            side = np.where(k % 2 < 1, 1.0, -1.0)[:, None] * np.array([0.0, 0.0, b])
            wall = a * rim + np.outer(height, [0.0, 0.0, b])
            lid = a * np.sqrt(k / count)[:, None] * rim + side
            points = np.vstack([wall, lid, a * rim + side])
        case ShapeKind.CAPSULE:
            caps = a * ball + np.sign(height)[:, None] * np.array([0.0, 0.0, b])
            rim = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(count)])
            points = np.vstack([caps, a * rim + np.outer(height, [0.0, 0.0, b])])
        case _:
            points = a * ball
    return np.asarray(points @ pose.rotation.T + pose.translation)
