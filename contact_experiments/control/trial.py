"""Trials: an experiment with one controller, one estimator and one seed, and what is left of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers import CONTROLLERS
from contact_aware_control.estimation import EstimatorConfig
from contact_core.base.config import from_mapping, unflatten
from contact_core.base.errors import TrajectoryError
from contact_core.base.figures import OTHERS
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_stack.demo.contact_tracking.experiments import EXPERIMENTS
from contact_stack.demo.contact_tracking.statistics import ExperimentData, location_errors, releases
from contact_stack.demo.contact_tracking.variants import VARIANTS, Variant

PARTICLE_FILTER = EstimatorConfig().estimator
SEPARATION = 0.2
"""How long before and after the end of a contact the joints are watched [s]."""


@dataclass(frozen=True)
class Trial:
    """What is left of a run: a :class:`Course`, and its figures; the same on every machine.

    Attributes:
        time: (n) since the start of the reference [s].
        period: Time between two ticks [s].
        joint_velocity: (ticks, n) true velocities of the arm's joints [rad/s].
        position_error: (n) distance of the true tool from the reference [m].
        rotation_error: (n) angle between true and reference tool orientation [rad].
        force: (n) norm of the total true contact force on the robot [N].
        location_error: (n) distance of the estimated contact from the true one [m]; infinite
            without an estimate, NaN where the force is too small to judge.
        summary: See :func:`contact_stack.demo.contact_tracking.statistics.summarize`, without what
            depends on the machine.
    """

    time: np.ndarray
    period: float
    joint_velocity: np.ndarray
    position_error: np.ndarray
    rotation_error: np.ndarray
    force: np.ndarray
    location_error: np.ndarray
    summary: Mapping[str, Any]

    @property
    def in_contact(self) -> np.ndarray:
        """(n) True where the robot touches the environment."""
        return np.asarray(self.force > 0)

    @property
    def peak_error(self) -> float | None:
        """Largest position error in contact [m]; None without contact."""
        errors = self.position_error[self.in_contact]
        return float(errors.max()) if len(errors) else None

    @property
    def separation_speed(self) -> float | None:
        """Speed of the fastest joint around the last end of a contact [rad/s]; None without."""
        return _largest(np.abs(self.joint_velocity), self._separation)

    @property
    def separation_acceleration(self) -> float | None:
        """Largest acceleration of a joint then, over one tick [rad/s^2]; None without."""
        change = np.diff(self.joint_velocity, axis=0, prepend=self.joint_velocity[:1])
        return _largest(np.abs(change) / self.period, self._separation)

    @property
    def _separation(self) -> slice | None:
        ends = releases(self)
        if not ends:
            return None
        window = round(SEPARATION / self.period)
        return slice(max(0, ends[-1] - window), ends[-1] + window)


def run_trial(
    experiment: str, values: Mapping[str, Any], estimator: str, seed: int, until: float
) -> Trial | None:
    """Run an experiment.

    Args:
        experiment: Its name in EXPERIMENTS.
        values: Dotted name of a parameter of the controller -> its value.
        estimator: Name of the contact estimator.
        seed: Of sensor noise and estimator.
        until: When it ends, if that is before its own end [s].

    Returns:
        The trial; None if the controller cannot follow this kind of reference.

    Raises:
        ConfigError: If a name or a value is not valid.
    """
    run = ClosedLoopRun(
        controller_config(values),
        EXPERIMENTS[experiment](),
        seed=seed,
        estimator=EstimatorConfig(estimator=estimator),
    )
    try:
        data = run.run(until)
    except TrajectoryError:
        return None
    return _trial(run, data)


def _trial(run: ClosedLoopRun, data: ExperimentData) -> Trial:
    summary = run.summary(data)
    del summary["loop"]
    return Trial(
        time=data.time,
        period=data.period,
        joint_velocity=data.joint_velocity,
        position_error=data.position_error,
        rotation_error=data.rotation_error,
        force=data.force,
        location_error=location_errors(data),
        summary=summary,
    )


def _largest(values: np.ndarray, where: slice | None) -> float | None:
    return None if where is None else float(values[where].max())


def controller_config(values: Mapping[str, Any]) -> ControllerConfig:
    """Return all parameters of a variant's controller.

    Args:
        values: Those of the variant.

    Raises:
        ConfigError: If there is no such parameter, or a value is not valid.
    """
    return from_mapping(ControllerConfig, unflatten(values))


def compared() -> dict[str, Variant]:
    """Return the controllers of this package, and those that somebody else has registered.

    Returns:
        Name -> its variant: one for each name of CONTROLLERS, in their order, and besides the
        variants whose parameters differ from their controller's.
    """
    others = (name for name in CONTROLLERS if name not in VARIANTS)
    return VARIANTS | {
        name: Variant(name.replace("_", " "), color, {"controller": name})
        for name, color in zip(others, cycle(OTHERS), strict=False)
    }
