"""The simulation as Python sees it: state, inputs, contacts, and one call for many steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from contact_core.collision.arrays import NORMAL
from contact_core.errors import ConfigError, ModelError, choices, real_number, whole_number
from contact_core.scene_config import SolverConfig
from tamsi_sim.arrays.data import Drives, Work, make_work
from tamsi_sim.arrays.settings import scheme_settings
from tamsi_sim.arrays.simulation import make_simulation
from tamsi_sim.arrays.status import STATUSES, StepStatus
from tamsi_sim.scheme.linearization import Linearization, linearize
from tamsi_sim.scheme.stepper import EFFORT, advance, evaluate_now, roll
from tamsi_sim.simulation.closures import ClosureForce, closure_forces
from tamsi_sim.simulation.model import BuiltModel
from tamsi_sim.simulation.observer import Observer
from tamsi_sim.simulation.rollouts import Rollouts, number_array, rollouts

LONGEST_STEP = 10.0  # [s]
MOST_STEPS = 1_000_000
"""That are recorded at once: their states have to be kept."""


@dataclass(frozen=True)
class ContactPoint:
    """One contact of the last step.

    Attributes:
        shape_a: Name of collision shape A.
        shape_b: Name of collision shape B.
        link_a: Link of shape A.
        link_b: Link of shape B.
        instance_a: Instance of shape A.
        instance_b: Instance of shape B.
        point: (3) midway between the surfaces, world [m].
        normal: (3) unit vector from B into A, world.
        depth: Penetration at the start of the step [m].
        force: (3) mean force on A over the step, world [N].
        impulse: (3) what it gave A during the step, world [Ns].
        moment: (3) mean moment on A about the point, world [Nm]: torsional and rolling friction.
        slip: Slip speed at the end of the step [m/s].
    """

    shape_a: str
    shape_b: str
    link_a: str
    link_b: str
    instance_a: str
    instance_b: str
    point: np.ndarray
    normal: np.ndarray
    depth: float
    force: np.ndarray
    impulse: np.ndarray
    moment: np.ndarray
    slip: float


@dataclass(frozen=True)
class Trajectory:
    """States at the ends of steps.

    Attributes:
        status: The status of the last step.
        time: (n + 1) since the start [s].
        q: (n + 1, nq) positions; NaN behind a failed step.
        v: (n + 1, nv) velocities.
        contact_force: (n, nv) generalised force of all contacts, the mean over each step; of a
            free body the force on it [N], and the moment about its origin [Nm], in world axes.
        joint_force: (n, nv) of the joints' controllers, friction, damping and end stops, at the
            end of each step [Nm or N].
    """

    status: StepStatus
    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    contact_force: np.ndarray
    joint_force: np.ndarray


@dataclass(frozen=True)
class Snapshot:
    """A state with its inputs, as :meth:`Engine.save` keeps it.

    Attributes:
        q: (nq) positions.
        v: (nv) velocities.
        drives: Copies of the inputs.
    """

    q: np.ndarray
    v: np.ndarray
    drives: Drives


class Engine:
    """A model in motion.

    Its arrays are shared with the kernels: read and write them in place.

    Attributes:
        built: The model.
        time_step: h [s].
        solver: Settings of the scheme.
        q: (nq) positions.
        v: (nv) velocities.
        applied: (nv) generalised force applied during the next steps [Nm or N].
        drives: Inputs of the next steps: ``applied``, and the joints' position controllers.
        contact_impulse: (nv) sum of J^T f h since it was last cleared [Nms or Ns].
        joint_force: (nv) of position controller, friction, damping and limits [Nm or N].
        counters: What was counted, see ``tamsi_sim.arrays.data``.
        work: All arrays of the simulation, these among them.
    """

    def __init__(
        self, built: BuiltModel, time_step: float, solver: SolverConfig | None = None
    ) -> None:
        """Allocate the workspace, with the state at the model's initial positions.

        Args:
            built: The model.
            time_step: h [s].
            solver: Settings of the scheme.

        Raises:
            ConfigError: If the time step is not a positive number.
        """
        time_step = real_number(time_step, "time_step", "> 0 s", above=0.0)
        if time_step > LONGEST_STEP:
            raise ConfigError(f"time_step must be <= {LONGEST_STEP:g} s, got {time_step:g}")
        solver = solver or SolverConfig()
        room = min(solver.max_contacts or built.usual_contacts, built.most_contacts)
        self.built = built
        self.solver = solver
        self.time_step = time_step
        self.work: Work = make_work(built.arrays, len(built.q), max(room, 1), solver.max_iterations)
        self.q, self.v = self.work.state
        self.drives: Drives = self.work.drives
        self.applied = self.drives.applied
        self.contact_impulse = self.work.contact_impulse
        self.joint_force = self.work.joint_forces.force
        self.counters = self.work.counters
        self.q[:] = built.q
        # A spring is a position controller without damping, and no limit holds for it.
        self.drives.stiffness[:], self.drives.target[:] = built.springs, built.rests
        self.drives.effort_limit[:] = np.where(built.springs > 0.0, np.inf, built.efforts)
        self._simulation = make_simulation(
            built.arrays, self.work, scheme_settings(solver, time_step)
        )
        self._start = self.save()

    def save(self) -> Snapshot:
        """Return the state and the inputs, to come back to by :meth:`restore`."""
        drives = Drives(*(array.copy() for array in self.drives))
        return Snapshot(self.q.copy(), self.v.copy(), drives)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state and its inputs; what follows is what followed then, bit by bit.

        Args:
            snapshot: From :meth:`save` of this engine, or of another one of the same model.

        Raises:
            ModelError: If it belongs to another model.
        """
        if snapshot.q.shape != self.q.shape or snapshot.v.shape != self.v.shape:
            raise ModelError(
                f"the snapshot has {len(snapshot.q)} positions and {len(snapshot.v)} velocities, "
                f"the engine {len(self.q)} and {len(self.v)}"
            )
        self.q[:], self.v[:] = snapshot.q, snapshot.v
        for array, value in zip(self.drives, snapshot.drives, strict=True):
            array[:] = value

    def reset(self) -> None:
        """Go back to the state and the inputs with which the engine was made."""
        self.restore(self._start)

    def set_velocity(
        self,
        name: str,
        linear: Sequence[float] = (0.0, 0.0, 0.0),
        angular: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """Set the velocity of a free or kinematic body; a kinematic one keeps it until the next.

        Args:
            name: Name of the body, see ``BuiltModel.free_bodies``.
            linear: (3) velocity of its origin, world axes [m/s].
            angular: (3) world axes [rad/s].

        Raises:
            ModelError: If there is no such body, or a velocity is not three finite numbers.
        """
        if name not in self.built.free_bodies:
            raise ModelError(f"no free body '{name}' ({choices(self.built.free_bodies)})")
        try:
            velocity = np.array([linear, angular], dtype=float)
        except (TypeError, ValueError):
            velocity = np.array([])
        if velocity.shape != (2, 3) or not np.isfinite(velocity).all():
            raise ModelError(
                f"the velocities of '{name}' must be 3 numbers each, got {linear} and {angular}"
            )
        dof = self.built.free_bodies[name][1]
        self.v[dof : dof + 6] = velocity.ravel()

    def set_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Set the state, checked; :attr:`q` and :attr:`v` can also be written in place.

        Args:
            q: (nq) positions; quaternions (x, y, z, w) are normalised.
            v: (nv) velocities.

        Raises:
            ModelError: If a size is wrong or a number not finite; the message names the body.
        """
        before = self.q.copy(), self.v.copy()
        try:
            self.q[:], self.v[:] = q, v
            for i, _ in self.built.free_bodies.values():
                norm = np.linalg.norm(self.q[i + 3 : i + 7])
                self.q[i + 3 : i + 7] /= norm if norm > 0.0 else np.nan
            self.observer.check_finite()
        except (ValueError, ModelError) as error:
            self.q[:], self.v[:] = before
            if isinstance(error, ModelError):
                raise
            sizes = f"q needs {len(self.q)} values and v {len(self.v)}"
            raise ModelError(f"{sizes}, got {np.shape(q)} and {np.shape(v)}") from error

    @cached_property
    def observer(self) -> Observer:
        """Poses, energy and warnings of the current state."""
        return Observer(self.built, self.work, self.solver, self.time_step)

    def step(self, steps: int = 1) -> StepStatus:
        """Advance the state; it stays at the last good one if a step fails.

        Args:
            steps: How many steps.

        Returns:
            OK, or why the last step failed.

        Raises:
            ConfigError: If it is no whole number, or negative.
        """
        return STATUSES[advance(self._simulation, whole_number(steps, "steps"))]

    def roll(self, forces: np.ndarray) -> tuple[StepStatus, np.ndarray, np.ndarray]:
        """Advance under given forces in one call, and record the states.

        Args:
            forces: (n, nv) generalised force of each step [Nm or N].

        Returns:
            The status of the last step; (n + 1, nq) positions and (n + 1, nv) velocities from
            now on, NaN behind a failed step.

        Raises:
            ConfigError: If the forces have another shape.
        """
        found = self._record(forces, False)
        return found.status, found.q, found.v

    def _record(self, forces: np.ndarray, with_forces: bool) -> Trajectory:
        """Advance under given forces, see :meth:`roll`; record those of contacts, or none."""
        forces = number_array(forces, "forces")
        if forces.ndim != 2 or forces.shape[1] != len(self.v):
            raise ConfigError(f"forces must be (n, {len(self.v)}), got {forces.shape}")
        steps, q, v = len(forces), self.q[None].copy(), self.v[None].copy()
        positions = np.full((1, steps + 1, len(self.q)), np.nan)
        velocities = np.full((1, steps + 1, len(self.v)), np.nan)
        contact_force, joint_force = np.zeros((2, 1, steps if with_forces else 0, len(self.v)))
        status = np.zeros(1, dtype=np.int64)
        roll(
            self._simulation, q, v, forces[None], EFFORT, positions, velocities, contact_force,
            joint_force, status,
        )  # fmt: skip
        if with_forces:
            failed = np.isnan(velocities[0, 1:])
            contact_force[0, failed] = joint_force[0, failed] = np.nan
        return Trajectory(
            STATUSES[status[0]],
            self.time_step * np.arange(steps + 1),
            positions[0],
            velocities[0],
            contact_force[0],
            joint_force[0],
        )

    def simulate(self, duration: float) -> Trajectory:
        """Advance for some time under constant inputs, and record states and forces.

        Args:
            duration: How long, rounded to whole steps [s].

        Returns:
            The trajectory from now on.

        Raises:
            ConfigError: If the duration is negative or not finite.
        """
        steps = real_number(duration, "duration", ">= 0 s") / self.time_step
        if not 0.0 <= steps <= MOST_STEPS:
            longest = MOST_STEPS * self.time_step
            raise ConfigError(f"duration must be >= 0 s and <= {longest:g} s, got {duration!r}")
        return self._record(np.tile(self.applied, (round(steps), 1)), True)

    def rollouts(
        self,
        q: np.ndarray,
        v: np.ndarray,
        inputs: np.ndarray,
        command: str = "effort",
        threads: int | None = None,
        forces: bool = False,
    ) -> Rollouts:
        """Simulate samples over threads; this simulation stays, see :func:`rollouts`.

        Args:
            q: (n, nq) initial positions, or (nq) for all.
            v: (n, nv) initial velocities, or (nv) for all.
            inputs: (n, T, nv) input of each step.
            command: ``effort`` or ``target``.
            threads: How many threads; as many as processors if None.
            forces: Whether to record forces, too.

        Returns:
            The trajectories; they do not depend on the number of threads.

        Raises:
            ConfigError: If a shape does not fit, or there is no such command.
        """
        return rollouts(
            self.built, self.work, self.solver, self.time_step, q, v, inputs, command, threads,
            forces,
        )  # fmt: skip

    def linearize(self, steps: int = 1) -> Linearization:
        """Advance like :meth:`step`, and return the derivatives of the new state.

        Args:
            steps: How many steps, under the same inputs.

        Returns:
            A = dx+/dx and B = dx+/du, by efforts and by position targets.

        Raises:
            ConfigError: If ``steps`` is no whole number, or negative.
        """
        return linearize(self._simulation, self.work, whole_number(steps, "steps"))

    def evaluate(self) -> int:
        """Compute kinematics, mass matrix, bias and contacts of the current state.

        Returns:
            The number of contact points.
        """
        return int(evaluate_now(self._simulation))

    def closures(self) -> list[ClosureForce]:
        """Return what the loop closures did in the last step."""
        return closure_forces(self.built, self.work)

    def contacts(self) -> list[ContactPoint]:
        """Return the contact points of the last step that carry a force."""
        found, forces, built = self.work.contacts, self.work.contact_forces, self.built
        points, moments = [], self.work.contact_moments.mean_moment
        for c in range(min(int(found.number[0]), len(found.depth))):
            local = forces.mean_force[c]
            if not local.any():
                continue
            frame = found.frame[c]
            a, b = built.arrays.pairs.shapes[found.pair[c]]
            points.append(
                ContactPoint(
                    shape_a=built.shapes[a].name,
                    shape_b=built.shapes[b].name,
                    link_a=built.shapes[a].body,
                    link_b=built.shapes[b].body,
                    instance_a=built.instances[a],
                    instance_b=built.instances[b],
                    point=found.point[c].copy(),
                    normal=frame[NORMAL].copy(),
                    depth=float(found.depth[c]),
                    force=frame.T @ local,
                    impulse=self.time_step * frame.T @ local,
                    moment=frame.T @ moments[c] if len(moments) else np.zeros(3),
                    slip=float(np.hypot(*forces.velocity[c, :NORMAL])),
                )
            )
        return points
