"""Open-loop simulation with the time stepping of Stewart and Trinkle (1996), in many worlds.

Each step solves for impulses p = h lambda such that, with v+ from M (v+ - v) = h (B u - c) + J' p,

    0 <= pN _|_ phi + h Jn v+ >= 0
    0 <= pT _|_ e gamma + Jt v+ >= 0
    0 <= gamma _|_ mu pN - e' pT >= 0

In 3-D the friction cone has a face for each of RAYS, more than the directions that a plan has: with
four a body that slides askew gets up to 29 % too little friction. Position limits are frictionless
contacts. Rigid contacts are inelastic. Ground and obstacles that are not rigid answer penetration
with the normal force of ``tamsi`` (5), (19),

    lamN = k (-phi)_+ (1 + d w)_+

by the trapezoidal rule: phi is the mean of both ends of the step, whose way is that of its mean
speed, and w is that speed, found from that before the step and corrected. Backward Euler would take
a share of omega h / 2 of each quarter of a bounce. With v+ as unknown, each is a complementarity
problem

    0 <= pN _|_ 4 phi / h + Jn (v + v+) + 4 pN / (h^2 k (1 + d w)) >= 0
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

import casadi
import numpy as np

from contact_core.base.errors import ContactStackError
from contact_core.base.kernel import inlined_kernel, inner_kernel, kernel
from robust_planner.contact_model import ContactModel
from robust_planner.evaluation.tape import Tape, play, record
from robust_planner.problem import TOUCHING, RobustProblem
from robust_planner.risk.worlds import Worlds, one_world, starts
from robust_planner.trajectory import ContactTrajectory

MIN_FORCE = 1e-3
"""With less force nothing touches [N]."""
MIN_PRESS = 1e-3
"""Likewise, with a force that accelerates a point by less [m/s^2]."""
RAYS = np.exp(2j * np.pi * np.arange(16) / 16).view(float).reshape(-1, 2)
"""Directions of friction in 3-D (nr, 2): it is up to 2 % too little."""
MIN_WAY = 1e-12
"""In a step [m]; keeps a quotient finite."""
MIN_DAMPING = 1e-9
"""Of the factor 1 + d w of a force; keeps a quotient finite."""
CORRECTIONS = 2
"""Of the damping in a step, at most; one is not that of ``tamsi_sim`` by some percent of an
impact."""
SAME_SPEED = 1e-6
"""Damping need not be corrected for less [m/s]."""
MIN_PIVOT = 1e-11
"""Entries of the pivot column below this do not block."""


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
    faces = model.directions if model.dimension == 2 else len(RAYS)
    limits = model.limit_directions, model.limit_offsets
    distances = model.coordinates * (model.coordinates + 1)
    evenly = not math.isinf(problem.stiffness) and bool(
        np.isin(tape.varying, np.arange(distances, distances + model.contacts)).all()
    )
    states = np.zeros((knots, count, 2 * model.coordinates))
    forces = np.zeros((knots, count, rows + model.contacts * faces))
    slip, impact = (np.zeros((knots, count, model.contacts)) for _ in range(2))
    states[0] = starts(problem, worlds)
    # Runs with the controls, so far, of the first one in the same world need not be made.
    first = worlds.first_alike() if given.ndim == 3 else np.arange(count)
    own = first == np.arange(count)
    for k, step in enumerate(steps.tolist(), 1):
        own |= (controls[:, k - 1] != controls[first, k - 1]).any(axis=1)
        states[k] = states[k - 1]
        _advance(
            tape.instructions, tape.constants, tape.fixed, tape.registers, tape.outputs,
            *limits, model.grounded, faces,
            problem.stiffness, problem.dissipation, evenly,
            worlds.friction, worlds.height, worlds.mass, worlds.shift,
            controls[:, k - 1] @ model.actuation.T, step / substeps, substeps, np.flatnonzero(own),
            states[k], forces[k], slip[k], impact[k],
        )  # fmt: skip
        for values in (states[k], forces[k], slip[k], impact[k]):
            values[~own] = values[first[~own]]
        forces[k] /= step
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
    """Return forces on the faces of the cones as those along the model's directions.

    Args:
        model: The model.
        forces: (..., nc faces) [N].

    Returns:
        (..., nc nd).
    """
    if model.dimension == 2:
        return forces
    along = forces.reshape(*forces.shape[:-1], model.contacts, -1) @ RAYS
    both = np.stack([np.maximum(along, 0.0), np.maximum(-along, 0.0)], axis=-1)
    return both.reshape(*forces.shape[:-1], -1)


def terms(model: ContactModel) -> Tape:
    """Return M, c, phi, Jn and Jt, by rows, as a function of q, v and the places of obstacles.

    Args:
        model: The model; Jt is of the faces of its friction cones.

    Raises:
        PlanningProblemError: If it has operations that are not known.
    """
    q, v = (casadi.SX.sym(name, model.coordinates) for name in "qv")
    shift = casadi.SX.sym("s", 2 * len(model.obstacles))
    *found, tangent = model.mass_matrix(q), model.bias_force(q, v), *model.shifted(q, shift)
    if model.dimension == 3:
        cones = casadi.vertsplit(casadi.SX(tangent), model.directions)
        tangent = casadi.vertcat(*(casadi.DM(RAYS) @ cone[::2, :] for cone in cones))
    found.append(tangent)
    rows = [casadi.vec(casadi.densify(casadi.SX(term)).T) for term in found]
    given = casadi.vertcat(q, v, shift)
    return record(casadi.Function("terms", [given], [casadi.vertcat(*rows)]))


@kernel
def _advance(
    instructions: np.ndarray,
    constants: np.ndarray,
    fixed: int,
    registers: int,
    outputs: int,
    limit_directions: np.ndarray,
    limit_offsets: np.ndarray,
    grounded: np.ndarray,
    directions: int,
    stiffness: float,
    dissipation: float,
    evenly: bool,
    friction: np.ndarray,
    height: np.ndarray,
    mass: np.ndarray,
    shift: np.ndarray,
    push: np.ndarray,
    h: float,
    substeps: int,
    chosen: np.ndarray,
    states: np.ndarray,
    impulses: np.ndarray,
    slip: np.ndarray,
    impact: np.ndarray,
) -> None:
    """Make some steps in some worlds.

    Args:
        instructions: Of :func:`terms`.
        constants: Likewise.
        fixed: Likewise.
        registers: Likewise.
        outputs: Likewise.
        limit_directions: Of the position limits (nq, nl).
        limit_offsets: Likewise (nl).
        grounded: Which contacts are with the ground (nc).
        directions: Of friction, as many as the cone of a contact has faces.
        stiffness: k [N/m].
        dissipation: d [s/m].
        evenly: Whether what touches nothing is accelerated evenly: then it is moved at once.
        friction: mu of each world (n).
        height: Of the ground (n) [m].
        mass: Factor (n).
        shift: Of the obstacles (n, 2 no) [m].
        push: B u (n, nq) [N, Nm].
        h: Step [s].
        substeps: Number of steps.
        chosen: In which worlds (m).
        states: (n, 2 nq), those after the steps in the end.
        impulses: (n, nc + nl + nc nd) [Ns], to which those of the steps are added.
        slip: gamma (n, nc) [m/s], raised to the largest of the steps in which a point presses
            that touched before.
        impact: (n, nc) [m/s], raised to the largest of the steps.
    """
    size = push.shape[1]
    contacts, limits = len(grounded), len(limit_offsets)
    rows = contacts + limits
    total = rows + contacts * directions
    unknowns = total + contacts
    yields = not math.isinf(stiffness)
    solves = 1 + CORRECTIONS if yields else 1
    given, work, terms = np.empty(2 * size + shift.shape[1]), np.empty(registers), np.empty(outputs)
    inertia = np.empty((size, size))
    jacobian, inverse = np.zeros((total, size)), np.empty((total, size))
    free, after, known = np.empty((1, size)), np.empty(size), np.empty(outputs)
    gaps, speed, before, own = np.empty(rows), np.empty(rows), np.empty(total), np.empty(contacts)
    matrix, offset, z = np.zeros((unknowns, unknowns)), np.zeros(unknowns), np.empty(unknowns)
    tableau, basis = np.empty((unknowns, 2 * unknowns + 2)), np.empty(unknowns, np.int64)
    some, part = np.empty((unknowns + 1, unknowns)), np.empty(unknowns, np.int64)
    near = np.empty(rows, np.bool_)
    for limit in range(limits):
        for i in range(size):
            jacobian[contacts + limit, i] = limit_directions[i, limit]
    for face in range(contacts * directions):
        matrix[rows + face, total + face // directions] = 1.0
        matrix[total + face // directions, rows + face] = -1.0
    play(instructions[:fixed], constants[:fixed], given, work, terms)
    for world in chosen:
        state = states[world]
        for contact in range(contacts):
            matrix[total + contact, contact] = friction[world]
        given[2 * size :] = shift[world]
        first = True
        for done in range(substeps):
            clear = evenly
            for i in range(2 * size):
                given[i] = state[i]
            play(instructions[fixed:], constants[fixed:], given, work, terms)
            # What is as it was need not be factorised again: M, c, Jn and Jt of a sliding body.
            if first or _changed(terms, known, size * (size + 1), contacts):
                first = False
                for i in range(outputs):
                    known[i] = terms[i]
                for i in range(size):
                    for j in range(size):
                        inertia[i, j] = mass[world] * terms[size * i + j]
                at = size * (size + 1) + contacts
                for row in range(total):
                    for i in range(size):
                        if not contacts <= row < rows:
                            jacobian[row, i] = terms[at]
                            at += 1
                        inverse[row, i] = jacobian[row, i]
                _factorise(inertia)
                _solve(inertia, inverse)
                for row in range(total):
                    for column in range(total):
                        matrix[row, column] = 0.0
                        for i in range(size):
                            matrix[row, column] += jacobian[row, i] * inverse[column, i]
                for contact in range(contacts):
                    own[contact] = matrix[contact, contact]
            for i in range(size):
                free[0, i] = h * (push[world, i] - mass[world] * terms[size * size + i])
            _solve(inertia, free)
            for i in range(size):
                free[0, i] += state[size + i]
                after[i] = state[size + i]
            for row in range(total):
                offset[row], before[row] = 0.0, 0.0
                for i in range(size):
                    offset[row] += jacobian[row, i] * free[0, i]
                    before[row] += jacobian[row, i] * after[i]
            for row in range(rows):
                if row < contacts:
                    gaps[row] = terms[size * (size + 1) + row] - height[world] * grounded[row]
                else:
                    gaps[row] = limit_offsets[row - contacts]
                    for i in range(size):
                        gaps[row] += state[i] * jacobian[row, i]
                if clear:
                    gained = offset[row] - before[row]
                    clear = _stays_off(gaps[row] / h, before[row], gained, substeps - done)
                if yields and row < contacts:
                    offset[row] += before[row] + 4.0 * gaps[row] / h
                else:
                    offset[row] += gaps[row] / h
                speed[row] = before[row]
            if clear:
                for i in range(size):
                    gained = (substeps - done) * (free[0, i] - state[size + i])
                    state[i] += h * (substeps - done) * (state[size + i] + 0.5 * gained)
                    state[size + i] += gained
                break
            for _ in range(solves):
                for contact in range(contacts):
                    # With how fast it yields per impulse [1/kg].
                    mean = 0.5 * (before[contact] + speed[contact])
                    damping = max(1.0 - dissipation * mean, MIN_DAMPING)
                    matrix[contact, contact] = own[contact] + 4.0 / (h**2 * stiffness * damping)
                _solve_step(matrix, offset, contacts, near, part, some, tableau, basis, z)
                for i in range(size):
                    after[i] = free[0, i]
                    for row in range(total):
                        after[i] += inverse[row, i] * z[row]
                settled = True
                for contact in range(contacts):
                    guessed = speed[contact]
                    speed[contact] = 0.0
                    for i in range(size):
                        speed[contact] += jacobian[contact, i] * after[i]
                    # Without an impulse it does not matter how it is damped.
                    same = z[contact] == 0.0 or abs(speed[contact] - guessed) < SAME_SPEED
                    settled = settled and same
                if settled:
                    break
            # Position limits are rigid: what they stop ends the step there.
            trapezoidal = yields and not z[contacts:rows].any()
            for contact in range(contacts):
                # What the step would have ended with, had this point not been stopped.
                stopped = own[contact] * z[contact]
                ending = speed[contact] - stopped
                if yields:
                    left = gaps[contact] + 0.5 * h * (before[contact] + speed[contact])
                    met = _touching_speed(before[contact], ending, gaps[contact], left, h)
                else:
                    met = _impact_speed(before[contact], ending, gaps[contact], stopped, h)
                impact[world, contact] = max(impact[world, contact], met)
                # While it lands, how fast it slides is a matter of when in the step that happens.
                if gaps[contact] <= TOUCHING and stopped > MIN_PRESS * h:
                    slip[world, contact] = max(slip[world, contact], z[total + contact])
            for row in range(total):
                impulses[world, row] += z[row]
            for i in range(size):
                mean = 0.5 * (state[size + i] + after[i]) if trapezoidal else after[i]
                state[i] += h * mean
                state[size + i] = after[i]


@inlined_kernel
def _solve_step(
    matrix: np.ndarray,
    offset: np.ndarray,
    contacts: int,
    near: np.ndarray,
    part: np.ndarray,
    some: np.ndarray,
    tableau: np.ndarray,
    basis: np.ndarray,
    z: np.ndarray,
) -> None:
    """Solve the problem of a step, of no more than what is near enough to act.

    Args:
        matrix: M (m, m): of impulses along normals, limits and faces, and of slips.
        offset: q (m).
        contacts: nc.
        near: To work with (nc + nl): which normals and limits take part.
        part: To work with (m): which unknowns do.
        some: To work with (m + 1, m): the matrix, offset and solution of these.
        tableau: To work with.
        basis: To work with.
        z: Solution, overwritten.
    """
    rows, total = len(near), len(offset) - contacts
    faces = (total - rows) // max(contacts, 1)
    for i in range(len(offset)):
        z[i] = 0.0
    for row in range(rows):
        near[row] = False
    while True:
        found = False
        for row in range(rows):
            # A number that is none takes part, to be handed on.
            if not near[row] and not _moved(matrix, offset, z, row, total) >= 0.0:
                near[row] = found = True
        if not found:
            break
        count = 0
        for i in range(len(offset)):
            owner = i if i < rows else (i - rows) // faces if i < total else i - total
            if near[owner]:
                part[count] = i
                count += 1
        if _presses(matrix, offset, near, part[:count], z):
            continue
        if count == len(offset):
            _lemke(matrix, offset, tableau, basis, z)
            return
        own = count
        for i in range(count):
            some[own, i] = offset[part[i]]
            for j in range(count):
                some[i, j] = matrix[part[i], part[j]]
        _lemke(some, some[own, :count], tableau, basis[:count], some[own + 1])
        for i in range(count):
            z[part[i]] = some[own + 1, i]


@inlined_kernel
def _presses(
    matrix: np.ndarray, offset: np.ndarray, near: np.ndarray, part: np.ndarray, z: np.ndarray
) -> bool:
    """Return whether a single normal or limit acts alone, without friction, and find with what."""
    row, number = 0, 0
    for i in range(len(near)):
        if near[i]:
            row, number = i, number + 1
    if number != 1:
        return False
    z[row] = -offset[row] / matrix[row, row]
    for i in part:
        if i != row and not offset[i] + matrix[i, row] * z[row] >= 0.0:
            z[row] = 0.0
            return False
    return True


@inlined_kernel
def _moved(matrix: np.ndarray, offset: np.ndarray, z: np.ndarray, row: int, total: int) -> float:
    """Return by how much impulses open a gap, or turn a motion."""
    motion = offset[row]
    for i in range(total):
        motion += matrix[row, i] * z[i]
    return float(motion)


@inlined_kernel
def _changed(terms: np.ndarray, known: np.ndarray, distances: int, contacts: int) -> bool:
    """Return whether anything is different but the distances, of which there are some."""
    for i in range(len(terms)):
        if terms[i] != known[i] and not distances <= i < distances + contacts:
            return True
    return False


@inner_kernel
def _factorise(matrix: np.ndarray) -> None:
    """Overwrite a positive-definite matrix with D and, below it, L of L D L'."""
    for j in range(len(matrix)):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k] * matrix[k, k]
        for i in range(j + 1, len(matrix)):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k] * matrix[k, k]
            matrix[i, j] /= matrix[j, j]


