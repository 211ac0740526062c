"""Linear complementarity problems, 0 <= z _|_ M z + q >= 0, by Lemke's method.

Of the contacts in a step few act: the problem is solved for these, and for more where its solution
would press others in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_core.base.kernel import inlined_kernel, inner_kernel, kernel

MIN_PIVOT = 1e-11
"""Entries of the pivot column below this do not block."""


class StepProblem(NamedTuple):
    """The problem of a step with nc contacts and nl limits, and room to solve it in.

    Attributes:
        matrix: M (m, m): of impulses along normals, limits and faces of friction cones, and of
            slips.
        offset: q (m).
        z: Solution (m).
        near: Which normals and limits take part (nc + nl).
        part: Which unknowns do (m).
        some: The matrix, offset and solution of these (m + 1, m).
        tableau: Lemke's (m, 2 m + 2).
        basis: Of it (m).
    """

    matrix: np.ndarray
    offset: np.ndarray
    z: np.ndarray
    near: np.ndarray
    part: np.ndarray
    some: np.ndarray
    tableau: np.ndarray
    basis: np.ndarray


def step_problem(contacts: int, limits: int, faces: int) -> StepProblem:
    """Make room for the problem of a step, with what couples slips and faces in its matrix.

    Args:
        contacts: nc.
        limits: nl.
        faces: Of the friction cone of each contact.
    """
    rows = contacts + limits
    total = rows + contacts * faces
    unknowns = total + contacts
    matrix = np.zeros((unknowns, unknowns))
    for face in range(contacts * faces):
        matrix[rows + face, total + face // faces] = 1.0
        matrix[total + face // faces, rows + face] = -1.0
    return StepProblem(
        matrix=matrix,
        offset=np.zeros(unknowns),
        z=np.zeros(unknowns),
        near=np.zeros(rows, np.bool_),
        part=np.zeros(unknowns, np.int64),
        some=np.zeros((unknowns + 1, unknowns)),
        tableau=np.zeros((unknowns, 2 * unknowns + 2)),
        basis=np.zeros(unknowns, np.int64),
    )


@inner_kernel
def solve_step(problem: StepProblem, contacts: int) -> None:
    """Solve the problem of a step, of no more than what is near enough to act.

    Args:
        problem: Its z is overwritten; NaN where there is no solution.
        contacts: nc.
    """
    matrix, offset, z = problem.matrix, problem.offset, problem.z
    near, part, some = problem.near, problem.part, problem.some
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
            _lemke(matrix, offset, problem.tableau, problem.basis, z)
            return
        own = count
        for i in range(count):
            some[own, i] = offset[part[i]]
            for j in range(count):
                some[i, j] = matrix[part[i], part[j]]
        _lemke(some, some[own, :count], problem.tableau, problem.basis[:count], some[own + 1])
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
