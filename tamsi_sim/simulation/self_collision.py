"""Links of one robot that never touch each other: neighbours, and those that touch at the start."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import numpy as np

from contact_core.base.errors import ModelWarning
from contact_core.robot.surface import Material
from tamsi_sim.simulation.contact_rules import PASS, find_rules
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import BuiltModel
from tamsi_sim.simulation.observer import MAX_START


def leave_out(built: BuiltModel, apart: Callable[[int, int], bool]) -> BuiltModel:
    """Return a model with fewer pairs of shapes.

    Args:
        built: The model.
        apart: Whether two shapes, by their numbers, are not to touch.
    """
    arrays, geometry, hulls = built.arrays, built.arrays.geometry, built.arrays.hulls
    table = arrays.rules.shapes[np.ix_(geometry.group, geometry.group)]
    for a, b in built.pairs.tolist():
        if apart(a, b):
            table[a, b] = table[b, a] = PASS
    materials = [Material(*numbers) for numbers in zip(*arrays.rules[2:], strict=True)]
    shapes = [part.tolist() for part in np.split(hulls.shapes, hulls.first_shape[1:-1])]
    group, hull_group, rules = find_rules(table, materials, geometry.body, shapes)
    return replace(
        built,
        arrays=arrays._replace(
            geometry=geometry._replace(group=group),
            hulls=hulls._replace(group=hull_group),
            rules=rules,
        ),
    )


def neighbours(
    engine: Engine, roots: Mapping[str, Mapping[str, str]], repaired: Collection[str] = ()
) -> Callable[[int, int], bool]:
    """Return whether two shapes of one instance are joined, or their links touch at the start.

    Those of an instance whose file has its own rules are only apart if they start deep inside each
    other, and the same root carries them or they are to be repaired.

    Args:
        engine: At the start.
        roots: Instance whose file has rules -> body -> the body of the world that carries it.
        repaired: Instances that are to be repaired.

    Returns:
        A function of two shapes by their numbers.
    """
    built = engine.built
    links = [(i, s.body) for i, s in zip(built.instances, built.shapes, strict=True)]
    found = engine.evaluate()
    touching = {
        frozenset(links[shape] for shape in engine.work.pairs.shapes[pair])
        for pair in engine.work.contacts.pair[:found]
    }
    parent, body = built.arrays.bodies.parent, built.arrays.geometry.body
    deep = _deep_starts(engine, roots, repaired)

    def apart(a: int, b: int) -> bool:
        if built.instances[a] != built.instances[b]:
            return False
        if built.instances[a] in roots:
            return frozenset((links[a], links[b])) in deep
        i, j = body[a], body[b]
        joined = (i >= 0 and parent[i] == j) or (j >= 0 and parent[j] == i)
        return bool(joined) or frozenset((links[a], links[b])) in touching

    return apart


def _deep_starts(
    engine: Engine, roots: Mapping[str, Mapping[str, str]], repaired: Collection[str]
) -> set[frozenset[tuple[str, str]]]:
    """Links that start deep inside each other, although their file lets them touch."""
    owners, found = engine.built.instances, {}
    for p in engine.observer.penetrations():
        owner, other = (owners[shape] for shape in p.shapes)
        if owner != other:
            continue
        root = roots.get(owner, {})
        one_root = owner in roots and root[p.a.body] == root[p.b.body]
        if (one_root or owner in repaired) and p.depth > MAX_START * p.thickness:
            found[frozenset(((owner, p.a.body), (owner, p.b.body)))] = p.subject
    if found:
        warnings.warn(
            f"these start deep inside each other, so never touch: {'; '.join(found.values())}",
            ModelWarning,
            stacklevel=4,
        )
    return set(found)
