"""Encounters: an arm that is not as described meets hands and edges, and what comes of it.

An episode is drawn from a seed: the arm and how wrong it is, what it does, and what touches it
where, when, how fast and how stiffly. No force moves a hand or an edge, but a hand that meets more
than STRONGEST goes no further.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin

from contact_aware_control.estimation import EstimatorConfig
from contact_aware_control.estimation.calibration import Calibration, link_masses
from contact_aware_control.estimation.surface import (
    new_placement,
    place,
    sample,
    surface_of_robot,
    to_world,
)
from contact_aware_control.reference import JointTrajectory
from contact_aware_control.reference.motion import Motion
from contact_core.base.seeds import generator
from contact_core.multibody.collision.signed_distance import signed_distance
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ObjectConfig, SurfaceConfig
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_experiments.control.moving_ball import Stay
from contact_experiments.control.trial import controller_config
from contact_experiments.control.wrong_arm import ArmFaults, calibrate
from contact_stack.demo.contact_tracking.variants import VARIANTS
from tamsi_sim.robot.plant import Plant

ROBOTS = ("iiwa14_wsg50", "iiwa7_wsg50", "fr3_wsg50", "ur5e_wsg50")
ARMS = (0.1, 0.4, 0.7, 1.0)
"""Joint friction of the arms of each kind, at most [Nm]; in every other one torques show it."""
UNDECLARED = 1.0
"""Mass of a tool that nobody has declared [kg]."""
HOW_MANY, CHANCES = (0, 1, 2, 3), (0.25, 0.4, 0.25, 0.1)
"""Contacts of an episode, and how likely that is."""
SHAPES = {"hand": ("urdf/ball.urdf", 0.04), "edge": ("urdf/post.urdf", 0.02)}
"""Shape of an obstacle -> its model, and the distance of its middle from its surface [m]."""
CORNER = math.sqrt(2.0)
HALF_POST = 0.2
"""[m]."""
CLEARANCE = 0.05
"""How far a hand comes from [m]."""
MISSED = 0.2
"""It turns back if it has touched nothing after this way [m]."""
STRONGEST = 300.0
"""[N]."""
RIGID = 1e7
"""Stiffness of the arm's surface: the obstacle's is that of the contact [N/m]."""
SLOWEST_MEETING = 0.05
"""Speed of a link that may meet an edge which stands [m/s]."""
TRIES = 8
"""Draws of what the arm is to meet, before it meets nothing."""
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Intruder:
    """What touches the arm; world frame.

    Attributes:
        link: Name of the link that it touches; no other is in its way.
        shape: One of SHAPES.
        stiffness: k [N/m].
        point: (3) where it is to touch, on the way of the arm as it is planned [m].
        along: (3) unit vector of its motion, into the arm.
        normal: (3) outward normal of the surface there.
        turn: (3) roll, pitch, yaw of an edge [rad].
        reach: Distance of its middle from what touches [m].
        speed: v [m/s]; 0 for what stands, which the arm meets.
        begins: When it is to touch [s].
        stroke: How far it goes from the first touch on [m].
        stay: How long it stays there [s].
    """

    link: str
    shape: str
    stiffness: float
    point: Vector
    along: Vector
    normal: Vector
    turn: Vector
    reach: float
    speed: float
    begins: float
    stroke: float
    stay: float

    @property
    def ends(self) -> float:
        """When it has gone, about [s]."""
        back = (self.stroke + CLEARANCE) / self.speed if self.speed else 0.0
        return self.begins + back + self.stay + back

    def config(self) -> ObjectConfig:
        """Return where it starts."""
        middle = np.array(self.point) + self.reach * np.array(self.normal)
        if self.speed:
            middle = middle - CLEARANCE * np.array(self.along)
        if self.shape == "edge":
            middle = middle - HALF_POST * pin.rpy.rpyToMatrix(*self.turn)[:, 2]
        return ObjectConfig(
            urdf=SHAPES[self.shape][0], kinematic=True, xyz=tuple(middle.tolist()), rpy=self.turn
        )


@dataclass(frozen=True)
class Episode:
    """A run of an arm, drawn from a seed.

    Attributes:
        robot: Its file.
        seed: Of everything.
        arm: Which of the ARMS of this kind.
        tool: Mass of a tool that nobody has declared [kg].
        start: (n) where the arm is at first [rad].
        times: Of the points of its motion [s].
        points: (p, n) these points [rad]; it comes to rest at each.
        obstacles: What touches it.
        duration: [s].
    """

    robot: str
    seed: int
    arm: int
    tool: float
    start: tuple[float, ...]
    times: tuple[float, ...]
    points: tuple[tuple[float, ...], ...]
    obstacles: tuple[Intruder, ...]
    duration: float

    @property
    def faults(self) -> ArmFaults:
        """How wrong the arm is."""
        return faults_of(self.arm)

    def motion(self) -> JointTrajectory:
        """Return what the arm is to do."""
        still = np.zeros((len(self.times), len(self.start)))
        return JointTrajectory(self.times, np.array(self.points), still, still)

    def scene(self) -> Scene:
        """Build the scene."""
        scene = self.faults.scene("free_space", self.arm, self.robot)
        arm = dataclasses.replace(scene.config.robot, initial_positions=self.start)
        if self.tool:
            mass = tool_mass(self.robot)
            ratio = arm.errors.tool_mass_ratio + self.tool / mass
            arm = dataclasses.replace(
                arm, errors=dataclasses.replace(arm.errors, tool_mass_ratio=ratio)
            )
        names = [f"obstacle_{i}" for i in range(len(self.obstacles))]
        config = dataclasses.replace(
            scene.config,
            robot=arm,
            may_touch=tuple(
                f"{o.link} / {name}" for name, o in zip(names, self.obstacles, strict=True)
            ),
        )
        surfaces = {
            name: SurfaceConfig(of=(name,), stiffness=o.stiffness)
            for name, o in zip(names, self.obstacles, strict=True)
        }
        return dataclasses.replace(
            scene,
            config=config,
            objects={name: o.config() for name, o in zip(names, self.obstacles, strict=True)},
            surfaces={**surfaces, "arm": SurfaceConfig(of=("robot",), stiffness=RIGID)},
        )


def faults_of(arm: int) -> ArmFaults:
    """Return how wrong an arm is: friction, masses by 5 %, torques 10 ms late."""
    return ArmFaults(
        friction=ARMS[arm], seen=arm % 2 == 0, tool=0.05, tilt=0.0, drift=0.0, delay=0.01
    )


@lru_cache
def arm_of(robot: str) -> Robot:
    """Return an arm as described."""
    return Robot.from_description(RobotDescription.load(robot))


@lru_cache
def tool_mass(robot: str) -> float:
    """Return what an arm carries at its flange as described [kg]."""
    bare = Robot.from_description(RobotDescription.load(robot.removesuffix("_wsg50")))
    return float(link_masses(arm_of(robot))[-1] - link_masses(bare)[-1])


def calibrated(robot: str, arm: int) -> Calibration:
    """Calibrate an arm, without a tool that nobody will declare.

    Args:
        robot: Its file.
        arm: Which of the ARMS.
    """
    return calibrate(faults_of(arm), "free_space", arm, robot_name=robot)[0]


def draw_episode(robot: str, seed: int) -> Episode:
    """Draw an episode.

    Args:
        robot: Its file.
        seed: Of everything.
    """
    rng = generator(seed, f"episode of {robot}")
    arm = arm_of(robot)
    home = np.array(Scene.load("free_space", robot).config.robot.initial_positions)
    lower, upper = arm.position_limits
    start, there = (
        np.clip(home + rng.uniform(-0.4, 0.4, arm.n), lower + 0.1, upper - 0.1) for _ in range(2)
    )
    moves = bool(rng.random() < 0.5)
    travel = 1.875 * float(np.abs(there - start).max()) / rng.uniform(0.15, 0.4)
    times, points = [0.0, 1.0], [start, start]
    if moves:
        times += [1.0 + travel, 2.5 + travel, 2.5 + 2.0 * travel]
        points += [there, there, start]
    plan = JointTrajectory(times, np.array(points), *np.zeros((2, len(times), arm.n)))
    obstacles, time = [], 1.0 + rng.uniform(0.2, 1.0)
    for _ in range(rng.choice(HOW_MANY, p=CHANCES)):
        stands = moves and bool(rng.random() < 0.5)
        drawn = (_draw_obstacle(arm, plan, time, stands, rng) for _ in range(TRIES))
        obstacle = next((o for o in drawn if o is not None and _starts_clear(arm, start, o)), None)
        if obstacle is None:
            continue
        obstacles.append(obstacle)
        both = rng.random() < 0.5  # the next one comes while this one stays, or after it
        end = obstacle.ends
        time = obstacle.begins + 0.5 * obstacle.stay if both else end + rng.uniform(0.7, 1.5)
    return Episode(
        robot=robot,
        seed=seed,
        arm=int(rng.integers(len(ARMS))),
        tool=UNDECLARED if rng.random() < 0.1 else 0.0,
        start=tuple(start.tolist()),
        times=tuple(times),
        points=tuple(tuple(point.tolist()) for point in points),
        obstacles=tuple(obstacles),
        duration=max([plan.duration, 4.0, *(o.ends for o in obstacles)]) + 1.5,
    )


def _draw_obstacle(
    arm: Robot, plan: JointTrajectory, time: float, stands: bool, rng: np.random.Generator
) -> Intruder | None:
    """Draw an obstacle of a link; None if the arm meets nothing where one was to stand."""
    links = [shape.body for shape in arm.collision_shapes if arm.joints_moving(shape.body) >= 2]
    link = str(rng.choice(sorted(set(links))))
    if stands:
        time = plan.times[1] + rng.uniform(0.3, 0.8) * (plan.times[2] - plan.times[1])
    arm.update(plan.sample(time))
    surface, _ = surface_of_robot(arm)
    own = np.array([name == link for name in _bodies(arm)])
    area = np.diff(surface.cumulative_area, prepend=0.0) * own
    surface = surface._replace(cumulative_area=np.cumsum(area) / area.sum())
    placement = new_placement(surface)
    place(surface, arm.joint_rotations, arm.joint_origins, placement)
    shape, x, y, z, *normal_of_shape = sample(surface, placement, rng)
    point = np.array(to_world(placement, shape, x, y, z))
    normal = placement.rotation[shape] @ np.array(normal_of_shape)
    tilt = np.cross(normal, rng.standard_normal(3))
    along = -normal + 0.3 * rng.random() * tilt / np.linalg.norm(tilt)
    if stands:
        rate = (plan.sample(time + 1e-3) - plan.sample(time - 1e-3)) / 2e-3
        if normal @ arm.point_jacobian(link, point) @ rate < SLOWEST_MEETING:
            return None
    kind = str(rng.choice(sorted(SHAPES)))
    reach, turn = SHAPES[kind][1], np.zeros(3)
    if kind == "edge":
        axis = np.cross(normal, rng.standard_normal(3))
        axis /= np.linalg.norm(axis)
        sharp = bool(rng.random() < 0.5)
        angle, reach = (0.25 * np.pi, reach * CORNER) if sharp else (0.0, reach)
        first = pin.exp3(angle * axis) @ normal
        turn = pin.rpy.matrixToRpy(np.column_stack((first, np.cross(axis, first), axis)))
    return Intruder(
        link=link,
        shape=kind,
        stiffness=float(10.0 ** rng.uniform(3.0, 5.0)),
        point=tuple(point.tolist()),
        along=tuple((along / np.linalg.norm(along)).tolist()),
        normal=tuple(normal.tolist()),
        turn=(float(turn[0]), float(turn[1]), float(turn[2])),
        reach=reach,
        speed=0.0 if stands else float(np.exp(rng.uniform(np.log(0.05), np.log(0.5)))),
        begins=time,
        stroke=float(rng.uniform(0.02, 0.12)),
        stay=float(rng.uniform(1.5, 3.0)),
    )


def _starts_clear(arm: Robot, start: np.ndarray, obstacle: Intruder) -> bool:
    """Tell whether an obstacle is away from its link at first."""
    arm.update(start)
    where = obstacle.config()
    points = np.zeros((1, 3))
    if obstacle.shape == "edge":
        along = np.linspace(0.0, 2.0 * HALF_POST, 41)
        points = np.stack(np.meshgrid(0.0, 0.0, along), axis=-1).reshape(-1, 3)
    points = points @ pin.rpy.rpyToMatrix(*where.rpy).T + np.array(where.xyz)
    reach = SHAPES[obstacle.shape][1] * (CORNER if obstacle.shape == "edge" else 1.0)
    for shape in arm.collision_shapes:
        if shape.body == obstacle.link:
            pose = arm.link_pose(shape.body) * shape.placement
            kind, size = int(shape.shape.kind), np.array(shape.shape.size, dtype=float)
            for x, y, z in (points - pose.translation) @ pose.rotation:
                if signed_distance(kind, size, x, y, z)[0] < reach + 0.1 * CLEARANCE:
                    return False
    return True


def _bodies(arm: Robot) -> list[str]:
    return [s.body for s in arm.collision_shapes if arm.joints_moving(s.body) > 0]


class PlannedMotion(Stay):
    """What the arm of an episode is to do."""

    duration: ClassVar[float] = 60.0

    def __init__(self, episode: Episode) -> None:
        """Take the episode."""
        super().__init__()
        self._episode = episode

    def motion(self, robot: Robot, q: np.ndarray) -> Motion:
        """Return the motion, see :meth:`Experiment.motion`."""
        return self._episode.motion()


@dataclass(frozen=True)
class Pressed:
    """What an obstacle does to the arm in one tick; world frame.

    Attributes:
        point: (3) where its forces act on average [m].
        force: (3) on the robot [N].
    """

    point: np.ndarray
    force: np.ndarray


class EncounterRun:
    """One episode under one controller.

    Attributes:
        episode: What happens.
        run: The closed loop.
        pressed: Tick by tick, what each obstacle does to the arm, None for nothing.
        positions: Tick by tick, q (n) [rad].
        errors: Tick by tick, covariance (n, n) of what the estimator doubts in the torques beside
            noise [Nm^2].
    """

    def __init__(
        self,
        episode: Episode,
        calibration: Calibration | None,
        controller: str = "qp",
        config: EstimatorConfig | None = None,
    ) -> None:
        """Build everything.

        Args:
            episode: What happens.
            calibration: What the estimator knows of the arm; None: nothing.
            controller: One of VARIANTS.
            config: The estimator's parameters.
        """
        self.episode = episode
        self.run = ClosedLoopRun(
            controller_config(VARIANTS[controller].values),
            PlannedMotion(episode),
            seed=episode.seed,
            scene=episode.scene(),
            estimator=config,
            calibrated=False,
            calibration=calibration,
            clock_waits=True,
            before_tick=self._drive,
        )
        count = len(episode.obstacles)
        self.pressed: list[list[Pressed | None]] = []
        self.positions: list[np.ndarray] = []
        self.errors: list[np.ndarray] = []
        self._touched: list[float | None] = [None] * count
        self._gone, self._full = np.zeros(count), np.zeros(count, dtype=bool)

    def execute(self) -> Any:
        """Run it; once. Return the ticks."""
        return self.run.run(self.episode.duration)

    def _drive(self, plant: Plant, time: float) -> None:
        """Look at what touches the arm, and move what moves."""
        truth, built = plant.truth(), plant.engine.built
        self.positions.append(truth.joint_position[: plant.n])
        estimator: Any = self.run.estimator
        self.errors.append(estimator.torque_errors)
        now: list[Pressed | None] = []
        for i, obstacle in enumerate(self.episode.obstacles):
            name = f"obstacle_{i}"
            points = [c for c in truth.contacts if c.body == name and c.force.any()]
            sizes = [float(np.linalg.norm(c.force)) for c in points]
            pressing = sum(sizes)
            if pressing > 0.0:
                point = np.average([c.point for c in points], axis=0, weights=sizes)
                now.append(Pressed(point, np.sum([c.force for c in points], axis=0)))
                if self._touched[i] is None:
                    self._touched[i] = time
            else:
                now.append(None)
            self._full[i] |= pressing > STRONGEST
            speed = self._speed(i, obstacle, time)
            self._gone[i] += speed * self.run.loop.config.period
            dof = built.free_bodies[name][1]
            plant.engine.v[dof : dof + 3] = speed * np.array(obstacle.along)
        self.pressed.append(now)

    def _speed(self, i: int, obstacle: Intruder, time: float) -> float:
        """Return how fast an obstacle moves now [m/s], less than zero on its way back."""
        speed, touched = obstacle.speed, self._touched[i]
        if speed == 0.0 or time < obstacle.begins - CLEARANCE / speed:
            return 0.0
        if touched is None:
            # From where it has met nothing it goes back at once.
            if self._gone[i] < MISSED:
                return speed
            self._touched[i] = touched = -math.inf
        pushed = max(touched, obstacle.begins) + obstacle.stroke / speed
        if time < pushed:
            return 0.0 if self._full[i] else speed
        if time < pushed + obstacle.stay:
            return 0.0
        return -speed if self._gone[i] > 0.0 else 0.0
