"""The convex quasi-dynamic contact model of planar scenes and of scenes in 3-D.

Both share the step and its derivatives; only the kinematics differ. Planar scenes keep kinematics
of their own because planning lives on them: a step of ``pushing`` (5 coordinates, one pair of
shapes) takes 1.9 us, 0.9 us of it kinematics, one of ``iiwa_push`` (13 coordinates, 10 pairs)
10.7 us and 6.0 us. In 3-D a planar object would have twice the coordinates, and every contact
more than two edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pinocchio as pin

from contact_core.base.kernel import inner_kernel, kernel
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.multibody.rigid_body.joints import PRISMATIC, joint_type
from contact_core.robot.scene import ENVIRONMENT, ROBOT
from irs_planner.quasi_dynamic.contact_step import PLANAR_EDGES, ContactFrames, spatial_edges
from irs_planner.quasi_dynamic.quasi_dynamics import QUASI_STATIC_INERTIA, QuasiDynamics
from irs_planner.scenes.planar_arrays import build_scene_arrays, object_radii, part_names
from irs_planner.scenes.planar_contacts import find_contacts_batch
from irs_planner.scenes.planar_scene import PlanarScene
from irs_planner.scenes.spatial_arrays import (
    WORLD,
    SpatialArrays,
    body_shapes,
    build_spatial_arrays,
    reach_about,
)
from irs_planner.scenes.spatial_contacts import find_spatial_contacts, find_tool, place_rotation
from irs_planner.scenes.spatial_scene import STEEP, SpatialScene, object_inertias

CONE_EDGES = 4
"""Edges of the polyhedral friction cone in 3-D."""


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
        self.state_names = scene.state_names
        # Joints are named as the links they move.
        self.joint_names = tuple(link.name for link in scene.links)
        self.link_names = self.contact_links = self.joint_names
        self.object_names = tuple(item.name for item in scene.objects)
        self.object_radii = object_radii(self.arrays)
        self.position_limits = np.multiply.outer((-np.inf, np.inf), np.ones(len(scene.links)))
        parts = part_names(scene)
        names = [parts[body] for body in self.arrays.shape_body]
        self.pair_names = tuple((names[a], names[b]) for a, b in self.arrays.pair)
        self.part_names = tuple((a or ENVIRONMENT, b or ENVIRONMENT) for a, b in self.pair_names)
        # What is fixed is a body by itself, shape by shape.
        bodies = [name or str(number) for number, name in enumerate(names)]
        self.body_pairs = tuple(frozenset((bodies[a], bodies[b])) for a, b in self.arrays.pair)
        inertia = np.array([[o.mass, o.mass, o.inertia] for o in scene.objects]).reshape(-1)
        self._inertia = np.diag(inertia * (QUASI_STATIC_INERTIA if quasi_static else 1.0))
        super().__init__(
            time_step,
            inertia * np.tile([*scene.gravity, 0.0], len(scene.objects)),
            np.array([link.stiffness for link in scene.links]),
            self.arrays.friction,
            PLANAR_EDGES,
        )

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
        gap, point = np.empty((count, pairs)), np.empty((count, pairs, 2))
        frame = np.empty((count, pairs, 2, 2))
        normal, tangent = np.empty((2, count, pairs, n))
        find_contacts_batch(self.arrays, coordinates, gap, point, frame, normal, tangent)
        return ContactFrames(gap, point, frame, normal, tangent[:, :, np.newaxis])

    def inertia(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the constant inertia, see :meth:`QuasiDynamics.inertia`."""
        return np.repeat(self._inertia[np.newaxis], len(coordinates), axis=0)

    def outputs(self, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return no outputs, see :meth:`QuasiDynamics.outputs`."""
        count, n = coordinates.shape
        return np.empty((count, 0)), np.empty((count, 0, n))


class SpatialQuasiDynamics(QuasiDynamics):
    """Free objects and the joints of a robot, its impedance controller the springs.

    An object has the coordinates x, y, z [m] and roll, pitch, yaw [rad] of its own frame, that of
    its URDF, or of one that is level where that begins pitched by 90 degrees: where the angle in
    the middle is +-90 degrees a step has no solution, see :meth:`for_angles`. The outputs are
    position [m] and approach axis of the tool, the z axis of its frame.

    Attributes:
        scene: Robot, objects, and what may touch.
        arrays: The scene, as kernels read it.
        parts: The shapes of everything.
        effort_limits: (n_a) of the joints [N, Nm], infinite where the robot's file has none.
    """

    felt = 4.0  # widths; hulls have hundreds of barriers, and each takes its time

    def __init__(
        self, scene: SpatialScene, time_step: float = 0.1, *, quasi_static: bool = False
    ) -> None:
        """Build the model of a scene.

        Args:
            scene: Robot, objects, and what may touch.
            time_step: h [s].
            quasi_static: Drop the inertia of the objects: they move only as far as contact
                and gravity force them to. Every object must then be supported.

        Raises:
            ModelError: If two shapes cannot be planned with, or the time step is not positive.
        """
        self.scene, self._quasi_static = scene, quasi_static
        self.parts = parts = body_shapes(scene)
        self.arrays, pairs = build_spatial_arrays(scene, parts)
        self._robot_parts = [part for part in parts if part.instance == ROBOT]
        self._object_parts = {
            name: [part for part in parts if part.instance == name] for name in scene.object_names
        }
        self.pair_names = tuple((a.name, b.name) for a, b in pairs)
        self.part_names = tuple((a.name or a.instance, b.name or b.instance) for a, b in pairs)
        self.body_pairs = tuple(frozenset(pair) for pair in self.part_names)
        self.state_names, self.contact_links = scene.state_names, scene.contact_links
        self.link_names = tuple(dict.fromkeys(part.link for part in self._robot_parts))
        self.joint_names, self.object_names = scene.joint_names, scene.object_names
        first = [scene.joint_columns.index(i) for i in range(len(self.joint_names))]
        limits = [scene.model.lowerPositionLimit, scene.model.upperPositionLimit]
        self.position_limits = np.array(limits)[:, first]
        efforts = scene.model.effortLimit[first]
        self.effort_limits = np.where(efforts > 0.0, efforts, np.inf)
        inertias = object_inertias(scene)
        scale = QUASI_STATIC_INERTIA if quasi_static else 1.0
        self._levers = np.array([inertia.lever for inertia in inertias]).reshape(-1, 3)
        reaches = map(reach_about, self._levers, self._object_parts.values())
        self.object_radii = np.array(list(reaches))
        self._mass = scale * np.array([inertia.mass for inertia in inertias])
        # About the origins of the objects' frames.
        about = np.array([i.matrix()[3:, 3:] for i in inertias]).reshape(-1, 3, 3)
        self._inertia = scale * about
        config = scene.scene.config
        weight = [[*(i.mass * np.array(config.gravity)), 0.0, 0.0, 0.0] for i in inertias]
        super().__init__(
            time_step,
            np.array(weight).reshape(-1),
            np.array([*config.robot.stiffness, config.robot.gripper.stiffness][: len(first)]),
            self.arrays.friction,
            spatial_edges(CONE_EDGES),
        )

    def for_angles(self, *states: Sequence[float] | np.ndarray) -> SpatialQuasiDynamics:
        """Return the model whose objects' angles can be told apart in some states, often itself.

        What is steep if it rolls first is steeper if it pitches first, tan(pitch) / cos(roll): the
        model of a model is the same.

        Args:
            states: (n) x of start and goal, or of it what objects have.
        """
        pitch = np.array([state[: len(self.load)] for state in states])[:, 4::6]
        steep = (np.abs(np.cos(pitch)) < STEEP).any(axis=0)
        names = frozenset(np.array(self.object_names)[steep].tolist())
        if names == self.scene.pitch_first:
            return self
        scene = replace(self.scene, pitch_first=names)
        return SpatialQuasiDynamics(scene, self.time_step, quasi_static=self._quasi_static)

    def contact_frames(self, coordinates: np.ndarray) -> ContactFrames:
        """Return the contact geometry, see :meth:`QuasiDynamics.contact_frames`."""
        return _find_all(self.arrays, coordinates)

    def find_some(self, states: np.ndarray, pairs: np.ndarray) -> ContactFrames:
        """Return the geometry of some pairs in less time, see :meth:`QuasiDynamics.find_some`."""
        probes = len(self.arrays.probe_pair)
        arrays = self.arrays._replace(
            probe_pair=self.arrays.probe_pair[pairs[pairs < probes]],
            shape_pair=self.arrays.shape_pair[pairs[pairs >= probes] - probes],
        )
        return _find_all(arrays, self._coordinates(states))

    def inertia(self, coordinates: np.ndarray) -> np.ndarray:
        """Return [[m I, -m [c] E], [., E^T R I R^T E]] of every object.

        omega = E d(roll, pitch, yaw), c = R l where the centre of mass is, I about the origin.
        """
        result = np.zeros((len(coordinates), len(self.load), len(self.load)))
        first = self.arrays.pitch_first
        _fill_inertia(self._mass, self._inertia, self._levers, first, coordinates, result)
        return result

    def loads(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the weights and their torques about the origins; :meth:`QuasiDynamics.loads`."""
        result = super().loads(coordinates)
        _add_torques(self._levers, self.arrays.pitch_first, coordinates, result)
        return result

    def centers(self, state: np.ndarray) -> np.ndarray:
        """Return the centres of mass, see :meth:`QuasiDynamics.centers`."""
        poses = self.object_poses(state).values()
        centers = [pose.act(lever) for pose, lever in zip(poses, self._levers, strict=True)]
        return np.array(centers).reshape(-1, 3)

    def outputs(self, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return position and approach axis of the tool, see :meth:`QuasiDynamics.outputs`."""
        count, n = coordinates.shape
        output, slope = np.empty((count, 6)), np.empty((count, 6, n))
        find_tool(self.arrays, coordinates, output, slope)
        return output, slope

    def object_poses(self, state: np.ndarray) -> dict[str, pin.SE3]:
        """Return the poses of the URDFs' frames, see :meth:`QuasiDynamics.object_poses`."""
        poses = {}
        for i, name in enumerate(self.scene.object_names):
            rotation = self.scene.rotation(name, state[6 * i + 3 : 6 * i + 6])
            poses[name] = pin.SE3(rotation, np.array(state[6 * i : 6 * i + 3]))
        return poses

    @cached_property
    def balls(self) -> frozenset[str]:
        """Objects that are a ball about the origin of their frame."""
        return frozenset(
            name
            for name, parts in self._object_parts.items()
            if all(
                part.shape.kind is ShapeKind.SPHERE and not part.placement.translation.any()
                for part in parts
            )
        )

    def nearest_turns(self, state: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return a state with its objects' angles as near to those of another as full turns allow.

        Args:
            state: (n) x.
            other: (n) x.
        """
        angles = [i for i in self.object_states if i % 6 >= 3]
        result, turn = state.copy(), 2.0 * np.pi
        result[angles] -= turn * np.round((state - other)[angles] / turn)
        return result

    @cached_property
    def thickness(self) -> float:
        """How thick the thinnest shape is that a link of contact has [m]; 0 of meshes alone."""
        sizes = [part.shape.size for part in self._robot_parts if part.touches]
        return min(
            (2.0 * min(s for s in size if s > 0.0) for size in sizes if any(size)), default=0.0
        )

    @cached_property
    def branches(self) -> bool:
        """Whether the robot has several ends, so that it can hold something between them."""
        parents: list[int] = self.arrays.joint_parent.tolist()
        return len(set(parents)) < len(parents)

    @cached_property
    def shoulders(self) -> dict[str, int]:
        """The links that turn about a fixed axis: the state of their joint, by their names."""
        arrays = self.arrays
        joints = {part.link: part.body - len(self.object_names) - 1 for part in self._robot_parts}
        return {
            link: int(arrays.joint_column[joint])
            for link, joint in joints.items()
            if joint >= 0 and arrays.joint_parent[joint] == WORLD and not arrays.joint_slides[joint]
        }

    @cached_property
    def reaches(self) -> list[tuple[np.ndarray, float]]:
        """Balls (center (3), radius) [m] that hold all that a link of contact can touch."""
        model = self.scene.model
        balls: dict[tuple[float, ...], tuple[np.ndarray, float]] = {}
        for part in self._robot_parts:
            joint = part.body - len(self.object_names)
            if not part.touches or joint <= 0:
                continue
            reach = reach_about(np.zeros(3), [part])
            center, radius = _ball_around(model, joint, reach)
            known = balls.get(tuple(center), (center, 0.0))
            balls[tuple(center)] = (center, max(radius, known[1]))
        return list(balls.values())

    def state_of(self, poses: dict[str, pin.SE3], joints: np.ndarray) -> np.ndarray:
        """Return the state of a scene, the inverse of :meth:`object_poses`.

        Args:
            poses: Object name -> pose of its own frame in the world.
            joints: (n_a) joint positions [rad].

        Returns:
            (n) x.
        """
        state = []
        for name in self.scene.object_names:
            angles = self.scene.angles(name, poses[name].rotation)
            state += [*poses[name].translation, *angles]
        return np.asarray(self.complete(np.array([[*state, *joints]]))[0])


def _find_all(arrays: SpatialArrays, coordinates: np.ndarray) -> ContactFrames:
    """Return the contact geometry of all pairs of some arrays."""
    (count, n), pairs = coordinates.shape, len(arrays.probe_pair) + len(arrays.shape_pair)
    frames = ContactFrames(
        np.empty((count, pairs)),
        np.empty((count, pairs, 3)),
        np.empty((count, pairs, 3, 3)),
        np.empty((count, pairs, n)),
        np.empty((count, pairs, 2, n)),
    )
    find_spatial_contacts(arrays, coordinates, *frames)
    return frames


def _ball_around(model: pin.Model, joint: int, reach: float) -> tuple[np.ndarray, float]:
    """Return a ball (center (3), radius) that holds all within a distance of a joint's origin."""
    low, high = model.lowerPositionLimit, model.upperPositionLimit
    while True:
        kind, _ = joint_type(model.names[joint], model.joints[joint])
        if kind == PRISMATIC:
            first = model.idx_qs[joint]
            reach += max(abs(low[first]), abs(high[first]))
        place = model.jointPlacements[joint]
        parent = model.parents[joint]
        if parent == 0:
            return place.translation, reach
        above, line = joint_type(model.names[parent], model.joints[parent])
        offset = place.translation
        if model.parents[parent] == 0 and above != PRISMATIC:
            # The first joint turns what lies on its axis about itself.
            along = float(np.dot(line, offset)) * np.array(line)
            base = model.jointPlacements[parent]
            return base.act(along), reach + float(np.linalg.norm(offset - along))
        reach += float(np.linalg.norm(offset))
        joint = parent


@kernel
def _fill_inertia(
    mass: np.ndarray,
    inertia: np.ndarray,
    lever: np.ndarray,
    pitch_first: np.ndarray,
    states: np.ndarray,
    result: np.ndarray,
) -> None:
    rotation, axis, local = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    center, side = np.empty(3), np.empty(3)
    for s in range(states.shape[0]):
        for i in range(mass.shape[0]):
            first = 6 * i
            place_rotation(states[s, first + 3 : first + 6], pitch_first[i], rotation, axis)
            _turn(rotation, lever[i], center)
            for k in range(3):
                result[s, first + k, first + k] = mass[i]
                _cross(axis[k], center, side)
                for c in range(3):
                    result[s, first + c, first + 3 + k] = mass[i] * side[c]
                    result[s, first + 3 + k, first + c] = mass[i] * side[c]
                for a in range(3):  # angular velocity per rate k, body frame
                    local[k, a] = 0.0
                    for c in range(3):
                        local[k, a] += axis[k, c] * rotation[c, a]
            for k in range(3):
                for j in range(3):
                    for a in range(3):
                        for b in range(3):
                            part = local[k, a] * inertia[i, a, b] * local[j, b]
                            result[s, first + 3 + k, first + 3 + j] += part


@kernel
def _add_torques(
    lever: np.ndarray, pitch_first: np.ndarray, states: np.ndarray, loads: np.ndarray
) -> None:
    """Add the torques (K, 6 O) of forces that act at centres of mass, about the origins."""
    rotation, axis = np.empty((3, 3)), np.empty((3, 3))
    center, torque = np.empty(3), np.empty(3)
    for s in range(states.shape[0]):
        for i in range(lever.shape[0]):
            first = 6 * i
            place_rotation(states[s, first + 3 : first + 6], pitch_first[i], rotation, axis)
            _turn(rotation, lever[i], center)
            _cross(center, loads[s, first : first + 3], torque)
            for k in range(3):
                for c in range(3):
                    loads[s, first + 3 + k] += axis[k, c] * torque[c]


@inner_kernel
def _turn(rotation: np.ndarray, local: np.ndarray, world: np.ndarray) -> None:
    for k in range(3):
        world[k] = 0.0
        for c in range(3):
            world[k] += rotation[k, c] * local[c]


@inner_kernel
def _cross(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> None:
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        product[k] = a[i] * b[j] - a[j] * b[i]
