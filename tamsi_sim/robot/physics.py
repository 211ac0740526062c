"""The small interface behind which the physics of a scene can be exchanged."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from contact_core.base.config import for_joints
from contact_core.base.errors import ModelError
from contact_core.base.lazy import needs
from contact_core.robot.description import JointFrictionConfig
from contact_core.robot.scene import Scene
from tamsi_sim.arrays.data import Drives
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import BuiltModel, build_model
from tamsi_sim.simulation.records import ContactPoint


class Physics(Protocol):
    """What simulates a scene; its arrays are read and written in place.

    Attributes:
        built: The model.
        time_step: h [s].
        q: (nq) positions.
        v: (nv) velocities.
        deflection: (nv) of the springs that joint friction is before it slides [rad or m].
        drives: Inputs of the next steps.
        contact_impulse: (nv) sum of J^T f h since it was last cleared [Nms or Ns].
        joint_force: (nv) of position controller, friction, damping and limits [Nm or N].
        counters: What was counted, see ``tamsi_sim.arrays.data``.
    """

    built: BuiltModel
    time_step: float
    q: np.ndarray
    v: np.ndarray
    deflection: np.ndarray
    drives: Drives
    contact_impulse: np.ndarray
    joint_force: np.ndarray
    counters: np.ndarray

    def step(self, steps: int = 1) -> StepStatus:
        """Advance by some steps, or up to the first that fails; return how the last one ended."""

    def relax(self) -> None:
        """Relax the springs that the friction of joints and contacts is before anything slides."""

    def evaluate(self) -> int:
        """Take over a state that was set, and return the number of contact points."""

    def trouble(self) -> str:
        """Return where the last step did not converge, to end a message with."""

    def contacts(self) -> list[ContactPoint]:
        """Return the contact points of the last step that carry a force."""


def build_physics(scene: Scene) -> Physics:
    """Return what simulates a scene, at its start and without any controller.

    Args:
        scene: The scene; its ``engine`` says which physics.

    Raises:
        ModelError: If a body of the scene cannot be simulated, or starts deep inside another, or
            Drake should simulate friction in joints, or to an accuracy.
        ContactStackError: If Drake should simulate it and is not installed.
    """
    config = scene.config
    built = build_model(
        scene.instances(), scene.surface_of, scene.may_touch, gravity=config.gravity
    )
    engine: Physics
    if config.engine == "drake":
        # Drake is big, and whoever uses our engine should not wait for it.
        with needs("drake"):
            from tamsi_sim.drake.drake_engine import DrakeEngine

        if config.solver.accuracy > 0.0:
            raise ModelError(
                "Drake has steps of its own length: solver.accuracy needs engine tamsi"
            )
        frictionless = for_joints(JointFrictionConfig(), len(scene.robot.arm_joints))
        if config.robot.friction != frictionless:
            raise ModelError("Drake has no friction in joints: robot.friction needs engine tamsi")
        engine = DrakeEngine(
            built, config.time_step, scene.surface_of, config.solver.stiction_velocity
        )
    else:
        engine = Engine(built, config.time_step, config.solver)
        _set_friction(engine, scene)
    for joint, position in scene.initial_joints().items():
        engine.q[built.arrays.joints.q[built.joints[joint]]] = position
    if isinstance(engine, Engine):
        engine.observer.check_start()
    return engine


def _set_friction(engine: Engine, scene: Scene) -> None:
    config = scene.config.robot.friction
    for i, joint in enumerate(scene.robot.arm_joints):
        described = engine.built.arrays.joints.friction[engine.built.joints[joint]]
        kinetic = config.kinetic[i] or float(described)
        engine.set_friction(
            joint,
            kinetic,
            static=config.static_ratio * kinetic,
            stribeck_velocity=config.stribeck_velocity,
            viscous=config.viscous[i] or None,
            presliding_stiffness=config.presliding_stiffness[i],
        )
