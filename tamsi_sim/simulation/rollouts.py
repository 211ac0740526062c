"""Many simulations from different states or under different inputs, over threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from contact_core.base.errors import ConfigError, choices, whole_number
from contact_core.robot.scene_config import SolverConfig
from tamsi_sim.arrays.data import Work
from tamsi_sim.arrays.settings import scheme_settings
from tamsi_sim.arrays.simulation import make_simulation
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.arrays.workspace import Room, copy_shear, make_work, more_room, room_of
from tamsi_sim.scheme.advance import EFFORT, FEEDFORWARD, TARGET, roll
from tamsi_sim.simulation.model import BuiltModel

COMMANDS = {"effort": EFFORT, "target": TARGET, "feedforward": FEEDFORWARD}


@dataclass(frozen=True)
class Rollouts:
    """Trajectories of n samples over T steps.

    Attributes:
        status: (n) StepStatus of each sample's last step.
        q: (n, T + 1, nq) positions, the initial ones first; NaN behind a failed step.
        v: (n, T + 1, nv) velocities.
        contact_force: (n, T, nv) generalised force of all contacts, the mean over each step
            [Nm or N]; T is 0 if forces were not asked for.
        joint_force: (n, T, nv) of the joints' controllers, friction, damping and end stops, at
            the end of each step.
    """

    status: np.ndarray
    q: np.ndarray
    v: np.ndarray
    contact_force: np.ndarray
    joint_force: np.ndarray


def number_array(values: np.ndarray, name: str) -> np.ndarray:
    """Return what a user hands over as a contiguous array of numbers.

    Args:
        values: Anything.
        name: What it is, for the error.

    Raises:
        ConfigError: If something in it is no number.
    """
    try:
        return np.ascontiguousarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name} must be numbers: {error}") from error


def rollouts(
    built: BuiltModel,
    work: Work,
    solver: SolverConfig,
    time_step: float,
    q: np.ndarray,
    v: np.ndarray,
    inputs: np.ndarray,
    command: str = "effort",
    threads: int | None = None,
    forces: bool = False,
) -> Rollouts:
    """Simulate samples side by side; the result does not depend on the number of threads.

    Args:
        built: The model.
        work: The simulation; it stays as it is, and gives gains, limits, deflections of joint
            friction, the shear of contacts to those that start where it is, and the inputs that
            ``inputs`` does not replace.
        solver: Settings of the scheme.
        time_step: h [s].
        q: (n, nq) initial positions, or (nq) for all.
        v: (n, nv) initial velocities, or (nv) for all.
        inputs: (n, T, nv) input of each step.
        command: ``effort``: they are generalised forces [Nm or N]; ``target``: positions for
            the joints' drives to hold [rad or m]; ``feedforward``: efforts of the drives, of
            those of the tendons as well if there are nv + nd.
        threads: How many threads; as many as processors if None.
        forces: Whether to record forces, too.

    Returns:
        The trajectories.

    Raises:
        ConfigError: If a shape does not fit, something is no number, or there is no such command.
    """
    if threads is not None:
        threads = whole_number(threads, "threads", least=1)
    if command not in COMMANDS:
        raise ConfigError(f"no command '{command}' ({choices(COMMANDS)})")
    inputs = number_array(inputs, "inputs")
    nq, nv = len(work.state.q), len(work.state.v)
    both = nv + len(work.tendon_drives.target) if command == "feedforward" else nv
    if inputs.ndim != 3 or inputs.shape[2] not in (nv, both):
        raise ConfigError(f"inputs must be (n, T, {nv}), got {inputs.shape}")
    n, steps, _ = inputs.shape
    starts = []
    for name, given, size in (("q", q, nq), ("v", v, nv)):
        array = number_array(given, name)
        if array.shape not in ((size,), (n, size)):
            raise ConfigError(f"{name} must be ({size},) or ({n}, {size}), got {array.shape}")
        starts.append(np.array(np.broadcast_to(array, (n, size)), order="C"))
    result = Rollouts(
        np.zeros(n, dtype=np.int64),
        np.full((n, steps + 1, nq), np.nan),
        np.full((n, steps + 1, nv), np.nan),
        np.zeros((n, steps if forces else 0, nv)),
        np.zeros((n, steps if forces else 0, nv)),
    )
    workers = max(1, min(threads or os.cpu_count() or 1, n))

    def simulate(part: slice, room: Room) -> Work:
        twin = _twin_work(built, work, solver, COMMANDS[command], room)
        roll(
            make_simulation(built.arrays, twin, scheme_settings(solver, time_step)),
            starts[0][part], starts[1][part], inputs[part], COMMANDS[command],
            result.q[part], result.v[part], result.contact_force[part],
            result.joint_force[part], result.status[part],
        )  # fmt: skip
        return twin

    def run(part: slice) -> None:
        simulate(part, room_of(work))
        crowded = np.flatnonzero(result.status[part] == StepStatus.TOO_MANY_CONTACTS)
        for k in crowded + part.start:
            room: Room | None = room_of(work)
            while room is not None:
                result.contact_force[k] = result.joint_force[k] = 0.0
                room = more_room(simulate(slice(k, k + 1), room), built.contact_limit(solver))

    bounds = np.linspace(0, n, workers + 1).astype(int)
    parts = [slice(*pair) for pair in pairwise(bounds)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, parts))
    return result


def _twin_work(
    built: BuiltModel, work: Work, solver: SolverConfig, command: int, room: Room
) -> Work:
    """Return a workspace of the same model, with the same inputs."""
    twin = make_work(built.arrays, len(work.state.q), room, solver.max_iterations)
    for own, drives in ((twin.drives, work.drives), (twin.tendon_drives, work.tendon_drives)):
        for array, given in zip(own, drives, strict=True):
            array[:] = given
    twin.joint_forces.deflection[:] = work.joint_forces.deflection
    copy_shear(work.shear, twin.shear)
    if command == TARGET:
        twin.drives.target_rate[:] = 0.0
    return twin
