"""Models from URDF or SDF files: Pinocchio reads them, CasADi gets their kinematics.

Pinocchio's wheel has no CasADi interface; joints of one degree of freedom need a rotation and a
translation each.
"""

from __future__ import annotations

import dataclasses
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path

import casadi
import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning, choices
from contact_core.model.elements import parse, read_text
from contact_core.model.extensions import ARMATURE
from contact_core.model.model_file import self_contained
from robust_planner.contact_model import (
    Body,
    BodyPoint,
    ContactModel,
    CoordinateLimits,
    PlanningProblemError,
    Source,
    build_model,
)
from robust_planner.obstacles import Obstacle

UrdfPoint = tuple[str, Sequence[float]] | tuple[str, Sequence[float], float]
NO_LIMIT = 1e3
"""Limits in a URDF file from here on are none [m, rad, m/s, rad/s, N, Nm]."""

OFF_PLANE = 1e-6
"""What an axis may be off the plane by rounding."""


def load_urdf(
    path: Path,
    contacts: Mapping[str, UrdfPoint],
    actuated: Sequence[str],
    dimension: int = 2,
    obstacles: Sequence[Obstacle] = (),
) -> ContactModel:
    """Read a model whose joints are prismatic or revolute; its base is fixed to the world.

    A body that moves freely hangs on joints without mass. The first coordinates have to move it
    along x and z (in 3-D x, y and z) where the height of the ground or the start is uncertain.

    Args:
        path: The file; position, velocity and effort limits of a thousand and more are none.
        contacts: Name of a point that may touch something -> its link, where it is in the link's
            frame (3) [m], and the radius of the ball that it is the centre of if it is one [m].
        actuated: Names of the joints that have a motor.
        dimension: 2 if everything moves in the x-z plane, 3 otherwise.
        obstacles: What may be touched beside the ground, in the x-z plane.

    Returns:
        The model; its coordinates are the joints, in the order of the tree.

    Raises:
        PlanningProblemError: If the file cannot be read, a joint has more than one degree of
            freedom or follows another one, or there is no such link or joint. What the file has and
            no plan knows is a ModelWarning, and one of every plan.
    """
    try:
        urdf = self_contained(read_text(path), str(path), path.absolute().parent)
    except (OSError, ModelError) as error:
        raise PlanningProblemError(f"cannot read the model {path}: {error}") from error
    return parse_urdf(urdf, str(path), contacts, actuated, dimension, obstacles)


def _check_plane(model: pin.Model, where: str) -> None:
    """Check that all joints move things in the x-z plane.

    Raises:
        PlanningProblemError: If one does not.
    """
    data = model.createData()
    # Of one column alone the binding makes an array of one dimension.
    jacobians = pin.computeJointJacobians(model, data, pin.neutral(model)).reshape(6, model.nv)
    for name, joint in zip(list(model.names)[1:], list(model.joints)[1:], strict=True):
        linear, angular = np.split(jacobians[:, joint.idx_v], 2)
        turns = np.linalg.norm(angular) > 0.5
        off = np.abs(angular[[0, 2]]).max() if turns else abs(linear[1])
        if off > OFF_PLANE:
            raise PlanningProblemError(
                f"joint '{name}' of {where} leaves the x-z plane (valid: slides within it, and "
                "turns about y; or dimension 3)"
            )


def parse_urdf(
    urdf: str,
    where: str,
    contacts: Mapping[str, UrdfPoint],
    actuated: Sequence[str],
    dimension: int = 2,
    obstacles: Sequence[Obstacle] = (),
) -> ContactModel:
    """Make a model of the text of a URDF file, see :func:`load_urdf`.

    Args:
        urdf: The text.
        where: Where it is from, for errors.
        contacts: The points that may touch something.
        actuated: Names of the joints that have a motor.
        dimension: 2 or 3.
        obstacles: What may be touched beside the ground.

    Returns:
        The model.

    Raises:
        PlanningProblemError: If it cannot be read, or used.
    """
    try:
        model = pin.buildModelFromXML(urdf)
    except (RuntimeError, ValueError) as error:
        raise PlanningProblemError(f"cannot read the model {where}: {error}") from error
    unread = _check_joints(parse(urdf, where), where)
    names = tuple(model.names)[1:]
    if any(joint.nq != 1 for joint in list(model.joints)[1:]):
        wrong = [n for n, j in zip(names, list(model.joints)[1:], strict=True) if j.nq != 1]
        raise PlanningProblemError(
            f"joints {', '.join(wrong)} of {where} have no single coordinate (valid: prismatic "
            "and revolute joints, with limits)"
        )
    if dimension == 2:
        _check_plane(model, where)
    for joint in actuated:
        if joint not in names:
            raise PlanningProblemError(f"unknown actuated joint '{joint}' ({choices(names)})")
        if list(actuated).count(joint) > 1:
            raise PlanningProblemError(
                f"joint '{joint}' is actuated twice (valid: each joint once, also of those driven)"
            )
    q = casadi.SX.sym("q", model.nq)
    placements = _Placements(model, q)
    actuation = np.zeros((model.nq, len(actuated)))
    for column, joint in enumerate(actuated):
        actuation[names.index(joint), column] = 1.0
    axes = [0, 2] if dimension == 2 else [0, 1, 2]
    built = build_model(
        name=model.name,
        q=q,
        bodies=[placements.body(index) for index in range(1, model.njoints)],
        contacts=[placements.contact(name, axes, *point) for name, point in contacts.items()],
        actuation=actuation,
        position_names=names,
        control_names=tuple(actuated),
        limits=CoordinateLimits(
            lower=_limits(model.lowerPositionLimit),
            upper=_limits(model.upperPositionLimit),
            speed=_limits(model.upperVelocityLimit),
            control=tuple(_limits(actuation.T @ model.upperEffortLimit)),
        ),
        obstacles=obstacles,
    )
    masses = [inertia.mass for inertia in list(model.inertias)[1:]]
    inertia = np.asarray(built.mass_matrix(pin.neutral(model)))
    if min(masses) < 0.0 or np.linalg.eigvalsh(inertia)[0] <= 0.0:
        given = ", ".join(
            f"{mass:g} kg at '{name}'" for name, mass in zip(names, masses, strict=True)
        )
        raise PlanningProblemError(f"{where} moves without a mass: {given} (valid: > 0 at the end)")
    points = {name: (*point, 0.0)[:3] for name, point in contacts.items()}
    return dataclasses.replace(built, source=Source(urdf, points, unread))


