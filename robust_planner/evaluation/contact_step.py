"""A step of the time stepping of Stewart and Trinkle (1996) in one world, and many in many.

It solves for impulses p = h lambda such that, with v+ from M (v+ - v) = h (B u - c) + J' p,

    0 <= pN _|_ phi + h Jn v+ >= 0
    0 <= pT _|_ e gamma + Jt v+ >= 0
    0 <= gamma _|_ mu pN - e' pT >= 0

Position limits are frictionless contacts. Rigid contacts are inelastic. Ground and obstacles that
are not rigid answer penetration with the normal force of ``tamsi`` (5), (19),

    lamN = k (-phi)_+ (1 + d w)_+

by the trapezoidal rule: phi is the mean of both ends of the step, whose way is that of its mean
speed, and w is that speed, found from that before the step and corrected. Backward Euler would take
a share of omega h / 2 of each quarter of a bounce. With v+ as unknown, each is a complementarity
problem

    0 <= pN _|_ 4 phi / h + Jn (v + v+) + 4 pN / (h^2 k (1 + d w)) >= 0

In 3-D a face of each cone looks the way in which its point would slide without friction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_core.base.kernel import inlined_kernel, inner_kernel, kernel
from robust_planner.contact_model import ContactModel
from robust_planner.evaluation.lemke import StepProblem, solve_step, step_problem
from robust_planner.evaluation.tape import Tape, play
from robust_planner.problem import TOUCHING

MIN_PRESS = 1e-3
"""With a force that accelerates a point by less nothing touches [m/s^2]."""
MIN_WAY = 1e-12
"""In a step [m]; keeps a quotient finite."""
MIN_DAMPING = 1e-9
"""Of the factor 1 + d w of a force; keeps a quotient finite."""
CORRECTIONS = 2
"""Of the damping in a step, at most; one is not that of ``tamsi_sim`` by some percent of an
impact."""
SAME_SPEED = 1e-6
"""Damping need not be corrected for less [m/s]."""
TURN = 2.0 * math.pi
SAME_WAY = 1e-3
"""Cones need not be turned for less [rad]."""


class StepDynamics(NamedTuple):
    """What is the same in every world and step.

    Attributes:
        instructions: The tape of the model's terms: M, c, phi, Jn and Jt, by rows.
        constants: Its constants.
        fixed: Up to which instruction nothing depends on the state.
        grounded: Which contacts are with the ground (nc).
        limit_offsets: Of the position limits (nl).
        stiffness: k [N/m].
        dissipation: d [s/m].
        evenly: Whether what touches nothing is accelerated evenly: then it is moved at once.
        spatial: Whether cones have faces all around, and Jt is along two axes.
    """

    instructions: np.ndarray
    constants: np.ndarray
    fixed: int
    grounded: np.ndarray
    limit_offsets: np.ndarray
    stiffness: float
    dissipation: float
    evenly: bool
    spatial: bool


class ContactStep(NamedTuple):
    """A step in one world; rows are of normals, limits and the faces of friction cones.

    Attributes:
        given: q, v and the shift of the obstacles.
        work: Of the tape.
        terms: M, c, phi, Jn and Jt, by rows.
        known: Those from which all below was made that does not depend on distances.
        inertia: D and L of M = L D L' (nq, nq).
        turn: Angle of the first face of each cone (nc) [rad].
        jacobian: (nr, nq).
        inverse: J M^-1 (nr, nq).
        own: Of each normal, J M^-1 J' (nc) [1/kg].
        gaps: Of normals and limits (nc + nl) [m].
        before: Speeds along the rows before the step (nr) [m/s].
        speed: Those of normals after it (nc + nl); the next guess of it, while it is solved.
        free: Velocity after it, did nothing act (1, nq).
        after: Velocity after it (nq).
        problem: For its impulses.
    """

    given: np.ndarray
    work: np.ndarray
    terms: np.ndarray
    known: np.ndarray
    inertia: np.ndarray
    turn: np.ndarray
    jacobian: np.ndarray
    inverse: np.ndarray
    own: np.ndarray
    gaps: np.ndarray
    before: np.ndarray
    speed: np.ndarray
    free: np.ndarray
    after: np.ndarray
    problem: StepProblem


def make_step(model: ContactModel, tape: Tape, faces: int) -> ContactStep:
    """Make room for a step, with what is the same in all of them.

    Args:
        model: The model.
        tape: Of its terms.
        faces: Of the friction cone of each contact.
    """
    size, contacts, limits = model.coordinates, model.contacts, len(model.limit_offsets)
    rows, total = contacts + limits, contacts + limits + contacts * faces
    jacobian = np.zeros((total, size))
    jacobian[contacts:rows] = model.limit_directions.T
    return ContactStep(
        given=np.zeros(2 * size + 2 * len(model.obstacles)),
        work=np.zeros(tape.registers),
        terms=np.zeros(tape.outputs),
        known=np.zeros(tape.outputs),
        inertia=np.zeros((size, size)),
        turn=np.zeros(contacts),
        jacobian=jacobian,
        inverse=np.zeros((total, size)),
        own=np.zeros(contacts),
        gaps=np.zeros(rows),
        before=np.zeros(total),
        speed=np.zeros(rows),
        free=np.zeros((1, size)),
        after=np.zeros(size),
        problem=step_problem(contacts, limits, faces),
    )


@kernel
def advance(
    dynamics: StepDynamics,
    step: ContactStep,
    worlds: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    push: np.ndarray,
    times: np.ndarray,
    substeps: int,
    alike: np.ndarray,
    states: np.ndarray,
    impulses: np.ndarray,
    slip: np.ndarray,
    impact: np.ndarray,
) -> None:
    """Go from knot to knot in many worlds.

    Args:
        dynamics: What moves.
        step: To work with.
        worlds: mu (n), height of the ground (n) [m], factor on the masses (n) and shift of the
            obstacles (n, 2 no) [m] in each.
        push: B u from each knot to the next (N - 1, n, nq) [N, Nm].
        times: From each knot to the next (N - 1) [s].
        substeps: Number of steps from knot to knot.
        alike: Up to each knot (N - 1, n), the first world in which the same happens.
        states: (N, n, 2 nq), of which the first are given.
        impulses: (N, n, nc + nl + 2 nc) [Ns], of zeros: of the steps that end at a knot, along
            normals, limits, and both directions or axes of each contact.
        slip: gamma (N, n, nc) [m/s], of zeros: the largest of the steps in which a point presses
            that touched before.
        impact: (N, n, nc) [m/s], of zeros: the largest of the steps.
    """
    instructions, constants, fixed = dynamics.instructions, dynamics.constants, dynamics.fixed
    play(instructions[:fixed], constants[:fixed], step.given, step.work, step.terms)
    for knot in range(1, len(states)):
        h = times[knot - 1] / substeps
        for world in range(states.shape[1]):
            first = alike[knot - 1, world]
            if first == world:
                states[knot, world] = states[knot - 1, world]
                _advance(
                    dynamics, step, worlds, world, push[knot - 1, world], h, substeps,
                    states[knot, world], impulses[knot, world], slip[knot, world],
                    impact[knot, world],
                )  # fmt: skip
            else:
                for values in (states[knot], impulses[knot], slip[knot], impact[knot]):
                    values[world] = values[first]


@inlined_kernel
def _advance(
    dynamics: StepDynamics,
    step: ContactStep,
    worlds: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    world: int,
    push: np.ndarray,
    h: float,
    substeps: int,
    state: np.ndarray,
    impulses: np.ndarray,
    slip: np.ndarray,
    impact: np.ndarray,
) -> None:
    """Make some steps in one world, of h [s] each."""
    friction, height, mass, shift = worlds
    instructions, constants, fixed = dynamics.instructions, dynamics.constants, dynamics.fixed
    contacts, size = len(dynamics.grounded), len(push)
    total = len(step.problem.offset) - contacts
    for contact in range(contacts):
        step.problem.matrix[total + contact, contact] = friction[world]
        step.turn[contact] = 0.0  # what follows does not depend on other worlds
    for i in range(shift.shape[1]):
        step.given[2 * size + i] = shift[world, i]
    for done in range(substeps):
        for i in range(2 * size):
            step.given[i] = state[i]
        play(instructions[fixed:], constants[fixed:], step.given, step.work, step.terms)
        # What is as it was need not be factorised again: M, c, Jn and Jt of a sliding body.
        if done == 0 or _changed(step.terms, step.known, size * (size + 1), contacts):
            _assemble(dynamics, step, mass[world])
        _move_freely(step, state, push, mass[world], h)
        if dynamics.spatial and _turn(step, contacts):
            _assemble(dynamics, step, mass[world])
            _move_freely(step, state, push, mass[world], h)
        left = substeps - done
        if _meets_nothing(dynamics, step, state, height[world], h, left):
            _fly(state, step.free[0], h, left)
            break
        _solve_impulses(dynamics, step, h)
        _record(dynamics, step, h, impulses, slip, impact)
        _integrate(dynamics, step, state, h)


@inlined_kernel
def _assemble(dynamics: StepDynamics, step: ContactStep, mass: float) -> None:
    """Factorise M, and find J, J M^-1 and J M^-1 J'."""
    terms, inertia, jacobian, inverse = step.terms, step.inertia, step.jacobian, step.inverse
    matrix, size, contacts = step.problem.matrix, len(inertia), len(step.own)
    for i in range(len(terms)):
        step.known[i] = terms[i]
    for i in range(size):
        for j in range(size):
            inertia[i, j] = mass * terms[size * i + j]
    at = size * (size + 1) + contacts
    for row in range(contacts):
        for i in range(size):
            jacobian[row, i] = terms[at + size * row + i]
    at, rows = at + size * contacts, len(step.gaps)
    faces = (len(jacobian) - rows) // max(contacts, 1)
    for row in range(rows, len(jacobian)):
        contact, face = (row - rows) // faces, (row - rows) % faces
        if dynamics.spatial:
            angle = step.turn[contact] + face * TURN / faces
            one, other, first = math.cos(angle), math.sin(angle), at + 2 * size * contact
            for i in range(size):
                jacobian[row, i] = one * terms[first + i] + other * terms[first + size + i]
        else:
            for i in range(size):
                jacobian[row, i] = terms[at + size * (row - rows) + i]
    for row in range(len(jacobian)):
        for i in range(size):
            inverse[row, i] = jacobian[row, i]
    _factorise(inertia)
    _solve(inertia, inverse)
    for row in range(len(jacobian)):
        for column in range(len(jacobian)):
            matrix[row, column] = 0.0
            for i in range(size):
                matrix[row, column] += jacobian[row, i] * inverse[column, i]
    for contact in range(contacts):
        step.own[contact] = matrix[contact, contact]


