"""A ball that moves pushes a link of the arm, stays, and withdraws: no force moves the ball.

It stands for a hand, a cart or a door, which do not give way. Its line leads through the middle
of the link's collision shape. What the arm can do against it is bounded from two sides: until
the arm has been seen to be touched the impact is that of two masses, about v sqrt(k m_eff); and
the contact yields at most at its :func:`yield_speed`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin

from contact_aware_control.config import ControllerConfig
from contact_aware_control.estimation import EstimatorConfig
from contact_aware_control.reference import JointTrajectory
from contact_aware_control.reference.motion import Motion
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ObjectConfig
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_stack.demo.contact_tracking.experiments import Experiment
from contact_stack.demo.contact_tracking.statistics import ExperimentData
from tamsi_sim.robot.plant import Plant

BALL = "ball"
RADIUS = 0.04
"""Of the ball of description/urdf/ball.urdf [m]."""
STIFFNESS = 1e4
"""Of the contact: two surfaces of the default stiffness in series [N/m]."""
CLEARANCE = 0.05
"""Between the ball's surface and the sphere around the link's shape, at the start [m]."""
FIRST_HIT = 0.3
"""The impact ends this long after the first touch, as in ``statistics`` [s]."""
GAP = 0.05
"""A touch after a shorter time without one belongs to the one before [s]."""
ELBOW = "lbr_link_4"
"""Its frame is at the elbow."""
FORWARD = (1.0, 0.0, 0.0)
BACKWARD = (-1.0, 0.0, 0.0)
SIDEWAYS = (0.0, 1.0, 0.0)
DOWNWARD = (0.0, 0.0, -1.0)


@dataclass(frozen=True)
class BallPush:
    """What the ball does.

    Attributes:
        link: Name of the link that it pushes.
        direction: (3) of its motion, world frame.
        speed: v [m/s], also on its way back.
        stroke: How far it goes from the first touch on [m].
        stay: How long it stays there [s].
    """

    link: str
    direction: tuple[float, float, float]
    speed: float
    stroke: float = 0.2
    stay: float = 1.5

    @property
    def duration(self) -> float:
        """Time from the ball's start, if it starts CLEARANCE away, until it is back there [s]."""
        return 2.0 * (self.stroke + CLEARANCE) / self.speed + self.stay


class Stay(Experiment):
    """The arm is to stay where it is."""

    scene = "free_space"
    duration: ClassVar[float] = 20.0
    phases: ClassVar = {}
    passes: ClassVar = {}

    def motion(self, robot: Robot, q: np.ndarray) -> Motion:
        """Return a reference that rests, see :meth:`Experiment.motion`."""
        return JointTrajectory([0.0, self.duration], np.array([q, q]))

    def outcome(self, pose_of: Callable[[str], pin.SE3]) -> dict[str, Any]:
        """Return that there is no mug, see :meth:`Experiment.outcome`."""
        return {"mug": {"tilt_rad": None, "on_cart": None}}


class SlowMotion(Stay):
    """The arm turns about its base and stretches a little, at 0.05 rad/s."""

    CHANGE = (0.8, 0.2, 0.0, 0.2, 0.0, 0.0, 0.0)
    """Of the joints, from the start to the end [rad]."""
    TRAVEL = 16.0
    """Time that it takes [s]."""

    def motion(self, robot: Robot, q: np.ndarray) -> Motion:
        """Return the motion, see :meth:`Experiment.motion`."""
        return JointTrajectory([0.0, self.TRAVEL], np.array([q, q + np.array(self.CHANGE)]))


