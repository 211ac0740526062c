"""Checks of the number fields of incoming messages."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contact_ros.driver_profile.base import MessageError


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
