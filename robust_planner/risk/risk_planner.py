"""Plans with a promise: fail, as the user defines it, at most as often as the user accepts.

The promise is about outcomes in drawn worlds, not about one contact condition at one knot as in
`chance_constraints` Sec. 3.3, whose bound cannot be below one half. Contact-implicit plans,
the reference and robust ones for ever larger uncertainty, are where shooting starts; a plan is
accepted when the upper confidence limit of its failure rate, in worlds that had no part in
planning, is below the risk.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from contact_core.base.errors import ConfigError, choices
from contact_core.base.planning import PlanStatus, StopCondition
from contact_core.base.seeds import generator
from robust_planner.config import PlannerConfig, UncertaintyConfig
from robust_planner.continuation import OnProgress
from robust_planner.evaluation.time_stepping import simulate_worlds
from robust_planner.examples import Example
from robust_planner.plan_warnings import PlanWarning, warn_of_uncertain
from robust_planner.planner import plan, running_cost
from robust_planner.problem import RobustProblem
from robust_planner.result import RobustPlan
from robust_planner.risk.exploration import explore
from robust_planner.risk.failure import FailureConfig, FailureRate, severity, use_of_bounds
from robust_planner.risk.judging import JUMP, first_substeps, true_rate
from robust_planner.risk.settings import RiskSettings
from robust_planner.risk.shooting import Shooting, Shot
from robust_planner.risk.worlds import (
    Samples,
    Uncertain,
    Worlds,
    check_starts,
    check_uncertain,
    draw_worlds,
    quantities,
    spread_worlds,
)
from robust_planner.trajectory import ContactTrajectory

MIN_RISK, MAX_RISK = 0.001, 0.5
SIGMA_FACTORS = (1.0, 2.0, 4.0)
"""Factors on the example's sigma, for robust plans to start from."""
SHARES_OF_TIME = (0.5, 0.25)
"""Shares of the time in which the nominal motion is made, to start from."""
ROUNDS = 8
"""Number of times that controls are improved from one start, each time for another tail."""
CHANGE = (0.5, 2.0)
"""Range of the factor from one tail to the next: smaller where too many worlds fail, larger where
the plan pays for fewer failures than are accepted."""
TIMID = 0.5
"""Share of the risk below which a larger tail is tried."""
HOPEFUL = 1.5
"""Use of a bound in a world that is planned for, above which the start is given up."""
ENOUGH = 1.5
"""Failures are counted up to this multiple of the risk, where another plan has fewer already."""
FEW = 500
"""Worlds that tell whether a plan certainly fails more often, so that all would tell no more."""
PROGRESS = 0.9
"""A start makes progress where a round leaves less than this share of the failures."""
PATIENCE = 2
"""Rounds without progress after which the best of all starts is given up; others after one."""
ATTEMPTED = ((4, 1), (1, 1), (1, 3), (1, 1))
"""Coarsening of steps and of nodes in derivatives, in this order until no world fails.
Derivatives may be less exact than motions; wide changes of the controls lead out of corners."""
HOPELESS = 2.0
"""Use of a bound from which further attempts do not keep a world from failing."""
MAX_REFINEMENT = 16
"""Largest refinement of the time step with which a plan is improved."""
MIN_MARGIN = 0.01
"""Share of a bound that the time step of the search may be off by."""
FINE = 8
"""Refinement of the search's time step for the motion that is shown."""
ATTEMPTS = 3
"""Number of times that all generations are drawn while the promise is not kept."""
FALLBACK = 12
"""Generations that are drawn where none were asked for, and no start has led to a plan."""
EXCESS_WEIGHT = 10.0
"""Weight w of exceeding a bound by itself in one world, in costs of the start."""
TAIL = 0.9
"""Share of the risk that is at first left outside the worlds that are planned for."""


@dataclass(frozen=True)
class RiskPlan:
    """A plan and how often it fails.

    Attributes:
        status: SUCCEEDED if the promise is kept; RISK_UNREACHABLE if no plan was found that does,
            then this is the one that fails least; why it ended early otherwise.
        trajectory: The motion in the median world.
        cost: Its running cost, eq. (1a).
        risk: What was asked for.
        failure_rate: Of this plan, in worlds that had no part in planning.
        nominal_rate: Of the plan as if nothing was uncertain, likewise.
        nominal: That plan.
        seconds: Wall-clock time [s].
    """

    status: PlanStatus
    trajectory: ContactTrajectory
    cost: float
    risk: float
    failure_rate: FailureRate
    nominal_rate: FailureRate
    nominal: RobustPlan
    seconds: float

    @property
    def warnings(self) -> tuple[PlanWarning, ...]:
        """What the caller should know about model and parameters."""
        return self.nominal.warnings

    @property
    def kept(self) -> bool:
        """Whether the upper end of the failure rate's interval is below the risk."""
        return self.failure_rate.high <= self.risk

    @property
    def remedy(self) -> str:
        """What the caller can do, with the least risk that was found; empty on success."""
        if self.status is PlanStatus.SUCCEEDED:
            return ""
        return f"{self.status.remedy} (least risk found: {self.failure_rate})"


