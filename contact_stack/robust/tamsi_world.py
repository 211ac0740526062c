"""Plans of a single body executed in tamsi_sim: compliant contact, in space, free to tilt."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from tqdm import tqdm

from contact_core.base.errors import ContactStackError
from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from robust_planner.contact_model import GRAVITY, GROUND
from robust_planner.evaluation.time_stepping import SteppedMotion
from robust_planner.problem import RobustProblem
from robust_planner.risk.worlds import Worlds, one_world, starts
from robust_planner.trajectory import ContactTrajectory
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import build_model

BODY = "body"
SINGLE_BODIES = ("sliding_block", "lowered_tool")
"""Models that are one cube."""

TIME_STEP = 1e-3
"""Of the samples [s]."""
ACCURACY = {"sliding_block": 0.0, "lowered_tool": 1e-5}
"""Of the steps between them: those of a millisecond would damp a bounce, and see it late. A surface
that stands for rigid ground has to be damped by them: as stiff as it is, what slides chatters.
"""
STIFFNESS = 2e5
"""Of ground that the problem has rigid: the cube sinks in by some hundredths of a mm [N/m]."""
DISSIPATION = 5.0
GROUND_SIZE = (60.0, 10.0, 1.0)

CUBE = """<robot name="{name}"><link name="{name}">
  <inertial><mass value="{mass}"/>
    <inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision name="{name}"><geometry><box size="{size}"/></geometry></collision>
</link></robot>"""


LONG = 2.0
"""Who waits for longer sees how far it is [s]."""


class WorldError(ContactStackError):
    """A plan cannot be executed in tamsi_sim.

    Choose a problem that has a body to simulate, or smaller uncertainties.
    """


def can_simulate(problem: RobustProblem) -> bool:
    """Return whether a problem moves a single body.

    Args:
        problem: The problem.
    """
    return problem.model.own_name in SINGLE_BODIES


def each(worlds: Worlds) -> tqdm[int]:
    """Return the numbers of worlds, one after the other, and show how far that is.

    Args:
        worlds: The worlds.
    """
    return tqdm(range(len(worlds)), "runs in tamsi_sim", delay=LONG, leave=False)


def simulate_plan(
    trajectory: ContactTrajectory, problem: RobustProblem, friction: float, height: float = 0.0
) -> SteppedMotion:
    """Apply a plan's controls to a cube of the model's mass and height.

    A ``Simulator`` of :mod:`robust_planner.evaluation.time_stepping`.

    Args:
        trajectory: The plan; its time step must be a multiple of a millisecond.
        problem: Its model, one of ``SINGLE_BODIES``, and start.
        friction: mu.
        height: Height of the ground [m].

    Returns:
        The simulation, one sample per millisecond.

    Raises:
        WorldError: If the model is no single body, or the simulation fails.
    """
    if not can_simulate(problem):
        raise WorldError(
            f"'{problem.model.name}' is no single body (valid: {', '.join(SINGLE_BODIES)})"
        )
    engine, mass = _engine(problem, friction, height)
    axes = [0, 2] if problem.model.dimension == 2 else [0, 1, 2]
    q, dof = engine.built.free_bodies[BODY]
    steps = np.round(np.diff(trajectory.time) / TIME_STEP).astype(int)
    push = np.repeat(trajectory.control[:-1] @ problem.model.actuation.T, steps, axis=0)
    forces = np.zeros((len(push), len(engine.v)))
    forces[:, [dof + axis for axis in axes]] = push
    status, positions, velocities = engine.roll(forces)
    if status is not StepStatus.OK:
        raise WorldError(f"mu {friction:g}, height {height:g} m: {status.remedy}")
    velocity = velocities[:, [dof + axis for axis in axes]]
    # What accelerates the body upwards beside its weight and the control is contact.
    normal = np.zeros((len(velocity), 1))
    normal[1:, 0] = mass * (np.diff(velocity[:, -1]) / TIME_STEP + GRAVITY) - push[:, -1]
    return SteppedMotion(
        time=TIME_STEP * np.arange(len(positions)),
        position=positions[:, [q + axis for axis in axes]],
        velocity=velocity,
        normal_force=normal,
    )


def ground_instance(height: float) -> Instance:
    """Return the ground at some height [m]."""
    urdf = CUBE.format(name=GROUND, mass=1.0, inertia=1.0, size=_text(GROUND_SIZE))
    below = pin.SE3(np.eye(3), np.array([0.0, 0.0, height - 0.5 * GROUND_SIZE[2]]))
    return Instance(GROUND, urdf, below)


def _engine(problem: RobustProblem, friction: float, height: float) -> tuple[Engine, float]:
    """Return a cube at the start of the problem on ground, and its mass [kg]."""
    model, zero = problem.model, np.zeros(problem.model.coordinates)
    mass = float(np.asarray(model.mass_matrix(zero))[0, 0])
    half = -float(model.distance(zero))
    start = starts(problem, one_world(problem, friction, height))[0, : model.coordinates]
    center = np.array([start[0], 0.0 if model.dimension == 2 else start[1], start[-1]])
    stiffness, dissipation = problem.stiffness, problem.dissipation
    if math.isinf(stiffness):
        stiffness, dissipation = STIFFNESS, DISSIPATION
    # Two equal surfaces in series, at four corners.
    surface = Surface(0.5 * stiffness, dissipation, friction)
    inertia = mass * (2.0 * half) ** 2 / 6.0
    cube = CUBE.format(name=BODY, mass=mass, inertia=inertia, size=_text([2.0 * half] * 3))
    built = build_model(
        [
            ground_instance(height),
            Instance(BODY, cube, pin.SE3(np.eye(3), center), True, (0.0, 0.0, -GRAVITY)),
        ],
        lambda instance, link: surface,
        lambda a, b: a[0] != b[0],
    )
    return Engine(built, TIME_STEP, SolverConfig(accuracy=ACCURACY[model.name])), mass


def _text(values: tuple[float, ...] | list[float]) -> str:
    return " ".join(f"{value:.17g}" for value in values)
