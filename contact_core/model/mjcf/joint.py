"""The joints of a MJCF: what each does by itself, and where it starts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, choices
from contact_core.model.mjcf.document import (
    Document,
    linear,
    number,
    numbers,
    symmetric,
    unit,
    vector,
)

JOINTS = ("hinge", "slide", "ball", "free")
_LOSSES = ("damping", "frictionloss", "stiffness")


class MjcfJoints:
    """Adds joints to a tree, and keeps what the tree does not hold.

    Attributes:
        starts: Joint with one coordinate -> its value where the bodies are as the file places them
            [rad or m].
        rests: Joint with one coordinate -> its springref [rad or m].
        springs: Joint -> stiffness [Nm/rad or N/m] and coordinate where it exerts nothing.
        limits: Joint -> greatest effort of all its actuators [Nm or N].
        armatures: Of tendons: coefficients by joint, and armature [kg or kg m^2].
    """

    def __init__(self, document: Document, tree: pin.Model, notes: list[str]) -> None:
        """Start without joints.

        Args:
            document: The file.
            tree: Gets the joints.
            notes: Gets what is not simulated as it is written.
        """
        self.starts: dict[str, float] = {}
        self.rests: dict[str, float] = {}
        self.springs: dict[str, tuple[float, float]] = {}
        self.limits: dict[str, float] = {}
        self.armatures: list[tuple[Mapping[str, float], float]] = []
        self._document, self._tree, self._notes = document, tree, notes
        # Joint -> time constant [s] and damping ratio of its spring.
        self._relaxations: dict[str, tuple[float, float]] = {}

    def add_floating(self, name: str, parent: int, pose: pin.SE3) -> int:
        """Add a joint that floats.

        Args:
            name: Its name.
            parent: Number of the joint that carries it.
            pose: Where it starts in the frame of the joint ``parent``.

        Returns:
            Its number.
        """
        joint = int(self._tree.addJoint(parent, pin.JointModelFreeFlyer(), pose, name))
        self._tree.addJointFrame(joint)
        return joint

    def add(
        self, name: str, attributes: Mapping[str, str], parent: int, pose: pin.SE3, count: int
    ) -> tuple[int, pin.SE3]:
        """Add a joint.

        Args:
            name: Its name.
            attributes: Its attributes, those of its class included.
            parent: Number of the joint that carries the body it belongs to.
            pose: Pose of that body in the frame of the joint ``parent``.
            count: How many joints the body has.

        Returns:
            Its number, and the pose of the body in its frame.

        Raises:
            ModelError: If it is none we know or a number is wrong; the message names it.
        """
        kind = attributes.get("type", "hinge")
        if kind not in JOINTS:
            raise ModelError(f"joint '{name}' is of type '{kind}' ({choices(JOINTS)})")
        if self._tree.existJointName(name):
            raise ModelError(f"there are two joints '{name}'")
        try:
            if kind == "free":
                if parent != 0 or count > 1:
                    raise ModelError("it floats (valid: as the only joint of a root body)")
                joint = self.add_floating(name, parent, pose)
                armature = number(attributes, "armature", "0")
                start = self._tree.joints[joint].idx_v
                self._tree.armature[start : start + 6] = armature
                losses = [key for key in _LOSSES if numbers(attributes, key).any()]
                if losses:
                    self._notes.append(f"joint '{name}' floats: {', '.join(losses)} ignored")
                return joint, pin.SE3.Identity()
            if kind == "ball":
                return self._add_ball(name, attributes, parent, pose)
            return self._add_single(name, kind, attributes, parent, pose)
        except ModelError as error:
            raise ModelError(f"joint '{name}': {error}") from error

    def _add_ball(
        self, name: str, attributes: Mapping[str, str], parent: int, pose: pin.SE3
    ) -> tuple[int, pin.SE3]:
        for key in ("stiffness", "springdamper", "frictionloss"):
            if numbers(attributes, key).any():
                raise ModelError(f"{key}='{attributes[key]}' of a ball joint (valid: none)")
        if self._document.limited(attributes, "range", "limited"):
            raise ModelError(f"range='{attributes.get('range')}' of a ball joint (valid: none)")
        at = pin.SE3(np.eye(3), vector(attributes, "pos", 3, "0 0 0"))
        joint = int(self._tree.addJoint(parent, pin.JointModelSpherical(), pose * at, name))
        self._tree.addJointFrame(joint)
        v = self._tree.joints[joint].idx_v
        self._tree.armature[v : v + 3] = number(attributes, "armature", "0")
        self._tree.damping[v : v + 3] = linear(attributes, "damping")
        return joint, at.inverse()

    def _add_single(
        self, name: str, kind: str, attributes: Mapping[str, str], parent: int, pose: pin.SE3
    ) -> tuple[int, pin.SE3]:
        angle = self._document.radians if kind == "hinge" else float
        axis = unit(vector(attributes, "axis", 3, "0 0 1"))
        at = pin.SE3(np.eye(3), vector(attributes, "pos", 3, "0 0 0"))
        start = angle(number(attributes, "ref", "0"))
        if kind == "hinge":
            source = pin.JointModelRevoluteUnaligned(axis)
            back = pin.SE3(np.array(pin.AngleAxis(-start, axis).matrix()), np.zeros(3))
        else:
            source = pin.JointModelPrismaticUnaligned(axis)
            back = pin.SE3(np.eye(3), -start * axis)
        joint = int(self._tree.addJoint(parent, source, pose * at * back, name))
        self._tree.addJointFrame(joint)
        v, q = self._tree.joints[joint].idx_v, self._tree.joints[joint].idx_q
        self._tree.armature[v] = number(attributes, "armature", "0")
        self._tree.damping[v] = linear(attributes, "damping")
        self._tree.upperDryFrictionLimit[v] = number(attributes, "frictionloss", "0")
        lower, upper = -np.inf, np.inf
        if self._document.limited(attributes, "range", "limited"):
            lower, upper = map(angle, vector(attributes, "range", 2))
        self._tree.lowerPositionLimit[q], self._tree.upperPositionLimit[q] = lower, upper
        if self._document.limited(attributes, "actuatorfrcrange", "actuatorfrclimited"):
            limits = vector(attributes, "actuatorfrcrange", 2)
            self.limits[name] = symmetric(f"joint '{name}'", limits, self._notes)
        stiffness = linear(attributes, "stiffness")
        if "springdamper" in attributes:
            time, ratio = vector(attributes, "springdamper", 2)
            if not (time > 0.0 and ratio > 0.0):
                raise ModelError(f"springdamper must be 2 numbers > 0, got {time:g} {ratio:g}")
            self._relaxations[name] = float(time), float(ratio)
        if stiffness < 0.0:
            raise ModelError(f"stiffness='{attributes['stiffness']}' (valid: >= 0)")
        self.starts[name], self.rests[name] = start, angle(number(attributes, "springref", "0"))
        if stiffness != 0.0 or name in self._relaxations:
            self.springs[name] = stiffness, self.rests[name]
        return joint, at.inverse()

    def inertia(self, coefficients: Mapping[str, float]) -> float:
        """Return what a force moves at the start, all other joints giving way.

        The tree needs its inertias for it.

        Args:
            coefficients: Joint with one coordinate -> how far what is pushed moves with it.

        Returns:
            1 / (c M^-1 c^T) [kg m^2 or kg]; zero if nothing is pushed.
        """
        pushed = self._row(coefficients)
        yielding = float(pushed @ self._mobility() @ pushed)
        return 1.0 / yielding if yielding > 0.0 else 0.0

    def _row(self, coefficients: Mapping[str, float]) -> np.ndarray:
        row = np.zeros(self._tree.nv)
        for name, coefficient in coefficients.items():
            row[self._tree.joints[self._tree.getJointId(name)].idx_v] = coefficient
        return row

    def _mobility(self) -> np.ndarray:
        """Inverse of the mass matrix at the start."""
        q = pin.neutral(self._tree)
        for name, start in self.starts.items():
            q[self._tree.joints[self._tree.getJointId(name)].idx_q] = start
        matrix = np.triu(pin.crba(self._tree, self._tree.createData(), q))
        matrix += np.triu(matrix, 1).T
        for coefficients, armature in self.armatures:
            row = self._row(coefficients)
            matrix += armature * np.outer(row, row)
        return np.linalg.pinv(matrix)

    def relax_springs(self) -> None:
        """Give springs and dampers their times, as MuJoCo does: by what a joint moves at the start.

        That is the inverse of the inverse mass matrix's diagonal: all other joints give way. The
        tree needs its inertias for it.
        """
        if not self._relaxations:
            return
        inertias = 1.0 / np.diag(self._mobility())
        for name, (time, ratio) in self._relaxations.items():
            v = self._tree.joints[self._tree.getJointId(name)].idx_v
            stiffness = float(inertias[v]) / (time * ratio) ** 2
            self.springs[name] = stiffness, self.springs[name][1]
            self._tree.damping[v] = 2.0 * inertias[v] / time


def within(frame: pin.SE3, attributes: Mapping[str, str]) -> dict[str, str]:
    """Return a joint's attributes as those of one that stands in the body itself.

    Args:
        frame: Pose in the body of the frame that the joint is in.
        attributes: Its attributes, in that frame.
    """
    if frame == pin.SE3.Identity():
        return dict(attributes)
    position = frame.act(vector(attributes, "pos", 3, "0 0 0"))
    axis = frame.rotation @ vector(attributes, "axis", 3, "0 0 1")
    placed = {"pos": position, "axis": axis}
    return {**attributes, **{k: " ".join(map(repr, v.tolist())) for k, v in placed.items()}}
