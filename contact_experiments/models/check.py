"""One public model: whether we load it, what we say of it, and where it differs from its reference.

A difference is silent unless a warning of ours says why it is there.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np

from contact_core.base.errors import ConfigError, ModelError, ModelWarning
from contact_core.model.articulation import read_articulation
from contact_core.model.moving_body import Articulation
from contact_experiments.models.references import (
    INSTANCE,
    TENDON_LAW,
    DrakeReference,
    IncomparableError,
    JointPlaces,
    MujocoReference,
    PinocchioReference,
    ReferenceModel,
    actuator_force,
    law_numbers,
    random_state,
)
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.world import World

REFERENCES: Mapping[str, Callable[[Path], ReferenceModel]] = {
    ".urdf": PinocchioReference, ".sdf": DrakeReference, ".xml": MujocoReference,
}  # fmt: skip
SAMPLES, STEPS = 3, 100
EXACT = 1e-9
"""Numbers of a joint, poses [m and 1] and mass matrices agree to this share."""
SINGLE = 1e-5
"""So do MuJoCo's masses of meshes, whose corners it keeps in single precision."""

EXPLAINED: Mapping[str, str] = {
    "effort": "limits of zero taken as none|effort limits",
    "velocity": "limits of zero taken as none",
    "actuators": "taken as .* both ways|not read: no(t affine| actuator)",
    "mass matrix": "taken as|points with a mass",
    "contact friction": "pair/@friction",
    **dict.fromkeys(("damping", "friction", "stiffness"), "floats: .* ignored"),
}
"""Quantity -> pattern of the warnings that say why it is another one."""


class Fate(StrEnum):
    """What becomes of a file."""

    NO_MODEL = "not loaded by the reference"
    LOADED = "loaded"
    REPAIRED = "loaded with repair=True"
    REFUSED = "refused"


@dataclass(frozen=True)
class Outcome:
    """What became of a file.

    Attributes:
        fate: What.
        reason: Why it is not loaded as it is.
        warnings: What we say of it.
        differences: Quantity -> how much it differs at most, and where.
        silent: Those that no warning explains.
    """

    fate: Fate
    reason: str = ""
    warnings: tuple[str, ...] = ()
    differences: Mapping[str, str] = field(default_factory=dict)
    silent: tuple[str, ...] = ()


