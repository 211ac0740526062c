"""What sensors measure of a simulation, with their faults: joint torque, force and torque, IMU.

They measure the last step: its mean forces and accelerations, in its initial configuration, where
Newton's and Euler's laws hold as the step solved them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from contact_core.base.errors import ConfigError, ModelError, choices, real_number, whole_number
from contact_core.multibody.rigid_body.joints import FREE
from tamsi_sim.arrays.data import LAST, STEPS, Work
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.arrays.workspace import body_pose
from tamsi_sim.scheme.advance import advance
from tamsi_sim.simulation.model import BuiltModel
from tamsi_sim.simulation.sensor_noise import SensorChannel, SensorNoise


class StepMotion:
    """Accelerations of the bodies in a step, and the wrenches that carry them (Newton-Euler).

    Attributes:
        rate: (nb, 6) spatial velocities of the bodies at the end of the step.
        velocity: (nb, 6) at its start.
        acceleration: (nb, 6) mean spatial accelerations.
        wrench: (nb, 6) moment about the world's origin [Nm] and force [N] that a body's parent
            exerts on it.
    """

    def __init__(self, built: BuiltModel, work: Work, before: np.ndarray, time_step: float) -> None:
        """Evaluate a step.

        Args:
            built: The model.
            work: Its workspace after the step.
            before: (nv) velocity before the step.
            time_step: h [s].
        """
        kinematics, v = work.kinematics, work.state.v
        self._built, self._work = built, work
        self.velocity = kinematics.velocity
        self.rate = self._spatial(v)
        self.acceleration = kinematics.acceleration + self._spatial((v - before) / time_step)
        self.wrench = self._inertial_wrenches()
        self._subtract_contacts()
        for body in range(len(self.wrench) - 1, -1, -1):
            parent = built.arrays.bodies.parent[body]
            if parent >= 0:
                self.wrench[parent] += self.wrench[body]

    def point_acceleration(self, body: int | slice, point: np.ndarray) -> np.ndarray:
        """Return the acceleration of a body's point (3), or of one of each (n, 3), world [m/s^2].

        Args:
            body: The body, or n bodies.
            point: (3) or (n, 3) world [m].
        """
        (angular, linear), (alpha, a) = (
            (motion[body, :3], motion[body, 3:]) for motion in (self.velocity, self.acceleration)
        )
        moved = linear + _cross(angular, point)
        return np.asarray(a + _cross(alpha, point) + _cross(angular, moved))

    def _spatial(self, rates: np.ndarray) -> np.ndarray:
        """Sum of the motion columns times generalised rates, along each body's chain."""
        bodies = self._built.arrays.bodies
        columns = self._work.kinematics.motion * rates[bodies.column_dof][:, None]
        total = np.add.reduceat(columns, bodies.first_column, axis=0)
        for body, parent in enumerate(bodies.parent):
            if parent >= 0:
                total[body] += total[parent]
        return total

    def _inertial_wrenches(self) -> np.ndarray:
        inertias, kinematics = self._built.arrays.inertias, self._work.kinematics
        turn = kinematics.rotation
        centers = kinematics.position + np.einsum("bij,bj->bi", turn, inertias.center)
        inertia = turn @ inertias.inertia @ turn.transpose(0, 2, 1)
        angular, alpha = self.velocity[:, :3], self.acceleration[:, :3]
        acceleration = self.point_acceleration(slice(None), centers)
        force = inertias.mass[:, None] * (acceleration - self._built.gravity)
        spin = np.einsum("bij,bj->bi", inertia, angular)
        moment = np.einsum("bij,bj->bi", inertia, alpha) + _cross(angular, spin)
        return np.hstack([moment + _cross(centers, force), force])

    def _subtract_contacts(self) -> None:
        """Leave what the parents exert, without what contacts and loop closures do."""
        work, owner = self._work, self._built.arrays.geometry.body
        count = min(int(work.contacts.number[0]), len(work.contacts.depth))
        shapes = work.pairs.shapes[work.contacts.pair[:count]]
        frame, point = work.contacts.frame[:count], work.contacts.point[:count]
        force, moment = (
            np.einsum("cij,ci->cj", frame[: len(mean)], mean[:count])
            for mean in (work.contact_forces.mean_force, work.contact_moments.mean_moment)
        )
        wrench = np.hstack([_cross(point, force), force])
        wrench[: len(moment), :3] += moment
        closures = work.closure_forces
        held, twisted = np.split(closures.mean_force, 2, axis=1)
        for side, sign in ((0, 1.0), (1, -1.0)):
            self._subtract(owner[shapes[:, side]], sign * wrench)
            moment = twisted + _cross(closures.position[:, side], held)
            ends = self._built.arrays.closures.body[:, side]
            self._subtract(ends, sign * np.hstack([moment, held]))

    def _subtract(self, bodies: np.ndarray, wrench: np.ndarray) -> None:
        """Leave out wrenches (n, 6) on bodies (n), -1 for the world."""
        moving = bodies >= 0
        np.subtract.at(self.wrench, bodies[moving], wrench[moving])


