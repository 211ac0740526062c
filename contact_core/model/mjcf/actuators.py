"""The actuators of a MJCF: what they exert, and how much the joints take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from contact_core.base.errors import ModelError, choices
from contact_core.model.actuator import Actuator
from contact_core.model.mjcf.document import (
    ACTUATORS,
    Document,
    general_drive,
    number,
    numbers,
    symmetric,
    vector,
)
from contact_core.model.mjcf.tendon import ENDLESS, Length
from contact_core.model.moving_body import Tendon

_TRANSMISSIONS = ("joint", "jointinparent")
_WITHOUT_STATE = {"dyntype": "none", "gaintype": "fixed"}


@dataclass(frozen=True)
class _Transmission:
    """What an actuator drives: a coordinate that is affine in that of one joint, or a tendon.

    Attributes:
        joint: The joint, which follows no other if it is driven by a tendon; or the tendon.
        coefficients: Joint -> the coordinate per its own, others that follow it among them.
        ratio: The coordinate per the joint's.
        offset: The coordinate where the joint's is zero.
        stroke: Between what the file limits the coordinate.
    """

    joint: str
    coefficients: Mapping[str, float]
    ratio: float = 1.0
    offset: float = 0.0
    stroke: tuple[float, float] = ENDLESS


def read_actuators(
    document: Document,
    ranges: Mapping[str, tuple[float, float]],
    floating: Collection[str],
    own: Mapping[str, float],
    lengths: Mapping[str, Length],
    tendons: Mapping[str, Tendon],
    inertia: Callable[[Mapping[str, float]], float],
    notes: list[str],
) -> tuple[dict[str, Actuator], dict[str, float]]:
    """Return the actuators, and what those of a joint or tendon exert together at most.

    Those of tendons that one joint determines are this joint's.

    Args:
        document: The file.
        ranges: Joint with one coordinate -> its lower and upper limit [rad or m].
        floating: The others.
        own: Joint or tendon -> limit that it has itself [Nm or N].
        lengths: Fixed tendon -> its length.
        tendons: Those that no joint alone determines, see :func:`read_tendons`.
        inertia: Of what moves by so much with each joint, see :meth:`MjcfJoints.inertia`.
        notes: Gets the actuators that drive no such joint or tendon, or not in a way we know.

    Returns:
        Name -> actuator, ``actuator_NUMBER`` where it has none; joint or tendon -> limit [Nm or N],
        infinite if one of its actuators has none.

    Raises:
        ModelError: If there is no such actuator or joint, or two have one name.
    """
    sums: dict[str, float] = defaultdict(float)
    found: dict[str, Actuator] = {}
    elsewhere, unknown = [], []
    for name, element in document.named("actuator", "actuator"):
        if element.tag not in ACTUATORS:
            raise ModelError(f"actuator: unknown '{element.tag}' ({choices(ACTUATORS)})")
        attributes = document.attributes(element)
        where = f"{element.tag} '{attributes.get('name', '')}'"
        joint = next((attributes[key] for key in _TRANSMISSIONS if key in attributes), None)
        if joint is not None and joint not in (*ranges, *floating):
            raise ModelError(f"{where}: no joint '{joint}' ({choices([*ranges, *floating])})")
        moved = (
            _through(attributes.get("tendon", ""), lengths)
            if joint is None
            else _Transmission(joint, {joint: 1.0}, stroke=ranges.get(joint, ENDLESS))
        )
        if moved is None or moved.joint not in {*ranges, *tendons}:
            elsewhere.append(where)
            continue
        if name in found:
            raise ModelError(f"there are two actuators '{name}'")
        gear = number(attributes, "gear", "1")
        law = _law(element.tag, attributes, gear, partial(inertia, moved.coefficients))
        limit, bounds = _limits(document, where, attributes, law, moved.stroke, notes)
        sums[moved.joint] += abs(gear * moved.ratio) * limit
        if law is None or law[2] > 0.0 or law[3] > 0.0 or gear == 0.0 or limit == 0.0:
            unknown.append(where)
            continue
        gain, offset, by_position, by_velocity = law
        found[name] = Actuator(
            moved.joint, gear * gain, gear * offset, -(gear**2) * by_position,
            -(gear**2) * by_velocity, *bounds, abs(gear) * limit,
        ).through(moved.joint, moved.ratio, moved.offset)  # fmt: skip
    if elsewhere:
        notes.append(f"{', '.join(elsewhere)} not read: no actuator of a joint or a fixed tendon")
    if unknown:
        notes.append(f"{', '.join(unknown)} not read: not affine in command, position and velocity")
    driven = {moved: min(limit, own.get(moved, np.inf)) for moved, limit in sums.items()}
    return found, {**own, **driven}


def _through(tendon: str, lengths: Mapping[str, Length]) -> _Transmission | None:
    """What drives a tendon drives; nothing if it is no fixed one, or is always as long."""
    length = lengths.get(tendon)
    if length is None or not length.ratios:
        return None
    if len(length.ratios) > 1:
        return _Transmission(length.name, length.coefficients, stroke=length.ends)
    ((joint, ratio),) = length.ratios.items()
    return _Transmission(joint, length.coefficients, ratio, length.offset, length.ends)


def _law(
    tag: str, attributes: Mapping[str, str], gear: float, inertia: Callable[[], float]
) -> tuple[float, float, float, float] | None:
    """Force of an actuator before its gear: by command, constant, by length, by its rate.

    None if it is another function, or has a state of its own.
    """
    drive = general_drive(tag, attributes)
    kind = drive.get("biastype", "none")
    other = [k for k, v in _WITHOUT_STATE.items() if drive.get(k, v) != v]
    if other or kind not in ("none", "affine"):
        return None
    bias = np.zeros(3)
    if kind == "affine":
        given = numbers(drive, "biasprm")[:3]
        bias[: len(given)] = given
    gain = number(drive, "gainprm", "1")
    constant, by_length, by_rate = (float(value) for value in bias)
    if by_rate > 0.0 and by_length == -gain and gain > 0.0 and gear != 0.0:
        # A ratio of what damps critically.
        by_rate *= -2.0 * float(np.sqrt(gain * inertia())) / abs(gear)
    return gain, constant, by_length, by_rate


def _limits(
    document: Document,
    where: str,
    attributes: Mapping[str, str],
    law: tuple[float, float, float, float] | None,
    stroke: tuple[float, float],
    notes: list[str],
) -> tuple[float, tuple[float, float]]:
    """Greatest force of an actuator before its gear, and the range of its commands."""
    bounds = np.array([-np.inf, np.inf])
    if document.limited(attributes, "ctrlrange", "ctrllimited"):
        bounds = vector(attributes, "ctrlrange", 2)
    elif (share := number(attributes, "inheritrange", "0")) > 0.0:
        if not np.isfinite(stroke).all():
            raise ModelError(f"{where} inherits the range of its joint or tendon, which has none")
        middle, reach = 0.5 * (stroke[0] + stroke[1]), 0.5 * share * (stroke[1] - stroke[0])
        bounds = np.array([middle - reach, middle + reach])
    limited = document.limited(attributes, "forcerange", "forcelimited")
    if law is None or any(law[1:]) or law[0] == 0.0:
        limit = symmetric(where, vector(attributes, "forcerange", 2), notes) if limited else np.inf
    else:
        # The force is the gain times the command, so that a bound on one is one on the other.
        if limited:
            ends = np.sort(vector(attributes, "forcerange", 2) / law[0])
            bounds = np.array([max(bounds[0], ends[0]), min(bounds[1], ends[1])])
        limit = abs(law[0]) * float(np.abs(bounds).max())
    least, most = (float(bound) for bound in bounds)
    if least > most:
        raise ModelError(f"{where} has commands from {least:g} to {most:g} (valid: an interval)")
    return float(limit), (least, most)
