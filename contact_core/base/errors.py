"""The exceptions of the stack: raised at set-up, never in a control loop."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable


class ContactStackError(Exception):
    """Base of every error the stack raises on purpose."""


class ConfigError(ContactStackError):
    """A parameter has an unknown name or a value outside its range.

    Correct what the message names; it lists the valid names or values.
    """


class ModelError(ContactStackError):
    """A robot, object or scene description cannot be simulated or controlled.

    Correct the file that the message names, or simulate another model.
    """


class ModelWarning(UserWarning):
    """A description is simulated, but not exactly as it is written.

    Read what was simplified; correct the file if that matters.
    """


class TrajectoryError(ContactStackError):
    """A reference trajectory cannot be followed safely.

    Change the point that the message names: start where the arm is, go slower, keep within limits.
    """


class LaunchError(ContactStackError):
    """A launch file asks for something the runner does not know.

    Correct the argument or the line; `contact-stack launch FILE --show-args` lists the arguments.
    """


class SecondGraphError(LaunchError):
    """A node of the same name already runs in the ROS domain, or was killed there a moment ago.

    Stop that graph, or give this one another ROS_DOMAIN_ID or robot name.
    """


class CommunicationError(ContactStackError):
    """A peer node is missing or does not answer in time.

    Start the node that the message names, in the same domain and namespace; `contact-stack doctor`
    checks the network.
    """


def nearest(word: str, valid: Iterable[object]) -> str:
    """Return the valid word that somebody may have meant; empty if none is like it.

    Args:
        word: What was given.
        valid: What could have been.
    """
    return next(iter(difflib.get_close_matches(word, map(str, valid), n=1)), "")


def choices(values: Iterable[object], given: object = None) -> str:
    """Render the valid choices at the end of an error message.

    Args:
        values: The valid values, in the order they should be listed.
        given: A word that a person wrote and that is none of them.

    Returns:
        For instance ``"valid: lbr_fri, ros2_control"``, or for ``"lbr_fry"``
        ``"did you mean lbr_fri? valid: lbr_fri, ros2_control"``.
    """
    names = [str(value) for value in values]
    meant = nearest(given, names) if isinstance(given, str) else ""
    return (f"did you mean {meant}? " if meant else "") + "valid: " + (", ".join(names) or "none")


def real_number(
    value: object, what: str, valid: str = "a finite number", above: float = -math.inf
) -> float:
    """Check a number that a user hands over.

    Args:
        value: Anything.
        what: What it is, for the error.
        valid: Which values are valid, for the error.
        above: What it has to be greater than.

    Returns:
        The number.

    Raises:
        ConfigError: If it is none, not finite, or not above the bound.
    """
    try:
        number = float(value) if isinstance(value, numbers.Real) else math.nan
    except OverflowError:
        number = math.inf
    if math.isfinite(number) and number > above:
        return number
    raise ConfigError(f"{what} must be {valid}, got {value!r}")


def whole_number(value: object, what: str, least: int = 0) -> int:
    """Check a count that a user hands over.

    Args:
        value: Anything.
        what: What it is, for the error.
        least: The least valid one.

    Returns:
        The number.

    Raises:
        ConfigError: If it is no whole number, below the least or beyond 64 bits.
    """
    if isinstance(value, numbers.Integral) and least <= int(value) < 2**63:
        return int(value)
    raise ConfigError(f"{what} must be a whole number >= {least}, got {value!r}")