def plan_with_risk(
    problem: RobustProblem,
    uncertain: Uncertain,
    failure: FailureConfig,
    risk: float,
    config: PlannerConfig | None = None,
    settings: RiskSettings | None = None,
    start: np.ndarray | None = None,
    on_progress: OnProgress | None = None,
    stop: StopCondition | None = None,
) -> RiskPlan:
    """Find cheap controls that, executed without feedback, fail at most as often as accepted.

    Args:
        problem: What to plan.
        uncertain: Name of a quantity -> its distribution, see
            :func:`robust_planner.risk.worlds.quantities`.
        failure: What counts as a failure.
        risk: Accepted probability of it, 0.001..0.5.
        config: Of the contact-implicit plans to start from; None for the defaults.
        settings: How to search; None for the defaults.
        start: Controls u (N, nu) [N, Nm] to try first, e.g. those of a previous plan.
        on_progress: Told about the stages of contact-implicit plans.
        stop: A clock that runs already, instead of the budget in ``config``.

    Returns:
        The plan.

    Raises:
        ConfigError: If ``start`` has another shape; see :func:`check_risk`.
    """
    config, settings = config or PlannerConfig(), settings or RiskSettings()
    check_risk(problem, uncertain, failure, risk, settings)
    shape = (problem.knots, problem.model.controls)
    if start is not None and start.shape != shape:
        raise ConfigError(f"start has controls {start.shape} (valid: {shape})")
    stop = stop or StopCondition(config.solver.budget)
    search = _Search(problem, uncertain, failure, risk, settings, stop)
    certain = dataclasses.replace(config, uncertainty=UncertaintyConfig())
    nominal = plan(problem, certain, on_progress=on_progress, stop=stop)
    warnings = (*nominal.warnings, *warn_of_uncertain(problem, uncertain))
    nominal = dataclasses.replace(nominal, warnings=warnings)
    search.best = nominal.trajectory.control  # even if rounding takes it beyond a limit
    search.offer(search.best)
    starts = _starts(problem, config, nominal, search, start, on_progress, stop)
    for controls in starts:
        if search.solve(controls) or stop.reason is not None:
            break
    else:
        search.solve(search.best, PATIENCE)
    rate = search.kept or search.check(search.best)
    kept = rate.high <= risk
    status = PlanStatus.SUCCEEDED if kept else stop.reason or PlanStatus.RISK_UNREACHABLE
    return RiskPlan(
        status=status,
        trajectory=search.trajectory(search.best),
        cost=search.cost(search.best),
        risk=risk,
        failure_rate=rate,
        nominal_rate=search.check(nominal.trajectory.control),
        nominal=nominal,
        seconds=stop.elapsed,
    )


def plan_example(
    example: Example,
    risk: float,
    config: PlannerConfig | None = None,
    settings: RiskSettings | None = None,
    start: np.ndarray | None = None,
    on_progress: OnProgress | None = None,
    stop: StopCondition | None = None,
) -> RiskPlan:
    """Plan an example, or a problem file, with its own uncertainty and failures.

    Args:
        example: The example.
        risk: Accepted probability of failure, 0.001..0.5.
        config: Its settings, if they were changed.
        settings: How to search; None for those of the example.
        start: Controls to try first.
        on_progress: Told about the stages of contact-implicit plans.
        stop: A clock that runs already.

    Returns:
        The plan.

    Raises:
        ConfigError: See :func:`check_risk`.
    """
    return plan_with_risk(
        example.robust_problem, example.uncertain, example.failure, risk, config or example.config,
        settings or example.search, start, on_progress, stop,
    )  # fmt: skip


