"""Second-order dynamics with compliant contact (bundled_gradients, Sec. VI-E), by tamsi_sim."""

from __future__ import annotations

import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable

import numpy as np

from contact_core.base.errors import ModelError
from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from irs_planner.dynamics import Dynamics, Jacobians
from irs_planner.scenes import load_scene
from irs_planner.scenes.planar_arrays import compose
from irs_planner.scenes.planar_scene import (
    Box,
    Circle,
    HalfPlane,
    PlanarLink,
    PlanarRobot,
    PlanarScene,
    Polygon,
    Shape,
)
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import BuiltModel, build_model

AXES = {"revolute": "1 0 0", "prismatic_y": "0 1 0", "prismatic_z": "0 0 1"}
TYPES = {"revolute": "revolute", "prismatic_y": "prismatic", "prismatic_z": "prismatic"}
OBJECT_JOINTS = (("y", "prismatic_y"), ("z", "prismatic_z"), ("angle", "revolute"))

CARRIER_MASS = 1e-6
"""Mass [kg] and inertia [kg m^2] of the bodies between the joints of an object."""
DEPTH = 1.0
"""Extent of boxes across the plane [m]."""
GROUND = 10.0
"""Extent of the box that stands for a half plane [m]."""


def object_urdfs(scene: PlanarScene) -> dict[str, str]:
    """Return name -> URDF of every object; its joints are named as its states."""
    urdfs = {}
    for item in scene.objects:
        robot = _robot(item.name)
        parent = f"{item.name}/base"
        for axis, joint in OBJECT_JOINTS:
            child = item.name if axis == "angle" else f"{item.name}/{axis}_carrier"
            mass, inertia = (item.mass, item.inertia) if axis == "angle" else (CARRIER_MASS,) * 2
            _add_link(robot, child, mass, inertia, item.shapes if axis == "angle" else ())
            _add_joint(robot, f"{item.name}/{axis}", joint, parent, child, (0.0, 0.0, 0.0))
            parent = child
        urdfs[item.name] = ElementTree.tostring(robot, encoding="unicode")
    return urdfs


def joint_name(link: PlanarLink) -> str:
    """Return the name of the joint that moves a link."""
    return f"{link.name}_joint"


def robot_urdfs(scene: PlanarScene, mass: float, inertia: float) -> dict[str, str]:
    """Return name -> URDF of every robot.

    Args:
        scene: The scene, whose links have no mass.
        mass: Of every link [kg].
        inertia: Of every link, about its frame [kg m^2].
    """
    return {robot.name: _robot_urdf(robot, mass, inertia) for robot in scene.robots}


def fixture_urdfs(scene: PlanarScene) -> dict[str, str]:
    """Return name -> URDF of everything that never moves."""
    urdfs = {}
    for fixture in scene.fixtures:
        robot = _robot(fixture.name)
        root = robot.find("link")
        assert root is not None
        for i, shape in enumerate(fixture.shapes):
            _add_shape(root, f"{fixture.name}_{i}", shape)
        urdfs[fixture.name] = ElementTree.tostring(robot, encoding="unicode")
    return urdfs


def _robot_urdf(planar: PlanarRobot, mass: float, inertia: float) -> str:
    robot, base = _robot(planar.name), f"{planar.name}/base"
    root = robot.find("link")
    assert root is not None
    for i, shape in enumerate(planar.base_shapes):
        _add_shape(root, f"{planar.name}_base_{i}", shape, planar.base)
    for link in planar.links:
        _add_link(robot, link.name, mass, inertia, link.shapes)
        origin = link.origin if link.parent else compose(planar.base, link.origin)
        _add_joint(robot, joint_name(link), link.joint, link.parent or base, link.name, origin)
    return ElementTree.tostring(robot, encoding="unicode")


def _robot(name: str) -> ElementTree.Element:
    robot = ElementTree.Element("robot", name=name)
    ElementTree.SubElement(robot, "link", name=f"{name}/base")
    return robot