@inlined_kernel
def _solve(factors: np.ndarray, values: np.ndarray) -> None:
    """Solve L D L' x = b for each row, in place."""
    count, size = values.shape
    for row in range(count):
        for i in range(size):
            for k in range(i):
                values[row, i] -= factors[i, k] * values[row, k]
        for back in range(size):
            i = size - 1 - back
            values[row, i] /= factors[i, i]
            for k in range(i + 1, size):
                values[row, i] -= factors[k, i] * values[row, k]


@inlined_kernel
def _stays_off(gap: float, speed: float, gained: float, steps: int) -> bool:
    """Return whether a gap stays open for some steps, in units of how far a speed leads in one.

    Args:
        gap: [m/s].
        speed: At which it opens [m/s].
        gained: By the speed in each step [m/s].
        steps: Number of steps.
    """
    least = min(gap, gap + steps * (speed + 0.5 * gained * steps))
    if 0.0 < -speed < gained * steps:
        least = gap - 0.5 * speed * speed / gained
    return least > 0.0


@inlined_kernel
def _impact_speed(before: float, after: float, gap: float, stopped: float, step: float) -> float:
    """Return the speed of a contact point at the moment in the step at which it touches.

    Taken at the knot before, it would jump by an acceleration times a step with the knot at which
    contact begins. Of its speed ``stopped`` is taken in the step [m/s].
    """
    if not (stopped > MIN_PRESS * step and gap >= -TOUCHING):
        return 0.0
    moment = min(max(gap / max(-step * after, MIN_WAY), 0.0), 1.0)
    return max(-(before + moment * (after - before)), 0.0)


