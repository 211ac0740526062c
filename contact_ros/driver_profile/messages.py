"""What the drivers' messages have in common: number fields that must be finite, joints by name."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sensor_msgs.msg import JointState

from contact_ros.stamps import to_time
from contact_ros.validation import MessageError


def checked(values: ArrayLike, count: int, field: str) -> NDArray[np.float64]:
    """Copy a field of a message that must be complete and finite.

    Args:
        values: The field.
        count: The number of values it must have.
        field: Its name, for the error.

    Returns:
        The values, shape (count,).

    Raises:
        MessageError: If the length is wrong or a value is not finite.
    """
    array = np.array(values, dtype=np.float64)
    if array.shape != (count,):
        raise MessageError(f"{field} has {array.size} values instead of {count}")
    if not np.isfinite(array).all():
        raise MessageError(f"{field} is not finite: {array.tolist()}")
    return array


def joint_state(
    stamp: int,
    names: Sequence[str],
    *,
    position: NDArray[np.float64] | None = None,
    velocity: NDArray[np.float64] | None = None,
    effort: NDArray[np.float64] | None = None,
) -> JointState:
    """Build a message.

    Args:
        stamp: Time of the sample [ns].
        names: Joint names.
        position: Joint positions [rad].
        velocity: Joint velocities [rad/s].
        effort: Joint torques [Nm].

    Returns:
        The message; a field that is not given, or is not known (NaN), stays empty.
    """
    message = JointState(name=list(names))
    message.header.stamp = to_time(stamp)
    for field, values in (("position", position), ("velocity", velocity), ("effort", effort)):
        if values is None:
            continue
        # A few numbers are faster to check and to copy as Python's own than as NumPy's.
        numbers = values.tolist()
        if all(map(math.isfinite, numbers)):
            setattr(message, field, array("d", numbers))
    return message


class JointSelector:
    """Find the arm's joints in a message that may list others and in another order."""

    def __init__(self, names: Sequence[str]) -> None:
        """Prepare for the joints of one arm.

        Args:
            names: Joint names, in the arm's order.
        """
        self._names = list(names)
        self._ours = frozenset(names)
        self._seen: list[str] = []
        self._order = np.zeros(0, dtype=np.intp)

    def concerned(self, names: Sequence[str]) -> bool:
        """Tell whether a message lists any joint of the arm.

        Args:
            names: The joints the message lists.
        """
        return names == self._seen or not self._ours.isdisjoint(names)

    def select(self, names: list[str], values: ArrayLike, field: str) -> NDArray[np.float64]:
        """Take the arm's joints out of one field of a message.

        Args:
            names: The joints the message lists.
            values: The field, one value per joint.
            field: Its name, for the error.

        Returns:
            The values in the arm's order, shape (n,).

        Raises:
            MessageError: If a joint is missing or named twice, the field has the wrong
                length, or a value is not finite.
        """
        if names != self._seen:
            self._order = self._find(names)
            self._seen = list(names)
        # Joints of others (e.g. a gripper) may be unknown, ours must be finite.
        numbers = np.array(values, dtype=np.float64)
        if numbers.size != len(names):
            raise MessageError(f"{field} has {numbers.size} values for {len(names)} joint names")
        return checked(numbers[self._order], len(self._names), field)

    def _find(self, names: list[str]) -> NDArray[np.intp]:
        missing = [name for name in self._names if name not in names]
        if missing:
            raise MessageError(f"joints {', '.join(missing)} are not among {', '.join(names)}")
        if len(set(names)) != len(names):
            raise MessageError(f"a joint is named twice: {', '.join(names)}")
        return np.array([names.index(name) for name in self._names], dtype=np.intp)
