"""What to plan and how: problem, schedule of the standard deviations, settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from contact_core.base.config import parameter
from contact_core.base.errors import ConfigError
from irs_planner.dynamics import ContactDynamics, Dynamics
from irs_planner.smoothing import DEFAULT_MODE, SMOOTHING_MODES


@dataclass(frozen=True, kw_only=True)
class VarianceSchedule:
    """Standard deviations of iteration k = 1, 2, ...: std_k = std_1 scale(k).

    A power scale is k^-rate, a geometric one rate^(k - 1). The floor keeps late samples
    from collapsing to rounding errors, where zero-order estimates are noise.
    """

    state_std: tuple[float, ...] = parameter(
        (),
        "standard deviation of every state in iteration 1; empty: states are not perturbed",
        low=0.0,
    )
    input_std: tuple[float, ...] = parameter(
        description="standard deviation of every input in iteration 1", low=0.0
    )
    decay: str = parameter(
        "power", "how the spread decays from iteration to iteration", options=("power", "geometric")
    )
    rate: float = parameter(0.5, "exponent of a power, ratio of a geometric decay", low=0.0)
    floor: float = parameter(1e-3, "smallest scale of the spread", above=0.0, high=1.0)

    def scale(self, iteration: int) -> float:
        """Return the scale of an iteration.

        Args:
            iteration: k, starting at 1.

        Returns:
            std_k / std_1, between the floor and 1 for a decaying schedule.
        """
        if self.decay == "power":
            return max(self.floor, float(iteration) ** -self.rate)
        return max(self.floor, self.rate ** (iteration - 1))


@dataclass(frozen=True)
class QuadraticCost:
    """sum_t |x_t - r_t|_Q^2 + |u_t|_R^2 + |x_T - r_T|_Qd^2, with diagonal weights.

    If inputs are commanded positions, u_t stands for the increment u_t - u_{t-1}, the first
    one from the actual positions.

    Attributes:
        state: (n) diagonal of Q.
        final: (n) diagonal of Qd.
        input: (m) diagonal of R.
    """

    state: np.ndarray
    final: np.ndarray
    input: np.ndarray


@dataclass(frozen=True)
class Bounds:
    """Bounds on inputs, hard, and on states, soft. Empty arrays mean none.

    Attributes:
        input_low: (m) lowest input.
        input_high: (m) highest input.
        increment: (m) largest |u_t - u_{t-1}| in MPC, for inputs that are commanded
            positions; the first increment of every solve counts from the actual position.
        around_actual: (m) largest |u_t - q_a,t| to the nominal actual position, likewise.
        bounded_states: Indices of bounded states.
        state_low: Their lower bounds.
        state_high: Their upper bounds.
        softness: A violation e of a state bound costs e^2 / (2 softness).
    """

    input_low: np.ndarray = field(default_factory=lambda: np.empty(0))
    input_high: np.ndarray = field(default_factory=lambda: np.empty(0))
    increment: np.ndarray = field(default_factory=lambda: np.empty(0))
    around_actual: np.ndarray = field(default_factory=lambda: np.empty(0))
    bounded_states: tuple[int, ...] = ()
    state_low: np.ndarray = field(default_factory=lambda: np.empty(0))
    state_high: np.ndarray = field(default_factory=lambda: np.empty(0))
    softness: float = 1e-6


@dataclass(frozen=True)
class IrsProblem:
    """Everything Algorithm 1 is given.

    Attributes:
        dynamics: The system.
        initial_state: (n) x_0.
        reference: (T + 1, n) desired states r_t; the last one is the goal.
        initial_inputs: (T, m) first guess.
        cost: What MPC minimises.
        bounds: What inputs and states have to respect.
        schedule: Spread of the samples.
        reported_cost: What iterates are compared by, and what Fig. 9 shows.
        tolerance: (n) largest final error of every state, inf where it does not matter.
        decoupled: Leave the robot out of the linear model: its actual positions are
            predicted by the nominal motion alone, as in the paper's contact examples.
        allowed_penetration: Deepest overlap of the initial state that is accepted [m].
    """

    dynamics: Dynamics
    initial_state: np.ndarray
    reference: np.ndarray
    initial_inputs: np.ndarray
    cost: QuadraticCost
    bounds: Bounds
    schedule: VarianceSchedule
    reported_cost: QuadraticCost
    tolerance: np.ndarray
    decoupled: bool = True
    allowed_penetration: float = 0.01

    def __post_init__(self) -> None:
        """Check sizes and values.

        Raises:
            ConfigError: If a size does not fit the system, a value is not finite, or a
                weight is negative.
        """
        n, m, horizon = self.dynamics.state_size, self.dynamics.input_size, self.horizon
        bounds = self.bounds
        _check("initial_state", self.initial_state, (n,))
        _check("initial_inputs", self.initial_inputs, (horizon, m))
        _check("reference", self.reference, (horizon + 1, n))
        for name, cost in (("cost", self.cost), ("reported_cost", self.reported_cost)):
            _check(f"{name}.state", cost.state, (n,), low=0.0)
            _check(f"{name}.final", cost.final, (n,), low=0.0)
            _check(f"{name}.input", cost.input, (m,), low=0.0)
        if not (self.cost.input > 0.0).all():
            raise ConfigError(f"cost.input must be positive, got {self.cost.input}")
        for name in ("input_low", "input_high", "increment", "around_actual"):
            value = getattr(bounds, name)
            if value.size:
                low = 0.0 if name in ("increment", "around_actual") else -np.inf
                _check(f"bounds.{name}", value, (m,), low=low)
                if low == 0.0 and not self.dynamics.commanded_states:
                    raise ConfigError(f"bounds.{name} needs inputs that are commanded positions")
        for name in ("state_low", "state_high"):
            _check(f"bounds.{name}", getattr(bounds, name), (len(bounds.bounded_states),))
        for index in bounds.bounded_states:
            if not 0 <= index < n:
                raise ConfigError(f"bounds.bounded_states: {index} (valid: 0 .. {n - 1})")
        if self.schedule.state_std:
            _check("schedule.state_std", np.array(self.schedule.state_std), (n,), low=0.0)
        _check("schedule.input_std", np.array(self.schedule.input_std), (m,), low=0.0)
        if self.tolerance.shape != (n,) or not (self.tolerance > 0.0).all():
            raise ConfigError(f"tolerance needs {n} positive values, got {self.tolerance}")

    @property
    def horizon(self) -> int:
        """The number T of steps."""
        return len(self.initial_inputs)

    @property
    def goal(self) -> np.ndarray:
        """(n) the last desired state."""
        return np.asarray(self.reference[-1])

    @cached_property
    def planned_states(self) -> np.ndarray:
        """Indices of the states in the linear model of MPC."""
        dynamics = self.dynamics
        if not (self.decoupled and isinstance(dynamics, ContactDynamics)):
            return np.arange(dynamics.state_size)
        # Outputs, which nothing depends on, count only if something is wanted of them.
        wanted = (self.cost.state > 0.0) | (self.cost.final > 0.0)
        wanted[list(self.bounds.bounded_states)] = True
        wanted[list(dynamics.object_states)] = True
        wanted[list(dynamics.commanded_states)] = False
        return np.flatnonzero(wanted)

    def evaluate(self, states: np.ndarray, inputs: np.ndarray) -> float:
        """Return the reported cost of a trajectory.

        Args:
            states: (T + 1, n) x.
            inputs: (T, m) u.

        Returns:
            The cost, inf if a state is not finite.
        """
        cost, error = self.reported_cost, states - self.reference
        commanded = list(self.dynamics.commanded_states)
        effort = inputs
        if commanded:
            effort = np.diff(inputs, axis=0, prepend=states[:1, commanded])
        with np.errstate(over="ignore"):  # a motion that diverges costs inf
            total = (
                np.sum(error[:-1] ** 2 * cost.state)
                + np.sum(error[-1] ** 2 * cost.final)
                + np.sum(effort**2 * cost.input)
            )
        return float(total) if np.isfinite(total) else np.inf


def _check(name: str, value: np.ndarray, shape: tuple[int, ...], low: float = -np.inf) -> None:
    if value.shape != shape:
        raise ConfigError(f"{name} has shape {value.shape}, expected {shape}")
    if not np.isfinite(value).all():
        raise ConfigError(f"{name} is not finite: {value}")
    if (value < low).any():
        raise ConfigError(f"{name} must be >= {low:g}, got {value}")


@dataclass(frozen=True)
class PlannerSettings:
    """Settings of iRS-LQR."""

    mode: str = parameter(DEFAULT_MODE, "kind of derivatives to use", options=SMOOTHING_MODES)
    iterations: int = parameter(20, "largest number of iterations of Algorithm 1", low=0)
    samples: int = parameter(100, "samples per knot point", low=1)
    seed: int = parameter(0, "seed of all random samples", low=0)
    workers: int = parameter(1, "threads; their number does not change the result", low=1)
    mpc_solver: str = parameter(
        "riccati", "solver of the MPC problems", options=("riccati", "osqp")
    )
    tolerance: float = parameter(
        1e-6,
        "the plan has converged once the cost changes by less than this fraction in each of "
        "'patience' iterations",
        low=0.0,
    )
    patience: int = parameter(3, "number of iterations without change that mean convergence", low=1)
    time_budget: float = parameter(
        0.0, "time after which the best plan so far is returned; 0 for no limit", unit="s", low=0.0
    )
    refinements: int = parameter(
        0, "number of accept/reject iterations with a trust region after Algorithm 1", low=0
    )
    trust_radius: float = parameter(
        0.1, "first radius of the trust region, in units of the inputs", above=0.0
    )
