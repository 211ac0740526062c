"""Reading Pinocchio's joints, and checking its bodies."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pinocchio as pin

from contact_core.errors import ModelError, choices

REVOLUTE = 0
PRISMATIC = 1
FREE = 2

_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def joint_type(name: str, joint: Any) -> tuple[int, tuple[float, float, float]]:
    """Return the engine's type of a joint, and its axis.

    Args:
        name: Name of the joint, for the error.
        joint: Pinocchio's joint, not a mimic one.

    Returns:
        REVOLUTE, PRISMATIC or FREE; the unit axis in the joint's frame.

    Raises:
        ModelError: If the engine has no such joint.
    """
    kind = joint.shortname()
    if kind == "JointModelFreeFlyer":
        return FREE, (0.0, 0.0, 0.0)
    match = re.fullmatch(r"JointModel([RP])([XYZ])", kind)
    if match:
        return REVOLUTE if match[1] == "R" else PRISMATIC, _AXES[match[2]]
    if kind in ("JointModelRevoluteUnaligned", "JointModelPrismaticUnaligned"):
        x, y, z = joint.extract().axis
        return REVOLUTE if "Revolute" in kind else PRISMATIC, (float(x), float(y), float(z))
    known = ("revolute", "prismatic", "fixed", "mimic")
    raise ModelError(f"joint '{name}' is a {kind.removeprefix('JointModel')} ({choices(known)})")


def is_mimic(joint: Any) -> bool:
    """Return whether a Pinocchio joint follows another one."""
    return bool(joint.shortname().startswith("JointModelMimic"))


def mimic_law(joint: Any) -> tuple[float, float]:
    """Return (ratio, offset) between a joint's coordinate and its degree of freedom."""
    if not is_mimic(joint):
        return 1.0, 0.0
    mimic = joint.extract()
    return float(mimic.scaling), float(mimic.offset)


def check_inertias(instance: str, model: pin.Model) -> None:
    """Check every moving body of a URDF.

    Args:
        instance: Name of the instance, for the error.
        model: Pinocchio's model of it.

    Raises:
        ModelError: If a body has no positive mass or no positive definite inertia.
    """
    for joint in range(1, model.njoints):
        inertia = model.inertias[joint]
        link = next(
            frame.name
            for frame in model.frames
            if frame.parentJoint == joint and frame.type == pin.FrameType.BODY
        )
        where = f"{instance}: body '{link}'"
        if not 0.0 < inertia.mass < np.inf:
            raise ModelError(f"{where} has mass {inertia.mass:g} kg; it moves, so it needs > 0")
        finite = np.isfinite(inertia.inertia).all()
        eigenvalues = np.linalg.eigvalsh(inertia.inertia) if finite else np.full(3, np.nan)
        if not eigenvalues[0] > 0.0:
            raise ModelError(
                f"{where} has principal inertias {np.array2string(eigenvalues, precision=3)} "
                "kg m^2; all must be > 0"
            )
