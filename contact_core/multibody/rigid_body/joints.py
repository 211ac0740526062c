"""Kinds of joints, and reading them from Pinocchio."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from contact_core.base.errors import ModelError, choices
from contact_core.base.kernel import leaf_kernel

REVOLUTE = 0
PRISMATIC = 1
FREE = 2
BALL = 3

_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


@leaf_kernel
def columns_of(kind: int) -> int:
    """Return how many motion columns a joint has, one for each degree of freedom of its own.

    Args:
        kind: REVOLUTE, PRISMATIC, FREE or BALL.
    """
    if kind == FREE:
        return 6
    return 3 if kind == BALL else 1


def joint_type(name: str, joint: Any) -> tuple[int, tuple[float, float, float]]:
    """Return the engine's type of a joint, and its axis.

    Args:
        name: Name of the joint, for the error.
        joint: Pinocchio's joint, not a mimic one.

    Returns:
        REVOLUTE, PRISMATIC, FREE or BALL; the unit axis in the joint's frame, zero without one.

    Raises:
        ModelError: If the engine has no such joint.
    """
    kind = joint.shortname()
    if kind == "JointModelFreeFlyer":
        return FREE, (0.0, 0.0, 0.0)
    if kind == "JointModelSpherical":
        return BALL, (0.0, 0.0, 0.0)
    match = re.fullmatch(r"JointModel(R|P|RUB)([XYZ])", kind)
    if match:
        return PRISMATIC if match[1] == "P" else REVOLUTE, _AXES[match[2]]
    if re.fullmatch(r"JointModel(Revolute|Prismatic)Unaligned", kind):
        x, y, z = joint.extract().axis
        return REVOLUTE if "Revolute" in kind else PRISMATIC, (float(x), float(y), float(z))
    if kind == "JointModelRevoluteUnboundedUnaligned":
        # It does not show its axis, only the motion that follows from it.
        data = joint.createData()
        joint.calc(data, np.array([1.0, 0.0]))
        x, y, z = np.array(data.S)[3:]
        return REVOLUTE, (float(x), float(y), float(z))
    known = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "ball")
    raise ModelError(f"joint '{name}' is a {kind.removeprefix('JointModel')} ({choices(known)})")
