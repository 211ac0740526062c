"""Integrators by name: an engine, moved by a scheme of choice."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from contact_core.base.config import parameter
from contact_core.base.errors import ConfigError, whole_number
from contact_core.base.registry import Registry
from contact_experiments.tamsi.integrators import data
from contact_experiments.tamsi.integrators.data import (
    IMPLICIT_EULER,
    ONE_WAY,
    TWO_WAY,
    Options,
    make_memory,
)
from contact_experiments.tamsi.integrators.excitation import Excitation
from contact_experiments.tamsi.integrators.implicit_euler import advance_implicit
from contact_experiments.tamsi.integrators.one_way import (
    WARNING_RATIO,
    ExplicitNormalsWarning,
    advance_one_way,
)
from tamsi_sim.arrays.data import ITERATIONS, RETRIES, STEPS, Model, Work
from tamsi_sim.arrays.settings import scheme_settings
from tamsi_sim.arrays.simulation import make_simulation
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.scheme.advance import EFFORT, roll
from tamsi_sim.simulation.engine import Engine

NEWTON_SHARE = 0.05
"""Share of the accuracy that Newton's method may leave as an error, with error control."""

NEWTON_DRIFT = 1e-4
"""Error that Newton's method may add to a velocity per time, with fixed steps [m/s^2, rad/s^2]."""


@dataclass(frozen=True)
class Scheme:
    """One way to integrate (1) and (2) of ``tamsi``.

    Attributes:
        title: Its name in a plot's legend, as in the paper.
        kernel: IMPLICIT_EULER, ONE_WAY or TWO_WAY.
        frictionless: Whether it leaves out friction, Sec. V-B.
        full_newton: Whether implicit Euler renews its Jacobian in every iteration.
        error_control: Whether implicit Euler chooses its steps by their error.
        line_search: Whether implicit Euler limits its updates by TALS.
        integrator: A class of one's own that steps in another way; None for :class:`Integrator`.
    """

    title: str
    kernel: int
    frictionless: bool = False
    full_newton: bool = False
    error_control: bool = False
    line_search: bool = False
    integrator: type[Integrator] | None = None

    def adapt(self, model: Model) -> Model:
        """Return the model that the scheme's kernel takes.

        Args:
            model: The engine's.
        """
        if self.frictionless:
            return model._replace(
                rules=model.rules._replace(friction=np.zeros_like(model.rules.friction)),
                joints=model.joints._replace(friction=np.zeros_like(model.joints.friction)),
            )
        if self.kernel == ONE_WAY:
            none = np.zeros_like(model.rules.dissipation)
            return model._replace(rules=model.rules._replace(dissipation=none))
        return model


def implicit_euler(full_newton: bool, error_control: bool, line_search: bool) -> Scheme:
    """Return a variant of implicit Euler, ``tamsi`` Sec. III.

    Args:
        full_newton: See :class:`Scheme`.
        error_control: See :class:`Scheme`.
        line_search: See :class:`Scheme`.
    """
    parts = ["IE", "FN" if full_newton else "QN"]
    parts += ["EC"] * error_control + ["TALS"] * line_search
    return Scheme("+".join(parts), IMPLICIT_EULER, False, full_newton, error_control, line_search)


SEMI_IMPLICIT = Scheme("semi-implicit Euler (one-way)", ONE_WAY)
FRICTIONLESS = Scheme("implicit normal forces, no friction", TWO_WAY, frictionless=True)
TAMSI = Scheme("TAMSI", TWO_WAY)

SCHEMES: Registry[Scheme] = Registry(
    "integrator",
    {"tamsi": TAMSI, "semi_implicit": SEMI_IMPLICIT, "frictionless": FRICTIONLESS},
)
"""Name -> scheme: tamsi Sec. V, and ie_fn ... ie_qn_ec_tals of Sec. III."""

for _features in itertools.product((True, False), repeat=3):
    _scheme = implicit_euler(*_features)
    SCHEMES.register(_scheme.title.lower().replace("+", "_"), _scheme)

PUBLISHED = tuple(SCHEMES)


def own_schemes() -> tuple[str, ...]:
    """Return the names of schemes that somebody has registered beside those of the paper."""
    return tuple(name for name in SCHEMES if name not in PUBLISHED)