_PERMUTATIONS = np.array(
    [[[0, 0, 0], [0, 0, 1], [0, -1, 0]], [[0, 0, -1], [0, 0, 0], [1, 0, 0]],
     [[0, 1, 0], [-1, 0, 0], [0, 0, 0]]], dtype=float,
)  # fmt: skip


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products (..., 3); NumPy's own takes much longer for a few."""
    return np.asarray(np.einsum("ijk,...j,...k->...i", _PERMUTATIONS, a, b))


class Sensor(Protocol):
    """What a sensor measures, without faults.

    Attributes:
        size: How many values a sample has.
    """

    size: ClassVar[int]

    def check(self, built: BuiltModel) -> None:
        """Raise a ModelError if it cannot be mounted."""

    def measure(self, built: BuiltModel, work: Work, motion: StepMotion) -> np.ndarray:
        """Return the true values (size) of the last step."""


@dataclass(frozen=True)
class JointTorque:
    """The torque or force [Nm or N] with which a joint moves its links.

    It sits behind the gear, so that rotor inertia is on the other side; contact, and weight that a
    controller compensates, are measured. Joints that follow the joint are included.

    Attributes:
        joint: A key of ``BuiltModel.joints``.
    """

    size: ClassVar[int] = 1
    joint: str

    def check(self, built: BuiltModel) -> None:
        """Raise a ModelError if there is no such joint."""
        if self.joint not in built.joints:
            raise ModelError(f"no joint '{self.joint}' ({choices(built.joints)})")

    def measure(self, built: BuiltModel, work: Work, motion: StepMotion) -> np.ndarray:
        """Return the torque (1)."""
        bodies = built.arrays.bodies
        own = bodies.column_dof[bodies.first_column] == built.joints[self.joint]
        axes = work.kinematics.motion[bodies.first_column[own]]
        return np.array([np.sum(axes * motion.wrench[own])])


@dataclass(frozen=True)
class ForceTorque:
    """Force [N] and torque [Nm] that a link's parent exerts on it, at its origin, in its axes.

    Links that are fixed to each other are one body: what is measured passes the joint that
    carries it.

    Attributes:
        instance: The instance.
        link: Its link.
    """

    size: ClassVar[int] = 6
    instance: str
    link: str

    def check(self, built: BuiltModel) -> None:
        """Raise a ModelError if there is no such link, or no joint carries it."""
        body, _ = built.link((self.instance, self.link))
        if body < 0 or built.arrays.bodies.joint_type[body] == FREE:
            raise ModelError(f"no joint carries '{self.instance}/{self.link}': no force to measure")

    def measure(self, built: BuiltModel, work: Work, motion: StepMotion) -> np.ndarray:
        """Return force and torque (6)."""
        body, place = built.link((self.instance, self.link))
        pose = body_pose(work, body) * place
        moment, force = motion.wrench[body, :3], motion.wrench[body, 3:]
        moment = moment - _cross(pose.translation, force)
        return np.concatenate([pose.rotation.T @ force, pose.rotation.T @ moment])


@dataclass(frozen=True)
class Imu:
    """Specific force [m/s^2] and rotation rate [rad/s] at a link's origin, in its axes.

    Specific force is acceleration less gravity: zero in free fall, upwards at rest.

    Attributes:
        instance: The instance.
        link: Its link.
    """

    size: ClassVar[int] = 6
    instance: str
    link: str

    def check(self, built: BuiltModel) -> None:
        """Raise a ModelError if there is no such link."""
        built.link((self.instance, self.link))

    def measure(self, built: BuiltModel, work: Work, motion: StepMotion) -> np.ndarray:
        """Return specific force and rotation rate (6)."""
        body, place = built.link((self.instance, self.link))
        pose = body_pose(work, body) * place
        rate, acceleration = np.zeros(3), np.zeros(3)
        if body >= 0:
            rate = motion.rate[body, :3]
            acceleration = motion.point_acceleration(body, pose.translation)
        turn = pose.rotation.T
        return np.concatenate([turn @ (acceleration - built.gravity), turn @ rate])


MAX_STEPS = 1_000_000
"""From one sample to the next."""


@dataclass
class _State:
    """What a sensor remembers: its channel, steps until the next sample, and the last sample."""

    channel: SensorChannel
    wait: int
    value: np.ndarray


