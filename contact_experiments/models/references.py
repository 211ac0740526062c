"""A model as its format's own library reads it: Pinocchio a URDF, Drake a SDF, MuJoCo a MJCF.

The mass matrix is in the velocities of our engine, laws are per joint, poses per link, so that
each can be compared number by number.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ContactStackError
from contact_core.model.actuator import Actuator
from contact_core.model.articulation import UNLIMITED
from contact_core.model.elements import parse
from contact_core.model.moving_body import Articulation, JointLaw
from contact_core.multibody.rigid_body.joints import BALL, FREE, columns_of
from tamsi_sim.simulation.engine import Engine

INSTANCE = "model"
"""What the model is called in our world."""
TENDON_LAW = ("armature", "damping", "friction", "stiffness", "rest", "lower", "upper")
"""Numbers of a tendon's law that are compared."""
SPREAD = 0.5
"""Random coordinates are so far from zero [rad or m], and free bodies twice as far."""


class IncomparableError(ContactStackError):
    """A reference has a joint or link that our engine has not.

    The model is listed with this as its difference; compare the two files' names.
    """


@dataclass(frozen=True)
class JointPlaces:
    """Where the joints of our engine are.

    Attributes:
        positions: Joint -> its coordinates: one number, of a ball joint a quaternion (x, y, z, w),
            of a floating one position and quaternion in the world.
        motion: Joint -> (columns, nv) its velocity per those of the engine: of a ball joint in the
            axes of its parent, of a floating one linear and angular in those of the world.
        count: nv.
    """

    positions: Mapping[str, np.ndarray]
    motion: Mapping[str, np.ndarray]
    count: int

    def of(self, joint: str) -> np.ndarray:
        """Return the coordinates of a joint.

        Raises:
            IncomparableError: If our model has no such joint.
        """
        if joint not in self.positions:
            raise IncomparableError(f"no joint '{joint}'")
        return self.positions[joint]


def random_state(
    engine: Engine,
    articulation: Articulation,
    rng: np.random.Generator,
    instance: str = INSTANCE,
) -> JointPlaces:
    """Put all joints of an instance at random places.

    Args:
        engine: The engine, whose q is written.
        articulation: Bodies of the instance.
        rng: Where numbers come from.
        instance: Its name.

    Returns:
        Where they are.
    """
    built, nv = engine.built, len(engine.v)
    positions: dict[str, np.ndarray] = {}
    motion: dict[str, np.ndarray] = {}
    for body in articulation.bodies:
        if body.mimic is not None:
            continue
        count = columns_of(body.kind)
        values = rng.uniform(-SPREAD, SPREAD, 1)
        if body.kind in (FREE, BALL):
            turn = rng.normal(size=4)
            turn /= np.linalg.norm(turn)
            place = 2.0 * rng.uniform(-SPREAD, SPREAD, 3) if body.kind == FREE else np.empty(0)
            values = np.concatenate([place, turn])
        if body.kind == FREE:
            name = f"{instance}/{body.joint}"
            q, dof = built.free_bodies[name if name in built.free_bodies else instance]
        elif body.kind == BALL:
            q, dof = next(
                place
                for name, place in built.ball_joints.items()
                if name in (body.joint, f"{instance}/{body.joint}")
            )
        else:
            dof = built.joint_dofs[instance, body.joint]
            q = built.arrays.joints.q[dof]
        engine.q[q : q + len(values)] = values
        positions[body.joint] = values
        motion[body.joint] = np.eye(nv)[dof : dof + count]
    for body in articulation.bodies:
        if body.mimic is not None:
            law = body.mimic
            positions[body.joint] = law.ratio * positions[law.master] + law.offset
            motion[body.joint] = law.ratio * motion[law.master]
    engine.evaluate()
    return JointPlaces(positions, motion, nv)


