"""A built model as a MuJoCo model."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, choices
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.multibody.rigid_body.joints import FREE, REVOLUTE
from tamsi_sim.simulation.model import BuiltModel

# At most so many classes of shapes, which touch the same others, have a collision bit of their own.
MAX_CLASSES = 31
# MuJoCo's documentation advises to raise it from 1 lest grasped objects slip.
IMPRATIO = 10.0
_KINDS = {
    ShapeKind.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
    ShapeKind.BOX: mujoco.mjtGeom.mjGEOM_BOX,
    ShapeKind.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
    ShapeKind.CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER,
}


def mujoco_model(
    built: BuiltModel,
    time_step: float,
    friction: float,
    stiffness: np.ndarray,
    damping: np.ndarray,
    time_constant: float | None = None,
) -> mujoco.MjModel:
    """Build the MuJoCo model: Newton's solver, elliptic cones, implicit joint damping.

    Joints have the springs and dampers of :class:`~tamsi_sim.drake.drake_plant.DrakePlant`
    and a motor each, in the order of the degrees of freedom. Contacts are as soft as
    MuJoCo's defaults, which have no counterpart of k and d.

    Args:
        built: The model, without mimic joints.
        time_step: h [s].
        friction: mu of every contact.
        stiffness: (nv) K of the joints [Nm/rad or N/m].
        damping: (nv) D of the joints, on top of the model's [Nm s/rad or N s/m].
        time_constant: Of every contact, the first number of ``solref`` [s]; None for the default.

    Returns:
        The compiled model.

    Raises:
        ModelError: If MuJoCo gets a model from us that we do not know how to translate.
    """
    arrays = built.arrays
    if built.ball_joints:
        raise ModelError(f"MuJoCo gets no ball joints from us: {list(built.ball_joints)}")
    spec = mujoco.MjSpec()
    spec.option.timestep = time_step
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.impratio = IMPRATIO
    spec.option.gravity = _common_gravity(built)
    bodies: list[mujoco.MjsBody] = []
    for body in range(len(arrays.bodies.parent)):
        parent = (
            bodies[arrays.bodies.parent[body]]
            if arrays.bodies.parent[body] >= 0
            else spec.worldbody
        )
        bodies.append(_add_body(parent, built, body))
        if arrays.bodies.joint_type[body] != FREE:
            dof = arrays.bodies.column_dof[arrays.bodies.first_column[body]]
            total = arrays.joints.damping[dof] + damping[dof] + time_step * stiffness[dof]
            _add_joint(spec, bodies[-1], built, body, stiffness[dof], total)
    for shape, bits in enumerate(_collision_bits(built)):
        body = arrays.geometry.body[shape]
        owner = bodies[body] if body >= 0 else spec.worldbody
        _add_shape(owner, built, shape, friction, bits)
    if time_constant is not None:
        for geom in spec.geoms:
            geom.solref = [time_constant, 1.0]
    return spec.compile()


def mujoco_state(built: BuiltModel, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn our state into MuJoCo's.

    Args:
        built: The model; MuJoCo has its bodies and degrees of freedom in the same order.
        q: (nq) positions.
        v: (nv) velocities.

    Returns:
        MuJoCo's qpos and qvel: scalar-first quaternions, angular velocities in body axes.
    """
    arrays, qpos, qvel = built.arrays, q.copy(), v.copy()
    for body in np.flatnonzero(arrays.bodies.joint_type == FREE):
        iq, iv = (
            arrays.bodies.q_index[body],
            arrays.bodies.column_dof[arrays.bodies.first_column[body]],
        )
        x, y, z, w = q[iq + 3 : iq + 7]
        qpos[iq + 3 : iq + 7] = w, x, y, z
        rotation = pin.Quaternion(w, x, y, z).matrix()
        qvel[iv + 3 : iv + 6] = rotation.T @ v[iv + 3 : iv + 6]
    return qpos, qvel


