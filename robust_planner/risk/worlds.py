"""What is uncertain about the world, by distribution, and worlds drawn from it."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from scipy import special

from contact_core.base.config import from_mapping, parameter
from contact_core.base.errors import ConfigError, choices
from contact_core.base.seeds import generator
from robust_planner.contact_model import ContactModel
from robust_planner.problem import RobustProblem

MIN_MASS = 0.01
"""No drawn factor on the mass is smaller."""
MIN_FRICTION = 1e-6
"""Of a problem that is planned or simulated for one world."""
MAX_EQUAL = 0.02
"""Measured values of which a larger share is equal were rounded, or are few by nature."""
MIN_GRID, OFF_GRID = 4, 1e-3
"""So many different values tell that they lie on a grid, up to that share of its step."""
SAME_PLACE = 1e-9
"""What lies on a surface is not inside [m]."""


class Distribution(ABC):
    """Of one quantity."""

    @abstractmethod
    def quantile(self, probability: np.ndarray) -> np.ndarray:
        """Return the values that the quantity does not exceed with some probabilities.

        Args:
            probability: Between 0 and 1, any shape.

        Returns:
            Same shape, in the unit of the quantity.
        """


@dataclass(frozen=True)
class Normal(Distribution):
    """A Gaussian."""

    mean: float = parameter(description="mean value")
    sigma: float = parameter(description="standard deviation", low=0.0)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        """Evaluate; see the base class."""
        if self.sigma == 0.0:  # 0 times the infinite quantile of probability 0 is not a number
            return np.full(np.shape(probability), self.mean)
        return np.asarray(self.mean + self.sigma * special.ndtri(probability))


@dataclass(frozen=True)
class Uniform(Distribution):
    """Everything between two values is as likely."""

    low: float = parameter(description="smallest value")
    high: float = parameter(description="largest value")

    def __post_init__(self) -> None:
        """Refuse an empty interval."""
        if not self.low <= self.high:
            raise ConfigError(f"uniform from {self.low!r} to {self.high!r} (valid: low <= high)")

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        """Evaluate; see the base class."""
        return np.asarray(self.low + (self.high - self.low) * probability)


@dataclass(frozen=True)
class Samples(Distribution):
    """What was measured; each value is as likely.

    Where they were rounded, what was measured lies anywhere within half a step of them: those that
    are equal are spread over it.
    """

    values: tuple[float, ...] = parameter(description="the measured values")

    def __post_init__(self) -> None:
        """Refuse what says nothing."""
        if not self.values:
            raise ConfigError("samples has no values (valid: one or more)")

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        """Evaluate; see the base class."""
        return np.asarray(np.quantile(self._spread, probability, method="inverted_cdf"))

    @cached_property
    def most_equal(self) -> tuple[int, float]:
        """How many are equal, at most, and to what; 0 where these are so few that chance may do."""
        found, counts = np.unique(self.values, return_counts=True)
        most = int(counts.max())
        many = len(found) > 1 and most > max(MAX_EQUAL * len(self.values), 2)
        return (most if many else 0), float(found[counts.argmax()])

    @cached_property
    def step(self) -> float:
        """Of the grid to which they were rounded, 0 if they were not, or nobody can tell."""
        found = np.unique(self.values)
        if not self.most_equal[0] or len(found) < MIN_GRID:
            return 0.0
        step = float(np.diff(found).min())
        number = (found - found[0]) / step
        return step if np.abs(number - np.round(number)).max() < OFF_GRID else 0.0

    @cached_property
    def _spread(self) -> np.ndarray:
        found, counts = np.unique(self.values, return_counts=True)
        own = [(np.arange(count) + 0.5) / count - 0.5 for count in counts]
        return np.repeat(found, counts) + self.step * np.concatenate(own)


DISTRIBUTIONS: dict[str, type[Distribution]] = {
    "normal": Normal,
    "uniform": Uniform,
    "samples": Samples,
}

Uncertain = Mapping[str, Distribution]
"""Name of a quantity -> its distribution; see :func:`quantities`."""


QUANTITIES = ("friction", "height", "mass")
"""What may be uncertain of every model."""


def quantities(model: ContactModel) -> tuple[str, ...]:
    """List what may be uncertain.

    Args:
        model: The model.

    Returns:
        ``friction`` mu, ``height`` of the ground [m], ``mass``, a factor on every mass and
        inertia, ``start.COORDINATE``, how far the start is off [m, rad], and ``OBSTACLE.x`` and
        ``OBSTACLE.z``, how far an obstacle is [m].
    """
    return (*QUANTITIES, *_offsets(model), *_shifts(model))


def _offsets(model: ContactModel) -> list[str]:
    return [f"start.{name}" for name in model.position_names]


def _shifts(model: ContactModel) -> list[str]:
    return [f"{obstacle.name}.{axis}" for obstacle in model.obstacles for axis in "xz"]


def certain_value(problem: RobustProblem, quantity: str) -> float:
    """Return what a quantity is in the problem itself, in the unit in which it is uncertain.

    Args:
        problem: The problem.
        quantity: See :func:`quantities`.
    """
    return {"friction": problem.friction, "mass": 1.0}.get(quantity, 0.0)


def check_uncertain(problem: RobustProblem, uncertain: Uncertain) -> None:
    """Refuse what is unknown, mass with drives, and height or start where nothing lifts the model.

    Args:
        problem: The problem.
        uncertain: What is uncertain about it.

    Raises:
        ConfigError: If there is no such quantity, the problem does not allow it, or its values
            cannot be: the smallest of what is bounded, most of what is not.
    """
    model = problem.model
    known = quantities(model)
    for name in uncertain:
        if name not in known:
            raise ConfigError(f"unknown uncertain quantity '{name}' ({choices(known)})")
    for name, least in (("friction", 0.0), ("mass", MIN_MASS)):
        if name not in uncertain:
            continue
        lowest, middle = (float(uncertain[name].quantile(np.array(p))) for p in (0.0, 0.5))
        # A Gaussian has tails that nobody means; what was measured or bounded is meant as it is.
        wrong = lowest if np.isfinite(lowest) else middle
        if wrong < least:
            values = "its smallest value is" if wrong == lowest else "half of its values are below"
            raise ConfigError(
                f"uncertain.{name}: {values} {wrong:g} (valid: {least:g} or more"
                f"{', a factor on every mass' if name == 'mass' else ''})"
            )
    if "mass" in uncertain and model.drives:
        others = choices(name for name in known if name != "mass")
        raise ConfigError(f"mass cannot be uncertain where drives move the model ({others})")
    if uncertain.keys() <= {"friction", "mass", *_shifts(model)}:
        return
    jacobian = np.asarray(model.normal_jacobian(problem.start[: model.coordinates]))
    jacobian = jacobian[model.grounded]
    vertical = model.dimension - 1
    if model.coordinates <= vertical or not np.allclose(jacobian[:, vertical], 1.0):
        raise ConfigError(
            f"height and start cannot be uncertain (valid: where coordinate {vertical + 1} of "
            f"{', '.join(model.position_names)} lifts every contact point straight up)"
        )


def read_distribution(values: Any, where: str) -> Distribution:
    """Build a distribution from one entry of a file.

    Args:
        values: For instance ``{"normal": {"mean": 0.5, "sigma": 0.1}}``.
        where: What it is, for the error.

    Returns:
        The distribution.

    Raises:
        ConfigError: If there is no such distribution, or its values are invalid.
    """
    if not isinstance(values, Mapping) or len(values) != 1:
        raise ConfigError(f"{where} must have one distribution ({choices(DISTRIBUTIONS)})")
    ((kind, content),) = values.items()
    if kind not in DISTRIBUTIONS:
        raise ConfigError(f"{where}: unknown distribution '{kind}' ({choices(DISTRIBUTIONS)})")
    if kind == "samples":
        content = {"values": content}
    name = f"{where}.{kind}"
    try:
        return from_mapping(DISTRIBUTIONS[kind], content, name)
    except ConfigError as error:
        if name in str(error):
            raise
        raise ConfigError(f"{name}: {error}") from error


@dataclass(frozen=True)
class Worlds:
    """Several worlds.

    Attributes:
        friction: mu (n).
        height: Of the ground (n) [m].
        mass: Factor on every mass and inertia (n).
        offset: Start minus planned start (n, nq) [m, rad].
        shift: How far the obstacles are from where they should be (n, 2 no), x and z each [m].
    """

    friction: np.ndarray
    height: np.ndarray
    mass: np.ndarray
    offset: np.ndarray
    shift: np.ndarray

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.friction)

    def values(self, model: ContactModel, quantity: str) -> np.ndarray:
        """Return one quantity of every world (n).

        Args:
            model: The model in these worlds.
            quantity: See :func:`quantities`.
        """
        return self._columns[quantities(model).index(quantity)]

    @property
    def _columns(self) -> list[np.ndarray]:
        return [self.friction, self.height, self.mass, *self.offset.T, *self.shift.T]

    def within(self, others: Worlds) -> np.ndarray:
        """Tell which worlds have no quantity that is more extreme than those of others (n).

        Args:
            others: The others.
        """
        ours, theirs = np.stack(self._columns), np.stack(others._columns)
        low, high = theirs.min(axis=1, keepdims=True), theirs.max(axis=1, keepdims=True)
        return np.asarray(((low <= ours) & (ours <= high)).all(axis=0))

    def first_alike(self) -> np.ndarray:
        """Return the index of the first world that is equal to each (n)."""
        columns = np.stack(self._columns)
        _, first, same = np.unique(columns, axis=1, return_index=True, return_inverse=True)
        return np.asarray(first[same.ravel()])

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first of all that are equal, and how often each world occurs, 0 for others."""
        counts = np.bincount(self.first_alike(), minlength=len(self))
        return np.flatnonzero(counts), counts

    def select(self, chosen: Any) -> Worlds:
        """Return some of them.

        Args:
            chosen: An index of NumPy that keeps the axis: a slice, indices or a mask.
        """
        return Worlds(*(getattr(self, field.name)[chosen] for field in dataclasses.fields(self)))

    def join(self, others: Worlds) -> Worlds:
        """Return these and others."""
        pairs = (
            (getattr(self, field.name), getattr(others, field.name))
            for field in dataclasses.fields(self)
        )
        return Worlds(*(np.concatenate(pair) for pair in pairs))


