"""Open-loop simulation with the time stepping of Stewart and Trinkle (1996), in many worlds.

Its step is that of :mod:`robust_planner.evaluation.contact_step`. In 3-D the friction cone has
FACES, one of which looks the way in which a point slides: fixed ones would turn what slides askew
aside, and plans would make use of that.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import casadi
import numpy as np

from contact_core.base.errors import ContactStackError
from robust_planner.contact_model import ContactModel
from robust_planner.evaluation.contact_step import StepDynamics, advance, make_step
from robust_planner.evaluation.tape import Tape, record
from robust_planner.problem import RobustProblem
from robust_planner.risk.worlds import Worlds, one_world, starts
from robust_planner.trajectory import ContactTrajectory

FACES = 16
"""Of a friction cone in 3-D."""


class ComplementarityError(ContactStackError):
    """Lemke's method ended on a ray: the problem has no solution that it can find.

    Evaluate with smaller uncertainties or a shorter time step.
    """


@dataclass(frozen=True)
class BatchMotion:
    """What followed from one sequence of controls in n worlds; NaN from where it failed.

    Attributes:
        position: q (n, N, nq) [m, rad].
        velocity: v (n, N, nq) [m/s, rad/s].
        normal_force: lamN (n, N, nc) [N], mean over the step that ends at the knot, as all forces.
        tangent_force: lamT (n, N, nc nd) [N].
        slip: Largest gamma (n, N, nc) [m/s] while a point presses in the step that ends there.
        limit_force: Forces of the position limits (n, N, nl) [N, Nm].
        impact_speed: Largest speed towards what a point may touch at which it comes to do so in the
            step that ends at the knot (n, N, nc) [m/s], zero for those that rest there or do not.
    """

    position: np.ndarray
    velocity: np.ndarray
    normal_force: np.ndarray
    tangent_force: np.ndarray
    slip: np.ndarray
    limit_force: np.ndarray
    impact_speed: np.ndarray


WorldsSimulator = Callable[[RobustProblem, np.ndarray, Worlds], BatchMotion]
"""Executes controls without feedback in many worlds, see ``simulate_worlds``."""


def simulate_worlds(
    problem: RobustProblem,
    controls: np.ndarray,
    worlds: Worlds,
    substeps: int = 1,
    times: np.ndarray | None = None,
) -> BatchMotion:
    """Apply controls open-loop in every world.

    Args:
        problem: Its model, start and time step.
        controls: u (N, nu) [N, Nm] for all worlds, or (n, N, nu); the last one is not used.
        worlds: The worlds (n).
        substeps: Steps of the simulation from knot to knot. Where points touch the ground is off
            by up to one of them; where it yields, one has to be short against a bounce.
        times: Of the knots (N) [s]; None for the problem's time step.

    Returns:
        The motions.
    """
    model, count, knots = problem.model, len(worlds), controls.shape[-2]
    given = controls
    controls = np.broadcast_to(given, (count, knots, model.controls))
    steps = np.full(knots - 1, problem.time_step) if times is None else np.diff(times)
    tape, rows = terms(model), model.contacts + len(model.limit_offsets)
    spatial = model.dimension == 3
    faces = FACES if spatial else model.directions
    room = make_step(model, tape, faces)
    drawn = worlds.friction, worlds.height, worlds.mass, worlds.shift
    distances = model.coordinates * (model.coordinates + 1)
    evenly = not math.isinf(problem.stiffness) and bool(
        np.isin(tape.varying, np.arange(distances, distances + model.contacts)).all()
    )
    states = np.zeros((knots, count, 2 * model.coordinates))
    forces = np.zeros((knots, count, rows + 2 * model.contacts))
    slip, impact = (np.zeros((knots, count, model.contacts)) for _ in range(2))
    states[0] = starts(problem, worlds)
    dynamics = StepDynamics(
        tape.instructions, tape.constants, tape.fixed, model.grounded, model.limit_offsets,
        problem.stiffness, problem.dissipation, evenly, spatial,
    )  # fmt: skip
    controls = controls.swapaxes(0, 1)[: knots - 1]
    # Runs with the controls, so far, of the first one in the same world need not be made.
    alike = np.tile(np.arange(count), (knots - 1, 1))
    if given.ndim == 3:
        first = worlds.first_alike()
        other = np.logical_or.accumulate((controls != controls[:, first]).any(axis=2))
        alike = np.where(other, alike, first)
    push = controls @ model.actuation.T
    advance(dynamics, room, drawn, push, steps, substeps, alike, states, forces, slip, impact)
    forces[1:] /= steps[:, np.newaxis, np.newaxis]
    states, forces = states.swapaxes(0, 1), forces.swapaxes(0, 1)
    return BatchMotion(
        position=states[..., : model.coordinates],
        velocity=states[..., model.coordinates :],
        normal_force=forces[..., : model.contacts],
        tangent_force=_along_directions(model, forces[..., rows:]),
        slip=slip.swapaxes(0, 1),
        limit_force=forces[..., model.contacts : rows],
        impact_speed=impact.swapaxes(0, 1),
    )


@dataclass(frozen=True)
class SteppedMotion:
    """The motion that followed from a sequence of controls.

    Attributes:
        time: (N) [s].
        position: q (N, nq) [m, rad].
        velocity: v (N, nq) [m/s, rad/s].
        normal_force: lamN (N, nc) [N], mean over the step that ends at the knot.
    """

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    normal_force: np.ndarray


Simulator = Callable[[ContactTrajectory, RobustProblem, float, float], SteppedMotion]
"""Executes a plan in a world of some friction and height of the ground, see ``simulate_plan``."""


def simulate_plan(
    trajectory: ContactTrajectory, problem: RobustProblem, friction: float, height: float = 0.0
) -> SteppedMotion:
    """Apply a plan's controls without feedback, over rigid ground and obstacles.

    Args:
        trajectory: The plan.
        problem: Its model and start; a start below the ground is raised onto it.
        friction: mu.
        height: Height of the ground [m].

    Returns:
        The simulation, from the start to the last knot.

    Raises:
        ComplementarityError: If a step has no solution.
    """
    rigid = dataclasses.replace(problem, stiffness=math.inf)
    world = one_world(problem, friction, height)
    motion = simulate_worlds(rigid, trajectory.control, world, times=trajectory.time)
    if np.isnan(motion.position).any():
        raise ComplementarityError("a step has no solution: Lemke's method ended on a ray")
    return SteppedMotion(
        trajectory.time, motion.position[0], motion.velocity[0], motion.normal_force[0]
    )


def _along_directions(model: ContactModel, forces: np.ndarray) -> np.ndarray:
    """Return forces of friction as those along the model's directions.

    Args:
        model: The model.
        forces: (..., 2 nc) [N]: along both directions of a model in the plane, else along two axes.

    Returns:
        (..., nc nd).
    """
    if model.dimension == 2:
        return forces
    both = np.stack([np.maximum(forces, 0.0), np.maximum(-forces, 0.0)], axis=-1)
    return both.reshape(*forces.shape[:-1], -1)


@lru_cache(maxsize=8)
def terms(model: ContactModel) -> Tape:
    """Return M, c, phi, Jn and Jt, by rows, as a function of q, v and the places of obstacles.

    Args:
        model: The model; in 3-D Jt is along two axes.

    Raises:
        PlanningProblemError: If it has operations that are not known.
    """
    q, v = (casadi.SX.sym(name, model.coordinates) for name in "qv")
    shift = casadi.SX.sym("s", 2 * len(model.obstacles))
    *found, tangent = model.mass_matrix(q), model.bias_force(q, v), *model.shifted(q, shift)
    if model.dimension == 3:
        cones = casadi.vertsplit(casadi.SX(tangent), model.directions)
        tangent = casadi.vertcat(*(cone[::2, :] for cone in cones))
    found.append(tangent)
    rows = [casadi.vec(casadi.densify(casadi.SX(term)).T) for term in found]
    given = casadi.vertcat(q, v, shift)
    return record(casadi.Function("terms", [given], [casadi.cse(casadi.vertcat(*rows))]))