def our_state(
    built: BuiltModel, qpos: np.ndarray, qvel: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Turn MuJoCo's state into ours, the inverse of :func:`mujoco_state`."""
    arrays, q, v = built.arrays, qpos.copy(), qvel.copy()
    for body in np.flatnonzero(arrays.bodies.joint_type == FREE):
        iq, iv = (
            arrays.bodies.q_index[body],
            arrays.bodies.column_dof[arrays.bodies.first_column[body]],
        )
        w, x, y, z = qpos[iq + 3 : iq + 7]
        q[iq + 3 : iq + 7] = x, y, z, w
        v[iv + 3 : iv + 6] = pin.Quaternion(w, x, y, z).matrix() @ qvel[iv + 3 : iv + 6]
    return q, v


def _common_gravity(built: BuiltModel) -> np.ndarray:
    gravity = built.arrays.inertias.gravity
    if np.any(gravity != gravity[0]):
        raise ModelError("this translation to MuJoCo needs the same gravity for all bodies")
    return np.asarray(gravity[0])


def _add_body(parent: mujoco.MjsBody, built: BuiltModel, body: int) -> mujoco.MjsBody:
    arrays, name = built.arrays, f"body_{body}"
    (ixx, ixy, ixz), (_, iyy, iyz), (_, _, izz) = arrays.inertias.inertia[body]
    added = parent.add_body(
        name=name,
        pos=arrays.bodies.joint_position[body],
        quat=_quaternion(arrays.bodies.joint_rotation[body]),
        mass=arrays.inertias.mass[body],
        ipos=arrays.inertias.center[body],
        fullinertia=[ixx, iyy, izz, ixy, ixz, iyz],
        explicitinertial=True,
    )
    if arrays.bodies.joint_type[body] == FREE:
        added.add_freejoint(name=name)
    return added


def _add_joint(
    spec: mujoco.MjSpec,
    owner: mujoco.MjsBody,
    built: BuiltModel,
    body: int,
    stiffness: float,
    damping: float,
) -> None:
    arrays, name = built.arrays, f"body_{body}"
    dof = arrays.bodies.column_dof[arrays.bodies.first_column[body]]
    if np.count_nonzero(arrays.bodies.column_dof == dof) > 1:
        raise ModelError("this translation to MuJoCo knows no mimic joints")
    revolute = arrays.bodies.joint_type[body] == REVOLUTE
    owner.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_HINGE if revolute else mujoco.mjtJoint.mjJNT_SLIDE,
        axis=arrays.bodies.joint_axis[body],
        armature=arrays.joints.armature[dof],
        stiffness=stiffness,
        damping=damping,
    )
    motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    motor.set_to_motor()


def _add_shape(
    owner: mujoco.MjsBody, built: BuiltModel, shape: int, friction: float, bits: tuple[int, int]
) -> None:
    arrays = built.arrays
    kind = ShapeKind(arrays.geometry.kind[shape])
    if kind not in _KINDS:
        known = choices(known.name.lower() for known in _KINDS)
        raise ModelError(f"MuJoCo gets no {kind.name.lower()} from us ({known})")
    contype, conaffinity = bits
    owner.add_geom(
        type=_KINDS[kind],
        size=arrays.geometry.size[shape],
        pos=arrays.geometry.position[shape],
        quat=_quaternion(arrays.geometry.rotation[shape]),
        friction=[friction, 0.0, 0.0],
        condim=3,
        mass=0.0,
        contype=contype,
        conaffinity=conaffinity,
    )


def _collision_bits(built: BuiltModel) -> list[tuple[int, int]]:
    """Return each shape's (contype, conaffinity), one bit per class of shapes."""
    others: list[set[int]] = [set() for _ in built.shapes]
    for a, b in built.pairs.tolist():
        others[a].add(b)
        others[b].add(a)
    body = built.arrays.geometry.body
    own = [set(np.flatnonzero(body == body[shape]).tolist()) for shape in range(len(body))]
    classes: list[int] = []  # Of each, its first shape.
    kind = []
    for a in range(len(others)):
        alike = (
            k for k, b in enumerate(classes)
            if others[a] - own[a] - own[b] == others[b] - own[a] - own[b]
        )  # fmt: skip
        found = next(alike, len(classes))
        if found == len(classes):
            classes.append(a)
        kind.append(found)
    if len(classes) > MAX_CLASSES:
        raise ModelError(f"{len(classes)} classes of shapes are more than {MAX_CLASSES}")
    bits = [(1 << kind[a], sum({1 << kind[b] for b in others[a]})) for a in range(len(others))]
    _check_bits(built, *(list(side) for side in zip(*bits, strict=True)))
    return bits


def _check_bits(built: BuiltModel, own: list[int], others: list[int]) -> None:
    """Make sure that the bits let collide what the model lets collide, and nothing else."""
    allowed = {frozenset(map(int, pair)) for pair in built.pairs}
    body = built.arrays.geometry.body
    for a in range(len(own)):
        for b in range(a + 1, len(own)):
            meet = body[a] != body[b] and (own[a] & others[b] or own[b] & others[a])
            if bool(meet) != (frozenset((a, b)) in allowed):
                names = f"'{built.shapes[a].name}' and '{built.shapes[b].name}'"
                raise ModelError(f"MuJoCo's collision bits cannot tell whether {names} may touch")


def _quaternion(rotation: np.ndarray) -> np.ndarray:
    x, y, z, w = pin.Quaternion(rotation).coeffs()
    return np.array([w, x, y, z])
