"""The same MJCF in MuJoCo: mass matrix and poses in our coordinates."""

from __future__ import annotations

import mujoco
import numpy as np

from contact_core.multibody.rigid_body.joints import BALL, FREE, PRISMATIC, REVOLUTE

# MuJoCo's kinds of joints -> ours.
KINDS = {
    int(mujoco.mjtJoint.mjJNT_FREE): FREE,
    int(mujoco.mjtJoint.mjJNT_BALL): BALL,
    int(mujoco.mjtJoint.mjJNT_SLIDE): PRISMATIC,
    int(mujoco.mjtJoint.mjJNT_HINGE): REVOLUTE,
}


def set_random_state(engine, articulation, model, data, rng, instance="robot"):
    """Set the same random positions in both.

    Returns:
        (model.nv, nv) MuJoCo's velocities per ours.
    """
    built, values = engine.built, {}
    motion = np.zeros((model.nv, len(engine.v)))
    assert [body.kind for body in articulation.bodies] == [KINDS[k] for k in model.jnt_type]
    # A joint may follow one that comes later.
    order = sorted(range(model.njnt), key=lambda j: articulation.bodies[j].mimic is not None)
    for joint in order:
        body, q, v = articulation.bodies[joint], model.jnt_qposadr[joint], model.jnt_dofadr[joint]
        if model.joint(joint).name:
            assert model.joint(joint).name == body.joint
        if body.kind == FREE:
            name = instance if instance in built.free_bodies else f"{instance}/{body.joint}"
            i, dof = built.free_bodies[name]
            data.qpos[q : q + 3] = engine.q[i : i + 3] = rng.uniform(-1.0, 1.0, 3)
            motion[v : v + 3, dof : dof + 3] = np.eye(3)
            i, dof, q, v = i + 3, dof + 3, q + 3, v + 3
        elif body.kind == BALL:
            i, dof = built.ball_joints[body.joint]
        if body.kind in (FREE, BALL):
            turn = rng.normal(size=4)
            turn /= np.linalg.norm(turn)
            data.qpos[q : q + 4] = turn
            engine.q[i : i + 4] = [*turn[1:], turn[0]]
            matrix = np.zeros(9)
            mujoco.mju_quat2Mat(matrix, turn)
            # MuJoCo's angular velocity is in the body's axes.
            motion[v : v + 3, dof : dof + 3] = matrix.reshape(3, 3).T
            continue
        mimic = body.mimic
        dof = built.joint_dofs[instance, mimic.master if mimic else body.joint]
        if mimic is None:
            values[body.joint] = rng.uniform(-0.5, 0.5)
            engine.q[built.arrays.joints.q[dof]] = values[body.joint]
        value = values[mimic.master] * mimic.ratio + mimic.offset if mimic else values[body.joint]
        data.qpos[q] = value
        motion[v, dof] = mimic.ratio if mimic else 1.0
    return motion


def differences(engine, articulation, model, samples=3, instance="robot"):
    """Return the greatest relative difference of mass matrices, and of poses [m and 1]."""
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    masses, poses = 0.0, 0.0
    for _ in range(samples):
        motion = set_random_state(engine, articulation, model, data, rng, instance)
        mujoco.mj_forward(model, data)
        engine.evaluate()
        if model.nv:
            own = np.zeros((model.nv, model.nv))
            for column, row in zip(np.eye(model.nv), own, strict=True):
                mujoco.mj_mulM(model, data, row, column)
            expected = motion.T @ own @ motion
            error = np.abs(engine.observer.mass_matrix() - expected).max()
            masses = max(masses, error / np.abs(expected).max())
        names = [name for owner, name in engine.built.links if owner == instance]
        assert len(names) == model.nbody
        for body in range(model.nbody):
            name = model.body(body).name or names[body]
            found = engine.observer.pose(instance, name)
            poses = max(poses, np.abs(found.translation - data.xpos[body]).max())
            poses = max(poses, np.abs(found.rotation - data.xmat[body].reshape(3, 3)).max())
    return masses, poses
