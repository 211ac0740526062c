"""Coordinates that position controllers move, as an arm moves its tool: by springs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import casadi
import numpy as np

from contact_core.base.errors import choices
from robust_planner.contact_model import (
    ContactModel,
    CoordinateLimits,
    DriveConfig,
    PlanningProblemError,
)


def driven(model: ContactModel, drives: Mapping[str, DriveConfig]) -> ContactModel:
    """Let position controllers move some coordinates of a model.

    Args:
        model: The model; what its controls did to these coordinates is left out.
        drives: Name of a coordinate that is moved -> its drive.

    Returns:
        q = coordinates of the model, then the references of the drives; u = controls of the
        others, then the positions [m or rad] that the drives are told.

    Raises:
        PlanningProblemError: If the model has drives already, or no such coordinate.
    """
    if model.drives:
        raise PlanningProblemError(f"model '{model.name}' has drives already")
    size, count = model.coordinates, len(drives)
    for name in drives:
        if name not in model.position_names:
            raise PlanningProblemError(
                f"unknown coordinate '{name}' of a drive ({choices(model.position_names)})"
            )
    q, v = casadi.SX.sym("q", size + count), casadi.SX.sym("v", size + count)
    own, speed, reference = q[:size], v[:size], q[size:]
    mass = casadi.diagcat(model.mass_matrix(own), casadi.SX.eye(count))
    bias = casadi.vertcat(model.bias_force(own, speed), casadi.SX.zeros(count))
    weight = model.bias_force(own, casadi.SX.zeros(size))
    moved = [model.position_names.index(name) for name in drives]
    others = [c for c in range(model.controls) if not np.any(model.actuation[moved, c])]
    actuation = np.zeros((size + count, len(others) + count))
    actuation[:size, : len(others)] = model.actuation[:, others]
    for index, (row, drive) in enumerate(zip(moved, drives.values(), strict=True)):
        behind = size + index
        bias[row] += (
            drive.stiffness * (own[row] - reference[index])
            + drive.damping * speed[row]
            - weight[row]
        )
        bias[behind] = drive.bandwidth**2 * q[behind] + 2.0 * drive.bandwidth * v[behind]
        actuation[behind, len(others) + index] = drive.bandwidth**2
    limits = model.limits
    shift = casadi.SX.sym("s", 2 * len(model.obstacles))
    distance, normal, tangent = model.shifted(own, shift)
    wider = [distance, *(_wider(jacobian, count) for jacobian in (normal, tangent))]
    normal, tangent = (
        _wider(jacobian(own), count) for jacobian in (model.normal_jacobian, model.tangent_jacobian)
    )
    free = (np.inf,) * count
    return dataclasses.replace(
        model,
        position_names=(*model.position_names, *(f"{name}.reference" for name in drives)),
        control_names=(*(model.control_names[c] for c in others), *drives),
        mass_matrix=casadi.Function("mass_matrix", [q], [mass]),
        bias_force=casadi.Function("bias_force", [q, v], [bias]),
        distance=casadi.Function("distance", [q], [model.distance(own)]),
        normal_jacobian=casadi.Function("normal_jacobian", [q], [normal]),
        tangent_jacobian=casadi.Function("tangent_jacobian", [q], [tangent]),
        normals=casadi.Function("normals", [q], [model.normals(own)]),
        shifted=casadi.Function("shifted", [q, shift], wider),
        actuation=actuation,
        limits=CoordinateLimits(
            lower=(*limits.lower, *(-bound for bound in free)),
            upper=(*limits.upper, *free),
            speed=(*limits.speed, *(limits.speed[row] for row in moved)),
            control=(*(limits.control[c] for c in others), *free),
        ),
        drives={model.position_names.index(name): drive for name, drive in drives.items()},
    )


def _wider(jacobian: casadi.SX, count: int) -> casadi.SX:
    return casadi.horzcat(jacobian, casadi.SX.zeros(jacobian.shape[0], count))
