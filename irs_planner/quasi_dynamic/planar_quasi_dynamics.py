"""The convex quasi-dynamic contact model of a planar scene."""

from __future__ import annotations

import numpy as np

from contact_stack.core.errors import ModelError
from irs_planner.dynamics.dynamics import ContactDynamics, ContactForces, Jacobians
from irs_planner.quasi_dynamic import planar_kernels
from irs_planner.quasi_dynamic.spring_model import build_spring_model
from irs_planner.scenes.contacts import find_contacts
from irs_planner.scenes.scene import PlanarScene
from irs_planner.scenes.scene_arrays import build_scene_arrays, part_names

# A quasi-static object keeps this fraction of its inertia: the QP stays strictly convex.
QUASI_STATIC_INERTIA = 1e-6


class PlanarQuasiDynamics(ContactDynamics):
    """x = q = [q_u; q_a], u = commanded q_a (bundled_gradients, Sec. IV-A, reference [17])."""

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
        if not time_step > 0.0:
            raise ModelError(f"the time step must be positive, got {time_step}")
        self.scene = scene
        self.time_step = time_step
        self.arrays = build_scene_arrays(scene)
        self._parts = part_names(scene)
        inertia = np.array([[o.mass, o.mass, o.inertia] for o in scene.objects]).reshape(-1)
        gravity = np.array([*scene.gravity, 0.0])
        self.model = build_spring_model(
            time_step,
            inertia * (QUASI_STATIC_INERTIA if quasi_static else 1.0),
            inertia * np.tile(gravity, len(scene.objects)),
            np.array([link.stiffness for link in scene.links]),
        )

    @property
    def state_size(self) -> int:
        """The number of object states and robot joints."""
        return 3 * len(self.scene.objects) + len(self.scene.links)

    @property
    def input_size(self) -> int:
        """The number of robot joints."""
        return len(self.scene.links)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Object coordinates, then joints."""
        return self.scene.state_names

    @property
    def commanded_states(self) -> tuple[int, ...]:
        """The robot joints."""
        return tuple(range(3 * len(self.scene.objects), self.state_size))

    @property
    def object_states(self) -> tuple[int, ...]:
        """The coordinates of the objects."""
        return tuple(range(3 * len(self.scene.objects)))

    @property
    def link_names(self) -> tuple[str, ...]:
        """The robot links."""
        return tuple(link.name for link in self.scene.links)

    def step_batch(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Advance a batch by one step, see :meth:`Dynamics.step_batch`."""
        next_states = np.empty(states.shape)
        planar_kernels.step_batch(self.arrays, self.model, states, inputs, next_states)
        return next_states

    def jacobians(self, states: np.ndarray, inputs: np.ndarray) -> Jacobians:
        """Differentiate a batch exactly, see :meth:`Dynamics.jacobians`."""
        result = self._allocate(len(states))
        planar_kernels.jacobian_batch(self.arrays, self.model, states, inputs, *result)
        return result

    def barrier_jacobians(
        self, states: np.ndarray, inputs: np.ndarray, width: np.ndarray
    ) -> Jacobians:
        """Differentiate the log-barrier step, see :meth:`ContactDynamics.barrier_jacobians`.

        A spring K displaced by the width stores about as much energy as the barrier:
        w = mean(K width^2).
        """
        result = self._allocate(len(states))
        energy = float(np.mean(self.model.stiffness * width**2))
        planar_kernels.barrier_jacobian_batch(
            self.arrays, self.model, energy, float(np.mean(width)), states, inputs, *result
        )
        return result

    def penetration(self, state: np.ndarray) -> float:
        """Return the deepest penetration of a state [m], 0 if nothing overlaps.

        Args:
            state: (n) q.
        """
        pairs = len(self.arrays.pair)
        gap, direction = np.empty(pairs), np.empty((pairs, 2))
        normal, tangent = np.empty((2, pairs, self.state_size))
        find_contacts(self.arrays, state, gap, direction, normal, tangent)
        return float(max(0.0, -gap.min(initial=0.0)))

    def contact_forces(self, states: np.ndarray, inputs: np.ndarray) -> ContactForces:
        """Return the contact forces during a batch of steps.

        Args:
            states: (K, n) q.
            inputs: (K, m) u.
        """
        force = np.empty((len(states), len(self.arrays.pair), 2))
        planar_kernels.contact_force_batch(self.arrays, self.model, states, inputs, force)
        names = [self._parts[body] for body in self.arrays.shape_body]
        return ContactForces(tuple((names[a], names[b]) for a, b in self.arrays.pair), force)

    def _allocate(self, count: int) -> Jacobians:
        n, m = self.state_size, self.input_size
        return Jacobians(np.empty((count, n, n)), np.empty((count, n, m)))
