"""The exceptions of the stack: raised at set-up, never in a control loop."""

from __future__ import annotations

from collections.abc import Iterable


class ContactStackError(Exception):
    """Base of every error the stack raises on purpose."""


class ConfigError(ContactStackError):
    """A parameter has an unknown name or a value outside its range."""


class ModelError(ContactStackError):
    """A robot, object or scene description cannot be simulated or controlled."""


class ModelWarning(UserWarning):
    """A description is simulated, but not exactly as it is written."""


class TrajectoryError(ContactStackError):
    """A reference trajectory cannot be followed safely."""


class LaunchError(ContactStackError):
    """A launch file asks for something the runner does not know."""


class CommunicationError(ContactStackError):
    """A peer node is missing or does not answer in time."""


def choices(values: Iterable[object]) -> str:
    """Render the valid choices at the end of an error message.

    Args:
        values: The valid values, in the order they should be listed.

    Returns:
        For instance ``"valid: lbr_fri, ros2_control"``.
    """
    return "valid: " + ", ".join(str(value) for value in values)