def check_risk(
    problem: RobustProblem,
    uncertain: Uncertain,
    failure: FailureConfig,
    risk: float,
    settings: RiskSettings,
) -> None:
    """Refuse a risk that cannot be promised.

    Args:
        problem: What is planned.
        uncertain: What is uncertain about it.
        failure: What counts as a failure.
        risk: Accepted probability of it.
        settings: How a plan is checked.

    Raises:
        ConfigError: If the risk is out of range or too small for the number of checks, if
            nothing is uncertain or counts as a failure, or not validly, or if worlds are drawn
            in which the model starts inside an obstacle.
    """
    if not MIN_RISK <= risk <= MAX_RISK:
        raise ConfigError(f"risk is {risk!r} (valid: >= {MIN_RISK:g}, <= {MAX_RISK:g})")
    if not uncertain:
        known = choices(quantities(problem.model))
        raise ConfigError(f"'{problem.name}' does not say what is uncertain ({known})")
    check_uncertain(problem, uncertain)
    failure.check(problem)
    if FailureRate(0, settings.checks, settings.confidence).high > risk:
        raise ConfigError(
            f"checks is {settings.checks}, too few to tell a risk of {risk:g} with confidence "
            f"{settings.confidence:g}: raise it"
        )
    check_starts(problem, _seen_worlds(problem, uncertain, settings))


