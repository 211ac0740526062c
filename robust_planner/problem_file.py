"""Problems from YAML files: a URDF model, boundary states, what is uncertain, what a failure is."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contact_core.base.config import YAML, from_mapping, nested, parameter, read_mapping
from contact_core.base.errors import ConfigError
from robust_planner.config import PlannerConfig
from robust_planner.contact_model import DriveConfig, PlanningProblemError
from robust_planner.drives import driven
from robust_planner.examples import Example, make_example
from robust_planner.obstacles import Obstacle
from robust_planner.problem import RobustProblem
from robust_planner.risk.failure import FailureConfig
from robust_planner.risk.settings import RiskSettings
from robust_planner.risk.worlds import Distribution, check_uncertain, read_distribution
from robust_planner.urdf_model import load_urdf


@dataclass(frozen=True, kw_only=True)
class ContactConfig:
    """One point, or a ball, that may touch the ground and obstacles."""

    link: str = parameter(description="link of the model that carries the contact point")
    point: tuple[float, ...] = parameter(
        description="where the contact point is in the link's frame", unit="m", size=3
    )
    radius: float = parameter(
        0.0, "radius of the ball about the point; 0 for a point", unit="m", low=0.0
    )


@dataclass(frozen=True, kw_only=True)
class ProblemConfig:
    """A problem file, but for what maps names to what they mean.

    That is ``contacts`` and ``uncertain``; ``obstacles``, each a mapping from the names of its
    convex parts to their corners [x, z] [m]; and ``drives`` of joints, see :class:`DriveConfig`.
    """

    title: str = parameter(description="what the problem is about")
    urdf: str = parameter(description="URDF file of the model, beside this file")
    dimension: int = parameter(2, "2: everything moves in the x-z plane; 3.", options=(2, 3))
    actuated: tuple[str, ...] = parameter((), "joints whose motor takes a force as its command")
    start: tuple[float, ...] = parameter(
        description="state at the start: every position, then every velocity"
    )
    goal: tuple[float, ...] = parameter(
        description="state at the end: every position, then every velocity"
    )
    duration: float = parameter(description="duration of the motion", unit="s", above=0.0)
    knots: int = parameter(description="number of states", low=2, high=10_000)
    friction: float = parameter(description="mu, mean coefficient of friction", above=0.0)
    state_weight: tuple[float, ...] = parameter(description="diagonal of Q", low=0.0)
    control_weight: tuple[float, ...] = parameter(description="diagonal of R", low=0.0)
    stiffness: float = parameter(
        math.inf,
        "stiffness of ground and obstacles at one point; left out for rigid ones",
        unit="N/m",
        above=0.0,
    )
    dissipation: float = parameter(
        0.0, "Hunt-Crossley dissipation d of what is not rigid", unit="s/m", low=0.0
    )
    failure: FailureConfig = nested(FailureConfig)
    planner: PlannerConfig = nested(PlannerConfig)
    search: RiskSettings = nested(RiskSettings)


NAMED = ("contacts", "uncertain", "obstacles", "drives")
"""Keys of a problem file that map names to what they mean."""


def load_problem(path: str | Path) -> Example:
    """Read a problem file.

    Args:
        path: The YAML file; other files that it names are beside it.

    Returns:
        The problem with its settings, uncertainty and failures, named after the file.

    Raises:
        ContactStackError: If a file is missing or a value is not valid; the message says which.
    """
    path = Path(path)
    try:
        return _build(path, dict(read_mapping(path)))
    except (ConfigError, PlanningProblemError) as error:
        raise type(error)(f"{path.name}: {error}") from error


def find_problem(name: str) -> Example:
    """Return a problem by name or from a file.

    Args:
        name: One of ``EXAMPLES``, or a path that ends with ``.yaml``.

    Returns:
        The problem.

    Raises:
        ContactStackError: If there is no such problem, or it is not valid.
    """
    return load_problem(name) if name.endswith(YAML) else make_example(name)


def _build(path: Path, values: dict[str, Any]) -> Example:
    named = {name: values.pop(name, {}) for name in NAMED}
    config = from_mapping(ProblemConfig, values, beside=NAMED)
    if named["contacts"] == {}:
        raise ConfigError("'contacts' is missing or empty (valid: one at least)")
    contacts = {
        name: from_mapping(ContactConfig, value, f"contacts.{name}")
        for name, value in _mapping(named["contacts"], "contacts").items()
    }
    uncertain = {
        name: _distribution(path, name, value)
        for name, value in _mapping(named["uncertain"], "uncertain").items()
    }
    obstacles = [
        Obstacle(name, _mapping(parts, f"obstacles.{name}"))
        for name, parts in _mapping(named["obstacles"], "obstacles").items()
    ]
    drives = {
        name: from_mapping(DriveConfig, value, f"drives.{name}")
        for name, value in _mapping(named["drives"], "drives").items()
    }
    model = load_urdf(
        path.parent / config.urdf,
        {name: (contact.link, contact.point, contact.radius) for name, contact in contacts.items()},
        [*config.actuated, *drives],
        config.dimension,
        obstacles,
    )
    model = driven(model, drives) if drives else model
    names = {field.name for field in dataclasses.fields(RobustProblem)}
    shared = {name: value for name, value in vars(config).items() if name in names}
    problem = RobustProblem(name=path.stem, model=model, **shared)
    if config.failure.defined:
        config.failure.check(problem)
    check_uncertain(problem, uncertain)
    return Example(
        name=path.stem,
        description=config.title,
        problem=problem,
        robust_problem=problem,
        config=config.planner,
        uncertain=uncertain,
        failure=config.failure,
        search=config.search,
    )


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"'{where}' must map names to what they mean, got {value!r}")
    return value


def _distribution(path: Path, name: str, value: Any) -> Distribution:
    """Read a distribution; samples may be a file with one value a line."""
    where = f"uncertain.{name}"
    if isinstance(value, Mapping) and isinstance(value.get("samples"), str):
        file = path.parent / value["samples"]
        try:
            with warnings.catch_warnings(action="ignore"):  # of an empty file
                samples = np.loadtxt(file, ndmin=2)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{where}: cannot read {file}: {error}") from error
        if min(samples.shape) > 1:
            columns = samples.shape[1]
            raise ConfigError(f"{where}: {file} has {columns} columns (valid: one value a line)")
        value = {"samples": samples.ravel().tolist()}
    return read_distribution(value, where)