@inlined_kernel
def _touching_speed(before: float, after: float, gap: float, left: float, step: float) -> float:
    """Return the speed at which a point comes to touch what yields, in a step with that gap left.

    In the air it is accelerated evenly.
    """
    if not (gap >= -TOUCHING and left < -TOUCHING):
        return 0.0
    return math.sqrt(max(before**2 - 2.0 * gap * (after - before) / step, 0.0))


@inner_kernel
def _precedes(tableau: np.ndarray, basis: np.ndarray, i: int, j: int, entering: int) -> bool:
    """Return whether the variable of row i reaches zero before that of row j."""
    size = len(basis)
    artificial, last = 2 * size, 2 * size + 1
    first, second = tableau[i, last] / tableau[i, entering], tableau[j, last] / tableau[j, entering]
    if abs(first - second) > 1e-12 * (1.0 + abs(second)):
        return bool(first < second)
    if basis[i] == artificial or basis[j] == artificial:
        return bool(basis[i] == artificial)
    for column in range(size):
        first = tableau[i, column] / tableau[i, entering]
        second = tableau[j, column] / tableau[j, entering]
        if first != second:
            return bool(first < second)
    return False


@kernel
def solve_lcps(matrices: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Find z >= 0 with w = M z + q >= 0 and z' w = 0, by Lemke's method, in many problems.

    It finds a solution for copositive-plus M, to which time stepping with a polyhedral friction
    cone belongs.

    Args:
        matrices: M (n, m, m).
        offsets: q (n, m).

    Returns:
        z (n, m), NaN where the method ends on a ray or q is NaN.
    """
    count, size = offsets.shape
    solutions = np.zeros((count, size))
    tableau, basis = np.empty((size, 2 * size + 2)), np.empty(size, np.int64)
    for problem in range(count):
        _lemke(matrices[problem], offsets[problem], tableau, basis, solutions[problem])
    return solutions


@inner_kernel
def _lemke(
    matrix: np.ndarray, q: np.ndarray, tableau: np.ndarray, basis: np.ndarray, z: np.ndarray
) -> None:
    """Solve one problem, see :func:`solve_lcps`."""
    size = len(q)
    # Columns: w, z, the artificial variable, the right-hand side; the first block breaks ties.
    artificial = 2 * size
    last = artificial + 1
    row = 0
    for i in range(size):
        z[i] = 0.0
        if not q[i] >= q[row]:
            row = i
    if q[row] >= 0.0:
        return
    for i in range(size):
        for j in range(size):
            tableau[i, j] = 1.0 if i == j else 0.0
            tableau[i, size + j] = -matrix[i, j]
        tableau[i, artificial] = -1.0
        tableau[i, last] = q[i]
        basis[i] = i
    entering = artificial
    solved = False
    for _ in range(50 * (size + 1)):
        leaving = basis[row]
        pivot = tableau[row, entering]
        for j in range(last + 1):
            tableau[row, j] /= pivot
        for i in range(size):
            factor = tableau[i, entering]
            if i != row and factor != 0.0:
                for j in range(last + 1):
                    tableau[i, j] -= factor * tableau[row, j]
        basis[row] = entering
        if leaving == artificial:
            solved = True
            break
        entering = leaving + size if leaving < size else leaving - size
        row = -1
        for i in range(size):
            if tableau[i, entering] <= MIN_PIVOT:
                continue
            if row < 0 or _precedes(tableau, basis, i, row, entering):
                row = i
        if row < 0:
            break
    for i in range(size):
        if not solved:
            z[i] = np.nan
        elif size <= basis[i] < artificial:
            z[basis[i] - size] = max(tableau[i, last], 0.0)
