"""Kinematics of a scene in 3-D: body poses, signed distances, contact frames, Jacobians."""

from __future__ import annotations

import math

import numpy as np

from contact_core.collision.signed_distance import signed_distance
from contact_core.kernel import kernel
from irs_planner.scenes.spatial_scene import SpatialArrays

# A normal this close to vertical takes its first tangent along x instead of horizontal.
NEARLY_VERTICAL = 0.99


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

    The normal points from the shape into the probe. The first tangent is horizontal where
    the surface is not.

    Args:
        scene: The scene.
        states: (K, n) q.
        gap: (K, P) output: signed distance phi [m], negative inside.
        point: (K, P, 3) output: the point of the probe nearest to the shape [m].
        frame: (K, P, 3, 3) output: rows n and two tangents, world.
        normal: (K, P, n) output: Jn, normal velocity of the probe relative to the shape.
        tangent: (K, P, 2, n) output: Jt, tangential velocities likewise.
    """
    bodies, shapes = 1 + scene.objects + scene.joint_axis.shape[0], scene.shape_body.shape[0]
    rotation, position = np.empty((bodies, 3, 3)), np.empty((bodies, 3))
    turn, origin = np.empty((shapes, 3, 3)), np.empty((shapes, 3))
    axis, center = np.empty((states.shape[1], 3)), np.empty(3)
    rows, sides = np.empty((3, states.shape[1])), np.empty((2, 3))
    for s in range(states.shape[0]):
        place_spatial_bodies(scene, states[s], rotation, position, axis)
        for i in range(shapes):
            body, offset = scene.shape_body[i], scene.shape_position[i]
            _multiply(rotation[body], scene.shape_rotation[i], turn[i])
            _place(rotation[body], position[body], offset, origin[i])
        for i in range(scene.pair.shape[0]):
            probe, shape = scene.pair[i, 0], scene.pair[i, 1]
            a, b = scene.probe_body[probe], scene.shape_body[shape]
            _place(rotation[a], position[a], scene.probe_position[probe], center)
            distance, nx, ny, nz = _distance(
                scene.shape_kind[shape], scene.shape_size[shape], turn[shape], origin[shape], center
            )
            _fill_frame(turn[shape], nx, ny, nz, frame[s, i])
            gap[s, i] = distance - scene.probe_radius[probe]
            # Witness points: the nearest point of each surface to the other one.
            for k in range(3):
                sides[0, k] = center[k] - scene.probe_radius[probe] * frame[s, i, 0, k]
                point[s, i, k] = sides[0, k]
                sides[1, k] = center[k] - distance * frame[s, i, 0, k]
            rows[:] = 0.0
            _add_motion(scene, position, axis, a, sides[0], 1.0, rows)
            _add_motion(scene, position, axis, b, sides[1], -1.0, rows)
            for k in range(states.shape[1]):
                for d in range(3):
                    rate = 0.0
                    for c in range(3):
                        rate += frame[s, i, d, c] * rows[c, k]
                    if d == 0:
                        normal[s, i, k] = rate
                    else:
                        tangent[s, i, d - 1, k] = rate


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
    axis = np.empty((states.shape[1], 3))
    slope[:] = 0.0
    for s in range(states.shape[0]):
        place_spatial_bodies(scene, states[s], rotation, position, axis)
        turn = rotation[bodies - 1]
        _place(turn, position[bodies - 1], scene.tool[0], output[s, :3])
        for k in range(3):
            output[s, 3 + k] = 0.0
            for i in range(3):
                output[s, 3 + k] += turn[k, i] * scene.tool[3, i]
        _add_motion(scene, position, axis, bodies - 1, output[s, :3], 1.0, slope[s, :3])
        for link in range(1 + scene.objects, bodies):
            # The axis is a point that turns about the origin.
            column = 5 * scene.objects + link - 1
            _add_turn(axis[column], position[0], output[s, 3:], 1.0, slope[s, 3:, column])


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
        position: (1 + O + L, 3) output: centres of mass of objects, joint origins of links [m].
        axis: (n, 3) output: what the rate of an angle adds to the angular velocity, world.
    """
    position[0] = 0.0
    for i in range(3):
        for k in range(3):
            rotation[0, i, k] = 1.0 if i == k else 0.0
    frame, turn = np.empty((3, 3)), np.empty((3, 3))
    for i in range(scene.objects):
        position[1 + i] = state[6 * i : 6 * i + 3]
        place_rotation(state[6 * i + 3 : 6 * i + 6], rotation[1 + i], axis[6 * i + 3 : 6 * i + 6])
    for j in range(scene.joint_axis.shape[0]):
        body, column = 1 + scene.objects + j, 6 * scene.objects + j
        carrier = body - 1 if j > 0 else 0
        _place(rotation[carrier], position[carrier], scene.joint_position[j], position[body])
        _multiply(rotation[carrier], scene.joint_rotation[j], frame)
        for k in range(3):
            axis[column, k] = 0.0
            for i in range(3):
                axis[column, k] += frame[k, i] * scene.joint_axis[j, i]
        _fill_turn(scene.joint_axis[j], state[column], turn)
        _multiply(frame, turn, rotation[body])


