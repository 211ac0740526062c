"""CasADi functions as lists of instructions, which kernels execute without a call of Python."""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi
import numpy as np

from contact_core.base.kernel import leaf_kernel
from robust_planner.contact_model import PlanningProblemError

INPUT, OUTPUT, CONSTANT = casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST
ASSIGN, NEG, NOT = casadi.OP_ASSIGN, casadi.OP_NEG, casadi.OP_NOT
ADD, SUB, MUL, DIV = casadi.OP_ADD, casadi.OP_SUB, casadi.OP_MUL, casadi.OP_DIV
SQ, TWICE, SQRT, INV = casadi.OP_SQ, casadi.OP_TWICE, casadi.OP_SQRT, casadi.OP_INV
SIN, COS, TAN, ATAN2 = casadi.OP_SIN, casadi.OP_COS, casadi.OP_TAN, casadi.OP_ATAN2
LT, LE, AND, OR, IF = (
    casadi.OP_LT, casadi.OP_LE, casadi.OP_AND, casadi.OP_OR, casadi.OP_IF_ELSE_ZERO,
)  # fmt: skip
FABS, FMIN, FMAX = casadi.OP_FABS, casadi.OP_FMIN, casadi.OP_FMAX
UNARY = (ASSIGN, NEG, NOT, SQ, TWICE, SQRT, INV, SIN, COS, TAN, FABS)
BINARY = (ADD, SUB, MUL, DIV, ATAN2, LT, LE, AND, OR, IF, FMIN, FMAX)


@dataclass(frozen=True)
class Tape:
    """What a function of one vector does.

    Attributes:
        instructions: Operation, where its result goes, and where its arguments are (n, 4). Those
            that the argument does not matter to come first: they need to be played once.
        constants: Of the instructions that have one (n).
        fixed: Number of those that come first.
        registers: Number of numbers to work with.
        outputs: Number of results.
    """

    instructions: np.ndarray
    constants: np.ndarray
    fixed: int
    registers: int
    outputs: int

    @property
    def varying(self) -> np.ndarray:
        """Indices of the results that the argument matters to."""
        own = self.instructions[self.fixed :]
        return np.asarray(own[own[:, 0] == OUTPUT, 1])


def record(function: casadi.Function) -> Tape:
    """Read a function of scalar expressions.

    Args:
        function: One dense vector -> one dense vector.

    Returns:
        Its instructions.

    Raises:
        PlanningProblemError: If the function has an operation that is not known here.
    """
    rows, constants = [], []
    varies: list[bool] = []
    # Each result has a register of its own, so that the order may change.
    holds: dict[int, int] = {}
    for index in range(function.n_instructions()):
        operation = function.instruction_id(index)
        target, given = function.instruction_output(index), function.instruction_input(index)
        constant = 0.0
        if operation == CONSTANT:
            constant = function.instruction_constant(index)
        elif operation == INPUT:
            given = given[1:]
        elif operation == OUTPUT:
            target = target[1:]
        elif operation not in (*UNARY, *BINARY):
            raise PlanningProblemError(
                f"'{function.name()}' has operation {operation} of CasADi, which worlds cannot be "
                "simulated with: write the model without it"
            )
        if operation not in (INPUT, CONSTANT):
            given = [holds[register] for register in given]
        varies.append(operation == INPUT or any(varies[source] for source in given))
        if operation != OUTPUT:
            holds[target[0]] = index
            target = [index]
        rows.append((operation, target[0], *given, *(0,) * (2 - len(given))))
        constants.append(constant)
    order = np.argsort(varies, kind="stable")
    return Tape(
        np.array(rows, dtype=np.uint32)[order],
        np.array(constants)[order],
        len(varies) - sum(varies),
        len(varies),
        function.nnz_out(),
    )


@leaf_kernel
def play(
    instructions: np.ndarray,
    constants: np.ndarray,
    given: np.ndarray,
    registers: np.ndarray,
    found: np.ndarray,
) -> None:
    """Evaluate a function.

    Args:
        instructions: Of a :class:`Tape` (n, 4).
        constants: Likewise (n).
        given: Its argument.
        registers: To work with.
        found: Its result, overwritten.
    """
    for index in range(len(instructions)):
        operation, target = instructions[index, 0], instructions[index, 1]
        i, j = instructions[index, 2], instructions[index, 3]
        if operation == INPUT:
            registers[target] = given[i]
        elif operation == OUTPUT:
            found[target] = registers[i]
        elif operation == CONSTANT:
            registers[target] = constants[index]
        elif operation == ADD:
            registers[target] = registers[i] + registers[j]
        elif operation == SUB:
            registers[target] = registers[i] - registers[j]
        elif operation == MUL:
            registers[target] = registers[i] * registers[j]
        elif operation == DIV:
            registers[target] = registers[i] / registers[j]
        elif operation == IF:
            registers[target] = registers[j] if registers[i] != 0.0 else 0.0
        elif operation == NOT:
            registers[target] = 1.0 if registers[i] == 0.0 else 0.0
        elif operation == LT:
            registers[target] = 1.0 if registers[i] < registers[j] else 0.0
        elif operation == LE:
            registers[target] = 1.0 if registers[i] <= registers[j] else 0.0
        elif operation == AND:
            both = registers[i] != 0.0 and registers[j] != 0.0
            registers[target] = 1.0 if both else 0.0
        elif operation == OR:
            either = registers[i] != 0.0 or registers[j] != 0.0
            registers[target] = 1.0 if either else 0.0
        elif operation == NEG:
            registers[target] = -registers[i]
        elif operation == SQ:
            registers[target] = registers[i] * registers[i]
        elif operation == TWICE:
            registers[target] = 2.0 * registers[i]
        elif operation == INV:
            registers[target] = 1.0 / registers[i]
        elif operation == SQRT:
            registers[target] = math.sqrt(registers[i])
        elif operation == SIN:
            registers[target] = math.sin(registers[i])
        elif operation == COS:
            registers[target] = math.cos(registers[i])
        elif operation == TAN:
            registers[target] = math.tan(registers[i])
        elif operation == ATAN2:
            registers[target] = math.atan2(registers[i], registers[j])
        elif operation == FABS:
            registers[target] = abs(registers[i])
        elif operation == FMIN:
            registers[target] = min(registers[i], registers[j])
        elif operation == FMAX:
            registers[target] = max(registers[i], registers[j])
        else:
            registers[target] = registers[i]
