"""The same URDFs on Drake's discrete plant with its TAMSI solver."""

import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
from pydrake.geometry import (
    AddContactMaterial,
    CollisionFilterDeclaration,
    GeometrySet,
    ProximityProperties,
    RoleAssign,
)
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import (
    AddMultibodyPlant,
    CoulombFriction,
    MultibodyPlantConfig,
)
from pydrake.multibody.tree import BodyIndex
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder


class DrakeSimulation:
    """Instances of our scene in Drake, stepped under explicit generalised forces."""

    def __init__(self, instances, built, time_step, stiffness, dissipation, friction, may_touch):
        """Build the plant; positions and velocities are translated to our order."""
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(
            time_step=time_step,
            discrete_contact_approximation="tamsi",
            contact_model="point",
            stiction_tolerance=1e-4,
            use_sampled_output_ports=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.plant, self.graph = AddMultibodyPlant(config, builder)
        self.built, self.time_step = built, time_step
        for instance in instances:
            self._add(instance)
        self._set_materials(stiffness, dissipation, friction)
        self._filter(may_touch)
        self.plant.mutable_gravity_field().set_gravity_vector(
            max((i.gravity for i in instances), key=np.linalg.norm)
        )
        for instance in instances:
            index = self.plant.GetModelInstanceByName(instance.name)
            if not np.any(instance.gravity):
                self.plant.set_gravity_enabled(index, False)
        for name, dof in built.joints.items():
            armature = built.arrays.joints.armature[dof]
            if armature > 0.0:
                actuator = self.plant.AddJointActuator(
                    f"{name}_drive", self.plant.GetJointByName(name)
                )
                actuator.set_default_rotor_inertia(armature)
                actuator.set_default_gear_ratio(1.0)
        self.plant.Finalize()
        diagram = builder.Build()
        self.simulator = Simulator(diagram)
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        self.simulator.Initialize()
        self._steps = 0

    def _add(self, instance):
        root = ElementTree.fromstring(instance.urdf)
        root.set("name", instance.name)
        for joint in root.findall("joint"):
            for dynamics in joint.findall("dynamics"):
                joint.remove(dynamics)
            for limit in joint.findall("limit"):
                # Position limits are penalties in Drake; keep them out of the comparison.
                limit.set("lower", "-1e3")
                limit.set("upper", "1e3")
        text = ElementTree.tostring(root, encoding="unicode")
        Parser(self.plant).AddModelsFromString(text, "urdf")
        if not instance.free:
            index = self.plant.GetModelInstanceByName(instance.name)
            children = {child.get("link") for child in root.findall("joint/child")}
            base = next(
                x.get("name") for x in root.findall("link") if x.get("name") not in children
            )
            transform = RigidTransform(instance.placement.homogeneous)
            body = self.plant.GetBodyByName(base, index)
            self.plant.WeldFrames(self.plant.world_frame(), body.body_frame(), transform)

    def _geometries(self):
        for index in range(self.plant.num_bodies()):
            body = self.plant.get_body(BodyIndex(index))
            instance = self.plant.GetModelInstanceName(body.model_instance())
            for geometry in self.plant.GetCollisionGeometriesForBody(body):
                yield geometry, (instance, body.name())

    def _set_materials(self, stiffness, dissipation, friction):
        for geometry, _ in self._geometries():
            properties = ProximityProperties()
            # Two equal surfaces in series give the pair's stiffness.
            AddContactMaterial(
                dissipation=dissipation,
                point_stiffness=2.0 * stiffness,
                friction=CoulombFriction(friction, friction),
                properties=properties,
            )
            self.graph.AssignRole(
                self.plant.get_source_id(), geometry, properties, RoleAssign.kReplace
            )

    def _filter(self, may_touch):
        geometries = list(self._geometries())
        manager = self.graph.collision_filter_manager()
        for i, (a, link_a) in enumerate(geometries):
            for b, link_b in geometries[i + 1 :]:
                if not may_touch(link_a, link_b):
                    manager.Apply(
                        CollisionFilterDeclaration().ExcludeBetween(GeometrySet(a), GeometrySet(b))
                    )

    def set_state(self, q, v):
        """Set our positions and velocities."""
        positions = self.plant.GetPositions(self.context)
        velocities = self.plant.GetVelocities(self.context)
        for name, dof in self.built.joints.items():
            joint = self.plant.GetJointByName(name)
            positions[joint.position_start()] = q[self.built.arrays.joints.q[dof]]
            velocities[joint.velocity_start()] = v[dof]
        self.plant.SetPositions(self.context, positions)
        self.plant.SetVelocities(self.context, velocities)
        for body, iq, iv in self._free_bodies():
            x, y, z, w = q[iq + 3 : iq + 7]
            self.plant.SetPositions(
                self.context, body.model_instance(), [w, x, y, z, *q[iq : iq + 3]]
            )
            velocity = SpatialVelocity(v[iv + 3 : iv + 6], v[iv : iv + 3])
            self.plant.SetFreeBodySpatialVelocity(self.context, body, velocity)

    def state(self):
        """Return positions and velocities in our order."""
        q, v = np.zeros(len(self.built.q)), np.zeros(len(self.built.arrays.joints.q))
        positions = self.plant.GetPositions(self.context)
        velocities = self.plant.GetVelocities(self.context)
        for name, dof in self.built.joints.items():
            joint = self.plant.GetJointByName(name)
            q[self.built.arrays.joints.q[dof]] = positions[joint.position_start()]
            v[dof] = velocities[joint.velocity_start()]
        for body, iq, iv in self._free_bodies():
            w, x, y, z, *position = self.plant.GetPositions(self.context, body.model_instance())
            q[iq : iq + 7] = [*position, x, y, z, w]
            velocity = self.plant.EvalBodySpatialVelocityInWorld(self.context, body)
            v[iv : iv + 6] = [*velocity.translational(), *velocity.rotational()]
        return q, v

    def _free_bodies(self):
        for name, (iq, iv) in self.built.free_bodies.items():
            index = self.plant.GetModelInstanceByName(name)
            yield self.plant.get_body(self.plant.GetBodyIndices(index)[0]), iq, iv

    def step(self, force):
        """Advance by one step under our generalised force on the joints."""
        generalized = np.zeros(self.plant.num_velocities())
        for name, dof in self.built.joints.items():
            generalized[self.plant.GetJointByName(name).velocity_start()] = force[dof]
        self.plant.get_applied_generalized_force_input_port().FixValue(self.context, generalized)
        self._steps += 1
        self.simulator.AdvanceTo(self._steps * self.time_step)