@dataclass(frozen=True)
class PushFigures:
    """What came of a push; forces are the simulator's [N].

    Attributes:
        yield_speed: At which the touched point can give way, see :func:`yield_speed` [m/s].
        impact: v sqrt(k m_eff), the peak force of an impact of the arm as it rests.
        peak: Largest force.
        p50: Median from FIRST_HIT after the first touch until the ball withdraws.
        p99: Its 99th percentile.
        bounces: How often the contact was lost for GAP and came back, until it withdraws.
        second_hits: How often it came back after the ball had withdrawn.
        second_peak: Largest force then.
        back_after: Time from the end of contact until the tool is within 1 cm of its path and
            stays there [s]; inf: never.
        return_speed: Largest speed of tool and elbow after the end of contact [m/s].
        displacement: Largest distance of the tool from its path [m].
        statuses: Names of the statuses of the run, in the order in which they came.
    """

    yield_speed: float
    impact: float
    peak: float
    p50: float
    p99: float
    bounces: int
    second_hits: int
    second_peak: float
    back_after: float
    return_speed: float
    displacement: float
    statuses: tuple[str, ...]


class BallRun:
    """One push, of an arm that follows a reference.

    Attributes:
        push: What the ball does.
        run: The closed loop.
    """

    def __init__(
        self,
        push: BallPush,
        experiment: Experiment | None = None,
        controller: ControllerConfig | None = None,
        *,
        estimator: str = "contact_particle_filter",
        seed: int = 0,
        **options: Any,
    ) -> None:
        """Build everything.

        Args:
            push: What the ball does.
            experiment: What the arm does, by default :class:`Stay`.
            controller: The controller's parameters.
            estimator: Name of the estimator, ``truth`` among them.
            seed: Of sensor noise and particles.
            options: More for the :class:`ClosedLoopRun`.
        """
        self.push = push
        experiment = experiment or Stay()
        scene = Scene.load(experiment.scene)
        self._robot = Robot.from_description(scene.robot)
        self._armature = np.array(scene.config.robot.effective_armature)
        self._robot.update(np.array(scene.config.robot.initial_positions))
        self._along = np.array(push.direction) / np.linalg.norm(push.direction)
        (shape, *_) = (s for s in self._robot.collision_shapes if s.body == push.link)
        middle = (self._robot.link_pose(push.link) * shape.placement).translation
        start = middle - (shape.shape.bounding_radius + RADIUS + CLEARANCE) * self._along
        ball = ObjectConfig(urdf="urdf/ball.urdf", kinematic=True, xyz=tuple(start.tolist()))
        # Nothing but the pushed link: others would be in the way.
        config = dataclasses.replace(scene.config, may_touch=(f"{push.link} / {BALL}",))
        scene = dataclasses.replace(scene, config=config, objects={**scene.objects, BALL: ball})
        self.run = ClosedLoopRun(
            controller or ControllerConfig(),
            experiment,
            seed=seed,
            scene=scene,
            estimator=EstimatorConfig(estimator=estimator),
            clock_waits=True,
            before_tick=self._drive,
            **options,
        )
        self._touched: float | None = None
        self._row = np.zeros(self._robot.n)
        self._mass = 0.0

    def execute(self, until: float = math.inf) -> tuple[ExperimentData, PushFigures]:
        """Run it; once.

        Args:
            until: When it ends, if that is before the experiment's end [s].

        Returns:
            The ticks, and what came of them.
        """
        data = self.run.run(until)
        return data, self._figures(data)

    @property
    def withdrawal(self) -> float:
        """When the ball begins to withdraw, from the start of the motion [s]; inf: never."""
        if self._touched is None:
            return np.inf
        return self._touched + self.push.stroke / self.push.speed + self.push.stay

    def _drive(self, plant: Plant, time: float) -> None:
        """Set the ball's velocity."""
        push = self.push
        if self._touched is None:
            for contact in plant.truth().contacts:
                if contact.body == BALL:
                    self._touched = time
                    self._measure(plant, contact.link, contact.point, contact.normal)
        speed = push.speed
        if self._touched is not None:
            pushed = self._touched + push.stroke / push.speed
            back = self.withdrawal + (push.stroke + CLEARANCE) / push.speed
            speed *= float(time < pushed) - float(self.withdrawal <= time < back)
        dof = plant.engine.built.free_bodies[BALL][1]
        plant.engine.v[dof : dof + 3] = speed * self._along

    def _measure(self, plant: Plant, link: str, point: np.ndarray, normal: np.ndarray) -> None:
        """Take what bounds force and speed from where the link is touched."""
        q = plant.truth().joint_position[: self._robot.n]
        self._robot.update(q)
        self._row = self._robot.torque_of_force(link, point, normal)
        self._mass = effective_mass(self._robot, self._armature, q, self._row)

    def _figures(self, data: ExperimentData) -> PushFigures:
        assert self._touched is not None, "the ball has missed the arm"
        time, force = data.time, data.force
        # The simulator ramps the ball's velocity within the tick that is told it.
        pushing = (time > self._touched + FIRST_HIT) & (time <= self.withdrawal)
        after = time > self.withdrawal
        touches = _touches(time, force > 0.0)
        ends = [end for begin, end in touches if begin <= self.withdrawal]
        free = time > ends[-1]
        again = [k for k in touches if k[0] > ends[-1]]
        points = self._points(data)
        speeds = np.linalg.norm(np.diff(points, axis=0), axis=2).max(axis=1) / data.period
        far = np.flatnonzero(data.position_error > 0.01)
        back = time[far[-1]] if len(far) else ends[-1]
        names = dict.fromkeys(s.status.name for s in self.run.status)
        return PushFigures(
            yield_speed=yield_speed(self._robot, self.run.loop.config, self._row),
            impact=self.push.speed * float(np.sqrt(STIFFNESS * self._mass)),
            peak=float(force.max()),
            p50=float(np.percentile(force[pushing], 50)),
            p99=float(np.percentile(force[pushing], 99)),
            bounces=sum(begin <= self.withdrawal for begin, _ in touches) - 1,
            second_hits=len(again),
            second_peak=float(force[free & after].max(initial=0.0)),
            back_after=float(np.inf if back >= time[-1] else max(0.0, back - ends[-1])),
            return_speed=float(speeds[free[1:]].max(initial=0.0)),
            displacement=float(data.position_error.max()),
            statuses=tuple(names),
        )

    def _points(self, data: ExperimentData) -> np.ndarray:
        """Return tool and elbow, (ticks, 2, 3) [m]."""
        points = np.empty((len(data.time), 2, 3))
        for k, q in enumerate(data.joint_position[:, : self._robot.n]):
            self._robot.update(q)
            points[k] = (
                self._robot.tool_pose().translation,
                self._robot.link_pose(ELBOW).translation,
            )
        return points


