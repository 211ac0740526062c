"""Kinematics of a scene in 3-D: body poses, signed distances, contact frames, Jacobians."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel, kernel
from contact_core.multibody.collision.arrays import Polytope, Shapes, allocate_polytope
from contact_core.multibody.collision.closest_points import closest_points
from contact_core.multibody.collision.collide_points import MESH, probe
from irs_planner.scenes.spatial_arrays import SpatialArrays

# A normal this close to vertical takes its first tangent along x instead of horizontal.
NEARLY_VERTICAL = 0.99
# Of shapes further apart than this [m] their bounding spheres will do.
FAR = 0.3
# Likewise of a point and a mesh, whose faces are looked at one by one.
FAR_FACES = 0.1
# Points so near [m] are looked at more closely, whether something else is this thick there [m].
NEAR, COVER = 2e-3, 4e-3
# Faces lie on each other if the product of their normals is so large.
FLUSH = 0.99
# A corner that is no farther than that from a shape is on it, or in it [m].
TOUCHES = 1e-6
# How often a way is halved to find where it crosses a rim.
HALVINGS = 12

Vector = tuple[float, float, float]


@kernel
def find_spatial_contacts(
    scene: SpatialArrays,
    states: np.ndarray,
    gap: np.ndarray,
    point: np.ndarray,
    frame: np.ndarray,
    normal: np.ndarray,
    tangent: np.ndarray,
) -> None:
    """Compute distance, contact frame and Jacobian rows of every pair at several states.

    The normal points from the second part, a shape, into the first, a probe or another shape. The
    first tangent is horizontal where the surface is not.

    Args:
        scene: The scene.
        states: (K, n) q.
        gap: (K, P) output: signed distance phi [m], negative inside.
        point: (K, P, 3) output: the point of the first part nearest to the second one [m].
        frame: (K, P, 3, 3) output: rows n and two tangents, world.
        normal: (K, P, n) output: Jn, normal velocity of the first relative to the second part.
        tangent: (K, P, 2, n) output: Jt, tangential velocities likewise.
    """
    bodies, count = 1 + scene.objects + scene.joint_axis.shape[0], scene.shape_body.shape[0]
    rotation, position = np.empty((bodies, 3, 3)), np.empty((bodies, 3))
    turn, origin = np.empty((count, 3, 3)), np.empty((count, 3))
    shapes = Shapes(scene.shape_kind, scene.shape_size, turn, origin, scene.meshes)
    polytope = allocate_polytope()
    axis, center = np.empty((bodies + 5 * scene.objects, 3)), np.empty(3)
    rows, side = np.empty((3, states.shape[1])), np.empty(3)
    probes = scene.probe_pair.shape[0]
    for s in range(states.shape[0]):
        place_spatial_bodies(scene, states[s], rotation, position, axis)
        for i in range(count):
            body, offset = scene.shape_body[i], scene.shape_position[i]
            _multiply(rotation[body], scene.shape_rotation[i], turn[i])
            _place(rotation[body], position[body], offset, origin[i])
        for i in range(gap.shape[1]):
            if i < probes:
                ball, second = scene.probe_pair[i, 0], scene.probe_pair[i, 1]
                a, radius = scene.probe_body[ball], scene.probe_radius[ball]
                _place(rotation[a], position[a], scene.probe_position[ball], center)
                distance, n = _from_shape(scene, shapes, second, center)
                gap[s, i] = distance - radius
                for k in range(3):
                    point[s, i, k] = center[k] - radius * n[k]
                if gap[s, i] < NEAR and _is_covered(scene, shapes, second, point[s, i], n):
                    gap[s, i] = FAR
            else:
                first, second = scene.shape_pair[i - probes, 0], scene.shape_pair[i - probes, 1]
                a = scene.shape_body[first]
                gap[s, i], n, place = _nearest(scene, shapes, polytope, first, second)
                if abs(gap[s, i]) < NEAR:
                    near = gap[s, i], n, place
                    known = gap[s], point[s], frame[s]
                    near = _at_rim(scene, shapes, known, second, first, near, 1.0)
                    near = _at_rim(scene, shapes, known, first, second, near, -1.0)
                    gap[s, i], n, place = near
                if gap[s, i] < NEAR:
                    strays = gap[s], frame[s], normal[s]
                    _drop_strays(scene, strays, first, second, n)
                    _drop_strays(scene, strays, second, first, n)
                for k in range(3):
                    point[s, i, k] = place[k]
            _fill_frame(n[0], n[1], n[2], frame[s, i])
            for k in range(3):
                side[k] = point[s, i, k] - gap[s, i] * n[k]
            rows[:] = 0.0
            _add_motion(scene, position, axis, a, point[s, i], 1.0, rows)
            _add_motion(scene, position, axis, scene.shape_body[second], side, -1.0, rows)
            for k in range(states.shape[1]):
                x, y, z = rows[0, k], rows[1, k], rows[2, k]
                still = x == 0.0 and y == 0.0 and z == 0.0  # most coordinates move neither
                for d in range(3):
                    rate = 0.0
                    if not still:
                        along = frame[s, i, d]
                        rate = along[0] * x + along[1] * y + along[2] * z
                    if d == 0:
                        normal[s, i, k] = rate
                    else:
                        tangent[s, i, d - 1, k] = rate


@inner_kernel
def _is_covered(
    scene: SpatialArrays, shapes: Shapes, number: int, point: np.ndarray, normal: Vector
) -> bool:
    """Whether a fixed shape has another one where it would push a point out.

    As the foot of a wall that stands on a table: nothing gets there, and what is a hair too low
    would be pushed into the table by the one and out of it by the other.
    """
    if scene.shape_body[number] != 0:
        return False
    x, y = point[0] + COVER * normal[0], point[1] + COVER * normal[1]
    z = point[2] + COVER * normal[2]
    for other in range(scene.shape_body.shape[0]):
        fixed = scene.shape_body[other] == 0 and other != number
        if fixed and probe(shapes, other, x, y, z)[0] < -0.5 * COVER:
            return True
    return False


@inner_kernel
def _from_shape(
    scene: SpatialArrays, shapes: Shapes, number: int, center: np.ndarray
) -> tuple[float, Vector]:
    """Return distance and direction of a point from a shape; of a mesh far away, roughly."""
    if shapes.kind[number] == MESH:
        q = shapes.position[number]
        x, y, z = center[0] - q[0], center[1] - q[1], center[2] - q[2]
        apart = math.sqrt(x * x + y * y + z * z)
        if apart - scene.shape_radius[number] > FAR_FACES:
            return apart - scene.shape_radius[number], (x / apart, y / apart, z / apart)
    distance, nx, ny, nz = probe(shapes, number, center[0], center[1], center[2])
    return distance, (nx, ny, nz)


@inner_kernel
def _nearest(
    scene: SpatialArrays, shapes: Shapes, polytope: Polytope, a: int, b: int
) -> tuple[float, Vector, Vector]:
    """Return distance, direction from B into A and point of A of two shapes; far away, roughly."""
    p, q = shapes.position[a], shapes.position[b]
    x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    apart, radius = math.sqrt(x * x + y * y + z * z), scene.shape_radius[a]
    gap = apart - radius - scene.shape_radius[b]
    if gap <= FAR:
        return closest_points(shapes, polytope, a, b)
    x, y, z = x / apart, y / apart, z / apart
    return gap, (x, y, z), (p[0] - radius * x, p[1] - radius * y, p[2] - radius * z)


@inner_kernel
def _drop_strays(
    scene: SpatialArrays,
    known: tuple[np.ndarray, np.ndarray, np.ndarray],
    upper: int,
    lower: int,
    direction: Vector,
) -> None:
    """Let corners of one shape be far away that another one would push out along its own face.

    Where things of the same height stand face to face, the corners of each are in the top and
    the bottom of the other one, if only by a hair, and would be pushed up and down at once.

    Args:
        scene: The scene.
        known: Distances (P) [m], frames (P, 3, 3) and normal rows (P, n), of the probes at least;
            changed.
        upper: The shape with the corners.
        lower: The other one.
        direction: Along which the two touch.
    """
    (gap, frame, normal), (x, y, z) = known, direction
    for i in range(scene.probe_pair.shape[0]):
        ball = scene.probe_pair[i, 0]
        if scene.probe_pair[i, 1] != lower or scene.probe_body[ball] != scene.shape_body[upper]:
            continue
        n = frame[i, 0]
        if gap[i] < TOUCHES and abs(n[0] * x + n[1] * y + n[2] * z) < FLUSH:
            gap[i] = FAR
            normal[i, :] = 0.0


@inner_kernel
def _at_rim(
    scene: SpatialArrays,
    shapes: Shapes,
    known: tuple[np.ndarray, np.ndarray, np.ndarray],
    upper: int,
    lower: int,
    contact: tuple[float, Vector, Vector],
    side: float,
) -> tuple[float, Vector, Vector]:
    """Return a contact of two shapes, where the one hangs over the other: at the rim of that.

    Of faces that lie on each other any point is the nearest one. One that hangs over is carried by
    its corners on the other face, and by the rim of that on the way to the corners that hang over.

    Args:
        scene: The scene.
        shapes: The shapes and their poses.
        known: Distances (P) [m], points (P, 3) and frames (P, 3, 3), of the probes at least.
        upper: The shape that may hang over.
        lower: The other one.
        contact: As :func:`_nearest` returns it.
        side: 1 if the lower shape is A, -1 if it is B.
    """
    distance, (nx, ny, nz), _ = contact
    on, over = _corners(scene, known, upper, lower, contact)
    if on[3] == 0.0 or over[3] == 0.0:
        return contact
    x, y, z = on[0] / on[3], on[1] / on[3], on[2] / on[3]
    dx, dy, dz = over[0] / over[3] - x, over[1] / over[3] - y, over[2] / over[3] - z
    low, high, deep = 0.0, 1.0, side * NEAR
    for _ in range(HALVINGS):
        share = 0.5 * (low + high)
        a, b, c = x + share * dx, y + share * dy, z + share * dz
        if probe(shapes, lower, a + deep * nx, b + deep * ny, c + deep * nz)[0] < 0.0:
            low = share
        else:
            high = share
    apart = 0.0 if side > 0.0 else distance  # the plane of contact is on A
    x, y, z = x + low * dx - apart * nx, y + low * dy - apart * ny, z + low * dz - apart * nz
    distance, mx, my, mz = probe(shapes, upper, x, y, z)
    mx, my, mz = side * mx, side * my, side * mz
    if mx * nx + my * ny + mz * nz < FLUSH:
        return contact
    if side < 0.0:
        x, y, z = x + distance * mx, y + distance * my, z + distance * mz
    return distance, (mx, my, mz), (x, y, z)


@inner_kernel
def _corners(
    scene: SpatialArrays,
    known: tuple[np.ndarray, np.ndarray, np.ndarray],
    upper: int,
    lower: int,
    contact: tuple[float, Vector, Vector],
) -> tuple[tuple[float, float, float, float], tuple[float, float, float, float]]:
    """Return the corners in the plane of contact that lie on the lower shape, and the others.

    Of each kind there are the sum and the number.
    """
    gap, point, frame = known
    _, (nx, ny, nz), (px, py, pz) = contact
    on, over = (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)
    for i in range(scene.probe_pair.shape[0]):
        body = scene.probe_body[scene.probe_pair[i, 0]]
        if scene.probe_pair[i, 1] != lower or body != scene.shape_body[upper]:
            continue
        x, y, z = point[i, 0], point[i, 1], point[i, 2]
        height = (x - px) * nx + (y - py) * ny + (z - pz) * nz
        if abs(height) > NEAR:
            continue
        x, y, z = x - height * nx, y - height * ny, z - height * nz
        along = frame[i, 0, 0] * nx + frame[i, 0, 1] * ny + frame[i, 0, 2] * nz
        if gap[i] < NEAR and abs(along) > FLUSH:
            on = (on[0] + x, on[1] + y, on[2] + z, on[3] + 1.0)
        else:
            over = (over[0] + x, over[1] + y, over[2] + z, over[3] + 1.0)
    return on, over


@kernel
def find_tool(
    scene: SpatialArrays, states: np.ndarray, output: np.ndarray, slope: np.ndarray
) -> None:
    """Compute position and approach axis of the tool and their derivatives.

    Args:
        scene: The scene.
        states: (K, n) q.
        output: (K, 6) output: position [m], then the z axis of the tool frame, world.
        slope: (K, 6, n) output: its derivative by q.
    """
    bodies = 1 + scene.objects + scene.joint_axis.shape[0]
    rotation, position = np.empty((bodies, 3, 3)), np.empty((bodies, 3))
    axis = np.empty((bodies + 5 * scene.objects, 3))
    slope[:] = 0.0
    for s in range(states.shape[0]):
        place_spatial_bodies(scene, states[s], rotation, position, axis)
        turn = rotation[scene.tool_body]
        _place(turn, position[scene.tool_body], scene.tool[0], output[s, :3])
        for k in range(3):
            output[s, 3 + k] = 0.0
            for i in range(3):
                output[s, 3 + k] += turn[k, i] * scene.tool[3, i]
        _add_motion(scene, position, axis, scene.tool_body, output[s, :3], 1.0, slope[s, :3])
        link = scene.tool_body
        while link != 0:
            # The axis is a point that turns about the origin.
            joint = link - 1 - scene.objects
            if not scene.joint_slides[joint]:
                column = scene.joint_column[joint]
                turns = axis[6 * scene.objects + joint]
                _add_turn(turns, position[0], output[s, 3:], 1.0, slope[s, 3:, column])
            link = scene.joint_parent[joint]


@kernel
def place_spatial_bodies(
    scene: SpatialArrays,
    state: np.ndarray,
    rotation: np.ndarray,
    position: np.ndarray,
    axis: np.ndarray,
) -> None:
    """Compute pose and axes of rotation of every body.

    Args:
        scene: The scene.
        state: (n) q.
        rotation: (1 + O + L, 3, 3) output: bodies in the world.
        position: (1 + O + L, 3) output: origins of objects and of joints [m].
        axis: (6 O + L, 3) output: what the rate of an object's angle adds to the angular velocity,
            then the axes of the joints, world.
    """
    position[0] = 0.0
    for i in range(3):
        for k in range(3):
            rotation[0, i, k] = 1.0 if i == k else 0.0
    frame, turn = np.empty((3, 3)), np.empty((3, 3))
    for i in range(scene.objects):
        position[1 + i] = state[6 * i : 6 * i + 3]
        angles, row = state[6 * i + 3 : 6 * i + 6], 6 * i + 3
        place_rotation(angles, scene.pitch_first[i], rotation[1 + i], axis[row : row + 3])
    for j in range(scene.joint_axis.shape[0]):
        body, row, carrier = 1 + scene.objects + j, 6 * scene.objects + j, scene.joint_parent[j]
        value = state[scene.joint_column[j]]
        _place(rotation[carrier], position[carrier], scene.joint_position[j], position[body])
        _multiply(rotation[carrier], scene.joint_rotation[j], frame)
        for k in range(3):
            axis[row, k] = 0.0
            for i in range(3):
                axis[row, k] += frame[k, i] * scene.joint_axis[j, i]
        if scene.joint_slides[j]:
            rotation[body] = frame
            for k in range(3):
                position[body, k] += value * axis[row, k]
        else:
            _fill_turn(scene.joint_axis[j], value, turn)
            _multiply(frame, turn, rotation[body])


@inner_kernel
def place_rotation(
    angles: np.ndarray, pitch_first: bool, rotation: np.ndarray, axis: np.ndarray
) -> None:
    """Compute a rotation from roll, pitch, yaw, and the axes of their rates.

    The angle in the middle may not be +-90 degrees, where the axes of the others are one.

    Args:
        angles: (3) roll, pitch, yaw [rad].
        pitch_first: R = Rz(yaw) Rx(roll) Ry(pitch), else R = Rz(yaw) Ry(pitch) Rx(roll).
        rotation: (3, 3) output: R.
        axis: (3, 3) output: rows, the angular velocity per rate of every angle, world.
    """
    sr, cr = math.sin(angles[0]), math.cos(angles[0])
    sp, cp = math.sin(angles[1]), math.cos(angles[1])
    sy, cy = math.sin(angles[2]), math.cos(angles[2])
    axis[2, 0], axis[2, 1], axis[2, 2] = 0.0, 0.0, 1.0
    if pitch_first:
        rotation[0, 0], rotation[1, 0] = cy * cp - sy * sr * sp, sy * cp + cy * sr * sp
        rotation[0, 1], rotation[1, 1] = -sy * cr, cy * cr
        rotation[0, 2], rotation[1, 2] = cy * sp + sy * sr * cp, sy * sp - cy * sr * cp
        rotation[2, 0], rotation[2, 1], rotation[2, 2] = -cr * sp, sr, cr * cp
        axis[0, 0], axis[0, 1], axis[0, 2] = cy, sy, 0.0
        axis[1, 0], axis[1, 1], axis[1, 2] = -sy * cr, cy * cr, sr
        return
    rotation[0, 0], rotation[1, 0], rotation[2, 0] = cy * cp, sy * cp, -sp
    rotation[0, 1], rotation[1, 1] = cy * sp * sr - sy * cr, sy * sp * sr + cy * cr
    rotation[0, 2], rotation[1, 2] = cy * sp * cr + sy * sr, sy * sp * cr - cy * sr
    rotation[2, 1], rotation[2, 2] = cp * sr, cp * cr
    axis[0, 0], axis[0, 1], axis[0, 2] = cy * cp, sy * cp, -sp
    axis[1, 0], axis[1, 1], axis[1, 2] = -sy, cy, 0.0


@inner_kernel
def _fill_turn(axis: np.ndarray, angle: float, turn: np.ndarray) -> None:
    """Write the rotation about a unit axis (Rodrigues)."""
    x, y, z = axis[0], axis[1], axis[2]
    c, s, o = math.cos(angle), math.sin(angle), 1.0 - math.cos(angle)
    turn[0, 0], turn[0, 1], turn[0, 2] = c + x * x * o, x * y * o - z * s, x * z * o + y * s
    turn[1, 0], turn[1, 1], turn[1, 2] = y * x * o + z * s, c + y * y * o, y * z * o - x * s
    turn[2, 0], turn[2, 1], turn[2, 2] = z * x * o - y * s, z * y * o + x * s, c + z * z * o


@inner_kernel
def _multiply(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> None:
    """Write the product of two rotations."""
    for i in range(3):
        for k in range(3):
            product[i, k] = a[i, 0] * b[0, k] + a[i, 1] * b[1, k] + a[i, 2] * b[2, k]


@inner_kernel
def _place(
    rotation: np.ndarray, position: np.ndarray, local: np.ndarray, point: np.ndarray
) -> None:
    """Write a point, given in a frame, in the frame's own reference."""
    for i in range(3):
        point[i] = (
            position[i]
            + rotation[i, 0] * local[0]
            + rotation[i, 1] * local[1]
            + rotation[i, 2] * local[2]
        )


