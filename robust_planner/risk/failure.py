"""What a failure is, how far each world is from it, and bounds on how often it happens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from contact_core.base.config import parameter
from contact_core.base.errors import ConfigError
from robust_planner.evaluation.time_stepping import BatchMotion
from robust_planner.problem import RobustProblem
from robust_planner.risk.worlds import Worlds


@dataclass(frozen=True)
class FailureConfig:
    """When a motion has failed: any of its bounds is exceeded. Zero, or empty, is no bound."""

    goal_tolerance: tuple[float, ...] = parameter(
        (),
        "largest final error of every position, then of every velocity, 0 where it does not "
        "matter [m, rad, m/s, rad/s]",
        low=0.0,
    )
    final_gap: float = parameter(
        0.0, "largest final distance of a contact point to the ground", unit="m", low=0.0
    )
    impact_speed: float = parameter(
        0.0, "largest speed towards the ground at which contact begins", unit="m/s", low=0.0
    )
    contact_force: float = parameter(
        0.0, "largest normal force of a contact, mean over a time step", unit="N", low=0.0
    )
    slip_speed: float = parameter(
        0.0, "largest speed at which a point slides that touches the ground", unit="m/s", low=0.0
    )

    @property
    def defined(self) -> bool:
        """Whether anything counts as a failure."""
        return any(np.any(value) for value in vars(self).values())

    def check(self, problem: RobustProblem) -> None:
        """Refuse a definition that does not fit a problem, or defines nothing.

        Args:
            problem: The problem.

        Raises:
            ConfigError: If it does not.
        """
        size = 2 * problem.model.coordinates
        if len(self.goal_tolerance) not in (0, size):
            raise ConfigError(
                f"goal_tolerance has {len(self.goal_tolerance)} values (valid: none, or {size} for "
                f"'{problem.model.name}')"
            )
        if self.final_gap > 0.0 and not np.any(problem.model.grounded):
            raise ConfigError(
                f"final_gap is {self.final_gap:g} m, and no contact of '{problem.model.name}' "
                "touches the ground (valid: 0)"
            )
        if not self.defined:
            raise ConfigError(
                f"nothing counts as a failure: one of {', '.join(vars(self))} has to be positive"
            )


def use_of_bounds(
    problem: RobustProblem, failure: FailureConfig, motion: BatchMotion, worlds: Worlds
) -> np.ndarray:
    """Return how much of each bound each motion uses, at each knot that it counts at.

    Args:
        problem: Its model and goal.
        failure: The bounds.
        motion: What happened in each world.
        worlds: The worlds (n).

    Returns:
        Ratios of what happened to its bound (n, m); NaN where the simulation failed.
    """
    model, count = problem.model, len(worlds)
    ratios = []
    tolerance = np.array(failure.goal_tolerance)
    matters = tolerance > 0.0
    if np.any(matters):
        final = np.concatenate([motion.position[:, -1], motion.velocity[:, -1]], axis=1)
        error = (final - np.array(problem.goal))[:, matters] / tolerance[matters]
        ratios += [error, -error]
    if failure.final_gap > 0.0:
        height = np.asarray(model.distance(motion.position[:, -1].T)).T[:, model.grounded]
        ratios.append((height - worlds.height[:, None]) / failure.final_gap)
    if failure.contact_force > 0.0:
        ratios.append(motion.normal_force.reshape(count, -1) / failure.contact_force)
    if failure.impact_speed > 0.0:
        # At which knot it happens must not matter: its slope would be that of coming and going.
        ratios.append(motion.impact_speed.max(axis=1) / failure.impact_speed)
    if failure.slip_speed > 0.0:
        ratios.append(motion.slip.reshape(count, -1) / failure.slip_speed)
    return np.hstack(ratios)


def severity(use: np.ndarray) -> np.ndarray:
    """Return the largest share of a bound that each motion uses.

    Args:
        use: See :func:`use_of_bounds` (n, m).

    Returns:
        (n): a failure above one, infinite where the simulation failed.
    """
    return np.where(np.isnan(use).any(axis=1), np.inf, use.max(axis=1))


@dataclass(frozen=True)
class FailureRate:
    """A share of worlds with its confidence interval.

    Where all distributions are given the interval is the exact one of so many worlds (Clopper and
    Pearson, 1934). However many worlds are made of n measured values, they tell no more than n
    worlds do. Whatever the distribution, between two neighbours of them, and beyond the smallest
    and the largest, lies a probability of the beta distribution B(1, n), and in s of these gaps
    one of B(s, n + 1 - s) (S. S. Wilks, 1941). What fails is taken to lie in as many gaps as there
    are values at which the plan fails, and beyond all values of each quantity.

    Attributes:
        failures: Number of worlds in which the plan failed.
        samples: Number of worlds.
        confidence: Of the interval, two-sided.
        undecided: Number of worlds in which it depends on the step whether the plan fails; the
            interval covers both answers.
        undecided_failures: Of these, those that count among ``failures``.
        step: Shortest time step of the simulation, by which the last worlds were decided [s]; 0
            if that is not known.
        measured: Number of values that stand for what was measured, of the quantity with the
            fewest; 0 if all distributions are given.
        ends: Number of ends of measured values, two a quantity, beyond which a plan may fail.
    """

    failures: int
    samples: int
    confidence: float = 0.95
    undecided: int = 0
    undecided_failures: int = 0
    step: float = 0.0
    measured: int = 0
    ends: int = 0

    @property
    def rate(self) -> float:
        """The share."""
        return self.failures / self.samples

    @property
    def open(self) -> float:
        """The share that failed or is undecided."""
        return (self._decided + self.undecided) / self.samples

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        count = self._trials
        failed = count * self._decided / self.samples
        return self._bound(0.5 - 0.5 * self.confidence, failed, count + 1.0 - failed)

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        count = self._trials
        gaps = count * self.open + max(self.ends, 1)
        return self._bound(0.5 + 0.5 * self.confidence, gaps, count + 1.0 - gaps)

    @property
    def _decided(self) -> int:
        return self.failures - self.undecided_failures

    @property
    def _trials(self) -> int:
        return min(self.samples, self.measured) if self.measured else self.samples

    @staticmethod
    def _bound(probability: float, inside: float, outside: float) -> float:
        if inside <= 0.0 or outside <= 0.0:
            return float(inside > 0.0)
        return float(stats.beta.ppf(probability, inside, outside))

    def __str__(self) -> str:
        """Render rate and interval, and what they rest on."""
        return (
            f"{100.0 * self.rate:.2f} % ({self.failures} of {self.samples}, "
            f"{100.0 * self.confidence:g} %: {100.0 * self.low:.2f} .. {100.0 * self.high:.2f} %"
            f"{self.basis})"
        )

    @property
    def basis(self) -> str:
        """Time step and number of measured values that the rate rests on; empty if unknown."""
        step = f", steps of {1e3 * self.step:.3g} ms" if self.step else ""
        return step + (f", {self.measured} measured values" if self.measured else "")
