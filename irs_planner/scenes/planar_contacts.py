"""Kinematics of a planar scene: body poses, signed distances, normals, contact Jacobians."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel, kernel
from irs_planner.scenes.planar_arrays import (
    BOX,
    CIRCLE,
    POLYGON,
    PRISMATIC_Y,
    REVOLUTE,
    SceneArrays,
)


@kernel
def place_bodies(
    scene: SceneArrays, state: np.ndarray, pose: np.ndarray, twist: np.ndarray
) -> None:
    """Compute pose and Jacobian of every body.

    Args:
        scene: The scene.
        state: (n) q = [q_u; q_a] [m, rad].
        pose: (1 + O + L, 3) output: y, z [m], angle [rad] in the world.
        twist: (1 + O + L, n, 3) output: planar twist (a, b, r) of every body per unit of
            every dq/dt: a body point at y, z moves with (a - r z, b + r y).
    """
    objects = scene.objects
    pose[0, :] = 0.0
    twist[:] = 0.0
    for i in range(objects):
        for k in range(3):
            pose[1 + i, k] = state[3 * i + k]
        twist[1 + i, 3 * i, 0] = 1.0
        twist[1 + i, 3 * i + 1, 1] = 1.0
        _set_rotation(twist[1 + i, 3 * i + 2], pose[1 + i, 0], pose[1 + i, 1])
    for i in range(scene.parent.shape[0]):
        body, column = 1 + objects + i, 3 * objects + i
        y, z, angle = scene.origin[i, 0], scene.origin[i, 1], scene.origin[i, 2]
        if scene.parent[i] >= 0:
            carrier = 1 + objects + scene.parent[i]
            cosine, sine = math.cos(pose[carrier, 2]), math.sin(pose[carrier, 2])
            y, z = (
                pose[carrier, 0] + cosine * y - sine * z,
                pose[carrier, 1] + sine * y + cosine * z,
            )
            angle += pose[carrier, 2]
            twist[body] = twist[carrier]
        if scene.joint[i] == REVOLUTE:
            _set_rotation(twist[body, column], y, z)
            angle += state[column]
        else:
            along_y, along_z = math.cos(angle), math.sin(angle)
            if scene.joint[i] != PRISMATIC_Y:
                along_y, along_z = -along_z, along_y
            twist[body, column, 0] = along_y
            twist[body, column, 1] = along_z
            y += state[column] * along_y
            z += state[column] * along_z
        pose[body, 0] = y
        pose[body, 1] = z
        pose[body, 2] = angle


@inner_kernel
def _set_rotation(twist: np.ndarray, y: float, z: float) -> None:
    """Write the twist of a unit rotation about a point."""
    twist[0] = z
    twist[1] = -y
    twist[2] = 1.0


@kernel
def find_contacts(
    scene: SceneArrays,
    state: np.ndarray,
    gap: np.ndarray,
    point: np.ndarray,
    direction: np.ndarray,
    normal: np.ndarray,
    tangent: np.ndarray,
) -> None:
    """Compute distance, normal and Jacobian rows of every pair of shapes.

    The contact normal n points from the second shape into the first; the tangent is n
    turned by +90 degrees.

    Args:
        scene: The scene.
        state: (n) q = [q_u; q_a] [m, rad].
        gap: (P) output: signed distance phi [m], negative inside.
        point: (P, 2) output: the point of the first shape nearest to the second one [m].
        direction: (P, 2) output: n, world frame.
        normal: (P, n) output: Jn, normal velocity of the first relative to the second body.
        tangent: (P, n) output: Jt, tangential velocity likewise.
    """
    bodies, states = 1 + scene.objects + scene.parent.shape[0], state.shape[0]
    pose = np.empty((bodies, 3))
    twist = np.empty((bodies, states, 3))
    place_bodies(scene, state, pose, twist)
    shapes = np.empty(scene.shape_pose.shape)
    _place_shapes(scene.shape_body, scene.shape_pose, pose, shapes)
    for i in range(scene.pair.shape[0]):
        a, b = scene.pair[i, 0], scene.pair[i, 1]
        y, z, radius = shapes[a, 0], shapes[a, 1], scene.shape_size[a, 0]
        distance, ny, nz = _distance_to_shape(
            scene.shape_kind[b], scene.shape_size[b], scene.vertex, shapes[b], y, z
        )
        gap[i] = distance - radius
        direction[i, 0], direction[i, 1] = ny, nz
        # Witness points: the nearest point of each shape to the other one.
        ay, az = y - radius * ny, z - radius * nz
        by, bz = y - distance * ny, z - distance * nz
        point[i, 0], point[i, 1] = ay, az
        twist_a, twist_b = twist[scene.shape_body[a]], twist[scene.shape_body[b]]
        for k in range(states):
            along_y = twist_a[k, 0] - twist_a[k, 2] * az - twist_b[k, 0] + twist_b[k, 2] * bz
            along_z = twist_a[k, 1] + twist_a[k, 2] * ay - twist_b[k, 1] - twist_b[k, 2] * by
            normal[i, k] = ny * along_y + nz * along_z
            tangent[i, k] = ny * along_z - nz * along_y


@kernel
def find_contacts_batch(
    scene: SceneArrays,
    states: np.ndarray,
    gap: np.ndarray,
    point: np.ndarray,
    frame: np.ndarray,
    normal: np.ndarray,
    tangent: np.ndarray,
) -> None:
    """Compute the contacts of several states, see :func:`find_contacts`.

    Args:
        scene: The scene.
        states: (K, n) q.
        gap: (K, P) output.
        point: (K, P, 2) output.
        frame: (K, P, 2, 2) output: n, then n turned by +90 degrees.
        normal: (K, P, n) output: Jn.
        tangent: (K, P, n) output: Jt.
    """
    direction = np.empty((gap.shape[1], 2))
    for k in range(states.shape[0]):
        find_contacts(scene, states[k], gap[k], point[k], direction, normal[k], tangent[k])
        for i in range(gap.shape[1]):
            ny, nz = direction[i, 0], direction[i, 1]
            frame[k, i, 0, 0], frame[k, i, 0, 1] = ny, nz
            frame[k, i, 1, 0], frame[k, i, 1, 1] = -nz, ny


@inner_kernel
def _place_shapes(
    body: np.ndarray, local: np.ndarray, pose: np.ndarray, placed: np.ndarray
) -> None:
    """Compute y, z [m] and angle [rad] of every shape in the world."""
    for i in range(body.shape[0]):
        y, z, angle = pose[body[i], 0], pose[body[i], 1], pose[body[i], 2]
        cosine, sine = math.cos(angle), math.sin(angle)
        placed[i, 0] = y + cosine * local[i, 0] - sine * local[i, 1]
        placed[i, 1] = z + sine * local[i, 0] + cosine * local[i, 1]
        placed[i, 2] = angle + local[i, 2]


@inner_kernel
def _distance_to_shape(
    kind: int, size: np.ndarray, vertex: np.ndarray, pose: np.ndarray, y: float, z: float
) -> tuple[float, float, float]:
    """Return the signed distance [m] of a point to a shape and the outward normal."""
    dy, dz = y - pose[0], z - pose[1]
    if kind == CIRCLE:
        length = math.hypot(dy, dz)
        if length == 0.0:
            return -size[0], 0.0, 1.0
        return length - size[0], dy / length, dz / length
    cosine, sine = math.cos(pose[2]), math.sin(pose[2])
    if kind == BOX:
        distance, ny, nz = _distance_to_box(
            size[0], size[1], cosine * dy + sine * dz, cosine * dz - sine * dy
        )
        return distance, cosine * ny - sine * nz, sine * ny + cosine * nz
    if kind == POLYGON:
        first, count = int(size[0]), int(size[1])
        distance, ny, nz = _distance_to_polygon(
            vertex, first, count, cosine * dy + sine * dz, cosine * dz - sine * dy
        )
        return distance, cosine * ny - sine * nz, sine * ny + cosine * nz
    return cosine * dz - sine * dy, -sine, cosine


@inner_kernel
def _distance_to_box(
    half_width: float, half_height: float, y: float, z: float
) -> tuple[float, float, float]:
    """Return signed distance [m] and normal of a point in the frame of a box."""
    outside_y, outside_z = abs(y) - half_width, abs(z) - half_height
    side_y, side_z = math.copysign(1.0, y), math.copysign(1.0, z)
    if outside_y > 0.0 and outside_z > 0.0:
        length = math.hypot(outside_y, outside_z)
        return length, side_y * outside_y / length, side_z * outside_z / length
    if outside_y >= outside_z:
        return outside_y, side_y, 0.0
    return outside_z, 0.0, side_z


@inner_kernel
def _distance_to_polygon(
    vertex: np.ndarray, first: int, count: int, y: float, z: float
) -> tuple[float, float, float]:
    """Return signed distance [m] and normal of a point in the frame of a convex polygon."""
    deepest, nearest = -np.inf, np.inf
    side_y, side_z, out_y, out_z = 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        a, b = vertex[first + i], vertex[first + (i + 1) % count]
        along_y, along_z = b[0] - a[0], b[1] - a[1]
        length = math.hypot(along_y, along_z)
        dy, dz = y - a[0], z - a[1]
        height = (along_z * dy - along_y * dz) / length
        if height > deepest:
            deepest, side_y, side_z = height, along_z / length, -along_y / length
        share = min(max((along_y * dy + along_z * dz) / length**2, 0.0), 1.0)
        dy, dz = dy - share * along_y, dz - share * along_z
        distance = math.hypot(dy, dz)
        if distance < nearest:
            nearest, out_y, out_z = distance, dy, dz
    if deepest <= 0.0 or nearest == 0.0:
        return deepest, side_y, side_z
    return nearest, out_y / nearest, out_z / nearest
