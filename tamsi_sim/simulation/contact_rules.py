"""Which shapes may touch, and with which parameters.

Scenes repeat themselves: ten boxes touch each other and the ground alike. So rules are kept for
groups of shapes, and their size does not grow with the number of things.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import numpy as np

from contact_core.base.errors import ModelError
from contact_core.multibody.collision.arrays import Rules
from contact_core.multibody.collision.narrow_phase import routine_of
from contact_core.multibody.collision.shapes import PlacedShape, Shape, ShapeKind
from contact_core.robot.scene import Link
from contact_core.robot.surface import Material, Surface, check_contact, combine

PASS = -1
"""Entry of a table of rules for shapes that pass through each other."""
PATCH = 4
"""A patch is as stiff as so many points."""
POINTS = {
    ShapeKind.SPHERE: 1,
    ShapeKind.CAPSULE: 2,
    ShapeKind.CYLINDER: 2,
}
"""What is round has fewer where it lies."""
SINK = 0.05


def shape_table(
    shapes: Sequence[PlacedShape],
    links: Sequence[Link],
    bodies: np.ndarray,
    material_of: Callable[[int, int], Material | None],
    needed: Sequence[float | None],
) -> tuple[np.ndarray, list[Material]]:
    """Ask what may touch, once for all shapes of a link that say the same of how they touch.

    Args:
        shapes: The shapes.
        links: Their links.
        bodies: (ns) their bodies, -1 for the world; shapes of one body never touch.
        material_of: Parameters of the contact of two shapes, given by their numbers; None if their
            links never touch.
        needed: (ns) see :func:`bearing_stiffness`, None where something else is given.

    Returns:
        (ns, ns) index of the parameters of each two shapes, or PASS; and the parameters.

    Raises:
        ConfigError: If parameters are out of their range.
        ModelError: If two kinds of shapes may touch for which there is no routine.
    """
    skins = [
        (link, s.own_contact, k, points_of([s]), s.shape.inner_radius)
        for link, s, k in zip(links, shapes, needed, strict=True)
    ]
    first = {skin: shape for shape, skin in reversed(list(enumerate(skins)))}
    names = list(dict.fromkeys(skins))
    number = {skin: k for k, skin in enumerate(names)}
    of_shape = np.array([number[skin] for skin in skins], dtype=np.int64)
    materials: dict[Material, int] = {}
    by_skin = np.full((len(names),) * 2, PASS, dtype=np.int64)
    for i, j in combinations(range(len(names)), 2):
        a, b = first[names[i]], first[names[j]]
        material = material_of(a, b) if bodies[a] != bodies[b] else None
        if material is not None:
            if material not in materials:
                check_contact(material, f"{'/'.join(links[a])} and {'/'.join(links[b])}")
                materials[material] = len(materials)
            by_skin[i, j] = by_skin[j, i] = materials[material]
    table = by_skin[np.ix_(of_shape, of_shape)]
    what = np.array([shape.contype for shape in shapes], dtype=np.int64)
    touches = np.array([shape.conaffinity for shape in shapes], dtype=np.int64)
    meet = (what[:, None] & touches) != 0
    for a, shape in enumerate(shapes):
        partners = dict(shape.partners)
        for b, other in enumerate(shapes) if partners else ():
            meet[a, b] |= links[a][0] == links[b][0] and other.source in partners
    table[~(meet | meet.T)] = PASS
    _check_kinds(shapes, table)
    return table, list(materials)


def contact_of_shapes(
    given: Material | None,
    surfaces: tuple[Surface, Surface],
    a: PlacedShape,
    b: PlacedShape,
    same_file: bool = True,
) -> Material:
    """Return the parameters of the contact of two shapes.

    Args:
        given: Those of their links, whatever their surfaces are; None if they follow from these.
        surfaces: Those of their links, which hold where their files say nothing.
        a: One shape.
        b: The other.
        same_file: Whether both are of one file, whose explicit pairs count.

    Returns:
        Sliding friction of two shapes of MJCFs by MuJoCo's rule, or that of their pair; at least
        their own torsional and rolling friction; all else from both surfaces, see :func:`combine`.
    """
    own = dict(a.partners).get(b.source) if same_file else None
    friction, torsional, rolling = own or a.friction_with(b)
    material = given or combine(_surface(surfaces[0], a), _surface(surfaces[1], b))
    if given is None and friction is not None:
        material = material._replace(friction=friction)
    return material._replace(
        torsional=max(material.torsional, torsional), rolling=max(material.rolling, rolling)
    )


def bearing_stiffness(weight: float, shape: Shape) -> float:
    """Return how stiff all points of a contact have to be together, to bear a weight.

    Args:
        weight: Of the heaviest thing that floats, which may lie on anything [N].
        shape: One of the shapes that touch.

    Returns:
        The stiffness at which it sinks in by a share SINK of the shape's thickness [N/m].
    """
    return weight / (SINK * 2.0 * shape.inner_radius)


def bearable(stiffness: float, shapes: Sequence[PlacedShape]) -> float:
    """Return the weight under which two shapes sink in by the thickness of one [N].

    Args:
        stiffness: Of their contact [N/m].
        shapes: The shapes.
    """
    thinner = min(2.0 * placed.shape.inner_radius for placed in shapes)
    return points_of(shapes) * stiffness * thinner


def points_of(shapes: Sequence[PlacedShape]) -> int:
    """Return how many points bear what lies on something, as one of some shapes does."""
    return min(POINTS.get(placed.shape.kind, PATCH) for placed in shapes)


def _surface(surface: Surface, shape: PlacedShape) -> Surface:
    """Return a surface with what the file of a shape says of it."""
    said = {key: getattr(shape, key) for key in ("stiffness", "dissipation", "friction")}
    return surface._replace(**{key: value for key, value in said.items() if value is not None})


def _check_kinds(shapes: Sequence[PlacedShape], table: np.ndarray) -> None:
    kinds = [shape.shape.kind for shape in shapes]
    for a in set(kinds):
        for b in set(kinds):
            found = np.argwhere(
                np.logical_and.outer([k == a for k in kinds], [k == b for k in kinds])
                & (table != PASS)
            )
            if len(found):
                try:
                    routine_of(a, b)
                except ModelError as error:
                    names = (f"'{shapes[shape].name}'" for shape in found[0])
                    raise ModelError(f"{' and '.join(names)}: {error}") from error


def group_shapes(table: np.ndarray, bodies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put shapes into groups that touch everything alike.

    Args:
        table: (ns, ns) see :func:`shape_table`.
        bodies: (ns) their bodies.

    Returns:
        (ns) group of each shape, numbered from 0; (ng, ng) the table of groups.
    """
    group = _alike(table, bodies)
    rules = _table_of_groups(table, bodies, group)
    if np.any((rules[np.ix_(group, group)] != table) & (bodies[:, None] != bodies)):
        # Exceptions to rules: only shapes with the very same row, which never touch each other.
        _, group = np.unique(table, axis=0, return_inverse=True)
        rules = _table_of_groups(table, bodies, group)
    return group, rules


