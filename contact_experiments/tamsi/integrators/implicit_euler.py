"""Steps of implicit Euler, cut by control of convergence and of the error, tamsi Sec. III-B."""

from __future__ import annotations

import math

from contact_core.base.kernel import inner_kernel, kernel
from contact_experiments.tamsi.integrators import data
from contact_experiments.tamsi.integrators.data import Memory, Options
from contact_experiments.tamsi.integrators.dense_lu import copy
from contact_experiments.tamsi.integrators.excitation import Excitation, excite
from contact_experiments.tamsi.integrators.newton import OK, solve_implicit
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.scheme.stepper import move_targets

# The step that error control chooses, relative to the last one.
SAFETY = 0.9
MIN_CHANGE = 0.1
MAX_CHANGE = 5.0
# A failed step is halved, and the step behind a success is allowed to be twice as long.
HALF = 0.5
TWICE = 2.0
# What is left of a span after its last step, by round-off.
ROUND_OFF = 1e-9


@kernel
def advance_implicit(
    simulation: Simulation, options: Options, excitation: Excitation, memory: Memory, steps: int
) -> int:
    """Advance by a number of steps h, each covered by as few as converge and are accurate.

    Args:
        simulation: Its q and v move, applied is overwritten.
        options: The options.
        excitation: Forces.
        memory: The time moves.
        steps: How many steps of the simulation's settings.

    Returns:
        The status of the last step, a StepStatus.
    """
    return _advance(simulation, options, excitation, memory, steps)


@inner_kernel
def _advance(
    simulation: Simulation, options: Options, excitation: Excitation, memory: Memory, steps: int
) -> int:
    state, drives = simulation.state, simulation.drives
    clock, span = memory.clock, simulation.settings.time_step
    copy(state.q, memory.q_start)
    copy(state.v, memory.v_start)
    status = OK
    for _ in range(steps):
        move_targets(drives.target, drives.target_rate, 1.0)
        end = clock[data.TIME] + span
        if options.error_control == 0:
            clock[data.NEXT_STEP] = span
        while end - clock[data.TIME] > ROUND_OFF * span:
            left = end - clock[data.TIME]
            h = min(clock[data.NEXT_STEP], left)
            status, error = _try_step(simulation, options, excitation, memory, h)
            if status != OK:
                memory.counters[data.RETRIES] += 1
                clock[data.NEXT_STEP] = HALF * h
                if clock[data.NEXT_STEP] < options.min_step:
                    break
            elif _accepts(options, memory, error, h, left):
                clock[data.TIME] = end if h == left else clock[data.TIME] + h
                copy(memory.q, memory.q_start)
                copy(memory.v, memory.v_start)
        if status != OK:
            break
    copy(memory.q_start, state.q)
    copy(memory.v_start, state.v)
    return status


@inner_kernel
def _accepts(options: Options, memory: Memory, error: float, h: float, left: float) -> bool:
    """Judge a solved step by its error, and choose the next one."""
    clock, change = memory.clock, TWICE
    if options.error_control == 1:
        # The local error of a first-order method grows with h^2.
        change = SAFETY * math.sqrt(options.accuracy / max(error, 1e-30))
        change = min(max(change, MIN_CHANGE), MAX_CHANGE)
        if error > options.accuracy and h > options.min_step:
            memory.counters[data.REJECTIONS] += 1
            clock[data.NEXT_STEP] = change * h
            return False
    # A step cut short by the end of the span says little about the next one.
    if h < left or change * h > clock[data.NEXT_STEP]:
        clock[data.NEXT_STEP] = change * h
    clock[data.MIN_STEP] = min(clock[data.MIN_STEP], h)
    memory.counters[data.STEPS] += 1
    return True


@inner_kernel
def _try_step(
    simulation: Simulation,
    options: Options,
    excitation: Excitation,
    memory: Memory,
    h: float,
) -> tuple[int, float]:
    """Try a step from q_start and v_start to q and v.

    With error control, one whole step is followed by two of half its length from the same
    start, which are kept; their difference estimates the local error. The velocities
    decide alone: positions differ by at most h times what velocities do.

    Returns:
        A StepStatus, and the error max |dv| [m/s and rad/s].
    """
    state, start = memory.jacobian_state, memory.clock[data.TIME]
    copy(memory.q_start, memory.q_safe)
    copy(memory.v_start, memory.v_safe)
    parts = 3 if options.error_control == 1 else 1
    time, status = start, OK
    for part in range(parts):
        length = h if part == 0 else HALF * h
        excite(excitation, time + length, simulation.drives.applied)
        status = solve_implicit(simulation, options, memory, length)
        if status != OK and state[data.FRESH] == 0:
            # It may be the old Jacobian's fault.
            state[data.KNOWN] = 0
            status = solve_implicit(simulation, options, memory, length)
        if status != OK:
            state[data.KNOWN] = 0
            break
        if parts == 3 and part == 0:
            copy(memory.v, memory.v_whole)
        if part == 1:
            copy(memory.q, memory.q_start)
            copy(memory.v, memory.v_start)
            time += length
    copy(memory.q_safe, memory.q_start)
    copy(memory.v_safe, memory.v_start)
    error = 0.0
    for i in range(memory.v.shape[0]):
        error = max(error, abs(memory.v[i] - memory.v_whole[i]))
    return status, error
