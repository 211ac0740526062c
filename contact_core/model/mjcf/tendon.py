"""The fixed tendons of a MJCF: which joints they tie, what they exert, and what keeps their length.

One that a single joint determines is nothing but a limit of that joint where it has no law besides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from contact_core.base.errors import ModelError, choices
from contact_core.model.mjcf.document import Document, linear, number, numbers, symmetric, vector
from contact_core.model.mjcf.rules import OF_LENGTHS
from contact_core.model.moving_body import JointLaw, Tendon

_PASSIVE = ("stiffness", "damping", "frictionloss", "armature")
_AUTOMATIC = -1.0  # a springlength: that where the joints' springs are at rest
ENDLESS = (-np.inf, np.inf)
_SLIGHT = 1e-9  # what rounding leaves of a length


@dataclass(frozen=True)
class Length:
    """A length that is affine in coordinates of joints.

    Attributes:
        coefficients: Joint -> the length per its coordinate, others that follow it among them.
        ratios: Joint that follows no other -> the length per its coordinate, not zero.
        offset: The length where these are zero.
        name: What it is called, apart from joints.
        ends: Between what the file limits it.
    """

    coefficients: Mapping[str, float]
    ratios: Mapping[str, float]
    offset: float
    name: str = ""
    ends: tuple[float, float] = ENDLESS

    def at(self, positions: Mapping[str, float]) -> float:
        """Return it where all joints, followers included, are at their own positions."""
        return sum(ratio * positions[joint] for joint, ratio in self.coefficients.items())


def _length(
    coefficients: Mapping[str, float], following: Mapping[str, tuple[str, float, float]]
) -> Length:
    ratios: dict[str, float] = defaultdict(float)
    offset = 0.0
    for joint, ratio in coefficients.items():
        for _ in following:
            if joint in following:
                joint, by, constant = following[joint]
                ratio, offset = ratio * by, offset + ratio * constant
        ratios[joint] += ratio
    # What followers cancel is zero but for rounding.
    least = 1e-12 * max(map(abs, coefficients.values()), default=0.0)
    return Length(coefficients, {j: r for j, r in ratios.items() if abs(r) > least}, offset)


def follower_limits(
    following: Mapping[str, tuple[str, float, float]],
    ranges: Mapping[str, tuple[float, float]],
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield joints that follow no other, and between what followers limit them.

    Args:
        following: Joint -> the one it follows, its coordinate per that one's, and its offset.
        ranges: Joint -> its own lower and upper limit [rad or m].
    """
    for name in following:
        length = _length({name: 1.0}, following)
        for joint, ratio in length.ratios.items():
            ends = np.sort((np.array(ranges[name]) - length.offset) / ratio)
            yield joint, (float(ends[0]), float(ends[1]))


def fixed_tendons(
    document: Document,
    starts: Mapping[str, float],
    following: Mapping[str, tuple[str, float, float]],
) -> dict[str, Length]:
    """Return the lengths of the fixed tendons by name, ``tendon_NUMBER`` where it has none.

    Args:
        document: The file.
        starts: Joints with one coordinate.
        following: Joint -> the one it follows, its coordinate per that one's, and its offset.

    Raises:
        ModelError: If a tendon ties something else.
    """
    lengths = {}
    for name, element in document.named("tendon", "tendon"):
        if element.tag == "fixed":
            coefficients: dict[str, float] = defaultdict(float)
            for part in element.findall("joint"):
                joint = part.get("joint", "")
                if joint not in starts:
                    raise ModelError(f"tendon '{name}': no joint '{joint}' ({choices(starts)})")
                coefficients[joint] += number(part.attrib, "coef")
            own = name
            while own in starts:
                own += "_tendon"
            length = replace(_length(coefficients, following), name=own)
            attributes = document.attributes(element)
            if document.limited(attributes, "range", "limited"):
                least, most = (float(end) for end in vector(attributes, "range", 2))
                length = replace(length, ends=(least, most))
            lengths[name] = length
    return lengths


def tendon_armatures(
    document: Document, lengths: Mapping[str, Length]
) -> Iterator[tuple[Mapping[str, float], float]]:
    """Yield coefficients of tendons that have an armature, and that [kg or kg m^2].

    Args:
        document: The file.
        lengths: See :func:`fixed_tendons`.
    """
    for name, element in document.named("tendon", "tendon"):
        armature = number(document.attributes(element), "armature", "0")
        if armature and name in lengths:
            yield lengths[name].coefficients, armature