def yield_speed(robot: Robot, config: ControllerConfig, row: np.ndarray) -> float:
    """Return the largest speed along a normal at which a contact can give way [m/s].

    Args:
        robot: The arm.
        config: Has the share of the joint velocity limits for giving way.
        row: (n) u^T J_C of the contact [m/rad].
    """
    return float(config.limits.yielding_fraction * np.abs(row) @ robot.velocity_limits)


def effective_mass(robot: Robot, armature: np.ndarray, q: np.ndarray, row: np.ndarray) -> float:
    """Return the mass that an impact along a normal meets [kg].

    Args:
        robot: The arm.
        armature: (n) of its rotors, as contacts feel them [kg m^2].
        q: (n) [rad].
        row: (n) u^T J_C of the contact [m/rad], not zero.
    """
    model = robot.model
    inertia = pin.crba(model, model.createData(), q)
    inertia = np.triu(inertia) + np.triu(inertia, 1).T + np.diag(armature)
    return 1.0 / float(row @ np.linalg.solve(inertia, row))


def _touches(time: np.ndarray, touching: np.ndarray) -> list[tuple[float, float]]:
    """Return (begin, end) of every contact [s]; gaps shorter than GAP are none."""
    found: list[tuple[float, float]] = []
    for now in time[touching]:
        if found and now - found[-1][1] < GAP:
            found[-1] = found[-1][0], float(now)
        else:
            found.append((float(now), float(now)))
    return found
