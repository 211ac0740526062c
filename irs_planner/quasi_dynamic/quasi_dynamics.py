"""The convex quasi-dynamic contact model, whatever the geometry of the scene."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from functools import cached_property

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError
from irs_planner.dynamics import ContactDynamics, Jacobians, PairForces
from irs_planner.quasi_dynamic import batch_kernels
from irs_planner.quasi_dynamic.batch_kernels import StepBatch
from irs_planner.quasi_dynamic.contact_step import (
    ContactFrames,
    ContactRows,
    PairCones,
    SpringModel,
    allocate_rows,
    cones_at,
    polyhedral_rows,
)

# A quasi-static object keeps this fraction of its inertia: the QP stays strictly convex.
QUASI_STATIC_INERTIA = 1e-6


class QuasiDynamics(ContactDynamics):
    """q = [q_u; q_a], u = commanded q_a (bundled_gradients, Sec. IV-A, reference [17]).

    The state is x = [q; y]: outputs y(q), where a tool is for instance, let costs and bounds
    speak of them. A subclass says where things are and how heavy; what contact does to them
    is said here.

    Attributes:
        coordinates: The number n_q of object coordinates and robot joints.
        joint_names: (n_a) names of the robot joints.
        contact_links: Robot links that are meant to touch; the others keep away.
        object_names: (O) names of the objects.
        object_radii: (O) how far each reaches from its centre of mass [m].
        position_limits: (2, n_a) lower and upper joint positions [m, rad], infinite where the
            scene knows none.
        pair_names: (P) names of the two parts of every contact pair; "" for anything fixed.
        part_names: (P) likewise, with the names that fixed things have.
        body_pairs: (P) the same for all pairs of points between two bodies, fixed ones too.
        time_step: h [s].
        load: (n_u) forces at the centres of mass and torques on the objects [N, Nm].
        stiffness: (n_a) K [N/m, Nm/rad].
        friction: (P) mu of every contact pair.
        felt: From how many widths away a shared barrier is felt.
    """

    joint_names: tuple[str, ...]
    contact_links: tuple[str, ...]
    object_names: tuple[str, ...]
    object_radii: np.ndarray
    position_limits: np.ndarray
    pair_names: tuple[tuple[str, str], ...]
    part_names: tuple[tuple[str, str], ...]
    body_pairs: tuple[frozenset[str], ...]
    felt = np.inf

    def __init__(
        self,
        time_step: float,
        load: np.ndarray,
        stiffness: np.ndarray,
        friction: np.ndarray,
        edges: np.ndarray,
    ) -> None:
        """Keep what does not depend on the state.

        Args:
            time_step: h [s].
            load: (n_u) forces at the centres of mass and torques on the objects, gravity for
                instance [N, Nm].
            stiffness: (n_a) K [N/m, Nm/rad].
            friction: (P) mu of every contact pair.
            edges: (R, D - 1) edge directions of every friction cone.

        Raises:
            ModelError: If the time step is not positive.
        """
        if not time_step > 0.0:
            raise ModelError(f"the time step must be positive, got {time_step}")
        self.time_step = time_step
        self.load = load
        self.stiffness = stiffness
        self.friction = friction
        self.input_size, self.coordinates = len(stiffness), len(load) + len(stiffness)
        self.object_states = tuple(range(len(load)))
        self.commanded_states = tuple(range(len(load), self.coordinates))
        self._edges = edges
        # What was asked for last is often asked for again: step, derivatives, distances.
        self._frames: tuple[np.ndarray, ContactFrames] | None = None
        self._batch: tuple[np.ndarray, StepBatch] | None = None

    @property
    def object_size(self) -> int:
        """Number of coordinates of an object, its position first."""
        return len(self.load) // len(self.object_names)

    @property
    def dimension(self) -> int:
        """Of space, so of an object's position: 2 or 3."""
        return (self.object_size + 1) // 2

    @abstractmethod
    def contact_frames(self, coordinates: np.ndarray) -> ContactFrames:
        """Return the contact geometry at some coordinates.

        Args:
            coordinates: (K, n_q) q.
        """

    @abstractmethod
    def inertia(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the inertia of the objects at some coordinates.

        Args:
            coordinates: (K, n_q) q.

        Returns:
            (K, n_u, n_u) M_u, momentum per rate of every coordinate.
        """

    def loads(self, coordinates: np.ndarray) -> np.ndarray:
        """Return what acts on the coordinates of the objects at some coordinates.

        Args:
            coordinates: (K, n_q) q.

        Returns:
            (K, n_u) tau_u [N, Nm].
        """
        return np.repeat(self.load[np.newaxis], len(coordinates), axis=0)

    def centers(self, state: np.ndarray) -> np.ndarray:
        """Return where the centres of mass of the objects are, (O, D) [m].

        Args:
            state: (n) x.
        """
        placed = state[: len(self.load)].reshape(-1, self.object_size)
        return np.asarray(placed[:, : self.dimension])

    @abstractmethod
    def outputs(self, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs at some coordinates.

        Args:
            coordinates: (K, n_q) q.

        Returns:
            (K, p) y and (K, p, n_q) dy/dq; p may be 0.
        """

    @abstractmethod
    def object_poses(self, state: np.ndarray) -> dict[str, pin.SE3]:
        """Return the poses of the objects' own frames in the world.

        Args:
            state: (n) x.
        """

    def step_batch(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Advance a batch by one step, see :meth:`Dynamics.step_batch`."""
        q = self._coordinates(states)
        next_q = np.empty(q.shape)
        batch_kernels.step_batch(self._prepare(q), q, inputs, next_q)
        return self.complete(next_q)

    def jacobians(self, states: np.ndarray, inputs: np.ndarray) -> Jacobians:
        """Differentiate a batch, see :meth:`Dynamics.jacobians`.

        B is exact. A has the directions of contacts and the inertia stay as they are (dJ/dq and
        dM/dq are neglected, as in the paper's code): only distances and springs follow the state.
        That matters where things turn under pushes off their centre.
        """
        q = self._coordinates(states)
        next_q, result = self._allocate(len(q))
        batch_kernels.jacobian_batch(self._prepare(q), q, inputs, next_q, *result)
        return self._with_outputs(next_q, result)

    def barrier_jacobians(
        self, states: np.ndarray, inputs: np.ndarray, width: np.ndarray, shared: bool = False
    ) -> Jacobians:
        """Differentiate the log-barrier step, see :meth:`ContactDynamics.barrier_jacobians`.

        A spring K displaced by the width stores about as much energy as the barrier:
        w = mean(K width^2). A neglects what that of :meth:`jacobians` does.
        """
        q = self._coordinates(states)
        next_q, result = self._allocate(len(q))
        energy = float(np.mean(self.stiffness * width**2))
        felt = self.felt * float(np.mean(width)) if shared else np.inf
        batch_kernels.barrier_jacobian_batch(
            self._prepare(q),
            energy,
            self._shares if shared else np.ones(self._shares.size),
            felt,
            float(np.mean(width)),
            q,
            inputs,
            next_q,
            *result,
        )
        return self._with_outputs(next_q, result)

    @cached_property
    def _shares(self) -> np.ndarray:
        """(m) one over how many rays there are between the two bodies of each."""
        points = Counter(self.body_pairs)
        shares = [1.0 / (len(self._edges) * points[pair]) for pair in self.body_pairs]
        return np.repeat(shares, len(self._edges))

    def find_contacts(self, states: np.ndarray) -> ContactFrames:
        """Return the contact geometry of some states.

        Args:
            states: (K, n) x.
        """
        return self._find(self._coordinates(states))

    def find_some(self, states: np.ndarray, pairs: np.ndarray) -> ContactFrames:
        """Return the contact geometry of some pairs.

        Args:
            states: (K, n) x.
            pairs: Their indices, in ascending order.
        """
        frames = self.find_contacts(states)
        return ContactFrames(*(values[:, pairs] for values in frames))

    def complete(self, coordinates: np.ndarray) -> np.ndarray:
        """Return states: coordinates with the outputs that belong to them.

        Args:
            coordinates: (K, n_q) q.

        Returns:
            (K, n) x.
        """
        if self.state_size == self.coordinates:
            return coordinates
        return np.concatenate((coordinates, self.outputs(coordinates)[0]), axis=1)

    def penetration(self, state: np.ndarray) -> float:
        """Return the deepest penetration of a state [m], 0 if nothing overlaps.

        Args:
            state: (n) q.
        """
        gap = self.find_contacts(state[np.newaxis]).gap
        return float(max(0.0, -gap.min(initial=0.0)))

    def contact_forces(self, states: np.ndarray, inputs: np.ndarray) -> PairForces:
        """Return the contact forces during a batch of steps.

        Args:
            states: (K, n) x.
            inputs: (K, m) u.
        """
        q, rays = self._coordinates(states), len(self._edges)
        frames = self._find(q)
        impulse = np.empty((len(q), rays * len(self.friction)))
        batch_kernels.impulse_batch(self._prepare(q), q, inputs, impulse)
        # normal = sum of the rays, tangential = mu times their sum along the edges.
        ray = impulse.reshape(len(q), len(self.friction), rays) / self.time_step
        normal = ray.sum(axis=2, keepdims=True)
        tangential = self.friction[:, np.newaxis] * (ray @ self._edges)
        local = np.concatenate((normal, tangential), axis=2)
        return PairForces(self.pair_names, np.einsum("kpi,kpij->kpj", local, frames.frame))

    def spring_model(self, state: np.ndarray) -> SpringModel:
        """Return the objective of a step from a state.

        Args:
            state: (n) x.
        """
        batch = self._prepare(self._coordinates(state[np.newaxis]))
        return SpringModel(
            self.time_step, batch.hessian[0], batch.inverse[0], batch.load[0], self.stiffness
        )

    def contact_rows(self, state: np.ndarray) -> ContactRows:
        """Return the contact inequalities of a step from a state.

        Args:
            state: (n) x.
        """
        cones = cones_at(self._prepare(self._coordinates(state[np.newaxis])).cones, 0)
        rows = allocate_rows(self._shares.size, self.coordinates)
        polyhedral_rows(cones, np.inf, rows)
        return rows

    def _coordinates(self, states: np.ndarray) -> np.ndarray:
        # Kernels would be compiled anew for arrays that may not be written to, such as a start.
        return np.require(states[:, : self.coordinates], requirements=["C", "W"])

    def _find(self, q: np.ndarray) -> ContactFrames:
        """Return the contact geometry, as found before if it was asked for last."""
        known = self._frames  # of this moment: there are other threads
        if known is None or not np.array_equal(known[0], q):
            known = q.copy(), self.contact_frames(q)
            self._frames = known
        return known[1]

    def _prepare(self, q: np.ndarray) -> StepBatch:
        """Return inertia and contacts, as computed before if they were asked for last."""
        known = self._batch
        if known is None or not np.array_equal(known[0], q):
            known = q.copy(), self._compute(q)
            self._batch = known
        return known[1]

    def _compute(self, q: np.ndarray) -> StepBatch:
        """Compute inertia and contacts, once for equal states that follow each other."""
        index = np.empty(len(q), dtype=np.int64)
        count, n = batch_kernels.number_states(q, index), self.coordinates
        distinct = q if count == len(q) else q[np.unique(index, return_index=True)[1]]
        frames = self._find(distinct)
        cones = PairCones(
            frames.gap, frames.normal, frames.tangent, self.friction, self._edges
        )  # fmt: skip
        hessian, inverse = np.empty((count, n, n)), np.empty((count, n, n))
        batch_kernels.fill_objective(
            self.inertia(distinct), self.stiffness, self.time_step, hessian, inverse
        )
        loads = self.loads(distinct)
        return StepBatch(index, self.time_step, hessian, inverse, loads, self.stiffness, cones)

    def _allocate(self, count: int) -> tuple[np.ndarray, Jacobians]:
        n, m = self.coordinates, self.input_size
        jacobians = Jacobians(np.empty((count, n, n)), np.empty((count, n, m)))
        return np.empty((count, n)), jacobians

    def _with_outputs(self, next_q: np.ndarray, jacobians: Jacobians) -> Jacobians:
        """Append dy+/dx = C A and dy+/du = C B with C = dy/dq at q+; nothing depends on y."""
        extra = self.state_size - self.coordinates
        if not extra:
            return jacobians
        _, slope = self.outputs(next_q)
        state = np.concatenate((jacobians.state, slope @ jacobians.state), axis=1)
        return Jacobians(
            np.pad(state, ((0, 0), (0, 0), (0, extra))),
            np.concatenate((jacobians.input, slope @ jacobians.input), axis=1),
        )