class ReferenceModel(ABC):
    """A model as a library reads it.

    Attributes:
        free: Whether it is an object, whose root link floats although its file fixes it.
    """

    free = False

    @abstractmethod
    def laws(self) -> Mapping[str, Mapping[str, float]]:
        """Return joint with one coordinate -> numbers of its :class:`JointLaw` by name."""

    @abstractmethod
    def at(self, state: JointPlaces) -> tuple[np.ndarray, dict[str, pin.SE3]]:
        """Return the mass matrix in our velocities, and link -> pose in the world.

        Raises:
            IncomparableError: If our model has not the same joints.
        """

    @abstractmethod
    def shapes(self) -> Counter[str]:
        """Return link -> how many shapes of it can touch something."""

    def actuators(self, state: JointPlaces) -> Iterator[tuple[str, float, np.ndarray]]:
        """Yield name, a random command, and (nv) the force on our velocities of each actuator.

        Args:
            state: The last one that :meth:`at` was called with; velocities are zero.
        """
        yield from ()

    def tendons(self, state: JointPlaces) -> Iterator[tuple[str, np.ndarray]]:
        """Yield name and numbers of each tendon whose length is linear in coordinates of joints.

        These are its length, (nv) the change of it per velocity of ours, and its law, TENDON_LAW;
        what has no meaning is not finite.

        Args:
            state: See :meth:`actuators`.
        """
        yield from ()

    def friction(self, a: tuple[str, int], b: tuple[str, int]) -> float | None:
        """Return the sliding friction of two shapes; None if nothing is said of it.

        Args:
            a: Link of the one, and which of those of :meth:`shapes` it is.
            b: The other.
        """
        return None


class PinocchioReference(ReferenceModel):
    """A URDF; one with a mass and without joints that move is an object, which floats."""

    def __init__(self, path: Path) -> None:
        """Read a file.

        Raises:
            ValueError: If Pinocchio does not load it; or RuntimeError.
        """
        self.model = pin.buildModelFromUrdf(str(path))
        floating = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        self.free = self.model.nv == 0 and floating.inertias[1].mass > 0.0
        self.model = floating if self.free else self.model
        self.data = self.model.createData()
        self.path = path

    def laws(self) -> Mapping[str, Mapping[str, float]]:
        """Return what Pinocchio has of them."""
        model, laws = self.model, {}
        for name, joint in list(zip(model.names, model.joints, strict=True))[1:]:
            if joint.nv == 1:
                q, v = joint.idx_q, joint.idx_v
                laws[str(name)] = {
                    "damping": float(model.damping[v]),
                    "friction": float(model.upperDryFrictionLimit[v]),
                    "effort": _limit(model.upperEffortLimit[v]),
                    "velocity": _limit(model.upperVelocityLimit[v]),
                }
                if joint.nq == 1:
                    laws[str(name)] |= {
                        "lower": _limit(model.lowerPositionLimit[q]),
                        "upper": _limit(model.upperPositionLimit[q]),
                    }
        return laws

    def at(self, state: JointPlaces) -> tuple[np.ndarray, dict[str, pin.SE3]]:
        """Return what Pinocchio computes."""
        model, data = self.model, self.data
        q, rows = pin.neutral(model), np.zeros((model.nv, state.count))
        for number, (name, joint) in enumerate(zip(model.names, model.joints, strict=True)):
            if number == 0:
                continue
            value, own = state.of(name), state.motion[name]
            if joint.nv == 6:
                pose = pin.XYZQUATToSE3(value)
                value = pin.SE3ToXYZQUAT(model.jointPlacements[number].actInv(pose))
                own = np.kron(np.eye(2), pose.rotation.T) @ own
            elif joint.nv == 1 and joint.nq == 2:
                value = np.array([np.cos(value[0]), np.sin(value[0])])
            elif joint.nv != 1:
                raise IncomparableError(f"joint '{name}' is {joint.shortname()}")
            q[joint.idx_q : joint.idx_q + joint.nq] = value
            rows[joint.idx_v : joint.idx_v + joint.nv] = own
        matrix = np.triu(pin.crba(model, data, q))
        matrix = matrix + np.triu(matrix, 1).T + np.diag(model.armature)
        pin.framesForwardKinematics(model, data, q)
        frames = zip(model.frames, data.oMf, strict=True)
        poses = {f.name: pin.SE3(p) for f, p in frames if f.type == pin.FrameType.BODY}
        return rows.T @ matrix @ rows, poses

    def shapes(self) -> Counter[str]:
        """Return how many collisions the file has."""
        return Counter(
            link.get("name", "") for link in parse(self.path.read_text(), "").findall("link")
            for _ in link.findall("collision")
        )  # fmt: skip


