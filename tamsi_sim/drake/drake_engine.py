"""Drake's plant with its SAP solver behind the interface of our engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pydrake.multibody.plant import ContactResults
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from contact_core.surface import Surface
from tamsi_sim.arrays.data import CONTACTS, STEPS
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.drake.drake_plant import DrakePlant
from tamsi_sim.simulation.engine import ContactPoint
from tamsi_sim.simulation.model import BuiltModel

# SAP solves it, and it is the one that knows the stiffness and dissipation of our surfaces.
APPROXIMATION = "lagged"


@dataclass(frozen=True)
class DrakeWork:
    """State, inputs and results of a simulation, see :class:`PhysicsWork`."""

    q: np.ndarray
    v: np.ndarray
    applied: np.ndarray
    stiffness: np.ndarray
    drive_damping: np.ndarray
    damping_ratio: np.ndarray
    effort_limit: np.ndarray
    target: np.ndarray
    target_rate: np.ndarray
    contact_impulse: np.ndarray
    joint_force: np.ndarray
    counters: np.ndarray


class DrakeEngine:
    """A model in motion on Drake's SAP solver, to cross-check a controller.

    Where flat faces meet, as those of a standing mug and a table, Drake has one contact point,
    and where a capsule or cylinder meets an edge, its normal is only near the true one. The law
    of the joints' position controllers is that of our engine, with one difference: whether an
    effort limit holds is decided with the velocity at the start of the step.
    """

    def __init__(
        self,
        built: BuiltModel,
        time_step: float,
        surface_of: Callable[[str, str], Surface],
        stiction_velocity: float = 1e-4,
    ) -> None:
        """Build the plant, with the state at the model's initial positions.

        Args:
            built: The model.
            time_step: h [s].
            surface_of: (instance, link) -> its surface, as the model was built with.
            stiction_velocity: v_s [m/s].

        Raises:
            ModelError: If Drake cannot simulate the model.
        """
        self.built = built
        self.time_step = time_step
        builder = DiagramBuilder()
        self._drake = DrakePlant(
            builder, built, surface_of, time_step, APPROXIMATION, stiction_velocity,
            sampled_outputs=True,
        )  # fmt: skip
        self._simulator = Simulator(builder.Build())
        plant = self._drake.plant
        self._context = plant.GetMyMutableContextFromRoot(self._simulator.get_mutable_context())
        self._force = plant.get_applied_generalized_force_input_port()
        nv = len(built.arrays.dof_q)
        arrays = {name: np.zeros(nv) for name in DrakeWork.__dataclass_fields__}
        arrays |= {"q": built.q.copy(), "effort_limit": built.efforts.copy()}
        arrays |= {"counters": np.zeros(6, dtype=np.int64)}
        self._work = DrakeWork(**arrays)
        self._joints = np.array(sorted(self._drake.joints), dtype=int)
        self._joint_q = built.arrays.dof_q[self._joints]
        self._ticks = 0
        self._results: ContactResults | None = None
        self._force.FixValue(self._context, np.zeros(plant.num_velocities()))
        self._simulator.Initialize()

    @property
    def work(self) -> DrakeWork:
        """State, inputs and results."""
        return self._work

    @property
    def q(self) -> np.ndarray:
        """(nq) positions."""
        return self._work.q

    @property
    def v(self) -> np.ndarray:
        """(nv) velocities."""
        return self._work.v

    def evaluate(self) -> int:
        """Take over the state, and forget the contacts of the last step.

        Returns:
            The number of contact points.
        """
        self._take_over()
        self._results = None
        query = self._drake.plant.get_geometry_query_input_port().Eval(self._context)
        return len(query.ComputePointPairPenetration())

    def step(self, steps: int = 1) -> StepStatus:
        """Advance the state; it stays at the last good one if a step fails.

        Args:
            steps: How many steps.

        Returns:
            OK, or why the last step failed.
        """
        if not (np.isfinite(self.q).all() and np.isfinite(self.v).all()):
            return StepStatus.NOT_FINITE
        self._take_over()
        for _ in range(steps):
            self._work.target[:] += self._work.target_rate
            status = self._step()
            if status is not StepStatus.OK:
                return status
        return StepStatus.OK

    def contacts(self) -> list[ContactPoint]:
        """Return the contact points of the last step that carry a force."""
        if self._results is None:
            return []
        count = self._results.num_point_pair_contacts()
        points = (self._contact(k) for k in range(count))
        return [point for point in points if point.force.any()]

    def _take_over(self) -> None:
        """Give Drake the state and the parameters that may have been set."""
        for dof, actuator in self._drake.actuators.items():
            actuator.SetRotorInertia(self._context, self.built.arrays.armature[dof])
        self._drake.set_state(self._context, self.q, self.v)

    def _step(self) -> StepStatus:
        work, h = self._work, self.time_step
        spring, damping = self._drive()
        force = work.applied.copy()
        force[self._joints] += spring
        if not np.isfinite(force).all():
            return StepStatus.NOT_FINITE
        self._force.FixValue(self._context, self._drake.generalized_force(force))
        for dof, joint_damping in zip(self._joints, damping, strict=True):
            self._drake.set_damping(self._context, dof, joint_damping)
        try:
            # Step k, from 0, is taken at k h.
            self._simulator.AdvanceTo((self._ticks + 0.5) * h)
        except RuntimeError:
            return StepStatus.NOT_CONVERGED
        self._ticks += 1
        work.q[:], work.v[:] = self._drake.state(self._context)
        work.joint_force[self._joints] = spring - damping * work.v[self._joints]
        self._results = self._drake.plant.get_contact_results_output_port().Eval(self._context)
        work.contact_impulse[:] += h * self._drake.contact_force(self._context)
        work.counters[STEPS] += 1
        work.counters[CONTACTS] += self._results.num_point_pair_contacts()
        return StepStatus.OK

    def _drive(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the springs' forces and, taken implicitly by Drake, the joints' dampings.

        K (target - q0 - h v) - D v is a spring force at q0 and a damping D + h K.
        """
        work, joints, h = self._work, self._joints, self.time_step
        inertia = self._drake.mass_diagonal(self._context)[joints]
        stiffness = work.stiffness[joints]
        critical = 2.0 * np.sqrt(stiffness * inertia)
        damping = work.drive_damping[joints] + work.damping_ratio[joints] * critical
        damping += h * stiffness
        spring = stiffness * (work.target[joints] - work.q[self._joint_q])
        limit = work.effort_limit[joints]
        saturated = np.abs(spring - damping * work.v[joints]) > limit
        sign = np.sign(spring - damping * work.v[joints])
        spring = np.where(saturated, sign * limit, spring)
        damping = np.where(saturated, 0.0, damping)
        return spring, damping + self.built.arrays.damping[joints]

    def _contact(self, k: int) -> ContactPoint:
        assert self._results is not None
        info = self._results.point_pair_contact_info(k)
        pair, shapes = info.point_pair(), self.built.shapes
        a, b = self._drake.shape_of[pair.id_A], self._drake.shape_of[pair.id_B]
        force = -np.array(info.contact_force())
        return ContactPoint(
            shape_a=shapes[a].name,
            shape_b=shapes[b].name,
            link_a=shapes[a].body,
            link_b=shapes[b].body,
            instance_a=self.built.instances[a],
            instance_b=self.built.instances[b],
            point=np.array(info.contact_point()),
            normal=np.array(pair.nhat_BA_W),
            depth=float(pair.depth),
            force=force,
            impulse=self.time_step * force,
            slip=float(info.slip_speed()),
        )
