"""The simulation as Python sees it: state, inputs, contacts, and one call for many steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from contact_core.base.errors import ConfigError, ModelError, choices, real_number, whole_number
from contact_core.base.lazy import needs
from contact_core.model.articulation import UNMOVED
from contact_core.multibody.collision.arrays import NORMAL
from contact_core.robot.scene_config import SolverConfig
from tamsi_sim.arrays.data import LAST, LEFT, NEXT, STEPS, STUCK, Drives, ShearMemory, Work
from tamsi_sim.arrays.settings import scheme_settings
from tamsi_sim.arrays.simulation import make_simulation
from tamsi_sim.arrays.status import STATUSES, StepStatus
from tamsi_sim.arrays.workspace import (
    Room,
    copy_shear,
    enlarge,
    make_work,
    more_room,
    room_of,
    usual_room,
)
from tamsi_sim.scheme.advance import EFFORT, advance, roll
from tamsi_sim.scheme.linearization import Linearization, linearize
from tamsi_sim.scheme.stepper import evaluate_now
from tamsi_sim.simulation.actuators import Actuators
from tamsi_sim.simulation.closures import ClosureForce, closure_forces, hold_tendons
from tamsi_sim.simulation.model import BuiltModel
from tamsi_sim.simulation.observer import Observer
from tamsi_sim.simulation.records import ContactPoint, Snapshot, Trajectory
from tamsi_sim.simulation.rollouts import Rollouts, number_array, rollouts
from tamsi_sim.simulation.sensors import Sensors
from tamsi_sim.simulation.tendons import TendonState, tendon_states

if TYPE_CHECKING:
    from tamsi_sim.viewer.page import LivePage
    from tamsi_sim.viewer.player import Player

MAX_STEP = 10.0  # [s]
MAX_STEPS = 1_000_000
"""That are recorded at once: their states have to be kept."""


class Engine:
    """A model in motion.

    Its arrays are shared with the kernels: read and write them in place.

    Attributes:
        built: The model.
        time_step: h [s]; where the solver has an accuracy, a period of several steps.
        solver: Settings of the scheme.
        q: (nq) positions.
        v: (nv) velocities.
        deflection: (nv) of the springs that joint friction is before it slides [rad or m], see
            :meth:`set_friction`.
        applied: (nv) generalised force applied during the next steps [Nm or N].
        drives: Inputs of the next steps: ``applied``, and the joints' drives.
        actuators: What drives the joints, by names: add, and command.
        sensors: What measures, by names: add, step, and read the last samples.
        contact_impulse: (nv) sum of J^T f h since it was last cleared [Nms or Ns].
        joint_force: (nv) of position controller, friction, damping and limits [Nm or N].
        counters: What was counted, see ``tamsi_sim.arrays.data``.
        work: All arrays of the simulation, these among them; those of contacts are replaced
            when there are more than they hold.
    """

    def __init__(
        self, built: BuiltModel, time_step: float, solver: SolverConfig | None = None
    ) -> None:
        """Allocate the workspace, with the state at the model's initial one.

        Args:
            built: The model.
            time_step: h [s].
            solver: Settings of the scheme.

        Raises:
            ConfigError: If the time step is not a positive number, or a surface has a restitution
                that the friction law does not go with.
        """
        time_step = real_number(time_step, "time_step", "> 0 s", above=0.0)
        if time_step > MAX_STEP:
            raise ConfigError(f"time_step must be <= {MAX_STEP:g} s, got {time_step:g}")
        solver = solver or SolverConfig()
        if solver.friction_law != "elastic" and (built.arrays.rules.restitution < 1.0).any():
            raise ConfigError("restitution needs friction_law 'elastic', which remembers impacts")
        built = hold_tendons(built, time_step)
        contacts = min(built.usual_contacts, built.contact_limit(solver))
        room = usual_room(built.arrays, max(1, contacts))
        self.built = built
        self.solver = solver
        self.time_step = time_step
        self.work: Work = make_work(built.arrays, len(built.q), room, solver.max_iterations)
        self.q, self.v = self.work.state
        self.deflection = self.work.joint_forces.deflection
        self.drives: Drives = self.work.drives
        self.applied = self.drives.applied
        self.contact_impulse = self.work.contact_impulse
        self.joint_force = self.work.joint_forces.force
        self.counters = self.work.counters
        self.q[:], self.v[:] = built.q, built.v
        self.drives.effort_limit[:] = built.efforts
        self._simulation = make_simulation(
            built.arrays, self.work, scheme_settings(solver, time_step)
        )
        self.actuators = Actuators(built, self.drives, self.work.tendon_drives)
        self.sensors = Sensors(built, time_step)
        self._start = self.save()

    def twin(self) -> Engine:
        """Return another engine of the same model and settings, at the model's start."""
        return Engine(self.built, self.time_step, self.solver)

    def save(self) -> Snapshot:
        """Return the state and the inputs, to come back to by :meth:`restore`."""
        drives = Drives(*(array.copy() for array in self.drives))
        shear = ShearMemory(*(array.copy() for array in self.work.shear))
        return Snapshot(
            self.q.copy(),
            self.v.copy(),
            self.deflection.copy(),
            float(self.work.pace[NEXT]),
            shear,
            drives,
            self.actuators.commands,
            self.sensors.save(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state and its inputs; what follows is what followed then, bit by bit.

        Args:
            snapshot: From :meth:`save` of this engine, or of another one of the same model.

        Raises:
            ModelError: If it belongs to another model.
        """
        if snapshot.q.shape != self.q.shape or snapshot.v.shape != self.v.shape:
            raise ModelError(
                f"the snapshot has {len(snapshot.q)} positions and {len(snapshot.v)} velocities, "
                f"the engine {len(self.q)} and {len(self.v)}"
            )
        self.q[:], self.v[:], self.deflection[:] = snapshot.q, snapshot.v, snapshot.deflection
        self.work.pace[NEXT] = snapshot.pace
        for array, value in zip(self.drives, snapshot.drives, strict=True):
            array[:] = value
        room = room_of(self.work)
        self._enlarge(room._replace(contacts=max(room.contacts, len(snapshot.shear.point))))
        copy_shear(snapshot.shear, self.work.shear)
        self.actuators.recall(snapshot.commands)
        self.sensors.restore(snapshot.sensors)

    def reset(self) -> None:
        """Go back to the state and the inputs with which the engine was made."""
        self.restore(self._start)

    def set_friction(
        self,
        joint: str,
        kinetic: float,
        static: float | None = None,
        stribeck_velocity: float = 1e-2,
        viscous: float | None = None,
        presliding_stiffness: float = 0.0,
    ) -> None:
        """Set the friction of a joint, that of all that follows it included.

        Args:
            joint: Its name, see ``BuiltModel.joints``.
            kinetic: Friction while it slides [Nm or N].
            static: Friction from which it breaks away [Nm or N]; the kinetic one if None.
            stribeck_velocity: At which 1/e of their difference is left [rad/s or m/s].
            viscous: Damping on top [Nm s/rad or N s/m]; as it is if None.
            presliding_stiffness: Of the spring that friction is before it slides, so that a joint
                holds a load without creeping [Nm/rad or N/m]. With 0 friction is regularised: it
                creeps at less than ``stiction_velocity``.

        Raises:
            ConfigError: If a number is negative or not finite, the Stribeck velocity is zero, or
                static friction is below the kinetic one.
            ModelError: If there is no such joint.
        """
        if joint not in self.built.joints:
            raise ModelError(f"no joint '{joint}' ({choices(self.built.joints)})")
        given = {"kinetic": kinetic, "presliding_stiffness": presliding_stiffness}
        given |= {"static": kinetic if static is None else static}
        given |= {} if viscous is None else {"viscous": viscous}
        for name, value in given.items():
            least = kinetic if name == "static" else 0.0
            what = f"{name} of joint '{joint}'"
            if real_number(value, what, f"finite and >= {least:g}") < least:
                raise ConfigError(f"{what} must be >= {least:g}, got {value:g}")
        what = f"stribeck_velocity of joint '{joint}'"
        stribeck_velocity = real_number(stribeck_velocity, what, "> 0", above=0.0)
        joints, dof = self.built.arrays.joints, self.built.joints[joint]
        joints.friction[dof] = kinetic
        joints.static_excess[dof] = given["static"] - kinetic
        joints.stribeck_velocity[dof] = stribeck_velocity
        joints.damping[dof] = given.get("viscous", joints.damping[dof])
        joints.presliding_stiffness[dof] = presliding_stiffness

    def set_velocity(
        self,
        name: str,
        linear: Sequence[float] = (0.0, 0.0, 0.0),
        angular: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """Set the velocity of a free or kinematic body; a kinematic one keeps it until the next.

        What joints carry on a kinematic body is left behind as far as they let it, by its inertia.

        Args:
            name: Name of the body, see ``BuiltModel.free_bodies``.
            linear: (3) velocity of its origin, world axes [m/s].
            angular: (3) world axes [rad/s].

        Raises:
            ModelError: If there is no such body, or a velocity is not three finite numbers.
        """
        if name not in self.built.free_bodies:
            raise ModelError(f"no free body '{name}' ({choices(self.built.free_bodies)})")
        try:
            velocity = np.array([linear, angular], dtype=float)
        except (TypeError, ValueError):
            velocity = np.array([])
        if velocity.shape != (2, 3) or not np.isfinite(velocity).all():
            raise ModelError(
                f"the velocities of '{name}' must be 3 numbers each, got {linear} and {angular}"
            )
        dof = self.built.free_bodies[name][1]
        change = velocity.ravel() - self.v[dof : dof + 6]
        self.v[dof : dof + 6] = velocity.ravel()
        if self.built.arrays.joints.armature[dof] >= UNMOVED and change.any():
            self._leave_behind(dof, change)

    def _leave_behind(self, dof: int, change: np.ndarray) -> None:
        """Let joints give way to the jump (6) of the velocity of the root that carries them."""
        ends = self.built.arrays.trees.first_dof
        joints = slice(dof + 6, int(ends[ends > dof].min()))
        if joints.start < joints.stop:
            mass = self.observer.mass_matrix()[joints]
            self.v[joints] -= np.linalg.solve(mass[:, joints], mass[:, dof : dof + 6] @ change)

    def set_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Set the state, checked; :attr:`q` and :attr:`v` can also be written in place.

        Args:
            q: (nq) positions; quaternions (x, y, z, w) are normalised.
            v: (nv) velocities.

        The springs of friction are relaxed, see :meth:`relax`.

        Raises:
            ModelError: If a size is wrong or a number not finite; the message names the body.
        """
        before = self.q.copy(), self.v.copy()
        try:
            self.q[:], self.v[:] = q, v
            for i in self.built.quaternions:
                norm = np.linalg.norm(self.q[i : i + 4])
                self.q[i : i + 4] /= norm if norm > 0.0 else np.nan
            self.observer.check_finite()
        except (ValueError, ModelError) as error:
            self.q[:], self.v[:] = before
            if isinstance(error, ModelError):
                raise
            sizes = f"q needs {len(self.q)} values and v {len(self.v)}"
            raise ModelError(f"{sizes}, got {np.shape(q)} and {np.shape(v)}") from error
        self.relax()

    def relax(self) -> None:
        """Relax the springs that the friction of joints and contacts is before anything slides."""
        self.deflection[:] = 0.0
        self.work.shear.number[:] = 0

    @cached_property
    def observer(self) -> Observer:
        """Poses, energy and warnings of the current state."""
        return Observer(self.built, self.work, self.solver, self.time_step)

    def step(self, steps: int = 1) -> StepStatus:
        """Advance the state and sample the sensors; it stays at the last good one if a step fails.

        Args:
            steps: How many steps.

        Returns:
            OK, or why the last step failed.

        Raises:
            ConfigError: If it is no whole number, or negative.
        """
        last = self.counters[STEPS] + whole_number(steps, "steps")
        self.work.pace[LEFT] = 0.0
        while True:
            status = self._advance(int(last - self.counters[STEPS]))
            if status != StepStatus.TOO_MANY_CONTACTS or not self._make_room():
                return STATUSES[status]

    def _advance(self, steps: int) -> int:
        if self.sensors:
            return self.sensors.advance(self._simulation, self.work, steps)
        return int(advance(self._simulation, steps))

    def _make_room(self) -> bool:
        """Enlarge the workspace in which a step did not fit, if it may be."""
        room = more_room(self.work, self.built.contact_limit(self.solver))
        if room is None:
            return False
        self._enlarge(room)
        return True

    def _enlarge(self, room: Room) -> None:
        if room != room_of(self.work):
            self.work = enlarge(self.work, self.built.arrays, room)
            # It looks at the shear of the old one.
            self.__dict__.pop("observer", None)
            self._simulation = make_simulation(
                self.built.arrays, self.work, scheme_settings(self.solver, self.time_step)
            )

    def roll(self, forces: np.ndarray) -> tuple[StepStatus, np.ndarray, np.ndarray]:
        """Advance under given forces in one call, and record the states.

        Args:
            forces: (n, nv) generalised force of each step [Nm or N].

        Returns:
            The status of the last step; (n + 1, nq) positions and (n + 1, nv) velocities from
            now on, NaN behind a failed step.

        Raises:
            ConfigError: If the forces have another shape.
        """
        found = self._record(forces, False)
        return found.status, found.q, found.v

    def _record(self, forces: np.ndarray, with_forces: bool) -> Trajectory:
        """Advance under given forces, see :meth:`roll`; record those of contacts, or none."""
        forces = number_array(forces, "forces")
        if forces.ndim != 2 or forces.shape[1] != len(self.v):
            raise ConfigError(f"forces must be (n, {len(self.v)}), got {forces.shape}")
        steps, done, start = len(forces), 0, self.counters[STEPS]
        positions = np.full((1, steps + 1, len(self.q)), np.nan)
        velocities = np.full((1, steps + 1, len(self.v)), np.nan)
        contact_force, joint_force = np.zeros((2, 1, steps if with_forces else 0, len(self.v)))
        status = np.zeros(1, dtype=np.int64)
        self.work.pace[LEFT] = 0.0
        while True:
            roll(
                self._simulation, self.q[None].copy(), self.v[None].copy(), forces[None, done:],
                EFFORT, positions[:, done:], velocities[:, done:], contact_force[:, done:],
                joint_force[:, done:], status,
            )  # fmt: skip
            done = self.counters[STEPS] - start
            if status[0] != StepStatus.TOO_MANY_CONTACTS or not self._make_room():
                break
        if with_forces:
            failed = np.isnan(velocities[0, 1:])
            contact_force[0, failed] = joint_force[0, failed] = np.nan
        return Trajectory(
            STATUSES[status[0]],
            self.time_step * np.arange(steps + 1),
            positions[0],
            velocities[0],
            contact_force[0],
            joint_force[0],
        )

    def simulate(self, duration: float) -> Trajectory:
        """Advance for some time under constant inputs, and record states and forces.

        Args:
            duration: How long, rounded to whole steps, and to one at least if it is not 0 [s].

        Returns:
            The trajectory from now on.

        Raises:
            ConfigError: If the duration is negative or not finite.
        """
        steps = real_number(duration, "duration", ">= 0 s") / self.time_step
        if not 0.0 <= steps <= MAX_STEPS:
            longest = MAX_STEPS * self.time_step
            raise ConfigError(f"duration must be >= 0 s and <= {longest:g} s, got {duration!r}")
        steps = round(steps) or math.ceil(steps)
        return self._record(np.tile(self.applied, (steps, 1)), True)

    def rollouts(
        self,
        q: np.ndarray,
        v: np.ndarray,
        inputs: np.ndarray | Mapping[str, np.ndarray],
        command: str = "effort",
        threads: int | None = None,
        forces: bool = False,
    ) -> Rollouts:
        """Simulate samples over threads; this simulation stays, see :func:`rollouts`.

        Args:
            q: (n, nq) initial positions, or (nq) for all.
            v: (n, nv) initial velocities, or (nv) for all.
            inputs: (n, T, nv) input of each step; or actuator -> (n, T) its command in each step.
            command: What an array of inputs is: ``effort``, ``target`` or ``feedforward``.
            threads: How many threads; as many as processors if None.
            forces: Whether to record forces, too.

        Returns:
            The trajectories; they do not depend on the number of threads.

        Raises:
            ConfigError: If a shape does not fit, or there is no such command.
            ModelError: If there is no such actuator.
        """
        work = self.work
        if isinstance(inputs, Mapping):
            drives, tendon_drives, inputs = self.actuators.over_time(inputs)
            work = work._replace(drives=drives, tendon_drives=tendon_drives)
            command = "feedforward"
        return rollouts(
            self.built, work, self.solver, self.time_step, q, v, inputs, command, threads,
            forces,
        )  # fmt: skip

    def linearize(self, steps: int = 1) -> Linearization:
        """Advance like :meth:`step`, and return the derivatives of the new state.

        Args:
            steps: How many steps, under the same inputs.

        Returns:
            A = dx+/dx and B = dx+/du, by efforts and by position targets.

        Raises:
            ConfigError: If ``steps`` is no whole number, or negative.
        """
        steps, before = whole_number(steps, "steps"), self.save()
        presliding = bool(self.built.arrays.joints.presliding_stiffness.any())
        while True:
            found = linearize(self._simulation, self.work, steps, presliding)
            if found.status != StepStatus.TOO_MANY_CONTACTS or not self._make_room():
                return found
            self.restore(before)

    def trouble(self) -> str:
        """Return the contact at which the last step did not converge, to end a message with."""
        contact = int(self.counters[STUCK]) - 1
        if contact < 0:
            return ""
        found, built = self.work.contacts, self.built
        a, b = (
            f"'{built.instances[shape]}' ({built.shapes[shape].body})"
            for shape in self.work.pairs.shapes[found.pair[contact]]
        )
        place = ", ".join(f"{x:.4g}" for x in found.point[contact])
        return f"; it is stuck where {a} touches {b}, at ({place}) m"

    def evaluate(self) -> int:
        """Compute kinematics, mass matrix, bias and contacts of the current state.

        Returns:
            The number of contact points.
        """
        count = int(evaluate_now(self._simulation))
        while count > len(self.work.contacts.depth) and self._make_room():
            count = int(evaluate_now(self._simulation))
        return count

    def closures(self) -> list[ClosureForce]:
        """Return what the loop closures did in the last step."""
        return closure_forces(self.built, self.work)

    def tendons(self) -> dict[str, TendonState]:
        """Return where the fixed tendons are, and what they exerted in the last step."""
        return tendon_states(self.built, self.work)

    def contacts(self) -> list[ContactPoint]:
        """Return the contact points of the last step that carry a force.

        With an accuracy that is the last of the engine's own steps, which ends the user's;
        :attr:`contact_impulse` is what all of them gave.
        """
        found, forces, built = self.work.contacts, self.work.contact_forces, self.built
        points, moments = [], self.work.contact_moments.mean_moment
        for c in range(min(int(found.number[0]), len(found.depth))):
            local = forces.mean_force[c]
            if not local.any():
                continue
            frame = found.frame[c]
            a, b = self.work.pairs.shapes[found.pair[c]]
            points.append(
                ContactPoint(
                    shape_a=built.shapes[a].name,
                    shape_b=built.shapes[b].name,
                    link_a=built.shapes[a].body,
                    link_b=built.shapes[b].body,
                    instance_a=built.instances[a],
                    instance_b=built.instances[b],
                    point=found.point[c].copy(),
                    normal=frame[NORMAL].copy(),
                    depth=float(found.depth[c]),
                    force=frame.T @ local,
                    impulse=float(self.work.pace[LAST]) * frame.T @ local,
                    moment=frame.T @ moments[c] if len(moments) else np.zeros(3),
                    slip=float(np.hypot(*forces.velocity[c, :NORMAL])),
                )
            )
        return points

    def show(self, port: int = 8080, collisions: bool = False) -> LivePage:
        """Open a page in the browser with the current state; its ``update`` shows a later one.

        Args:
            port: Its port on this machine, or the next one that is free.
            collisions: Whether to show collision shapes also where there are visual ones.

        Returns:
            The page; a notebook displays it.

        Raises:
            ConfigError: If the port is no positive whole number.
            ContactStackError: If the libraries that draw are not installed.
        """
        with needs("page"):  # What draws takes a second to import.
            from tamsi_sim.viewer.page import LivePage

        return LivePage(self, port, collisions)

    def play(self, trajectory: Trajectory, port: int = 8080, collisions: bool = False) -> Player:
        """Open a page that plays a trajectory of this engine, whose state stays.

        Args:
            trajectory: What to play.
            port: Its port on this machine, or the next one that is free.
            collisions: Whether to show collision shapes also where there are visual ones.

        Returns:
            The page; a notebook displays it.

        Raises:
            ConfigError: If the port is no positive whole number.
            ModelError: If the trajectory belongs to another model.
            ContactStackError: If the libraries that draw are not installed.
        """
        with needs("page"):
            from tamsi_sim.viewer.player import Player

        return Player(self, trajectory, port, collisions)