def _alike(table: np.ndarray, bodies: np.ndarray) -> np.ndarray:
    """Group shapes that do alike to what is not on their bodies, and to each other."""
    group = np.zeros(len(bodies), dtype=np.int64)
    first: list[int] = []
    among: list[int | None] = []  # What the members of a group do to each other, once known.
    for shape, body in enumerate(bodies):
        for g, other in enumerate(first):
            apart = (bodies != body) & (bodies != bodies[other])
            rule = None if body == bodies[other] else int(table[shape, other])
            known = among[g] is None or rule is None or among[g] == rule
            if known and np.array_equal(table[shape, apart], table[other, apart]):
                among[g] = among[g] if rule is None else rule
                group[shape] = g
                break
        else:
            group[shape] = len(first)
            first.append(shape)
            among.append(None)
    return group


def _table_of_groups(table: np.ndarray, bodies: np.ndarray, group: np.ndarray) -> np.ndarray:
    """What two groups do is what the first two members do that are on different bodies."""
    count = int(group.max(initial=-1)) + 1
    rules = np.full((count, count), PASS, dtype=np.int64)
    members = [np.flatnonzero(group == g) for g in range(count)]
    for g in range(count):
        for h in range(g, count):
            apart = np.argwhere(bodies[members[g]][:, None] != bodies[members[h]])
            if len(apart):
                i, j = apart[0]
                rules[g, h] = rules[h, g] = table[members[g][i], members[h][j]]
    return rules


def find_rules(
    table: np.ndarray, materials: Sequence[Material], bodies: np.ndarray, hulls: Iterable[list[int]]
) -> tuple[np.ndarray, np.ndarray, Rules]:
    """Turn a table of shapes into rules of groups.

    Args:
        table: (ns, ns) see :func:`shape_table`.
        materials: What its entries stand for.
        bodies: (ns) the shapes' bodies.
        hulls: Shapes of each hull.

    Returns:
        (ns) group of each shape; (nh) group of each hull; the rules.
    """
    group, shapes = group_shapes(table, bodies)
    kinds: dict[tuple[int, ...], int] = {}
    hull_group = [
        kinds.setdefault(tuple(sorted(set(group[hull].tolist()))), len(kinds)) for hull in hulls
    ]
    meets = np.zeros((len(kinds),) * 2, dtype=np.int64)
    for a, i in kinds.items():
        for b, j in kinds.items():
            meets[i, j] = np.any(shapes[np.ix_(a, b)] != PASS)
    parameters = np.array(materials, dtype=float).reshape(-1, len(Material._fields))
    rules = Rules(shapes, meets, *np.ascontiguousarray(parameters.T))
    return group, np.array(hull_group, dtype=np.int64), rules


def allowed_pairs(
    rules: Rules, group: np.ndarray, bodies: np.ndarray, kinds: Sequence[int]
) -> np.ndarray:
    """List all pairs of shapes that may touch.

    Args:
        rules: The rules.
        group: (ns) group of each shape.
        bodies: (ns) their bodies.
        kinds: (ns) their kinds, by which a routine takes one first.

    Returns:
        (np, 2) shapes A and B.
    """
    allowed = (rules.shapes[np.ix_(group, group)] != PASS) & (bodies[:, None] != bodies)
    pairs = np.argwhere(np.triu(allowed, 1))
    swapped = [routine_of(kinds[a], kinds[b])[1] for a, b in pairs]
    pairs[swapped] = pairs[swapped][:, ::-1]
    return pairs
