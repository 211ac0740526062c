"""tamsi Fig. 8: TAMSI's velocity errors against the time step, with the shaken gripper."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from contact_core.errors import ContactStackError
from contact_experiments.tamsi.cases import MUG, ParallelGripper
from contact_experiments.tamsi.integrators.registry import make_integrator
from tamsi_sim.arrays.status import StepStatus

SAMPLE = 3e-3  # between two comparisons with the reference, a multiple of every step [s]
DURATION = 0.498  # nearly one period of the shaking [s]
STEPS = (3e-3, 1.5e-3, 7.5e-4, 3e-4, 1e-4, 3e-5, 1e-5)
REFERENCE_STEP = 1e-7  # [s]


@dataclass(frozen=True)
class Convergence:
    """Errors of the velocities over time, root mean square, without dimensions.

    Attributes:
        steps: (m) h [s].
        translation: (m) of lift, finger and mug, times T / A.
        rotation: (m) of the mug, times T.
    """

    steps: np.ndarray
    translation: np.ndarray
    rotation: np.ndarray

    def slopes(self) -> tuple[float, float]:
        """Return the orders of convergence of translation and rotation."""
        translation, rotation = (
            float(np.polyfit(np.log(self.steps), np.log(error), 1)[0])
            for error in (self.translation, self.rotation)
        )
        return translation, rotation


def velocities(
    case: ParallelGripper,
    step: float,
    duration: float = DURATION,
    progress: Callable[[range], Iterable[int]] = iter,
) -> np.ndarray:
    """Return TAMSI's velocities at equal intervals.

    Args:
        case: The gripper; its step is replaced.
        step: h [s].
        duration: Simulated time [s].
        progress: Wrapped around the loop over the intervals, tqdm for instance.

    Returns:
        (m, nv)

    Raises:
        ContactStackError: If a step fails.
    """
    case = dataclasses.replace(case, time_step=step)
    moved = make_integrator("tamsi", case.engine(), case.excitation())
    rates = [moved.v.copy()]
    for _ in progress(range(round(duration / SAMPLE))):
        status = moved.step(round(SAMPLE / step))
        if status != StepStatus.OK:
            raise ContactStackError(f"h = {step:g} s: {status.remedy}")
        rates.append(moved.v.copy())
    return np.array(rates)


def convergence(
    case: ParallelGripper,
    reference: np.ndarray,
    steps: tuple[float, ...] = STEPS,
    duration: float = DURATION,
) -> Convergence:
    """Compare steps with a reference.

    Args:
        case: The gripper.
        reference: :func:`velocities` with a much smaller step.
        steps: h [s].
        duration: Simulated time of the reference [s].

    Returns:
        The errors.
    """
    first = case.engine().built.free_bodies[MUG][1]
    turning = np.zeros(reference.shape[1], dtype=bool)
    turning[first + 3 : first + 6] = True
    errors = [velocities(case, h, duration) - reference for h in steps]
    return Convergence(
        steps=np.array(steps),
        translation=np.array([_norm(e[:, ~turning]) for e in errors])
        * case.shake_period
        / case.shake_amplitude,
        rotation=np.array([_norm(e[:, turning]) for e in errors]) * case.shake_period,
    )


def _norm(errors: np.ndarray) -> float:
    """L2 norm over time of the Euclidean norm at each time."""
    return float(np.sqrt(np.mean(np.sum(errors**2, axis=1))))