class _Search:
    """Improves controls and remembers those that fail least.

    Attributes:
        settings: How.
        kept: The rate of the best controls if they keep the promise.
        best: Controls that keep it, or those that fail least so far.
    """

    def __init__(
        self,
        problem: RobustProblem,
        uncertain: Uncertain,
        failure: FailureConfig,
        risk: float,
        settings: RiskSettings,
        stop: StopCondition,
    ) -> None:
        self._problem, self._failure = problem, failure
        self._risk, self.settings, self._stop = risk, settings, stop
        self._uncertain = uncertain
        counts = [len(given.values) for given in uncertain.values() if isinstance(given, Samples)]
        self._measured, self._ends = min(counts, default=0), 2 * len(counts)
        self._bearable, self._aim = self._bounds()
        self._first = first_substeps(problem, failure, settings)
        self._seen = _seen_worlds(problem, uncertain, settings)
        self._between: Worlds
        self._start_over()
        self._checks = 0
        self._median = spread_worlds(problem, uncertain, 0, 0.5, settings.seed)
        self.kept: FailureRate | None = None
        self.best = np.zeros((problem.knots, problem.model.controls))
        self._least = self._cost = np.inf

    def solve(self, controls: np.ndarray, patience: int = 1) -> bool:
        """Improve some controls, and say whether they keep what can be promised."""
        self._start_over()
        tail, rates, worst = TAIL * self._bearable, [1.0], [np.inf]
        weight, scale = self._weight(controls), _large(controls)
        for _ in range(ROUNDS):
            shot = self._improve(controls, tail, scale, weight)
            controls, rate = shot.controls, self.offer(shot.controls)
            rates.append(rate.open)
            worst.append(float(shot.severity.max()))
            if rate.open < self._bearable and self._keeps_limits(controls):
                rate = self.check(controls)
                if rate.high <= self._aim and (self.kept is None or shot.cost < self._cost):
                    self.best, self.kept, self._cost = controls, rate, shot.cost
                    if rate.rate > TIMID * self._bearable:
                        return True
            elif self._gives_up(rates, worst, patience):
                break  # others would only be harder
            late = self._stop.reason is not None
            if late or (self.kept is not None and rate.high > self._aim):
                break
            if rate.high <= self._aim or not self._join_failing(controls, tail, rate):
                tail = min(tail * self._change(rate), 0.5)
        return self.kept is not None

    def _bounds(self) -> tuple[float, float]:
        """Return the share of the worlds that may fail, and the bound that a check has to keep.

        Both are the risk where all distributions are given. Of measured values so many may fail as
        leave the upper end of the interval below the risk; where they are too few for any promise
        none may, and the bound is what they can tell.
        """
        if not self._measured:
            return self._risk, self._risk
        count = min(self._measured, self.settings.checks)

        def high(failures: int) -> float:
            return self._with_basis(FailureRate(failures, count, self.settings.confidence)).high

        most = bisect.bisect_right(range(count + 1), self._risk, key=high) - 1
        return (max(most, 0) + 0.5) / count, max(self._risk, high(0))

    def _change(self, rate: FailureRate) -> float:
        """Return the factor on the share of worlds that are not planned for."""
        least = 0.5 / rate.samples  # where none fails
        share = self._bearable / max(rate.open, least) if self._measured else self._risk / rate.high
        return float(np.clip(share, *CHANGE))

    def _gives_up(self, rates: list[float], worst: list[float], patience: int) -> bool:
        """Tell whether a start gets no further: by its rates, the best of all also by its worst."""
        if worst[-1] <= 1.0 + self.settings.margin:
            return False
        if patience == 1 and worst[-1] > HOPEFUL:
            return True
        return all(
            min(values[-patience:]) > PROGRESS * min(values[:-patience] or values[:1])
            for values in ([rates] if patience == 1 else [rates, worst])
        )

    def _start_over(self) -> None:
        """Take the first step and worlds again: neither is owed to another start."""
        self._substeps, self._between = self._first, self._seen.select(slice(0))

    def _join_failing(self, controls: np.ndarray, tail: float, rate: FailureRate) -> bool:
        """Plan for some that fail between the others, too; return whether too many of them do."""
        failing = self._failing(controls, tail)
        between = len(failing) / len(self._seen)
        beyond = rate.open - between
        joins = between > beyond or (between > 0.0 and beyond <= self._bearable)
        if joins:
            every = math.ceil(len(failing) / self.settings.worlds)
            self._between = self._between.join(failing.select(slice(None, None, every)))
        return joins

    def _failing(self, controls: np.ndarray, tail: float) -> Worlds:
        """Return the worlds that fail, of those that are seen and no more extreme than planned."""
        seen = self._seen.select(self._seen.within(self._spread(tail)))
        motion = simulate_worlds(self._problem, controls, seen, FINE * self._substeps)
        used = severity(use_of_bounds(self._problem, self._failure, motion, seen))
        return seen.select(np.argsort(used)[(used <= 1.0).sum() :])

    def _spread(self, tail: float) -> Worlds:
        problem, settings = self._problem, self.settings
        return spread_worlds(problem, self._uncertain, settings.worlds, tail, settings.seed)

    def _improve(self, controls: np.ndarray, tail: float, scale: float, weight: float) -> Shot:
        """Improve controls, with steps so short that their error cannot be made use of."""
        self._refine(controls, tail)
        while True:
            failed: list[tuple[int, int]] = []  # from the same controls
            for coarser, parts in ATTEMPTED:
                rough = max(self._first, self._substeps // coarser)
                if (rough, parts) in failed:
                    continue
                shooting = self._shooting(tail, rough=rough, parts=parts)
                shot = shooting.improve(controls, scale, weight, self._stop)
                failed = [*failed, (rough, parts)] if shot.controls is controls else []
                controls = shot.controls
                if not 1.0 + self.settings.margin < shot.severity.max() < HOPELESS:
                    break
            if not self._refine(controls, tail) or self._stop.reason is not None:
                return shot

    def _refine(self, controls: np.ndarray, tail: float) -> bool:
        """Halve the step while that changes the use of a bound by more than is left free of it."""
        substeps, allowed = self._substeps, max(self.settings.margin, MIN_MARGIN)
        while self._substeps < MAX_REFINEMENT * self._first:
            before = self._shooting(tail).evaluate(controls).severity
            after = self._shooting(tail, JUMP).evaluate(controls).severity
            told = np.isfinite(before) & np.isfinite(after)
            change = np.abs(after - before)[told] / np.maximum(after[told], 1.0)
            if change.max(initial=0.0) <= allowed:
                break
            self._substeps *= 2
        return self._substeps > substeps

    def explored(self, controls: np.ndarray) -> Iterator[np.ndarray]:
        """Yield controls that fail in fewer worlds than some, however different."""
        config = self.settings.exploration
        attempts = ATTEMPTS
        if config.generations == 0:
            yield controls
            config, attempts = dataclasses.replace(config, generations=FALLBACK), 1
        self._start_over()
        shooting = self._shooting(TAIL * self._bearable)
        draw = generator(self.settings.seed, "exploration")
        scale, weight = _large(controls), self._weight(controls)
        for _ in range(attempts):
            yield explore(shooting, controls, scale, weight, config, draw, self._stop)

    def offer(self, controls: np.ndarray) -> FailureRate:
        """Remember controls if they fail least so far, and return how often they do."""
        hopeless = ENOUGH * self._risk
        rate = self._rate(controls, self._seen.select(slice(0, FEW)), hopeless)
        if rate.low <= hopeless:
            enough = max(hopeless, min(self._least, 1.0))
            rate = self._rate(controls, self._seen, enough)
        late = self._stop.reason is not None  # then it rests on few worlds, which may be lucky
        share = rate.high if late else rate.open
        if share < self._least and self._keeps_limits(controls):
            self.best, self._least = controls, share
        return rate

    def _keeps_limits(self, controls: np.ndarray) -> bool:
        """Tell whether the motion of the median world is within the model's limits of speed."""
        limit = np.array(self._problem.model.limits.speed)
        return bool((np.abs(self.trajectory(controls).velocity) <= limit).all())

    def check(self, controls: np.ndarray) -> FailureRate:
        """Return how often controls fail in worlds that were never looked at before."""
        self._checks += 1
        return self._rate(controls, self._draw(self.settings.checks, f"risk check {self._checks}"))

    def _rate(self, controls: np.ndarray, worlds: Worlds, enough: float = 1.0) -> FailureRate:
        rate = true_rate(
            self._problem, self._failure, controls, worlds, self._first,
            self.settings.confidence, enough, self._stop,
        )  # fmt: skip
        return self._with_basis(rate)

    def _with_basis(self, rate: FailureRate) -> FailureRate:
        return dataclasses.replace(rate, measured=self._measured, ends=self._ends)

    def cost(self, controls: np.ndarray) -> float:
        """Return the running cost in the median world, eq. (1a)."""
        return running_cost(self.trajectory(controls), self._problem)

    def trajectory(self, controls: np.ndarray) -> ContactTrajectory:
        """Return the motion in the median world."""
        problem, model = self._problem, self._problem.model
        motion = simulate_worlds(problem, controls, self._median, FINE * self._substeps)
        tangent = motion.tangent_force[0]
        return ContactTrajectory(
            time=problem.time_step * np.arange(problem.knots),
            position=motion.position[0],
            velocity=motion.velocity[0],
            control=controls,
            normal_force=motion.normal_force[0],
            tangent_force=tangent.reshape(-1, model.contacts, model.directions),
            slip=motion.slip[0],
            limit_force=motion.limit_force[0],
        )

    def _shooting(self, tail: float, finer: int = 1, rough: int = 0, parts: int = 1) -> Shooting:
        settings, config = self.settings, self.settings.shooting
        config = dataclasses.replace(config, nodes=max(2, config.nodes // parts))
        return Shooting(
            self._problem, self._failure, self._spread(tail).join(self._between),
            settings.margin, config,
            partial(simulate_worlds, substeps=finer * self._substeps),
            partial(simulate_worlds, substeps=rough or self._substeps),
        )  # fmt: skip

    def _weight(self, controls: np.ndarray) -> float:
        # Exceeding a bound by itself in a single world is never worth what it saves.
        return EXCESS_WEIGHT * self.cost(controls) or 1.0  # where nothing costs anything

    def _draw(self, count: int, purpose: str) -> Worlds:
        return draw_worlds(self._problem, self._uncertain, count, self.settings.seed, purpose)


def _seen_worlds(problem: RobustProblem, uncertain: Uncertain, settings: RiskSettings) -> Worlds:
    """Draw the worlds that a plan is compared in while it is searched for."""
    return draw_worlds(problem, uncertain, settings.samples, settings.seed, "risk planning")


def _large(controls: np.ndarray) -> float:
    return float(np.abs(controls).max(initial=1e-3))


def _starts(
    problem: RobustProblem,
    config: PlannerConfig,
    nominal: RobustPlan,
    search: _Search,
    start: np.ndarray | None,
    on_progress: OnProgress | None,
    stop: StopCondition,
) -> Iterator[np.ndarray]:
    """Yield controls to start from: what is given, robust plans, later and larger forces, draws."""
    if start is not None:
        yield start
    if config.robust and nominal.solved:
        for factor in SIGMA_FACTORS:
            sigma = factor * config.uncertainty.sigma
            wider = UncertaintyConfig(config.uncertainty.kind, sigma)
            careful = dataclasses.replace(config, uncertainty=wider)
            robust = plan(problem, careful, nominal, on_progress, stop=stop)
            if robust.solved:
                yield robust.trajectory.control
    # Where friction acts for a shorter time its value matters less.
    yield from (_later(problem, nominal.trajectory.control, share) for share in SHARES_OF_TIME)
    yield from search.explored(nominal.trajectory.control)


def _later(problem: RobustProblem, controls: np.ndarray, share: float) -> np.ndarray:
    """Return controls that do the same in the last share of the time, by larger forces."""
    time = np.linspace(0.0, 1.0, len(controls))
    before = [
        np.interp((time - 1.0 + share) / share, time, values, left=0.0) for values in controls.T
    ]
    limit = np.array(problem.model.limits.control)
    return np.clip(np.stack(before, axis=1) / share**2, -limit, limit)