def draw_worlds(
    problem: RobustProblem, uncertain: Uncertain, count: int, seed: int, purpose: str
) -> Worlds:
    """Draw worlds.

    Args:
        problem: The means of what is certain.
        uncertain: What is not.
        count: Number of worlds.
        seed: Of the draw.
        purpose: Draws for different purposes are independent.

    Returns:
        The worlds. Negative friction is none, and masses are at least a hundredth. Measured values
        are dealt in an order that is drawn, each as often as the others.

    Raises:
        ConfigError: See :func:`check_uncertain`.
    """

    def draw(name: str) -> np.ndarray:
        drawn = generator(seed, f"{purpose}, {name}")
        if isinstance(uncertain.get(name), Samples):
            return (drawn.permutation(count) + 0.5) / count
        return drawn.random(count)

    probability = {name: draw(name) for name in quantities(problem.model)}
    return worlds_at(problem, uncertain, probability)


def spread_worlds(
    problem: RobustProblem, uncertain: Uncertain, count: int, tail: float, seed: int
) -> Worlds:
    """Return the median world, and others spread over all that are not extreme.

    Args:
        problem: The means of what is certain.
        uncertain: What is not.
        count: Number of worlds beside the median.
        tail: Probability that any quantity is more extreme than all of its values here.
        seed: Of the combinations of several quantities, a Latin hypercube.

    Returns:
        The worlds; each quantity has quantiles at equal distance, its two extremes included.

    Raises:
        ConfigError: See :func:`check_uncertain`.
    """
    own = 0.5 * tail / max(len(uncertain), 1)
    grid = np.linspace(own, 1.0 - own, count)
    probability = {
        name: np.concatenate([[0.5], generator(seed, f"spread, {name}").permutation(grid)])
        for name in quantities(problem.model)
    }
    return worlds_at(problem, uncertain, probability)