@inlined_kernel
def _turn(step: ContactStep, contacts: int) -> bool:
    """Turn the cones to where their points would slide without friction; tell whether one turns."""
    size, turned = len(step.after), False
    at = size * (size + 1) + contacts + size * contacts
    for contact in range(contacts):
        x, y = 0.0, 0.0
        for i in range(size):
            x += step.terms[at + 2 * size * contact + i] * step.free[0, i]
            y += step.terms[at + 2 * size * contact + size + i] * step.free[0, i]
        # Another face looks back.
        aside = y * math.cos(step.turn[contact]) - x * math.sin(step.turn[contact])
        if abs(aside) > SAME_WAY * math.hypot(x, y):
            step.turn[contact], turned = math.atan2(y, x), True
    return turned


@inlined_kernel
def _move_freely(
    step: ContactStep, state: np.ndarray, push: np.ndarray, mass: float, h: float
) -> None:
    """Find the velocities, of coordinates and along rows, that nothing but the push changes."""
    size, offset = len(push), step.problem.offset
    for i in range(size):
        step.free[0, i] = h * (push[i] - mass * step.terms[size * size + i])
    _solve(step.inertia, step.free)
    for i in range(size):
        step.free[0, i] += state[size + i]
        step.after[i] = state[size + i]
    for row in range(len(step.jacobian)):
        offset[row], step.before[row] = 0.0, 0.0
        for i in range(size):
            offset[row] += step.jacobian[row, i] * step.free[0, i]
            step.before[row] += step.jacobian[row, i] * step.after[i]


