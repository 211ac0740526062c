"""Open-loop simulation with the time stepping of Stewart and Trinkle (1996), in many worlds.

Each step solves for impulses p = h lambda such that, with v+ from M (v+ - v) = h (B u - c) + J' p,

    0 <= pN _|_ phi + h Jn v+ >= 0
    0 <= pT _|_ e gamma + Jt v+ >= 0
    0 <= gamma _|_ mu pN - e' pT >= 0

Position limits are frictionless contacts. Rigid contacts are inelastic. Ground and obstacles that
are not rigid answer penetration with the normal force of ``tamsi`` (5), (19),

    lamN = k (-phi - h Jn v+)_+ (1 + d w)_+

with the speed w towards them before the step, then corrected to that after it: each is a
complementarity problem with the diagonal entry 1 / (h^2 k (1 + d w)).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

import casadi
import numpy as np

from contact_core.base.errors import ContactStackError
from contact_core.base.kernel import inner_kernel, kernel
from robust_planner.problem import TOUCHING, RobustProblem
from robust_planner.risk.worlds import Worlds, one_world, starts
from robust_planner.trajectory import ContactTrajectory

MIN_FORCE = 1e-3
"""With less force nothing touches [N]."""
MIN_WAY = 1e-12
"""In a step [m]; keeps a quotient finite."""
MIN_DAMPING = 1e-9
"""Of the factor 1 + d w of a force; keeps a quotient finite."""
CORRECTIONS = 2
"""Of the damping in a step; one is not that of ``tamsi_sim`` by some percent of an impact."""
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
        slip: gamma (n, N, nc) [m/s].
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
            by up to one of them.
        times: Of the knots (N) [s]; None for the problem's time step.

    Returns:
        The motions.
    """
    model, count, knots = problem.model, len(worlds), controls.shape[-2]
    controls = np.broadcast_to(controls, (count, knots, model.controls))
    steps = np.full(knots - 1, problem.time_step) if times is None else np.diff(times)
    stepper = _Stepper(problem, worlds)
    states = np.zeros((knots, count, 2 * model.coordinates))
    forces = np.zeros((knots, count, stepper.impulses))
    slip, impact = (np.zeros((knots, count, model.contacts)) for _ in range(2))
    states[0] = starts(problem, worlds)
    for k, step in enumerate(steps.tolist(), 1):
        states[k] = states[k - 1]
        for _ in range(substeps):
            states[k], impulses, slip[k], speed = stepper.step(
                states[k], controls[:, k - 1], step / substeps
            )
            forces[k] += impulses
            impact[k] = np.maximum(impact[k], speed)
        forces[k] /= step
    states, forces = states.swapaxes(0, 1), forces.swapaxes(0, 1)
    rows = stepper.rows
    return BatchMotion(
        position=states[..., : model.coordinates],
        velocity=states[..., model.coordinates :],
        normal_force=forces[..., : model.contacts],
        tangent_force=forces[..., rows:],
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


class _Stepper:
    """Makes one step in all worlds.

    Attributes:
        rows: Number of normal impulses and of impulses of the limits.
        impulses: Number of these and of tangential impulses.
    """

    def __init__(self, problem: RobustProblem, worlds: Worlds) -> None:
        model, count = problem.model, len(worlds)
        self._model, self._worlds = model, worlds
        self._stiffness, self._dissipation = problem.stiffness, problem.dissipation
        self._solves = 1 if math.isinf(problem.stiffness) else 1 + CORRECTIONS
        self._terms = _Terms(problem, worlds.shift)
        self.rows = model.contacts + len(model.limit_offsets)
        faces = model.contacts * model.directions
        self.impulses = self.rows + faces
        size = self.impulses + model.contacts
        cone = np.kron(np.eye(model.contacts), np.ones((model.directions, 1)))
        self._limits = np.broadcast_to(
            model.limit_directions.T, (count, len(model.limit_offsets), model.coordinates)
        )
        self._matrix, self._offset = np.zeros((count, size, size)), np.zeros((count, size))
        self._matrix[:, self.rows : self.impulses, self.impulses :] = cone
        self._matrix[:, self.impulses :, self.rows : self.impulses] = -cone.T
        for contact in range(model.contacts):
            self._matrix[:, self.impulses + contact, contact] = worlds.friction

    def step(
        self, state: np.ndarray, control: np.ndarray, h: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the next state, impulses, slip and impact speeds, one row a world."""
        model = self._model
        q, v = np.split(state, 2, axis=1)
        mass, bias, phi, normal, tangent = self._terms.evaluate(q, v)
        inertia = self._worlds.mass[:, None, None] * mass
        push = control @ model.actuation.T - self._worlds.mass[:, None] * bias
        jacobian = np.concatenate([normal, self._limits, tangent], axis=1)
        height = self._worlds.height[:, None] * model.grounded
        gaps = np.hstack([phi - height, q @ model.limit_directions + model.limit_offsets])
        columns = np.concatenate([h * push[:, :, None], jacobian.transpose(0, 2, 1)], axis=2)
        answer = np.linalg.solve(inertia, columns)
        free, inverse = v + answer[:, :, 0], answer[:, :, 1:]
        self._matrix[:, : self.impulses, : self.impulses] = jacobian @ inverse
        self._offset[:, : self.impulses] = np.einsum("nij,nj->ni", jacobian, free)
        self._offset[:, : self.rows] += gaps / h
        contacts = np.arange(model.contacts)
        normal, own = jacobian[:, : model.contacts], self._matrix[:, contacts, contacts]
        after = v
        for _ in range(self._solves):
            self._matrix[:, contacts, contacts] = own + self._compliance(normal, after, h)
            z = solve_lcps(self._matrix, self._offset)
            after = free + np.einsum("nij,nj->ni", inverse, z[:, : self.impulses])
        impulses, slip = z[:, : self.impulses], z[:, self.impulses :]
        speed = _impact_speeds(normal, own, gaps, v, after, impulses, h)
        return np.hstack([q + h * after, after]), impulses, slip, speed

    def _compliance(self, normal: np.ndarray, velocity: np.ndarray, h: float) -> np.ndarray:
        """Return how fast each contact point (n, nc) yields per impulse [1/kg]."""
        towards = -np.einsum("nci,ni->nc", normal, velocity)
        damping = np.maximum(1.0 + self._dissipation * towards, MIN_DAMPING)
        return 1.0 / (h**2 * self._stiffness * damping)


def _impact_speeds(
    normal: np.ndarray,
    own: np.ndarray,
    gaps: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    impulses: np.ndarray,
    step: float,
) -> np.ndarray:
    """Return the speed of each contact point (n, nc) at the moment in the step at which it touches.

    Taken at the knot before, it would jump by an acceleration times a step with the knot at which
    contact begins.
    """
    contacts = normal.shape[1]
    gaps, impulse = gaps[:, :contacts], impulses[:, :contacts]
    speed = np.einsum("nci,ni->nc", normal, before)
    # What the step would have ended with, had this point not been stopped.
    free = np.einsum("nci,ni->nc", normal, after) - own * impulse
    moment = np.clip(gaps / np.maximum(-step * free, MIN_WAY), 0.0, 1.0)
    touches = (impulse > MIN_FORCE * step) & (gaps >= -TOUCHING)
    return np.where(touches, np.maximum(-(speed + moment * (free - speed)), 0.0), 0.0)


class _Terms:
    """Evaluates a model in many states, in place: converting CasADi's matrices took a third."""

    def __init__(self, problem: RobustProblem, shift: np.ndarray) -> None:
        model, size, count = problem.model, problem.model.coordinates, len(shift)
        q, v = casadi.SX.sym("q", size), casadi.SX.sym("v", size)
        s = casadi.SX.sym("s", shift.shape[1])
        terms = (model.mass_matrix(q), model.bias_force(q, v), *model.shifted(q, s))
        function = casadi.Function("terms", [q, v, s], [casadi.densify(term) for term in terms])
        self._buffer, self._call = function.map(count).buffer()
        self._state = np.zeros((2, count, size))
        self._shift = np.ascontiguousarray(shift)
        # CasADi's matrices are stored by columns, those of several states side by side.
        shapes = [(term.shape[1], term.shape[0]) for term in terms]
        self._found = [np.zeros((count, *shape)) for shape in shapes]
        for index, values in enumerate((*self._state, self._shift)):
            self._buffer.set_arg(index, values.data)  # type: ignore[call-arg]
        for index, values in enumerate(self._found):
            self._buffer.set_res(index, values.data)  # type: ignore[call-arg]

    def evaluate(self, q: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
        """Return M, c, phi, Jn and Jt, see :class:`ContactModel`, one row a state.

        They are overwritten by the next call.
        """
        self._state[0], self._state[1] = q, v
        self._call()
        mass, bias, phi, normal, tangent = self._found
        columns = (normal.swapaxes(1, 2), tangent.swapaxes(1, 2))
        return [mass, bias[:, 0], phi[:, 0], *columns]


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
    artificial = 2 * size
    tableau = np.empty((size, 2 * size + 2))
    basis = np.empty(size, np.int64)
    # Columns: w, z, the artificial variable, the right-hand side; the first block breaks ties.
    last = artificial + 1
    for problem in range(count):
        q = offsets[problem]
        row = 0
        for i in range(size):
            if not q[i] >= q[row]:
                row = i
        if q[row] >= 0.0:
            continue
        for i in range(size):
            for j in range(size):
                tableau[i, j] = 1.0 if i == j else 0.0
                tableau[i, size + j] = -matrices[problem, i, j]
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
                solutions[problem, i] = np.nan
            elif size <= basis[i] < artificial:
                solutions[problem, basis[i] - size] = max(tableau[i, last], 0.0)
    return solutions
