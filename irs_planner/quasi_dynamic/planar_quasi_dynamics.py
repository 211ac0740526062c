"""The convex quasi-dynamic contact model of a planar scene."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from irs_planner.quasi_dynamic.contact_rows import PLANAR_EDGES, ContactFrames
from irs_planner.quasi_dynamic.quasi_dynamics import QUASI_STATIC_INERTIA, QuasiDynamics
from irs_planner.scenes.contacts import find_contacts_batch
from irs_planner.scenes.scene import PlanarScene
from irs_planner.scenes.scene_arrays import build_scene_arrays, part_names


class PlanarQuasiDynamics(QuasiDynamics):
    """A scene in the y-z plane; an object has the coordinates y, z [m] and angle [rad]."""

    def __init__(
        self, scene: PlanarScene, time_step: float = 0.1, *, quasi_static: bool = False
    ) -> None:
        """Build the model of a scene.

        Args:
            scene: Objects, robots and fixtures.
            time_step: h [s].
            quasi_static: Drop the inertia of the objects: they move only as far as contact
                and gravity force them to. Every object must then be supported.

        Raises:
            ModelError: If the scene has no robot joint, or the time step is not positive.
        """
        self.scene = scene
        self.arrays = build_scene_arrays(scene)
        self._parts = part_names(scene)
        inertia = np.array([[o.mass, o.mass, o.inertia] for o in scene.objects]).reshape(-1)
        self._inertia = np.diag(inertia * (QUASI_STATIC_INERTIA if quasi_static else 1.0))
        super().__init__(
            time_step,
            inertia * np.tile([*scene.gravity, 0.0], len(scene.objects)),
            np.array([link.stiffness for link in scene.links]),
            self.arrays.friction,
            PLANAR_EDGES,
        )

    @property
    def state_names(self) -> tuple[str, ...]:
        """Object coordinates, then joints."""
        return self.scene.state_names

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints are named as the links they move."""
        return self.link_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """The robot links."""
        return tuple(link.name for link in self.scene.links)

    @property
    def pair_names(self) -> tuple[tuple[str, str], ...]:
        """Names of the parts of every pair, see :attr:`QuasiDynamics.pair_names`."""
        names = [self._parts[body] for body in self.arrays.shape_body]
        return tuple((names[a], names[b]) for a, b in self.arrays.pair)

    def object_poses(self, state: np.ndarray) -> dict[str, pin.SE3]:
        """Return poses in the y-z plane, turned about x; :meth:`QuasiDynamics.object_poses`."""
        poses = {}
        for i, item in enumerate(self.scene.objects):
            y, z, angle = state[3 * i : 3 * i + 3]
            poses[item.name] = pin.SE3(pin.rpy.rpyToMatrix(angle, 0.0, 0.0), np.array([0.0, y, z]))
        return poses

    def contact_frames(self, coordinates: np.ndarray) -> ContactFrames:
        """Return the contact geometry, see :meth:`QuasiDynamics.contact_frames`."""
        (count, n), pairs = coordinates.shape, len(self.arrays.pair)
        gap, frame = np.empty((count, pairs)), np.empty((count, pairs, 2, 2))
        normal, tangent = np.empty((2, count, pairs, n))
        find_contacts_batch(self.arrays, coordinates, gap, frame, normal, tangent)
        return ContactFrames(gap, frame, normal, tangent[:, :, np.newaxis])

    def inertia(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the constant inertia, see :meth:`QuasiDynamics.inertia`."""
        return np.repeat(self._inertia[np.newaxis], len(coordinates), axis=0)

    def outputs(self, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return no outputs, see :meth:`QuasiDynamics.outputs`."""
        count, n = coordinates.shape
        return np.empty((count, 0)), np.empty((count, 0, n))