def read_tendons(
    document: Document,
    lengths: Mapping[str, Length],
    rests: Mapping[str, float],
    repair: bool,
    notes: list[str],
) -> tuple[dict[str, Tendon], list[tuple[str, tuple[float, float]]]]:
    """Return the tendons that are simulated, and the joints that others limit, and between what.

    Args:
        document: The file.
        lengths: See :func:`fixed_tendons`.
        rests: Joint with one coordinate -> its springref [rad or m].
        repair: Whether what spatial tendons exert is left out.
        notes: Gets what is.

    Raises:
        ModelError: If a spatial tendon exerts a force, or a law is not linear.
    """
    tendons, limits = {}, []
    for name, element in document.named("tendon", "tendon"):
        attributes = document.attributes(element)
        law = [key for key in _PASSIVE if numbers(attributes, key).any()]
        if name not in lengths:
            law += ["range"] * document.limited(attributes, "range", "limited")
            if law and not repair:
                raise ModelError(
                    f"tendon '{name}' has {', '.join(law)} (valid: as a fixed one; repair leaves "
                    "that of a spatial one out)"
                )
            if law:
                notes.append(f"spatial tendon '{name}' has {', '.join(law)}: left out")
            continue
        length, ends = lengths[name], np.array(lengths[name].ends)
        if not length.ratios:
            if not ends[0] <= length.offset <= ends[1]:
                notes.append(f"tendon '{name}' is held at {length.offset:g}, beyond its range")
            continue
        if len(length.ratios) == 1 and np.isfinite(ends).any():
            ((joint, ratio),) = length.ratios.items()
            own = np.sort((ends - length.offset) / ratio)
            limits.append((joint, (float(own[0]), float(own[1]))))
            ends = np.array([-np.inf, np.inf])
        if law or len(length.ratios) > 1:
            tendons[length.name] = _tendon(document, attributes, name, length, rests, ends, notes)
    return tendons, limits


def _tendon(
    document: Document,
    attributes: Mapping[str, str],
    name: str,
    length: Length,
    rests: Mapping[str, float],
    ends: np.ndarray,
    notes: list[str],
) -> Tendon:
    rest = numbers(attributes, "springlength", str(_AUTOMATIC))
    if rest[0] == _AUTOMATIC:
        rest = np.array([length.at(rests)])
    effort = np.inf
    if document.limited(attributes, "actuatorfrcrange", "actuatorfrclimited"):
        limits = vector(attributes, "actuatorfrcrange", 2)
        effort = symmetric(f"tendon '{name}'", limits, notes)
    try:
        law = JointLaw(
            armature=number(attributes, "armature", "0"),
            damping=linear(attributes, "damping"),
            friction=number(attributes, "frictionloss", "0"),
            lower=float(ends[0]),
            upper=float(ends[1]),
            effort=effort,
            stiffness=linear(attributes, "stiffness"),
            rest=float(rest[0]),
        )
    except ModelError as error:
        raise ModelError(f"tendon '{name}': {error}") from error
    return Tendon(length.ratios, length.offset, law, float(rest[-1] - rest[0]))


def kept_lengths(
    document: Document,
    lengths: Mapping[str, Length],
    starts: Mapping[str, float],
    following: Mapping[str, tuple[str, float, float]],
    taken: Collection[str],
    repair: bool,
    notes: list[str],
) -> Iterator[tuple[str, Tendon]]:
    """Yield what equalities of joints and tendons keep that make no joint follow another one.

    Args:
        document: The file.
        lengths: See :func:`fixed_tendons`.
        starts: Joint with one coordinate -> where it starts.
        following: See :func:`fixed_tendons`.
        taken: Names that others have.
        repair: Whether equalities of spatial tendons are left out.
        notes: Gets what is.

    Raises:
        ModelError: If an equality names no joint with one coordinate or fixed tendon, or is not
            linear.
    """
    joints = {joint: Length({joint: 1.0}, {}, 0.0) for joint in starts}
    for name, element in document.named("equality", "equality"):
        attributes = document.attributes(element, group="equality")
        if element.tag not in OF_LENGTHS or attributes.get("active") == "false":
            continue
        known = joints if element.tag == "joint" else lengths
        where = f"equality {element.tag} '{attributes.get('name', '')}'"
        while name in taken:
            name += "_equality"
        keys = (f"{element.tag}1", f"{element.tag}2")
        names = [attributes[key] for key in keys if key in attributes]
        if not set(names) <= set(known) or not names:
            if not repair:
                valid = choices(known) if known else "valid: none"
                raise ModelError(f"{where}: {names} ({valid}; no spatial tendon)")
            notes.append(f"{where}: left out")
            continue
        given = numbers(attributes, "polycoef")
        constant, ratio = (float(value) for value in (*given[:2], *(0.0, 1.0)[len(given) :]))
        if given[2:].any() and len(names) > 1:
            raise ModelError(f"{where}: polycoef {attributes['polycoef']} (valid: linear)")
        coefficients = dict(known[names[0]].coefficients)
        if len(names) > 1:
            for joint, other in known[names[1]].coefficients.items():
                coefficients[joint] = coefficients.get(joint, 0.0) - ratio * other
        kept = _length(coefficients, following)
        rest = kept.at(starts) + constant
        if kept.ratios:
            yield name, Tendon(kept.ratios, kept.offset, JointLaw(stiffness=np.inf, rest=rest))
        elif abs(kept.offset - rest) > _SLIGHT:
            notes.append(f"{where} contradicts others: left out")