def _add_link(
    robot: ElementTree.Element, name: str, mass: float, inertia: float, shapes: Iterable[Shape]
) -> None:
    link = ElementTree.SubElement(robot, "link", name=name)
    inertial = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(inertial, "mass", value=str(mass))
    isotropic = {"ixx": inertia, "iyy": inertia, "izz": inertia, "ixy": 0, "ixz": 0, "iyz": 0}
    ElementTree.SubElement(inertial, "inertia", {k: str(v) for k, v in isotropic.items()})
    for i, shape in enumerate(shapes):
        _add_shape(link, f"{name}_{i}", shape)


def _add_shape(
    link: ElementTree.Element, name: str, shape: Shape, frame: tuple[float, ...] = (0.0, 0.0, 0.0)
) -> None:
    collision = ElementTree.SubElement(link, "collision", name=name)
    match shape:
        case Circle():
            pose, kind, size = (*shape.center, 0.0), "sphere", {"radius": str(shape.radius)}
        case Box():
            pose = (*shape.center, shape.angle)
            kind, size = "box", {"size": f"{DEPTH} {shape.size[0]} {shape.size[1]}"}
        case Polygon():
            raise ModelError("polygons have no second-order model (valid: circle, box, half plane)")
        case HalfPlane():
            normal = np.array(shape.normal) / np.linalg.norm(shape.normal)
            center = np.array(shape.point) - 0.5 * GROUND * normal
            pose = (*center, float(np.arctan2(-normal[0], normal[1])))
            kind, size = "box", {"size": f"{GROUND} {GROUND} {GROUND}"}
    y, z, angle = compose(frame, pose)
    ElementTree.SubElement(collision, "origin", xyz=f"0 {y} {z}", rpy=f"{angle} 0 0")
    ElementTree.SubElement(ElementTree.SubElement(collision, "geometry"), kind, size)


def _add_joint(
    robot: ElementTree.Element,
    name: str,
    joint: str,
    parent: str,
    child: str,
    origin: tuple[float, ...],
) -> None:
    element = ElementTree.SubElement(robot, "joint", name=name, type=TYPES[joint])
    ElementTree.SubElement(element, "parent", link=parent)
    ElementTree.SubElement(element, "child", link=child)
    y, z, angle = origin
    ElementTree.SubElement(element, "origin", xyz=f"0 {y} {z}", rpy=f"{angle} 0 0")
    ElementTree.SubElement(element, "axis", xyz=AXES[joint])
    unlimited = {"lower": "-1e300", "upper": "1e300", "effort": "0", "velocity": "0"}
    ElementTree.SubElement(element, "limit", unlimited)


DAMPING = 0.2
"""Damping of the position controllers relative to their stiffness [s]: kd = 0.2 kp."""
LINK_MASS, LINK_INERTIA = 1.0, 0.01
"""Of every robot link [kg], [kg m^2]; planar scenes state none."""
STIFFNESS, DISSIPATION = 2e4, 5.0
"""Of every surface [N/m], [s/m]."""


def second_order(scene: str, time_step: float) -> SecondOrderDynamics:
    """Build the contact model ``second_order`` of the planner.

    Args:
        scene: Name of a planar scene, or the path of one.
        time_step: h, between two inputs [s].

    Raises:
        ConfigError: If there is no such planar scene.
    """
    return SecondOrderDynamics(load_scene(scene), time_step)


