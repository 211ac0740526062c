"""Where the bodies of a planar scene are, and how they move with every coordinate."""

from __future__ import annotations

import math

import numpy as np

from contact_core.kernel import kernel
from irs_planner.scenes.scene_arrays import PRISMATIC_Y, REVOLUTE, SceneArrays


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


@kernel
def _set_rotation(twist: np.ndarray, y: float, z: float) -> None:
    """Write the twist of a unit rotation about a point."""
    twist[0] = z
    twist[1] = -y
    twist[2] = 1.0