def _check_joints(robot: ElementTree.Element, where: str) -> tuple[str, ...]:
    """Refuse joints that follow others; name losses, springs and rotors, which no plan knows."""
    named = []
    for joint in robot.findall("joint"):
        name, dynamics = joint.get("name", ""), joint.find("dynamics")
        if joint.find("mimic") is not None:
            raise PlanningProblemError(f"joint '{name}' of {where} follows another (valid: none)")
        said = {} if dynamics is None else dict(dynamics.attrib)
        said[ARMATURE] = joint.get(ARMATURE, "0")
        said.pop("spring_reference", None)
        named += [f"{key} of joint '{name}'" for key, text in said.items() if float(text) != 0.0]
    if named:
        warnings.warn(f"{where}: {', '.join(named)} not read", ModelWarning, stacklevel=4)
    return tuple(named)


def _limits(values: np.ndarray) -> tuple[float, ...]:
    return tuple(np.where(np.abs(values) < NO_LIMIT, values, np.copysign(np.inf, values)).tolist())


class _Placements:
    """Rotation and origin of every joint's frame in the world, as expressions of q."""

    def __init__(self, model: pin.Model, q: casadi.SX) -> None:
        self._model, self._q = model, q
        self._rotation = [casadi.SX.eye(3)]
        self._origin = [casadi.SX.zeros(3)]
        # Angular velocity of each joint's frame by q.
        self._spin = [casadi.SX.zeros(3, model.nq)]
        for index in range(1, model.njoints):
            self._add(index)

    def body(self, index: int) -> Body:
        """Return what is fixed to a joint."""
        inertia, rotation = self._model.inertias[index], self._rotation[index]
        return Body(
            position=self._origin[index] + rotation @ casadi.DM(inertia.lever),
            mass=inertia.mass,
            spin=self._spin[index],
            inertia_matrix=rotation @ casadi.DM(inertia.inertia) @ rotation.T,
        )

    def contact(
        self, name: str, axes: list[int], link: str, point: Sequence[float], radius: float = 0.0
    ) -> BodyPoint:
        """Return a point of a link, or a ball."""
        model = self._model
        links = [frame.name for frame in model.frames if frame.type == pin.FrameType.BODY]
        if link not in links:
            raise PlanningProblemError(f"unknown link '{link}' ({choices(links)})")
        frame = model.frames[model.getFrameId(link, pin.FrameType.BODY)]
        local = casadi.DM(frame.placement.act(np.asarray(point)))
        joint = frame.parentJoint
        if joint == 0:
            raise PlanningProblemError(f"contact '{name}' is on '{link}', which does not move")
        position = self._origin[joint] + self._rotation[joint] @ local
        return BodyPoint(name, position[axes], radius, self._spin[joint] if radius > 0.0 else None)

    def _add(self, index: int) -> None:
        model = self._model
        joint, placement = model.joints[index], model.jointPlacements[index]
        parent, value = model.parents[index], self._q[joint.idx_q]
        data = joint.createData()
        joint.calc(data, pin.neutral(model))
        linear, angular = np.split(np.asarray(data.S).ravel(), 2)
        before = self._rotation[parent] @ casadi.DM(placement.rotation)
        origin = self._origin[parent] + self._rotation[parent] @ casadi.DM(placement.translation)
        spin = casadi.SX(self._spin[parent])
        spin[:, joint.idx_v] += before @ casadi.DM(angular)
        self._rotation.append(before @ _rotation(angular, value))
        self._origin.append(origin + before @ casadi.DM(linear) * value)
        self._spin.append(spin)


def _rotation(axis: np.ndarray, angle: casadi.SX) -> casadi.SX:
    """Return the rotation about a unit axis (Rodrigues), or none about a zero one."""
    if not np.any(axis):
        return casadi.SX.eye(3)
    skew = pin.skew(axis)
    return (
        casadi.SX.eye(3)
        + casadi.sin(angle) * casadi.DM(skew)
        + (1.0 - casadi.cos(angle)) * casadi.DM(skew @ skew)
    )