def worlds_at(
    problem: RobustProblem, uncertain: Uncertain, probability: Mapping[str, np.ndarray]
) -> Worlds:
    """Return the worlds of some quantiles.

    Args:
        problem: The means of what is certain.
        uncertain: What is not.
        probability: Name of every quantity -> its probabilities (n).

    Returns:
        The worlds.

    Raises:
        ConfigError: See :func:`check_uncertain`.
    """
    check_uncertain(problem, uncertain)
    model = problem.model
    values = {
        name: uncertain[name].quantile(probability[name])
        if name in uncertain
        else np.full_like(probability[name], certain_value(problem, name))
        for name in quantities(model)
    }

    def columns(names: Sequence[str]) -> np.ndarray:
        return np.array([values[name] for name in names]).reshape(-1, len(values["friction"])).T

    return Worlds(
        friction=np.maximum(values["friction"], 0.0),
        height=values["height"],
        mass=np.maximum(values["mass"], MIN_MASS),
        offset=columns(_offsets(model)),
        shift=columns(_shifts(model)),
    )


def one_world(problem: RobustProblem, friction: float, height: float = 0.0) -> Worlds:
    """Return a world that is as planned but for two quantities.

    Args:
        problem: Its model.
        friction: mu.
        height: Of the ground [m].
    """
    model = problem.model
    return Worlds(
        friction=np.array([friction]),
        height=np.array([height]),
        mass=np.ones(1),
        offset=np.zeros((1, len(_offsets(model)))),
        shift=np.zeros((1, len(_shifts(model)))),
    )