@inlined_kernel
def _meets_nothing(
    dynamics: StepDynamics, step: ContactStep, state: np.ndarray, height: float, h: float, left: int
) -> bool:
    """Find the gaps and with them the problem's offset; tell whether they stay open to the end.

    Args:
        dynamics: What moves.
        step: Whose free motion is known.
        state: Before it.
        height: Of the ground [m].
        h: Length of a step [s].
        left: How many steps are left.
    """
    contacts, size = len(dynamics.grounded), len(step.after)
    yields = not math.isinf(dynamics.stiffness)
    gaps, before, offset = step.gaps, step.before, step.problem.offset
    clear = dynamics.evenly
    for row in range(len(gaps)):
        if row < contacts:
            gaps[row] = step.terms[size * (size + 1) + row] - height * dynamics.grounded[row]
        else:
            gaps[row] = dynamics.limit_offsets[row - contacts]
            for i in range(size):
                gaps[row] += state[i] * step.jacobian[row, i]
        if clear:
            gained = offset[row] - before[row]
            clear = _stays_off(gaps[row] / h, before[row], gained, left)
        if yields and row < contacts:
            offset[row] += before[row] + 4.0 * gaps[row] / h
        else:
            offset[row] += gaps[row] / h
        step.speed[row] = before[row]
    return clear


