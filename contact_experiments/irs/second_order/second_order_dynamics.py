"""A planar scene with momentum and compliant contact, simulated in small steps by TAMSI."""

from __future__ import annotations

import threading

import numpy as np

from contact_core.errors import ModelError
from contact_core.scene import Instance
from contact_core.surface import Surface
from contact_experiments.irs.second_order.planar_urdf import (
    fixture_urdfs,
    joint_name,
    object_urdfs,
    robot_urdfs,
)
from irs_planner.dynamics.dynamics import Dynamics, Jacobians
from irs_planner.scenes import load_scene
from irs_planner.scenes.scene import PlanarScene
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import BuiltModel, build_model

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
        self._thread = threading.local()

    def __reduce__(self) -> tuple[object, ...]:
        """Engines stay where they are: a copy builds its own."""
        return _rebuild, (self.scene, self.time_step, self.simulation_step)

    @property
    def state_size(self) -> int:
        """Twice the number of coordinates."""
        return 2 * len(self._dofs)

    @property
    def input_size(self) -> int:
        """The number of robot joints."""
        return len(self._links)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Coordinates, then their velocities."""
        names = self.scene.state_names
        return (*names, *(f"{name}/velocity" for name in names))

    @property
    def commanded_states(self) -> tuple[int, ...]:
        """The robot joints."""
        count = len(self._dofs)
        return tuple(range(count - self.input_size, count))

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
            engine = Engine(self._built, self.simulation_step)
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