@dataclass(frozen=True)
class IntegratorConfig:
    """What the schemes of implicit Euler need besides the contact model's SolverConfig."""

    accuracy: float = parameter(
        1e-3, "bound a on the local error of the velocities, with error control",
        unit="m/s and rad/s", above=0.0, high=10.0,
    )  # fmt: skip
    max_iterations: int = parameter(
        10, "largest number of Newton iterations of one step", low=1, high=1000
    )
    max_rate: float = parameter(
        1.0, "ratio of successive Newton updates above which the iteration has diverged",
        above=0.0,
    )  # fmt: skip
    min_step: float = parameter(
        1e-9,
        "a step that fails is halved, but not below this length",
        unit="s",
        above=0.0,
        high=1.0,
    )


@dataclass(frozen=True)
class SolverEffort:
    """What a solution has cost.

    Attributes:
        evaluations: Of the system's dynamics f(t, x), those for Jacobians included; of a
            time-stepping scheme, of everything that is frozen during a step.
        jacobians: Jacobians approximated by forward differences.
        factorizations: Matrices factorised.
        iterations: Newton iterations.
        steps: Accepted steps.
        retries: Steps that Newton's method did not solve and that were halved.
        rejections: Steps whose error was too large.
        limited: Newton updates that TALS limited.
        landings: Those that were to land inside stiction, the contact still being there.
        missed: Those of the landings that did not, because the configuration moved.
        smallest_step: Length of the shortest accepted step [s].
    """

    evaluations: int
    jacobians: int
    factorizations: int
    iterations: int
    steps: int
    retries: int
    rejections: int
    limited: int
    landings: int
    missed: int
    smallest_step: float