@inlined_kernel
def _fly(state: np.ndarray, free: np.ndarray, h: float, left: int) -> None:
    """Move evenly accelerated to the end."""
    size = len(free)
    for i in range(size):
        gained = left * (free[i] - state[size + i])
        state[i] += h * left * (state[size + i] + 0.5 * gained)
        state[size + i] += gained


@inlined_kernel
def _solve_impulses(dynamics: StepDynamics, step: ContactStep, h: float) -> None:
    """Solve for the impulses, and again until what yields is damped at the speed that it has."""
    stiffness, contacts = dynamics.stiffness, len(dynamics.grounded)
    matrix, z, before, speed = step.problem.matrix, step.problem.z, step.before, step.speed
    for _ in range(1 if math.isinf(stiffness) else 1 + CORRECTIONS):
        for contact in range(contacts):
            # With how fast it yields per impulse [1/kg].
            mean = 0.5 * (before[contact] + speed[contact])
            damping = max(1.0 - dynamics.dissipation * mean, MIN_DAMPING)
            matrix[contact, contact] = step.own[contact] + 4.0 / (h**2 * stiffness * damping)
        solve_step(step.problem, contacts)
        for i in range(len(step.after)):
            step.after[i] = step.free[0, i]
            for row in range(len(step.jacobian)):
                step.after[i] += step.inverse[row, i] * z[row]
        settled = True
        for contact in range(contacts):
            guessed = speed[contact]
            speed[contact] = 0.0
            for i in range(len(step.after)):
                speed[contact] += step.jacobian[contact, i] * step.after[i]
            # Without an impulse it does not matter how it is damped.
            same = z[contact] == 0.0 or abs(speed[contact] - guessed) < SAME_SPEED
            settled = settled and same
        if settled:
            break


@inlined_kernel
def _record(
    dynamics: StepDynamics,
    step: ContactStep,
    h: float,
    impulses: np.ndarray,
    slip: np.ndarray,
    impact: np.ndarray,
) -> None:
    """Note the impulses of a step, how fast points come to touch and how fast they slide."""
    contacts = len(dynamics.grounded)
    z, gaps, before, speed = step.problem.z, step.gaps, step.before, step.speed
    total = len(step.jacobian)
    for contact in range(contacts):
        # What the step would have ended with, had this point not been stopped.
        stopped = step.own[contact] * z[contact]
        ending = speed[contact] - stopped
        if math.isinf(dynamics.stiffness):
            met = _impact_speed(before[contact], ending, gaps[contact], stopped, h)
        else:
            left = gaps[contact] + 0.5 * h * (before[contact] + speed[contact])
            met = _touching_speed(before[contact], ending, gaps[contact], left, h)
        impact[contact] = max(impact[contact], met)
        # While it lands, how fast it slides is a matter of when in the step that happens.
        if gaps[contact] <= TOUCHING and stopped > MIN_PRESS * h:
            slip[contact] = max(slip[contact], z[total + contact])
    rows = len(gaps)
    for row in range(rows):
        impulses[row] += z[row]
    faces = (total - rows) // max(contacts, 1)
    for face in range(total - rows):
        contact = face // faces
        if dynamics.spatial:
            angle = step.turn[contact] + face % faces * TURN / faces
            impulses[rows + 2 * contact] += math.cos(angle) * z[rows + face]
            impulses[rows + 2 * contact + 1] += math.sin(angle) * z[rows + face]
        else:
            impulses[rows + face] += z[rows + face]


@inlined_kernel
def _integrate(dynamics: StepDynamics, step: ContactStep, state: np.ndarray, h: float) -> None:
    """Move with the velocities of the step."""
    size = len(step.after)
    # Position limits are rigid: what they stop ends the step there.
    trapezoidal = not math.isinf(dynamics.stiffness)
    for row in range(len(dynamics.grounded), len(step.gaps)):
        trapezoidal = trapezoidal and step.problem.z[row] == 0.0
    for i in range(size):
        mean = 0.5 * (state[size + i] + step.after[i]) if trapezoidal else step.after[i]
        state[i] += h * mean
        state[size + i] = step.after[i]


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