@inner_kernel
def _fill_frame(x: float, y: float, z: float, frame: np.ndarray) -> None:
    """Write a normal and two tangents."""
    frame[0, 0], frame[0, 1], frame[0, 2] = x, y, z
    if abs(z) < NEARLY_VERTICAL:
        length = math.hypot(x, y)
        frame[1, 0], frame[1, 1], frame[1, 2] = -y / length, x / length, 0.0
    else:
        length = math.hypot(x, z)
        frame[1, 0], frame[1, 1], frame[1, 2] = z / length, 0.0, -x / length
    u, v, w = frame[1, 0], frame[1, 1], frame[1, 2]
    frame[2, 0], frame[2, 1], frame[2, 2] = y * w - z * v, z * u - x * w, x * v - y * u


@inner_kernel
def _add_motion(
    scene: SpatialArrays,
    position: np.ndarray,
    axis: np.ndarray,
    body: int,
    point: np.ndarray,
    sign: float,
    rows: np.ndarray,
) -> None:
    """Add the Jacobian (3, n) of a point of a body, times a sign."""
    if body == 0:
        return
    if body <= scene.objects:
        first = 6 * (body - 1)
        for k in range(3):
            rows[k, first + k] += sign
            _add_turn(axis[first + 3 + k], position[body], point, sign, rows[:, first + 3 + k])
        return
    while body != 0:
        joint = body - 1 - scene.objects
        column, line = scene.joint_column[joint], axis[6 * scene.objects + joint]
        if scene.joint_slides[joint]:
            for k in range(3):
                rows[k, column] += sign * line[k]
        else:
            _add_turn(line, position[body], point, sign, rows[:, column])
        body = scene.joint_parent[joint]


@inner_kernel
def _add_turn(
    axis: np.ndarray, origin: np.ndarray, point: np.ndarray, sign: float, column: np.ndarray
) -> None:
    """Add axis x (point - origin), times a sign."""
    x, y, z = point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]
    column[0] += sign * (axis[1] * z - axis[2] * y)
    column[1] += sign * (axis[2] * x - axis[0] * z)
    column[2] += sign * (axis[0] * y - axis[1] * x)