class DrakeReference(ReferenceModel):
    """A SDF."""

    def __init__(self, path: Path) -> None:
        """Read a file.

        Raises:
            RuntimeError: If Drake does not load it.
        """
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
        from pydrake.systems.framework import DiagramBuilder

        self.plant, scene = AddMultibodyPlantSceneGraph(DiagramBuilder(), 1e-3)
        parser = Parser(self.plant, scene)
        packages = parser.package_map()
        for folder in path.resolve().parents:
            if (folder / "model.config").is_file() or folder == path.resolve().parent.parent:
                for child in (folder, *(f for f in folder.iterdir() if f.is_dir())):
                    if not packages.Contains(child.name):
                        packages.Add(child.name, child)
        parser.SetAutoRenaming(True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parser.AddModels(path)
            self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()

    @cached_property
    def _joints(self) -> dict[str, Any]:
        return {
            self._scoped(joint): joint
            for joint in map(self.plant.get_joint, self.plant.GetJointIndices())
            if joint.num_velocities()
        }

    @cached_property
    def _bodies(self) -> list[Any]:
        """All but the world, which comes first."""
        from pydrake.multibody.tree import BodyIndex

        return [self.plant.get_body(BodyIndex(i)) for i in range(1, self.plant.num_bodies())]

    @cached_property
    def _models(self) -> list[str]:
        """Instances with links, but for the world's."""
        names = (self.plant.GetModelInstanceName(b.model_instance()) for b in self._bodies)
        return sorted({name.partition("::")[0] for name in names})

    def _scoped(self, element: Any) -> str:
        """Name of a joint or body as we have it: its model's first where there are several."""
        owner = self.plant.GetModelInstanceName(element.model_instance())
        names = [*owner.split("::"), element.name()]
        return "::".join(names[len(self._models) == 1 :])

    def laws(self) -> Mapping[str, Mapping[str, float]]:
        """Return what Drake has of them; it reads no friction, and no effort of zero."""
        plant = self.plant
        efforts = {
            self._scoped(actuator.joint()): _limit(actuator.effort_limit())
            for actuator in map(plant.get_joint_actuator, plant.GetJointActuatorIndices())
        }
        laws = {}
        for name, joint in self._joints.items():
            if joint.num_velocities() == 1:
                laws[name] = {
                    "damping": float(joint.default_damping()),
                    "lower": _limit(joint.position_lower_limits()[0]),
                    "upper": _limit(joint.position_upper_limits()[0]),
                    "velocity": _limit(joint.velocity_upper_limits()[0]),
                }
                if name in efforts:
                    laws[name]["effort"] = efforts[name]
        return laws

    def at(self, state: JointPlaces) -> tuple[np.ndarray, dict[str, pin.SE3]]:
        """Return what Drake computes."""
        from pydrake.common.eigen_geometry import Quaternion
        from pydrake.math import RigidTransform, RollPitchYaw

        plant, context = self.plant, self.context
        rows = np.zeros((plant.num_velocities(), state.count))
        for name, joint in self._joints.items():
            value, own = state.of(name), state.motion[name]
            match joint.num_velocities():
                case 1:
                    plant.SetPositions(
                        context,
                        _put(plant.GetPositions(context), joint.position_start(), value),
                    )
                case 3:
                    angles = RollPitchYaw(Quaternion(*np.roll(value, 1))).vector()
                    joint.set_angles(context, angles)
                case 6:
                    turn = Quaternion(*np.roll(value[3:], 1))
                    place: Any = value[:3]
                    pose = RigidTransform(turn, place)
                    plant.SetFreeBodyPose(context, joint.child_body(), pose)
                    own = np.roll(own, 3, axis=0)
                case _:
                    raise IncomparableError(f"joint '{name}' is {joint.type_name()}")
            start = joint.velocity_start()
            rows[start : start + len(own)] = own
        matrix = plant.CalcMassMatrix(context)
        poses = {}
        for body in self._bodies:
            pose = plant.EvalBodyPoseInWorld(context, body)
            poses[self._scoped(body)] = pin.SE3(pose.rotation().matrix(), pose.translation())
        return rows.T @ matrix @ rows, poses

    def shapes(self) -> Counter[str]:
        """Return how many collision geometries Drake has."""
        count = self.plant.GetCollisionGeometriesForBody
        return Counter({self._scoped(body): len(count(body)) for body in self._bodies})


def _put(values: np.ndarray, start: int, own: np.ndarray) -> np.ndarray:
    values = values.copy()
    values[start : start + len(own)] = own
    return values


class MujocoReference(ReferenceModel):
    """A MJCF."""

    def __init__(self, source: Any) -> None:
        """Read a file.

        Args:
            source: Its path, or MuJoCo's model of it.

        Raises:
            ValueError: If MuJoCo does not load it.
        """
        import mujoco

        self.mujoco = mujoco
        read = mujoco.MjModel.from_xml_path
        self.model = read(str(source)) if isinstance(source, Path) else source
        self.data = mujoco.MjData(self.model)
        self.joints: list[str] = []
        self.bodies: list[str] = []

    def name_like(self, articulation: Articulation) -> None:
        """Take names of ours for what the file does not name; both have the order of the file.

        Raises:
            IncomparableError: If there are more or fewer joints or bodies.
        """
        ours = [body.joint for body in articulation.bodies], list(articulation.links)
        counts = self.model.njnt, self.model.nbody
        if (len(ours[0]), len(ours[1])) != counts:
            raise IncomparableError(f"{counts[0]} joints and {counts[1]} bodies")
        model = self.model
        self.joints = [model.joint(i).name or name for i, name in enumerate(ours[0])]
        self.bodies = [model.body(i).name or name for i, name in enumerate(ours[1])]

    def laws(self) -> Mapping[str, Mapping[str, float]]:
        """Return what MuJoCo has of them."""
        model, laws = self.model, {}
        for number, name in enumerate(self.joints):
            v, q = model.jnt_dofadr[number], model.jnt_qposadr[number]
            if model.jnt_type[number] in (
                self.mujoco.mjtJoint.mjJNT_FREE, self.mujoco.mjtJoint.mjJNT_BALL
            ):  # fmt: skip
                continue
            bounds = self._bounds(number)
            stiffness = float(model.jnt_stiffness[number])
            laws[name] = {
                "damping": float(model.dof_damping[v]),
                "friction": float(model.dof_frictionloss[v]),
                "armature": float(model.dof_armature[v]),
                "lower": float(bounds[0]),
                "upper": float(bounds[1]),
                "stiffness": stiffness,
                "rest": float(model.qpos_spring[q]) if stiffness else 0.0,
            }
        return laws

    def _bounds(self, joint: int) -> tuple[float, float]:
        """Where a joint may be, by its own range and by those of tendons of it alone."""
        model, ends = self.model, [np.array([-np.inf, np.inf])]
        if model.jnt_limited[joint]:
            ends.append(model.jnt_range[joint])
        for tendon in np.flatnonzero(model.tendon_limited):
            part = model.tendon_adr[tendon]
            if model.tendon_num[tendon] == 1 and model.wrap_objid[part] == joint:
                ends.append(np.sort(model.tendon_range[tendon] / model.wrap_prm[part]))
        lower, upper = np.transpose(ends)
        return float(lower.max()), float(upper.min())

    def at(self, state: JointPlaces) -> tuple[np.ndarray, dict[str, pin.SE3]]:
        """Return what MuJoCo computes."""
        model, data = self.model, self.data
        motion = self.motion(state)
        self.mujoco.mj_forward(model, data)
        matrix = np.zeros((model.nv, model.nv))
        for column, row in zip(np.eye(model.nv), matrix, strict=True):
            self.mujoco.mj_mulM(model, data, row, column)
        poses = {
            name: pin.SE3(data.xmat[body].reshape(3, 3), data.xpos[body])
            for body, name in enumerate(self.bodies)
        }
        return motion.T @ matrix @ motion, poses

    def motion(self, state: JointPlaces) -> np.ndarray:
        """Take over a state.

        Returns:
            (model.nv, nv) MuJoCo's velocities per ours.
        """
        model = self.model
        motion = np.zeros((model.nv, state.count))
        for number, name in enumerate(self.joints):
            q, v = model.jnt_qposadr[number], model.jnt_dofadr[number]
            value, own = state.of(name), state.motion[name]
            if len(value) > 1:
                turn = pin.Quaternion(value[-4:]).matrix()
                value = np.concatenate([value[:-4], value[-1:], value[-4:-1]])
                # MuJoCo's angular velocity is in the body's axes.
                own = np.concatenate([own[:-3], turn.T @ own[-3:]])
            self.data.qpos[q : q + len(value)] = value
            motion[v : v + len(own)] = own
        return motion

    def shapes(self) -> Counter[str]:
        """Return how many geoms touch something."""
        model = self.model
        if model.opt.disableflags & self.mujoco.mjtDisableBit.mjDSBL_CONTACT:
            return Counter()
        return Counter(self.bodies[model.geom_bodyid[geom]] for geom in self._touching)

    @cached_property
    def _touching(self) -> list[int]:
        model = self.model
        touches = (model.geom_contype | model.geom_conaffinity) != 0
        touches[model.pair_geom1] = touches[model.pair_geom2] = True
        return np.flatnonzero(touches).tolist()

    def friction(self, a: tuple[str, int], b: tuple[str, int]) -> float | None:
        """Return that of the geom with the greater priority, or else the greater one."""
        model, geoms = self.model, []
        for link, number in (a, b):
            body = self.bodies.index(link)
            geoms.append(
                [geom for geom in self._touching if model.geom_bodyid[geom] == body][number]
            )
        most = max(model.geom_priority[geoms])
        geoms = [geom for geom in geoms if model.geom_priority[geom] == most]
        if max(model.geom_condim[geoms]) < 3:
            return 0.0
        return float(max(model.geom_friction[geoms, 0]))

    def actuators(self, state: JointPlaces) -> Iterator[tuple[str, float, np.ndarray]]:
        """Yield those of MuJoCo."""
        model, data, rng = self.model, self.data, np.random.default_rng(0)
        motion = self.motion(state)
        data.ctrl[:] = commands = rng.uniform(-1.0, 1.0, model.nu)
        self.mujoco.mj_forward(model, data)
        moments = np.zeros((model.nu, model.nv))
        self.mujoco.mju_sparse2dense(
            moments, data.actuator_moment, data.moment_rownnz, data.moment_rowadr,
            data.moment_colind,
        )  # fmt: skip
        for number in range(model.nu):
            name = model.actuator(number).name or f"actuator_{number}"
            force = data.actuator_force[number] * moments[number] @ motion
            yield name, float(commands[number]), force

    def tendons(self, state: JointPlaces) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the fixed ones, which have a linear length everywhere."""
        model, data = self.model, self.data
        motion = self.motion(state)
        self.mujoco.mj_forward(model, data)
        for t in range(model.ntendon):
            parts = slice(model.tendon_adr[t], model.tendon_adr[t] + model.tendon_num[t])
            if (model.wrap_type[parts] == self.mujoco.mjtWrap.mjWRAP_JOINT).all():
                row = np.zeros(model.nv)
                np.add.at(row, model.jnt_dofadr[model.wrap_objid[parts]], model.wrap_prm[parts])
                ends = model.tendon_range[t] if model.tendon_limited[t] else [-np.inf, np.inf]
                spring = model.tendon_lengthspring[t]
                stiffness = model.tendon_stiffness[t] if spring[0] == spring[1] else 0.0
                law = (
                    model.tendon_armature[t], model.tendon_damping[t],
                    model.tendon_frictionloss[t], stiffness,
                    spring[0] if stiffness > 0.0 else np.nan, *ends,
                )  # fmt: skip
                yield model.tendon(t).name, np.array([data.ten_length[t], *row @ motion, *law])


def actuator_force(actuator: Actuator, command: float, position: float) -> float:
    """Return what one of ours exerts at rest [Nm or N].

    Args:
        actuator: The actuator.
        command: Its command.
        position: Of its joint [rad or m].
    """
    command = min(max(command, actuator.lower), actuator.upper)
    force = actuator.gain * command + actuator.offset - actuator.stiffness * position
    return min(max(force, -actuator.limit), actuator.limit)


def law_numbers(law: JointLaw) -> dict[str, float]:
    """Return the numbers of a joint's law by name; where its spring rests if it has one."""
    numbers = dict(vars(law))
    if law.stiffness == 0.0:
        numbers["rest"] = 0.0
    return numbers


def _limit(value: float) -> float:
    """A limit; what says that there is none is infinite."""
    return float(value) if abs(value) < UNLIMITED else float(np.copysign(np.inf, value))