def starts(problem: RobustProblem, worlds: Worlds) -> np.ndarray:
    """Return where the model starts, on the ground if it is higher and within its limits.

    Args:
        problem: The planned start; the vertical position is the last translation.
        worlds: The worlds.

    Returns:
        x0 = (q, v) (n, 2 nq).
    """
    model = problem.model
    state = np.tile(problem.start, (len(worlds), 1))
    q = state[:, : model.coordinates]
    q[:] = np.clip(q + worlds.offset, model.limits.lower, model.limits.upper)
    if model.coordinates >= model.dimension:
        gaps = np.asarray(model.distance(q.T))[model.grounded].min(axis=0) - worlds.height
        q[:, model.dimension - 1] -= np.minimum(gaps, 0.0)
    return state


def check_starts(problem: RobustProblem, worlds: Worlds) -> None:
    """Refuse worlds in which the model would start inside an obstacle.

    Args:
        problem: The planned start.
        worlds: The worlds.

    Raises:
        ConfigError: If there is one; the text says inside what, how often, and how deep.
    """
    model = problem.model
    if not model.obstacles:
        return
    q = starts(problem, worlds)[:, : model.coordinates]
    distance = np.asarray(model.shifted(q.T, worlds.shift.T)[0])
    distance[model.grounded] = 0.0
    contact, deepest = np.unravel_index(distance.argmin(), distance.shape)
    depth = -float(distance[contact, deepest])
    if depth > SAME_PLACE:
        inside = int((distance < -SAME_PLACE).any(axis=0).sum())
        raise ConfigError(
            f"in {inside} of {len(worlds)} drawn worlds '{problem.name}' starts inside an "
            f"obstacle, {1e3 * depth:.3g} mm inside '{model.surfaces[contact]}' at most (valid: "
            "none; start farther away, or make less uncertain)"
        )


def in_world(problem: RobustProblem, worlds: Worlds, index: int) -> RobustProblem:
    """Return a problem with the friction, the mass and the start of a world.

    Args:
        problem: The problem.
        worlds: The worlds.
        index: Which one.

    Returns:
        The problem; the height of the ground belongs to who simulates it.
    """
    model = problem.model
    mass = float(worlds.mass[index])
    q, v = casadi.SX.sym("q", model.coordinates), casadi.SX.sym("v", model.coordinates)
    inertia = casadi.Function("mass_matrix", [q], [mass * model.mass_matrix(q)])
    bias = casadi.Function("bias_force", [q, v], [mass * model.bias_force(q, v)])
    level = dataclasses.replace(worlds.select(slice(index, index + 1)), height=np.zeros(1))
    return dataclasses.replace(
        problem,
        model=dataclasses.replace(model, mass_matrix=inertia, bias_force=bias),
        start=tuple(starts(problem, level)[0].tolist()),
        friction=max(float(worlds.friction[index]), MIN_FRICTION),
    )