def check(path: Path) -> Outcome:
    """Load a file with us and with the reference of its format, and compare what is read.

    Args:
        path: A URDF, SDF or MJCF.

    Returns:
        What became of it.
    """
    with _quiet():
        try:
            reference = REFERENCES[path.suffix](path)
        except (ValueError, RuntimeError) as error:
            return Outcome(Fate.NO_MODEL, " ".join(str(error).split()))
        reason, fate = "", Fate.LOADED
        try:
            try:
                engine, said = _build(path, reference.free)
            except (ModelError, ConfigError) as error:
                reason, fate = str(error), Fate.REPAIRED
                engine, said = _build(path, reference.free, repair=True)
        except (ModelError, ConfigError) as error:
            return Outcome(Fate.REFUSED, str(error))
        except Exception as error:  # a fault of ours, and a row of the table
            return Outcome(Fate.REFUSED, f"{type(error).__name__}: {error}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text, repaired = engine.built.texts[INSTANCE], fate is Fate.REPAIRED
            articulation = read_articulation(text, reference.free, repaired)
        status = engine.step(STEPS)
        found = compare(engine, articulation, reference)
        if status != StepStatus.OK:
            found["motion"] = status.name
    silent = tuple(
        quantity for quantity in found
        if fate is Fate.LOADED
        and not any(re.search(EXPLAINED.get(quantity, "$^"), text) for text in said)
    )  # fmt: skip
    return Outcome(fate, reason, said, found, silent)


def compare(
    engine: Engine,
    articulation: Articulation,
    reference: ReferenceModel,
    samples: int = SAMPLES,
) -> dict[str, str]:
    """Compare what is read at random states, the same ones every time.

    Args:
        engine: With the model as its only instance, whose q is written.
        articulation: Its bodies.
        reference: The same model.
        samples: Number of states.

    Returns:
        Quantity -> by how much it differs at most, and where; those that agree are left out.
    """
    try:
        if isinstance(reference, MujocoReference):
            reference.name_like(articulation)
        found = dict(_laws(articulation, reference))
        worst: dict[str, tuple[float, str]] = {}
        rng = np.random.default_rng(0)
        for _ in range(samples):
            for quantity, error, where in _at_random(engine, articulation, reference, rng):
                worst[quantity] = max(worst.get(quantity, (0.0, "")), (error, where))
        found |= {q: f"{error:.2g} {where}".strip() for q, (error, where) in worst.items()}
        return found | dict(_shapes(engine, reference))
    except IncomparableError as error:
        return {"joints": str(error)}


def _build(path: Path, free: bool, repair: bool = False) -> tuple[Engine, tuple[str, ...]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine = World().add(INSTANCE, path.absolute(), free=free, repair=repair).build()
    said = (str(w.message) for w in caught if issubclass(w.category, ModelWarning))
    return engine, tuple(dict.fromkeys(said))


def _laws(articulation: Articulation, reference: ReferenceModel) -> Iterator[tuple[str, str]]:
    ours = {body.joint: law_numbers(body.law) for body in articulation.bodies}
    for joint, numbers in reference.laws().items():
        if joint not in ours:
            raise IncomparableError(f"no joint '{joint}'")
        for quantity, expected in numbers.items():
            own = ours[joint][quantity]
            if not np.isclose(own, expected, rtol=EXACT, atol=EXACT):
                yield quantity, f"{own:g}, not {expected:g}, of '{joint}'"


def deviations(
    engine: Engine, reference: ReferenceModel, state: JointPlaces, instance: str = INSTANCE
) -> tuple[float, float, str]:
    """Return how far mass matrix and poses are from the reference's.

    Args:
        engine: Ours, in the state.
        reference: The same model.
        state: The state.
        instance: What it is called in our world.

    Returns:
        The mass matrix's greatest error as a share of its greatest entry; the greatest of the
        poses' [m and 1], and its link.

    Raises:
        IncomparableError: If our model has not the same joints and links.
    """
    matrix, poses = reference.at(state)
    scale = max(np.abs(matrix).max(initial=0.0), np.finfo(float).tiny)
    mass = np.abs(engine.observer.mass_matrix() - matrix).max(initial=0.0) / scale
    worst, where = 0.0, ""
    for link, pose in poses.items():
        if (instance, link) not in engine.built.links:
            raise IncomparableError(f"no link '{link}'")
        found = engine.observer.pose(instance, link)
        distance = float(np.abs(found.homogeneous - pose.homogeneous).max())
        if distance > worst:
            worst, where = distance, link
    return float(mass), worst, where


def _at_random(
    engine: Engine,
    articulation: Articulation,
    reference: ReferenceModel,
    rng: np.random.Generator,
) -> Iterator[tuple[str, float, str]]:
    """Yield what differs in one state: quantity, how much, and where."""
    state = random_state(engine, articulation, rng)
    exact = SINGLE if isinstance(reference, MujocoReference) else EXACT
    mass, pose, link = deviations(engine, reference, state)
    if mass > exact:
        yield "mass matrix", mass, ""
    if pose > exact:
        yield "poses", pose, f"of '{link}'"
    for name, command, expected in reference.actuators(state):
        force = np.zeros_like(expected)
        known = engine.actuators.get(name)
        if known is not None:
            position, row = _coordinate(engine, known.joint)
            force = actuator_force(known, command, position) * row
        error = np.abs(force - expected).max(initial=0.0)
        if error > EXACT * max(1.0, np.abs(expected).max(initial=0.0)):
            yield "actuators", float(error), f"of '{name}'"
    for name, expected in reference.tendons(state):
        # What one joint determines is a limit of this joint, what none does is nothing.
        if name in engine.built.tendons:
            t, laws = engine.built.tendons[name], engine.built.arrays.tendon_laws
            length, row = _coordinate(engine, name)
            numbers = (length, *row, *(getattr(laws, key)[t] for key in TENDON_LAW))
            known = np.isfinite(expected)
            if engine.built.arrays.tendons.columns[t] == 1:
                known[-2:] = False  # The range is that of the joint.
            error = np.abs(np.subtract(numbers, expected)[known]).max()
            if error > EXACT * max(1.0, np.abs(expected[known]).max()):
                yield "tendons", float(error), f"of '{name}'"


def _coordinate(engine: Engine, name: str) -> tuple[float, np.ndarray]:
    """Coordinate of a joint or tendon, and its change per velocity of ours."""
    built, row = engine.built, np.zeros(len(engine.v))
    if name in built.joints:
        row[built.joints[name]] = 1.0
        return float(engine.q[built.arrays.joints.q[built.joints[name]]]), row
    tendons, t = built.arrays.tendons, built.tendons[name]
    row[tendons.dof[t, : tendons.columns[t]]] = tendons.entry[t, : tendons.columns[t]]
    return engine.tendons()[name].length, row


def _shapes(engine: Engine, reference: ReferenceModel) -> Iterator[tuple[str, str]]:
    built = engine.built
    ours, theirs = Counter(shape.body for shape in built.shapes), reference.shapes()
    for link in sorted({*ours, *theirs}):
        if ours[link] != theirs[link]:
            yield "shapes", f"{ours[link]}, not {theirs[link]}, of '{link}'"
            return
    seen: Counter[str] = Counter()
    numbers = []
    for shape in built.shapes:
        numbers.append((shape.body, seen[shape.body]))
        seen[shape.body] += 1
    rules, group = built.arrays.rules, built.arrays.geometry.group
    for a, b in built.pairs:
        own = rules.friction[rules.shapes[group[a], group[b]]]
        expected = reference.friction(numbers[a], numbers[b])
        if expected is not None and not np.isclose(own, expected, rtol=EXACT):
            names = f"'{built.shapes[a].name}' and '{built.shapes[b].name}'"
            yield "contact friction", f"{own:g}, not {expected:g}, of {names}"
            return


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what libraries print on their own."""
    saved = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
