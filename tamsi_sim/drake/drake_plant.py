"""A built model as a Drake plant."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from pydrake.geometry import (
    AddContactMaterial,
    Box,
    Capsule,
    CollisionFilterDeclaration,
    Convex,
    Cylinder,
    GeometryId,
    GeometrySet,
    HalfSpace,
    ProximityProperties,
    Sphere,
)
from pydrake.geometry import Shape as DrakeShape
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import (
    FixedOffsetFrame,
    Joint,
    JointActuator,
    PrismaticJoint,
    PrismaticSpring,
    RevoluteJoint,
    RevoluteSpring,
    RigidBody,
    RotationalInertia,
    SpatialInertia,
)
from pydrake.systems.framework import Context, DiagramBuilder

from contact_core.base.errors import ModelError
from contact_core.multibody.collision.shapes import Shape, ShapeKind
from contact_core.multibody.rigid_body.joints import FREE, REVOLUTE
from contact_core.robot.surface import Surface
from tamsi_sim.simulation.model import BuiltModel

WEIGHTLESS = "weightless"
HEAVY = "heavy"
FLAT = (ShapeKind.BOX, ShapeKind.CYLINDER, ShapeKind.HALF_SPACE, ShapeKind.MESH)
POINT = 1e-4
"""Radius of the ball at a corner [m]."""
RIM_POINTS = 8


class DrakePlant:
    """Bodies, joints and shapes of a built model in Drake, with point contact.

    Drake's generalised velocity is ``velocity_map @ v``; a mimic joint is a joint of its own
    there, held by a constraint.

    Attributes:
        plant: The finalised MultibodyPlant; part of the builder's diagram.
        graph: Its scene graph.
        joints: Degree of freedom of a joint -> Drake's joint; mimic joints excluded.
        actuators: Degree of freedom of a joint -> Drake's actuator, which has its armature.
        shape_of: Drake's geometry -> our shape.
        velocity_map: (Drake's nv, nv) Drake's velocity per ours.
    """

    def __init__(
        self,
        builder: DiagramBuilder,
        built: BuiltModel,
        surface_of: Callable[[str, str], Surface],
        time_step: float,
        approximation: str = "sap",
        stiction_velocity: float = 1e-4,
        stiffness: np.ndarray | None = None,
        damping: np.ndarray | None = None,
        sampled_outputs: bool = False,
        corners: bool = False,
    ) -> None:
        """Build the plant, with springs and dampers in the joints if asked for.

        The law of a joint is that of the engine's position controller with target zero, of
        constant damping and without effort limit: ``-K (q0 + h v) - D v``, v implicit.

        Args:
            builder: The diagram that plant and scene graph are added to.
            built: The model.
            surface_of: (instance, link) -> its surface, as the model was built with.
            time_step: h [s].
            approximation: Drake's contact approximation: "tamsi", "sap", "lagged" or "similar".
            stiction_velocity: v_s [m/s]; "sap" has none.
            stiffness: (nv) K of the joints [Nm/rad or N/m].
            damping: (nv) D of the joints, on top of the model's [Nm s/rad or N s/m].
            sampled_outputs: Whether contact results are kept from the last step.
            corners: Whether free bodies touch flat faces with every corner, too. Drake has one
                point where faces meet, about which a body that stands would spin for ever.

        Raises:
            ModelError: If Drake cannot simulate the model.
        """
        self.built = built
        nv = len(built.arrays.joints.q)
        self._stiffness = np.zeros(nv) if stiffness is None else stiffness
        extra = np.zeros(nv) if damping is None else damping
        self._damping = built.arrays.joints.damping + extra + time_step * self._stiffness
        self._armature = built.arrays.joints.armature.copy()
        if approximation == "tamsi":
            # It takes the damping of v0; with this inertia on top that is the damping of v:
            # (M + h D) (v - v0) = h (tau - D v0).
            self._armature += time_step * self._damping
        config = MultibodyPlantConfig(
            time_step=time_step,
            discrete_contact_approximation=approximation,
            contact_model="point",
            stiction_tolerance=stiction_velocity,
            use_sampled_output_ports=sampled_outputs,
        )
        with warnings.catch_warnings():
            # Drake has announced that it will remove "tamsi".
            warnings.simplefilter("ignore")
            self.plant, self.graph = AddMultibodyPlant(config, builder)
        if np.any(built.arrays.joints.friction):
            joints = [
                n for n, dof in built.joints.items() if built.arrays.joints.friction[dof] > 0.0
            ]
            raise ModelError(f"Drake has no friction in joints, but these have: {joints}")
        if built.ball_joints:
            raise ModelError(f"Drake gets no ball joints from us: {list(built.ball_joints)}")
        if built.tendons:
            raise ModelError(f"Drake gets no tendons from us: {list(built.tendons)}")
        self._set_gravity()
        self.joints: dict[int, Joint] = {}
        self.actuators: dict[int, JointActuator] = {}
        self._mimics: list[tuple[Joint, int, int]] = []
        self._bodies: list[RigidBody] = []
        for body in range(len(built.arrays.bodies.parent)):
            self._add_body(body)
        self.shape_of: dict[GeometryId, int] = {}
        corner_of: dict[GeometryId, int] = {}
        for shape in range(len(built.shapes)):
            self.shape_of[self._add_shape(shape, surface_of)] = shape
            if corners:
                corner_of |= dict.fromkeys(self._add_corners(shape, surface_of), shape)
        self._filter_pairs(corner_of)
        self.shape_of |= corner_of
        self.plant.Finalize()
        self.velocity_map = self._velocity_map()

    def _set_gravity(self) -> None:
        gravity = self.built.arrays.inertias.gravity
        heavy = gravity[np.any(gravity != 0.0, axis=1)]
        common = heavy[0] if len(heavy) else np.zeros(3)
        if np.any(heavy != common):
            raise ModelError("Drake needs the same gravity for all bodies, or none")
        self.plant.mutable_gravity_field().set_gravity_vector(common)
        self.plant.AddModelInstance(HEAVY)
        self.plant.set_gravity_enabled(self.plant.AddModelInstance(WEIGHTLESS), False)

    def _add_body(self, body: int) -> None:
        arrays, plant = self.built.arrays, self.plant
        weight = HEAVY if np.any(arrays.inertias.gravity[body]) else WEIGHTLESS
        instance = plant.GetModelInstanceByName(weight)
        inertia = SpatialInertia.MakeFromCentralInertia(
            arrays.inertias.mass[body],
            arrays.inertias.center[body],
            _rotational(arrays.inertias.inertia[body]),
        )
        added = plant.AddRigidBody(f"body_{body}", instance, inertia)
        self._bodies.append(added)
        if arrays.bodies.joint_type[body] == FREE:
            return
        parent = arrays.bodies.parent[body]
        parent_body = self._bodies[parent] if parent >= 0 else plant.world_body()
        placement = _transform(
            arrays.bodies.joint_rotation[body], arrays.bodies.joint_position[body]
        )
        frame = plant.AddFrame(
            FixedOffsetFrame(f"joint_{body}", parent_body.body_frame(), placement, instance)
        )
        self._add_joint(body, frame, added)

    def _add_joint(self, body: int, frame: FixedOffsetFrame, added: RigidBody) -> None:
        arrays, plant = self.built.arrays, self.plant
        dof = int(arrays.bodies.column_dof[arrays.bodies.first_column[body]])
        revolute = arrays.bodies.joint_type[body] == REVOLUTE
        kind = RevoluteJoint if revolute else PrismaticJoint
        name, axis = f"joint_{body}", arrays.bodies.joint_axis[body]
        if dof in self.joints:
            joint = plant.AddJoint(kind(name, frame, added.body_frame(), axis))
            ratio, offset = arrays.bodies.joint_ratio[body], arrays.bodies.joint_offset[body]
            plant.AddCouplerConstraint(joint, self.joints[dof], ratio, offset)
            self._mimics.append((joint, body, dof))
            return
        limits = {
            "pos_lower_limit": arrays.joints.lower[dof],
            "pos_upper_limit": arrays.joints.upper[dof],
        }
        joint = plant.AddJoint(
            kind(name, frame, added.body_frame(), axis, **limits, damping=self._damping[dof])
        )
        self.joints[dof] = joint
        actuator = self.actuators[dof] = plant.AddJointActuator(name, joint)
        actuator.set_default_rotor_inertia(self._armature[dof])
        actuator.set_default_gear_ratio(1.0)
        if self._stiffness[dof] > 0.0:
            spring = RevoluteSpring if revolute else PrismaticSpring
            plant.AddForceElement(spring(joint, 0.0, self._stiffness[dof]))

    def _add_shape(self, shape: int, surface_of: Callable[[str, str], Surface]) -> GeometryId:
        arrays, placed = self.built.arrays.geometry, self.built.shapes[shape]
        placement = _transform(arrays.rotation[shape], arrays.position[shape])
        return self._register(shape, _shape(placed.shape), placement, f"shape_{shape}", surface_of)

    def _add_corners(
        self, shape: int, surface_of: Callable[[str, str], Surface]
    ) -> list[GeometryId]:
        """Add a ball as small as a point at every corner of a free body's shape."""
        arrays, body = self.built.arrays, self.built.arrays.geometry.body[shape]
        if body < 0 or arrays.bodies.joint_type[body] != FREE:
            return []
        rotation, position = arrays.geometry.rotation[shape], arrays.geometry.position[shape]
        return [
            self._register(
                shape,
                Sphere(POINT),
                _transform(rotation, position + rotation @ corner),
                f"corner_{shape}_{k}",
                surface_of,
            )
            for k, corner in enumerate(_corners(self.built.shapes[shape].shape))
        ]

    def _register(
        self,
        shape: int,
        geometry: DrakeShape,
        placement: RigidTransform,
        name: str,
        surface_of: Callable[[str, str], Surface],
    ) -> GeometryId:
        surface = surface_of(self.built.instances[shape], self.built.shapes[shape].body)
        properties = ProximityProperties()
        AddContactMaterial(
            dissipation=surface.dissipation,
            point_stiffness=surface.stiffness,
            friction=CoulombFriction(surface.friction, surface.friction),
            properties=properties,
        )
        body = self.built.arrays.geometry.body[shape]
        return self.plant.RegisterCollisionGeometry(
            self._bodies[body] if body >= 0 else self.plant.world_body(),
            placement,
            geometry,
            name,
            properties,
        )

    def _filter_pairs(self, corner_of: dict[GeometryId, int]) -> None:
        """Let collide what the model lets collide, and nothing else; corners with flat faces."""
        geometries = list(self.shape_of)
        allowed = {frozenset(map(int, pair)) for pair in self.built.pairs}
        manager = self.graph.collision_filter_manager()

        def exclude(one: GeometryId, others: list[GeometryId]) -> None:
            excluded = CollisionFilterDeclaration().ExcludeBetween(
                GeometrySet(one), GeometrySet(others)
            )
            manager.Apply(excluded)

        for a, geometry in enumerate(geometries):
            exclude(
                geometry,
                [
                    geometries[b]
                    for b in range(a + 1, len(geometries))
                    if frozenset((a, b)) not in allowed
                ],
            )
        flat = [placed.shape.kind in FLAT for placed in self.built.shapes]
        for corner, a in corner_of.items():
            exclude(
                corner,
                [
                    other
                    for other, b in self.shape_of.items()
                    if not flat[b] or frozenset((a, b)) not in allowed
                ],
            )
        manager.Apply(CollisionFilterDeclaration().ExcludeWithin(GeometrySet(list(corner_of))))

    def _velocity_map(self) -> np.ndarray:
        mapping = np.zeros((self.plant.num_velocities(), len(self.built.arrays.joints.q)))
        for dof, joint in self.joints.items():
            mapping[joint.velocity_start(), dof] = 1.0
        for joint, body, dof in self._mimics:
            mapping[joint.velocity_start(), dof] = self.built.arrays.bodies.joint_ratio[body]
        for floating, _, dof in self._free_bodies():
            first = floating.floating_velocities_start_in_v()
            for k in range(3):
                # Drake lists the angular velocity first.
                mapping[first + k, dof + 3 + k] = 1.0
                mapping[first + 3 + k, dof + k] = 1.0
        return mapping

    def _free_bodies(self) -> Iterator[tuple[RigidBody, int, int]]:
        """Yield Drake's body, first entry of q, first degree of freedom."""
        arrays = self.built.arrays
        for body in np.flatnonzero(arrays.bodies.joint_type == FREE):
            dof = arrays.bodies.column_dof[arrays.bodies.first_column[body]]
            yield self._bodies[body], int(arrays.bodies.q_index[body]), int(dof)

    def set_state(self, context: Context, q: np.ndarray, v: np.ndarray) -> None:
        """Put the plant into a state of ours.

        Args:
            context: The plant's context.
            q: (nq) positions.
            v: (nv) velocities.
        """
        arrays = self.built.arrays
        positions = self.plant.GetPositions(context)
        for dof, joint in self.joints.items():
            positions[joint.position_start()] = q[arrays.joints.q[dof]]
        for joint, body, dof in self._mimics:
            master = q[arrays.joints.q[dof]]
            follower = arrays.bodies.joint_ratio[body] * master + arrays.bodies.joint_offset[body]
            positions[joint.position_start()] = follower
        for floating, iq, _ in self._free_bodies():
            first = floating.floating_positions_start()
            x, y, z, w = q[iq + 3 : iq + 7]
            positions[first : first + 7] = [w, x, y, z, *q[iq : iq + 3]]
        self.plant.SetPositions(context, positions)
        self.plant.SetVelocities(context, self.velocity_map @ v)

    def state(self, context: Context) -> tuple[np.ndarray, np.ndarray]:
        """Return the plant's state as ours.

        Args:
            context: The plant's context.

        Returns:
            (nq) positions, (nv) velocities.
        """
        arrays = self.built.arrays
        positions = self.plant.GetPositions(context)
        velocities = self.plant.GetVelocities(context)
        q, v = np.zeros(len(self.built.q)), np.zeros(len(arrays.joints.q))
        for dof, joint in self.joints.items():
            q[arrays.joints.q[dof]] = positions[joint.position_start()]
            v[dof] = velocities[joint.velocity_start()]
        for floating, iq, dof in self._free_bodies():
            first = floating.floating_positions_start()
            # Drake lets the quaternion's norm drift.
            w, x, y, z = positions[first : first + 4] / np.linalg.norm(positions[first : first + 4])
            q[iq : iq + 7] = [*positions[first + 4 : first + 7], x, y, z, w]
            first = floating.floating_velocities_start_in_v()
            v[dof : dof + 3] = velocities[first + 3 : first + 6]
            v[dof + 3 : dof + 6] = velocities[first : first + 3]
        return q, v

    def generalized_force(self, force: np.ndarray) -> np.ndarray:
        """Turn generalised forces of ours into Drake's; a mimic joint's acts on its master.

        Args:
            force: (..., nv) [Nm or N].

        Returns:
            (..., Drake's nv) the same forces.
        """
        selection = self.velocity_map.copy()
        for joint, _, _ in self._mimics:
            selection[joint.velocity_start()] = 0.0
        return np.asarray(force @ selection.T)

    def set_damping(self, context: Context, dof: int, damping: float) -> None:
        """Set the damping of a joint, by degree of freedom [Nm s/rad or N s/m]."""
        value: Any = np.array([damping])
        self.joints[dof].SetDampingVector(context, value)

    def mass_diagonal(self, context: Context) -> np.ndarray:
        """Return the diagonal (nv) of our mass matrix, armature included [kg m^2 or kg]."""
        matrix = self.plant.CalcMassMatrix(context)
        return np.einsum("ij,ij->j", self.velocity_map, matrix @ self.velocity_map)

    def contact_force(self, context: Context) -> np.ndarray:
        """Return (nv) the generalised force J^T f of the contacts of the last step [Nm or N]."""
        force = np.zeros(self.plant.num_velocities())
        for name in (HEAVY, WEIGHTLESS):
            instance = self.plant.GetModelInstanceByName(name)
            port = self.plant.get_generalized_contact_forces_output_port(instance)
            self.plant.SetVelocitiesInArray(instance, port.Eval(context), force)
        return self.velocity_map.T @ force


def _rotational(inertia: np.ndarray) -> RotationalInertia:
    (ixx, ixy, ixz), (_, iyy, iyz), (_, _, izz) = inertia
    return RotationalInertia(ixx, iyy, izz, ixy, ixz, iyz)


def _transform(rotation: np.ndarray, position: np.ndarray) -> RigidTransform:
    # Drake's stubs want an array type of their own, which no array is to mypy.
    matrix: Any = rotation
    origin: Any = position
    return RigidTransform(RotationMatrix.ProjectToRotationMatrix(matrix), origin)


def _shape(shape: Shape) -> DrakeShape:
    a, b, c = shape.size
    match shape.kind:
        case ShapeKind.SPHERE:
            return Sphere(a)
        case ShapeKind.BOX:
            return Box(2 * a, 2 * b, 2 * c)
        case ShapeKind.CAPSULE:
            return Capsule(a, 2 * b)
        case ShapeKind.CYLINDER:
            return Cylinder(a, 2 * b)
        case ShapeKind.HALF_SPACE:
            return HalfSpace()
    assert shape.mesh is not None
    corners: Any = shape.mesh.vertices.T
    return Convex(corners, "mesh")


def _corners(shape: Shape) -> np.ndarray:
    """Return (K, 3) the corners of a shape, or points on the rims of a cylinder [m]."""
    size = np.array(shape.size)
    if shape.kind is ShapeKind.BOX:
        return size * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    if shape.kind is ShapeKind.CYLINDER:
        turns = np.arange(RIM_POINTS) * 2.0 * np.pi / RIM_POINTS
        rim = np.stack([np.cos(turns), np.sin(turns), np.ones(RIM_POINTS)], axis=1)
        return np.concatenate([size[[0, 0, 1]] * rim, size[[0, 0, 1]] * rim * [1.0, 1.0, -1.0]])
    if shape.kind is ShapeKind.MESH:
        assert shape.mesh is not None
        return np.asarray(shape.mesh.vertices)
    return np.empty((0, 3))