class SecondOrderDynamics(Dynamics):
    """x = [q; v] with q = [q_u; q_a] of the quasi-dynamic model, u = commanded q_a.

    One step of planning holds u for many small steps of the simulator, as
    bundled_gradients, Sec. VI-E does with its penalty method.
    """

    def __init__(
        self, scene: PlanarScene, time_step: float = 0.1, *, simulation_step: float = 1e-3
    ) -> None:
        """Build the model of a scene.

        Args:
            scene: Objects, robots and fixtures; circles become spheres.
            time_step: h, between two inputs [s].
            simulation_step: Step of the simulator [s].

        Raises:
            ModelError: If the time step is not a positive multiple of the simulator's.
        """
        self.substeps = round(time_step / simulation_step)
        if self.substeps < 1 or abs(self.substeps * simulation_step - time_step) > 1e-9:
            raise ModelError(
                f"the time step must be a positive multiple of {simulation_step}, got {time_step}"
            )
        self.scene = scene
        self.time_step = time_step
        self.simulation_step = simulation_step
        self._built = _build(scene)
        joints = scene.state_names[: -len(scene.links)]
        joints += tuple(joint_name(link) for link in scene.links)
        self._dofs = np.array([self._built.joints[name] for name in joints])
        self._links = self._dofs[-len(scene.links) :]
        names, count = scene.state_names, len(self._dofs)
        self.state_names = (*names, *(f"{name}/velocity" for name in names))
        self.input_size = len(self._links)
        self.commanded_states = tuple(range(count - self.input_size, count))
        self._thread = threading.local()

    def __reduce__(self) -> tuple[object, ...]:
        """Engines stay where they are: a copy builds its own."""
        return _rebuild, (self.scene, self.time_step, self.simulation_step)

    def step_batch(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Advance a batch by one step, see :meth:`Dynamics.step_batch`."""
        engine, next_states = self._engine(), np.full(states.shape, np.nan)
        for state, control, reached in zip(states, inputs, next_states, strict=True):
            self._prepare(engine, state, control)
            if engine.step(self.substeps) == StepStatus.OK:
                reached[:] = np.concatenate((engine.q[self._dofs], engine.v[self._dofs]))
        return next_states

    def jacobians(self, states: np.ndarray, inputs: np.ndarray) -> Jacobians:
        """Differentiate a batch exactly, see :meth:`Dynamics.jacobians`."""
        engine, count = self._engine(), len(self._built.joints)
        kept = np.concatenate((self._dofs, count + self._dofs))
        result = Jacobians(
            np.empty((len(states), self.state_size, self.state_size)),
            np.empty((len(states), self.state_size, self.input_size)),
        )
        for i, (state, control) in enumerate(zip(states, inputs, strict=True)):
            self._prepare(engine, state, control)
            found = engine.linearize(self.substeps)
            result.state[i] = found.A[np.ix_(kept, kept)]
            result.input[i] = found.B_target[np.ix_(kept, self._links)]
        return result

    def _engine(self) -> Engine:
        """Return the engine of this thread."""
        if not hasattr(self._thread, "engine"):
            # A state of the problem has no shear of contacts.
            law = SolverConfig(friction_law="linear")
            engine = Engine(self._built, self.simulation_step, law)
            stiffness = np.array([link.stiffness for link in self.scene.links])
            engine.work.drives.stiffness[self._links] = stiffness
            engine.work.drives.damping[self._links] = DAMPING * stiffness
            self._thread.engine = engine
        engine = self._thread.engine
        assert isinstance(engine, Engine)
        return engine

    def _prepare(self, engine: Engine, state: np.ndarray, control: np.ndarray) -> None:
        engine.q[self._dofs], engine.v[self._dofs] = np.split(state, 2)
        engine.work.drives.target[self._links] = control


def _rebuild(scene: PlanarScene, time_step: float, simulation_step: float) -> SecondOrderDynamics:
    return SecondOrderDynamics(scene, time_step, simulation_step=simulation_step)


def _build(scene: PlanarScene) -> BuiltModel:
    """Build the simulator's model; links of one robot do not touch each other."""
    gravity = (0.0, scene.gravity[0], scene.gravity[1])
    objects = object_urdfs(scene)
    robots = robot_urdfs(scene, LINK_MASS, LINK_INERTIA)
    instances = [Instance(name, urdf, gravity=gravity) for name, urdf in objects.items()]
    instances += [Instance(name, urdf) for name, urdf in robots.items()]
    fixtures = fixture_urdfs(scene)
    instances += [Instance(name, urdf) for name, urdf in fixtures.items()]
    friction = {item.name: item.friction for item in scene.objects}
    friction |= {robot.name: robot.friction for robot in scene.robots}
    friction |= {fixture.name: fixture.friction for fixture in scene.fixtures}

    def surface_of(instance: str, link: str) -> Surface:
        return Surface(STIFFNESS, DISSIPATION, friction[instance])

    def may_touch(a: tuple[str, str], b: tuple[str, str]) -> bool:
        return a[0] != b[0]

    return build_model(instances, surface_of, may_touch)