@kernel
def place_rotation(angles: np.ndarray, rotation: np.ndarray, axis: np.ndarray) -> None:
    """Compute a rotation from roll, pitch, yaw, and the axes of their rates.

    Args:
        angles: (3) roll, pitch, yaw [rad]: R = Rz(yaw) Ry(pitch) Rx(roll).
        rotation: (3, 3) output: R.
        axis: (3, 3) output: rows, the angular velocity per rate of every angle, world.
    """
    sr, cr = math.sin(angles[0]), math.cos(angles[0])
    sp, cp = math.sin(angles[1]), math.cos(angles[1])
    sy, cy = math.sin(angles[2]), math.cos(angles[2])
    rotation[0, 0], rotation[1, 0], rotation[2, 0] = cy * cp, sy * cp, -sp
    rotation[0, 1], rotation[1, 1] = cy * sp * sr - sy * cr, sy * sp * sr + cy * cr
    rotation[0, 2], rotation[1, 2] = cy * sp * cr + sy * sr, sy * sp * cr - cy * sr
    rotation[2, 1], rotation[2, 2] = cp * sr, cp * cr
    axis[0, 0], axis[0, 1], axis[0, 2] = cy * cp, sy * cp, -sp
    axis[1, 0], axis[1, 1], axis[1, 2] = -sy, cy, 0.0
    axis[2, 0], axis[2, 1], axis[2, 2] = 0.0, 0.0, 1.0


@kernel
def _fill_turn(axis: np.ndarray, angle: float, turn: np.ndarray) -> None:
    """Write the rotation about a unit axis (Rodrigues)."""
    x, y, z = axis[0], axis[1], axis[2]
    c, s, o = math.cos(angle), math.sin(angle), 1.0 - math.cos(angle)
    turn[0, 0], turn[0, 1], turn[0, 2] = c + x * x * o, x * y * o - z * s, x * z * o + y * s
    turn[1, 0], turn[1, 1], turn[1, 2] = y * x * o + z * s, c + y * y * o, y * z * o - x * s
    turn[2, 0], turn[2, 1], turn[2, 2] = z * x * o - y * s, z * y * o + x * s, c + z * z * o


@kernel
def _multiply(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> None:
    """Write the product of two rotations."""
    for i in range(3):
        for k in range(3):
            product[i, k] = a[i, 0] * b[0, k] + a[i, 1] * b[1, k] + a[i, 2] * b[2, k]


@kernel
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


@kernel
def _distance(
    kind: int, size: np.ndarray, turn: np.ndarray, origin: np.ndarray, point: np.ndarray
) -> tuple[float, float, float, float]:
    """Return the signed distance [m] of a point to a placed shape, and the normal there.

    The normal is in the frame of the shape.
    """
    x, y, z = point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]
    return signed_distance(
        kind,
        size,
        turn[0, 0] * x + turn[1, 0] * y + turn[2, 0] * z,
        turn[0, 1] * x + turn[1, 1] * y + turn[2, 1] * z,
        turn[0, 2] * x + turn[1, 2] * y + turn[2, 2] * z,
    )


@kernel
def _fill_frame(turn: np.ndarray, nx: float, ny: float, nz: float, frame: np.ndarray) -> None:
    """Write the normal, given in the shape's frame, and two tangents."""
    for k in range(3):
        frame[0, k] = turn[k, 0] * nx + turn[k, 1] * ny + turn[k, 2] * nz
    x, y, z = frame[0, 0], frame[0, 1], frame[0, 2]
    if abs(z) < NEARLY_VERTICAL:
        length = math.hypot(x, y)
        frame[1, 0], frame[1, 1], frame[1, 2] = -y / length, x / length, 0.0
    else:
        length = math.hypot(x, z)
        frame[1, 0], frame[1, 1], frame[1, 2] = z / length, 0.0, -x / length
    u, v, w = frame[1, 0], frame[1, 1], frame[1, 2]
    frame[2, 0], frame[2, 1], frame[2, 2] = y * w - z * v, z * u - x * w, x * v - y * u


@kernel
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
    for link in range(1 + scene.objects, body + 1):
        column = 5 * scene.objects + link - 1
        _add_turn(axis[column], position[link], point, sign, rows[:, column])


@kernel
def _add_turn(
    axis: np.ndarray, origin: np.ndarray, point: np.ndarray, sign: float, column: np.ndarray
) -> None:
    """Add axis x (point - origin), times a sign."""
    x, y, z = point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]
    column[0] += sign * (axis[1] * z - axis[2] * y)
    column[1] += sign * (axis[2] * x - axis[0] * z)
    column[2] += sign * (axis[0] * y - axis[1] * x)
