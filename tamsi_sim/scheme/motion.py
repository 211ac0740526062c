"""How things move: all that follows from positions and velocities but for contact."""

from __future__ import annotations

from contact_core.base.kernel import inlined_kernel
from contact_core.multibody.rigid_body.dynamics import update_dynamics
from contact_core.multibody.rigid_body.kinematics import update_kinematics
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.scheme.joint_forces import update_friction
from tamsi_sim.scheme.tendons import update_tendons


@inlined_kernel
def update_motion(simulation: Simulation) -> None:
    """Compute kinematics, dynamics and the reach of joint friction of the current q and v."""
    bodies, kinematics = simulation.bodies, simulation.kinematics
    update_kinematics(bodies, simulation.state, kinematics)
    update_dynamics(
        bodies, simulation.inertias, simulation.trees, simulation.joints.armature, kinematics,
        simulation.dynamics,
    )  # fmt: skip
    update_tendons(simulation)
    update_friction(simulation.joints, simulation.state.v, simulation.joint_forces.friction)