class Integrator:
    """Moves an engine's state by a scheme; use it instead of ``Engine.step``.

    The engine's arrays stay the state: read and write ``q`` and ``v`` in place.
    """

    def __init__(
        self,
        scheme: Scheme,
        engine: Engine,
        excitation: Excitation | None = None,
        config: IntegratorConfig | None = None,
    ) -> None:
        """Bind a scheme to an engine.

        Args:
            scheme: The scheme; :func:`make_integrator` finds it by its name.
            engine: The model, its state, the step h and the settings of contact.
            excitation: Forces at any time; the engine's ``applied`` as it is now by default.
            config: Parameters of implicit Euler.

        Raises:
            ConfigError: If the model has loop closures, or torsional or rolling friction.
        """
        if len(engine.work.contact_moments.coefficient):
            raise ConfigError("only the engine knows torsional and rolling friction (valid: 0 m)")
        if engine.built.closures:
            names = ", ".join(engine.built.closures)
            raise ConfigError(f"only the engine steps loop closures, got {names} (valid: none)")
        config = config or IntegratorConfig()
        solver = engine.solver
        model = engine.built.arrays
        self.engine = engine
        self.scheme = scheme
        self.time_step = engine.time_step
        self._options = Options(
            scheme=scheme.kernel,
            full_newton=int(scheme.full_newton),
            line_search=int(scheme.line_search),
            error_control=int(scheme.error_control),
            accuracy=config.accuracy,
            newton_tolerance=NEWTON_SHARE * config.accuracy * scheme.error_control,
            newton_drift=NEWTON_DRIFT * (not scheme.error_control),
            max_iterations=config.max_iterations,
            max_rate=config.max_rate,
            min_step=config.min_step,
        )
        iterations = max(config.max_iterations, solver.max_iterations)
        self._memory = make_memory(
            len(engine.q), len(engine.v), model.rules.dissipation, iterations
        )
        self._excitation = excitation or Excitation.constant(engine.applied)
        self._simulation = make_simulation(
            scheme.adapt(model), engine.work, scheme_settings(solver, engine.time_step)
        )

    @property
    def work(self) -> Work:
        """The engine's arrays."""
        return self.engine.work

    @property
    def q(self) -> np.ndarray:
        """(nq) positions."""
        return self.engine.q

    @property
    def v(self) -> np.ndarray:
        """(nv) velocities."""
        return self.engine.v

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self._memory.clock[data.TIME])

    def step(self, steps: int = 1) -> StepStatus:
        """Advance by steps of h, each cut into as many as convergence or accuracy needs.

        Args:
            steps: How many steps.

        Returns:
            OK, or why the last step failed; the state is then the last good one, at ``time``.

        Raises:
            ConfigError: If it is no whole number, or negative.
        """
        steps = whole_number(steps, "steps")
        if self.scheme.kernel == data.TWO_WAY:
            return self._step_two_way(steps)
        if self.scheme.kernel == data.ONE_WAY:
            status = advance_one_way(self._simulation, self._excitation, self._memory, steps)
        else:
            status = advance_implicit(
                self._simulation, self._options, self._excitation, self._memory, steps
            )
        return StepStatus(status)

    def _step_two_way(self, steps: int) -> StepStatus:
        """Advance by TAMSI's own kernel, which retries by sub-steps."""
        h, memory, counters = self.time_step, self._memory, self.work.counters
        forces = self._excitation.at(self.time + h * np.arange(1, steps + 1))
        q, v = (np.empty((1, steps + 1, len(x))) for x in (self.q, self.v))
        ended = np.zeros(1, dtype=np.int64)
        start = self.q[None].copy(), self.v[None].copy()
        before, no_forces = counters.copy(), np.zeros((1, 0, len(self.v)))
        roll(self._simulation, *start, forces[None], EFFORT, q, v, no_forces, no_forces, ended)
        status = StepStatus(ended[0])
        done = counters - before
        failed = int(status != StepStatus.OK)
        memory.counters[data.EVALUATIONS] += done[STEPS]
        memory.counters[data.STEPS] += done[STEPS] - failed
        memory.counters[data.RETRIES] += done[RETRIES]
        # The time-stepping schemes factorise once per iteration.
        memory.counters[[data.ITERATIONS, data.FACTORIZATIONS]] += done[ITERATIONS]
        memory.clock[data.TIME] += h * (done[STEPS] - failed)
        memory.residuals[:] = self.work.newton.residuals[: len(memory.residuals)]
        return status

    def roll(self, samples: int, every: int = 1) -> tuple[StepStatus, np.ndarray, np.ndarray]:
        """Advance, and record the state at equal intervals.

        Args:
            samples: How many states to record after the first.
            every: Steps of h between two of them.

        Returns:
            The last status; (samples + 1, nq) positions and (samples + 1, nv) velocities
            from now on, NaN behind a failed step.
        """
        positions = np.full((samples + 1, len(self.q)), np.nan)
        velocities = np.full((samples + 1, len(self.v)), np.nan)
        positions[0], velocities[0] = self.q, self.v
        status = StepStatus.OK
        for k in range(samples):
            status = self.step(every)
            if status != StepStatus.OK:
                break
            positions[k + 1], velocities[k + 1] = self.q, self.v
        return status, positions, velocities

    @property
    def effort(self) -> SolverEffort:
        """What the solution has cost so far."""
        count = [int(value) for value in self._memory.counters]
        return SolverEffort(
            evaluations=count[data.EVALUATIONS],
            jacobians=count[data.JACOBIANS],
            factorizations=count[data.FACTORIZATIONS],
            iterations=count[data.ITERATIONS],
            steps=count[data.STEPS],
            retries=count[data.RETRIES],
            rejections=count[data.REJECTIONS],
            limited=count[data.LIMITED],
            landings=count[data.LANDINGS],
            missed=count[data.MISSED],
            smallest_step=float(self._memory.clock[data.MIN_STEP]),
        )

    @property
    def residuals(self) -> np.ndarray:
        """Norms of the residuals in the last Newton solve, iteration by iteration [Nms or Ns]."""
        history = self._memory.residuals
        return np.array(history[np.isfinite(history)])

    @property
    def normal_ratio(self) -> float:
        """Largest h sqrt(k/m) of explicit normal forces so far, zero if they are implicit."""
        return float(self._memory.clock[data.NORMAL_RATIO])

    def warnings(self) -> tuple[ExplicitNormalsWarning, ...]:
        """Return what a user should know about the steps so far."""
        if self.normal_ratio < WARNING_RATIO:
            return ()
        since = float(self._memory.clock[data.WARNED_SINCE])
        return (ExplicitNormalsWarning(self.normal_ratio, since),)


def make_integrator(
    name: str,
    engine: Engine,
    excitation: Excitation | None = None,
    config: IntegratorConfig | None = None,
) -> Integrator:
    """Return the integrator of a name.

    Args:
        name: One of ``SCHEMES``.
        engine: The model, its state, the step h and the settings of contact.
        excitation: Forces at any time; the engine's ``applied`` as it is now by default.
        config: Parameters of implicit Euler.

    Returns:
        The integrator, at time zero.

    Raises:
        ConfigError: If there is no such name, or the model has what only the engine steps.
    """
    scheme = SCHEMES[name]
    return (scheme.integrator or Integrator)(scheme, engine, excitation, config)