@dataclass(frozen=True)
class _Mounted:
    """A sensor with its name, faults, steps from sample to sample, and seed."""

    name: str
    sensor: Sensor
    noise: SensorNoise
    steps: int
    seed: int

    def start(self, time_step: float) -> _State:
        """Return the state of a sensor that has not measured."""
        size, period = self.sensor.size, self.steps * time_step
        channel = SensorChannel(self.noise, size, period, self.seed, f"sensor {self.name}")
        return _State(channel, self.steps, np.full(size, np.nan))


class Sensors(Mapping[str, np.ndarray]):
    """Last samples of an engine's sensors by name; NaN before the first.

    ``Engine.step`` samples, each sensor after so many steps; ``simulate``, ``roll``, ``rollouts``
    and ``linearize`` do not. ``save``, ``restore`` and ``reset`` include filters and noise.
    """

    def __init__(self, built: BuiltModel, time_step: float) -> None:
        """Start without any.

        Args:
            built: The model.
            time_step: h [s].
        """
        self._built, self._time_step = built, time_step
        self._mounted: dict[str, _Mounted] = {}
        self._states: dict[str, _State] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the last sample of a sensor.

        Raises:
            KeyError: If there is none of that name.
        """
        if name not in self._states:
            raise KeyError(f"no sensor '{name}' ({choices(self._states)})")
        return self._states[name].value.copy()

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._mounted)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._mounted)

    def add(
        self,
        name: str,
        sensor: Sensor,
        noise: SensorNoise | None = None,
        period: float | None = None,
        seed: int = 0,
    ) -> None:
        """Mount a sensor.

        Args:
            name: A name of its own.
            sensor: What it measures: a :class:`JointTorque`, :class:`ForceTorque` or :class:`Imu`.
            noise: Its faults; none if None.
            period: Time between two samples, a multiple of the time step [s]; the time step if
                None.
            seed: Seed of its noise, which also depends on its name.

        Raises:
            ConfigError: If the period is no multiple of the time step, the seed no whole number,
                or biases are too many or too few.
            ModelError: If the name is taken, or there is no such joint or link.
        """
        if name in self._mounted:
            raise ModelError(f"sensor '{name}' exists already ({choices(self)})")
        sensor.check(self._built)
        h = self._time_step
        given = h if period is None else real_number(period, f"period of sensor '{name}'")
        steps = round(max(0.0, min(given / h, MAX_STEPS)))
        if steps < 1 or abs(steps * h - given) > 1e-9:
            raise ConfigError(
                f"period of sensor '{name}' must be a multiple of {h:g} s, got {given:g}"
            )
        seed = whole_number(seed, f"seed of sensor '{name}'")
        mounted = _Mounted(name, sensor, noise or SensorNoise(), steps, seed)
        self._states[name] = mounted.start(h)
        self._mounted[name] = mounted

    def advance(self, simulation: Simulation, work: Work, steps: int) -> int:
        """Advance the simulation and sample.

        Args:
            simulation: The engine's simulation.
            work: Its workspace.
            steps: How many steps.

        Returns:
            The status of the last step, a StepStatus.
        """
        while steps > 0:
            some, start = min(steps, *(s.wait for s in self._states.values())), work.counters[STEPS]
            status = advance(simulation, some - 1)
            before, h = work.state.v.copy(), self._time_step
            if status == StepStatus.OK:
                status = advance(simulation, 1)
            if status != StepStatus.OK:
                # The last step is taken again in a larger workspace.
                if status == StepStatus.TOO_MANY_CONTACTS:
                    self._sample(work, int(work.counters[STEPS] - start), before, h)
                return status
            # With an accuracy, contacts are known of the last of our own steps.
            last = float(work.pace[LAST])
            self._sample(work, some, work.stash.v if last < h else before, last)
            steps -= some
        return int(StepStatus.OK)

    def _sample(self, work: Work, steps: int, before: np.ndarray, h: float) -> None:
        """Count steps, and sample the sensors that are due."""
        motion = None
        for name, state in self._states.items():
            state.wait -= steps
            if state.wait == 0:
                mounted = self._mounted[name]
                motion = motion or StepMotion(self._built, work, before, h)
                true = mounted.sensor.measure(self._built, work, motion)
                state.value, state.wait = state.channel.sample(true), mounted.steps

    def save(self) -> Mapping[str, object]:
        """Return what the sensors remember, for :meth:`restore`."""
        return deepcopy(self._states)

    def restore(self, states: Mapping[str, object]) -> None:
        """Go back to what the sensors remembered.

        Args:
            states: From :meth:`save`; sensors that are not in it start anew.
        """
        for name, mounted in self._mounted.items():
            saved = states.get(name)
            if isinstance(saved, _State) and len(saved.value) == mounted.sensor.size:
                self._states[name] = deepcopy(saved)
            else:
                self._states[name] = mounted.start(self._time_step)
