"""Drake's plant with its SAP solver behind the interface of our engine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pydrake.multibody.plant import ContactResults
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from contact_core.robot.surface import Surface
from tamsi_sim.arrays.data import CONTACTS, COUNTERS, STEPS, Drives
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.drake.drake_plant import DrakePlant
from tamsi_sim.simulation.model import BuiltModel
from tamsi_sim.simulation.records import ContactPoint

# SAP solves it, and it is the one that knows the stiffness and dissipation of our surfaces.
APPROXIMATION = "lagged"


class DrakeEngine:
    """A model in motion on Drake's SAP solver, to cross-check a controller.

    Where flat faces meet, as those of a standing mug and a table, Drake has one contact point; the
    corners of free bodies are points of their own. Where a capsule or cylinder meets an edge,
    Drake's normal is only near the true one. The law
    of the joints' position controllers is that of our engine, with one difference: whether an
    effort limit holds is decided with the velocity at the start of the step.

    Attributes:
        built: The model.
        time_step: h [s].
        q: (nq) positions.
        v: (nv) velocities.
        deflection: (nv) zeros: Drake has no friction in joints.
        drives: Inputs of the next steps.
        contact_impulse: (nv) sum of J^T f h since it was last cleared [Nms or Ns].
        joint_force: (nv) of position controller, friction, damping and limits [Nm or N].
        counters: What was counted, see ``tamsi_sim.arrays.data``.
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
            sampled_outputs=True, corners=True,
        )  # fmt: skip
        self._simulator = Simulator(builder.Build())
        plant = self._drake.plant
        self._context = plant.GetMyMutableContextFromRoot(self._simulator.get_mutable_context())
        self._force = plant.get_applied_generalized_force_input_port()
        nv = len(built.arrays.joints.q)
        self.q, self.v, self.deflection = built.q.copy(), built.v.copy(), np.zeros(nv)
        self.drives = Drives(*(np.zeros(nv) for _ in Drives._fields))
        self.drives.effort_limit[:] = built.efforts
        self.contact_impulse, self.joint_force = np.zeros(nv), np.zeros(nv)
        self.counters = np.zeros(COUNTERS, dtype=np.int64)
        self._joints = np.array(sorted(self._drake.joints), dtype=int)
        self._joint_q = built.arrays.joints.q[self._joints]
        self._ticks = 0
        self._results: ContactResults | None = None
        self._force.FixValue(self._context, np.zeros(plant.num_velocities()))
        self._simulator.Initialize()

    def trouble(self) -> str:
        """Return nothing: Drake does not say where it is stuck."""
        return ""

    def relax(self) -> None:
        """Do nothing: Drake's friction has no springs."""

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
            self.drives.target[:] += self.drives.target_rate
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
            actuator.SetRotorInertia(self._context, self.built.arrays.joints.armature[dof])
        self._drake.set_state(self._context, self.q, self.v)

    def _step(self) -> StepStatus:
        drives, h = self.drives, self.time_step
        spring, damping = self._drive()
        force = drives.applied.copy()
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
        self.q[:], self.v[:] = self._drake.state(self._context)
        self.joint_force[self._joints] = spring - damping * self.v[self._joints]
        self._results = self._drake.plant.get_contact_results_output_port().Eval(self._context)
        self.contact_impulse[:] += h * self._drake.contact_force(self._context)
        self.counters[STEPS] += 1
        self.counters[CONTACTS] += self._results.num_point_pair_contacts()
        return StepStatus.OK

    def _drive(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the springs' forces and, taken implicitly by Drake, the joints' dampings.

        K (target - q0 - h v) - D v is a spring force at q0 and a damping D + h K.
        """
        drives, joints, h = self.drives, self._joints, self.time_step
        inertia = self._drake.mass_diagonal(self._context)[joints]
        stiffness = drives.stiffness[joints]
        critical = 2.0 * np.sqrt(stiffness * inertia)
        damping = drives.damping[joints] + drives.damping_ratio[joints] * critical
        damping += h * stiffness
        spring = stiffness * (drives.target[joints] - self.q[self._joint_q])
        limit = drives.effort_limit[joints]
        saturated = np.abs(spring - damping * self.v[joints]) > limit
        sign = np.sign(spring - damping * self.v[joints])
        spring = np.where(saturated, sign * limit, spring)
        damping = np.where(saturated, 0.0, damping)
        return spring, damping + self.built.arrays.joints.damping[joints]

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
            moment=np.zeros(3),
            slip=float(info.slip_speed()),
        )
