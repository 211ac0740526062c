"""The actuators of a MJCF: what they exert, and how much the joints take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

import numpy as np

from contact_core.base.errors import ModelError, choices
from contact_core.model.actuator import Actuator
from contact_core.model.mjcf.document import ACTUATORS, Document, number, numbers, vector

_TRANSMISSIONS = ("joint", "jointinparent")
_WITHOUT_STATE = {"dyntype": "none", "gaintype": "fixed"}


def symmetric(where: str, limits: np.ndarray, notes: list[str]) -> float:
    """Return the greater one of two limits.

    Args:
        where: What they limit.
        limits: (2) the lower and the upper one.
        notes: Gets one more if they differ.
    """
    least, most = (abs(float(limit)) for limit in limits)
    greatest = max(least, most)
    if least != most:
        notes.append(
            f"{where} has the effort limits {limits[0]:g} and {limits[1]:g}: taken as "
            f"{greatest:g} both ways"
        )
    return greatest


def read_actuators(
    document: Document,
    ranges: Mapping[str, tuple[float, float]],
    floating: Collection[str],
    own: Mapping[str, float],
    notes: list[str],
) -> tuple[dict[str, Actuator], dict[str, float]]:
    """Return the actuators, and what those of a joint exert together at most.

    Args:
        document: The file.
        ranges: Joint with one coordinate -> its lower and upper limit [rad or m].
        floating: The others.
        own: Joint -> limit that it has itself [Nm or N].
        notes: Gets the actuators that do not drive one such joint, or not in a way we know.

    Returns:
        Name -> actuator, ``actuator_NUMBER`` where it has none; joint -> limit [Nm or N], infinite
        if one of its actuators has none.

    Raises:
        ModelError: If there is no such actuator or joint, or two have one name.
    """
    sums: dict[str, float] = defaultdict(float)
    found: dict[str, Actuator] = {}
    elsewhere, unknown = [], []
    for count, element in enumerate(document.sections("actuator")):
        if element.tag not in ACTUATORS:
            raise ModelError(f"actuator: unknown '{element.tag}' ({choices(ACTUATORS)})")
        attributes = document.attributes(element)
        name = attributes.get("name", f"actuator_{count}")
        where = f"{element.tag} '{attributes.get('name', '')}'"
        joint = next((attributes[key] for key in _TRANSMISSIONS if key in attributes), None)
        if joint is None or joint in floating:
            elsewhere.append(where)
            continue
        if joint not in ranges:
            raise ModelError(f"{where}: no joint '{joint}' ({choices([*ranges, *floating])})")
        if name in found:
            raise ModelError(f"there are two actuators '{name}'")
        gear = number(attributes, "gear", "1")
        law = _law(element.tag, attributes)
        limit, bounds = _limits(document, where, element.tag, attributes, law, ranges[joint], notes)
        sums[joint] += abs(gear) * limit
        if law is None or law[2] > 0.0 or law[3] > 0.0 or gear == 0.0 or limit == 0.0:
            unknown.append(where)
            continue
        gain, offset, by_position, by_velocity = law
        found[name] = Actuator(
            joint, gear * gain, gear * offset, -(gear**2) * by_position, -(gear**2) * by_velocity,
            *bounds, abs(gear) * limit,
        )  # fmt: skip
    if elsewhere:
        notes.append(f"{', '.join(elsewhere)} not read: no actuator of one joint")
    if unknown:
        notes.append(f"{', '.join(unknown)} not read: not affine in command, position and velocity")
    driven = {joint: min(limit, own.get(joint, np.inf)) for joint, limit in sums.items()}
    return found, {**own, **driven}


def _law(tag: str, attributes: Mapping[str, str]) -> tuple[float, float, float, float] | None:
    """Force of an actuator before its gear: by command, constant, by length, by its rate.

    None if it is another function, or has a state of its own.
    """
    match tag:
        case "motor":
            return 1.0, 0.0, 0.0, 0.0
        case "position":
            if number(attributes, "timeconst", "0") or number(attributes, "dampratio", "0"):
                return None
            gain = number(attributes, "kp", "1")
            return gain, 0.0, -gain, -number(attributes, "kv", "0")
        case "velocity":
            gain = number(attributes, "kv", "1")
            return gain, 0.0, 0.0, -gain
        case "general":
            kind = attributes.get("biastype", "none")
            other = [k for k, v in _WITHOUT_STATE.items() if attributes.get(k, v) != v]
            if other or kind not in ("none", "affine"):
                return None
            bias = np.zeros(3)
            if kind == "affine":
                given = numbers(attributes, "biasprm")[:3]
                bias[: len(given)] = given
            constant, by_length, by_rate = (float(value) for value in bias)
            return number(attributes, "gainprm", "1"), constant, by_length, by_rate
    return None


def _limits(
    document: Document,
    where: str,
    tag: str,
    attributes: Mapping[str, str],
    law: tuple[float, float, float, float] | None,
    stroke: tuple[float, float],
    notes: list[str],
) -> tuple[float, tuple[float, float]]:
    """Greatest force of an actuator before its gear, and the range of its commands."""
    bounds = np.array([-np.inf, np.inf])
    if document.limited(attributes, "ctrlrange", "ctrllimited"):
        bounds = vector(attributes, "ctrlrange", 2)
    elif tag == "position" and (share := number(attributes, "inheritrange", "0")) > 0.0:
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
