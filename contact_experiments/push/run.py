"""One push on a simulator: camera, planner, controller and arm, tick by tick, without ROS.

The camera sees the thing 30 times a second with noise, delay and dropouts; the planner looks 20
times a second at what the camera has seen last and where the arm is, and streams places of the
tool to the contact-aware controller, which bounds every force.
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.estimation import EstimatorConfig, make_estimator
from contact_aware_control.estimation.calibration import EXACT
from contact_aware_control.loop_state import LoopInputs
from contact_aware_control.targets import PoseTarget, StreamConfig, StreamedTargets
from contact_core.arm_state import ArmState
from contact_core.config import from_mapping, parameter
from contact_core.robot import Robot
from contact_core.scene import Scene
from contact_core.scene_config import ObjectConfig
from contact_core.seeds import generator
from contact_experiments.push.shapes import HEIGHT, Thing
from contact_experiments.push.task import PUSHER_RADIUS, STARTS, PushTask
from irs_planner.closed_loop import ClosedLoop, ClosedLoopSettings, Phase
from tamsi_sim.robot.plant import Plant

TABLE = 0.2
"""Height of the table's top [m]."""
DOWN = pin.rpy.rpyToMatrix(0.0, math.pi, 0.0)
"""Orientation of a rod that hangs down from an arm that stretches along x."""
LOOK = 10
"""Ticks between two looks."""
CAMERA = 30.0
"""Pictures per second."""
FOLLOWED = 0.12
"""Time constant with which what is seen is followed [s]."""
KICKED = (0.03, 0.15)
"""Distance [m] and angle [rad] from what was followed from which it is taken over at once."""
TARE = 100
"""Ticks at rest at the start, in which the estimator tares."""
REST = 10
"""Looks at rest after which it counts."""


@dataclass(frozen=True)
class PushConditions:
    """What the planner does not know."""

    noise: float = parameter(0.003, "of the camera, along each axis", unit="m", low=0.0)
    turn_noise: float = parameter(math.radians(1.0), "of the camera", unit="rad", low=0.0)
    delay: float = parameter(0.033, "of the camera", unit="s", low=0.0)
    dropouts: float = parameter(0.05, "share of the pictures that are lost", low=0.0, high=0.9)
    mass: float = parameter(1.0, "true mass over the planner's", above=0.0)
    friction: float = parameter(1.0, "true friction over the usual one", above=0.0)
    kick: float = parameter(
        0.0, "how far the thing is kicked away in the middle", unit="m", low=0.0
    )
    kick_turn: float = parameter(0.0, "and turned", unit="rad")
    speed: float = parameter(0.1, "of the tool", unit="m/s", above=0.0, high=0.5)
    engine: str = parameter("tamsi", "what simulates it")
    timeout: float = parameter(180.0, "when it has failed", unit="s", above=0.0)


@dataclass(frozen=True)
class PushResult:
    """How a push went.

    Attributes:
        reached: Whether the thing came to rest at its goal.
        seconds: Until then, simulated [s].
        distance: From the goal at the end [m].
        angle: Likewise [rad].
        searches: How often the planner has looked for another place.
        force: Median and 99th percentile of the force on the pusher while it touches, and its
            peak [N].
        look: Median, 99th percentile and longest time of a look [s].
        path: (looks, 6) x, y, angle of the thing, x, y of the tool, and 1 while it pushes.
    """

    reached: bool
    seconds: float
    distance: float
    angle: float
    searches: int
    force: tuple[float, float, float]
    look: tuple[float, float, float]
    path: np.ndarray


class Camera:
    """Sees a pose with noise, delay and dropouts, and follows it.

    Attributes:
        pose: (3) what is believed: x, y [m], angle [rad].
    """

    def __init__(self, conditions: PushConditions, pose: np.ndarray, seed: int) -> None:
        """Begin with a pose that is known.

        Args:
            conditions: Noise, delay and dropouts.
            pose: (3) x, y [m], angle [rad].
            seed: Of the noise.
        """
        self.pose = pose.copy()
        self._generator = generator(seed, "camera")
        self._conditions = conditions
        self._scale = np.array([conditions.noise, conditions.noise, conditions.turn_noise])
        self._waiting: deque[tuple[float, np.ndarray]] = deque()
        self._next, self._doubts = 0.0, 0

    def see(self, moment: float, pose: np.ndarray) -> None:
        """Take a picture if it is time, and take over those that have arrived.

        Args:
            moment: Time [s].
            pose: (3) where the thing truly is.
        """
        draw = self._generator
        if moment >= self._next:
            self._next += 1.0 / CAMERA
            seen = pose + draw.normal(size=3) * self._scale
            if draw.random() >= self._conditions.dropouts:
                self._waiting.append((moment + self._conditions.delay, seen))
        while self._waiting and self._waiting[0][0] <= moment:
            self._follow(self._waiting.popleft()[1])

    def _follow(self, seen: np.ndarray) -> None:
        error = seen - self.pose
        error[2] = math.remainder(error[2], 2.0 * math.pi)
        far = np.hypot(*error[:2]) > KICKED[0] or abs(error[2]) > KICKED[1]
        self._doubts = self._doubts + 1 if far else 0
        share = 1.0 if self._doubts > 1 else 1.0 - math.exp(-1.0 / (CAMERA * FOLLOWED))
        self.pose = self.pose + share * error


class PushRun:
    """One task under some conditions; :meth:`run` can be called once.

    Attributes:
        task: What is to be pushed where.
        conditions: What the planner does not know.
        plant: The simulator.
        loop: The contact-aware control loop.
    """

    def __init__(
        self,
        task: PushTask,
        conditions: PushConditions | None = None,
        seed: int = 0,
        settings: ClosedLoopSettings | None = None,
    ) -> None:
        """Build everything.

        Args:
            task: What is to be pushed where.
            conditions: What the planner does not know; None for the usual.
            seed: Of all noise.
            settings: Of the planner; None for the defaults.
        """
        self.task = task
        self.conditions = conditions or PushConditions()
        self._seed = seed
        with tempfile.TemporaryDirectory() as folder:
            scene = self._scene(Path(folder))
            self.plant = Plant(scene, seed)
        config = ControllerConfig()
        self._period = config.period
        self._arm = Robot.from_description(scene.robot)
        self.loop = ControlLoop(Robot.from_description(scene.robot), config)
        known = from_mapping(EstimatorConfig, {"errors": {"calibration": EXACT}})
        self._estimator = make_estimator(Robot.from_description(scene.robot), known)
        self._estimator.reset(seed)
        self._stream = StreamedTargets(self._arm, config, StreamConfig())
        self._measured = self.plant.reset(seed)
        self._state = self.loop.start()
        self._settings = settings

    def run(self) -> PushResult:
        """Push until the thing is at rest at its goal, or time is over."""
        for _ in range(TARE):
            self._tick(follow=False)
        pose = self._pose()
        camera = Camera(self.conditions, pose, self._seed)
        place = self._pusher()
        planner = ClosedLoop(self.task.problem(place), self._settings)
        command, rows, times, forces = place, [], [], []
        kicked = self.conditions.kick == 0.0
        halfway = 0.5 * self.task.miss(pose)[0]
        limit = round(self.conditions.timeout / self._period)
        rested = 0
        for k in range(limit):
            moment = k * self._period
            if not kicked and self.task.miss(pose)[0] < halfway:
                kicked = self._kick()
            pose = self._pose()
            camera.see(moment, pose)
            if k % LOOK == 0:
                begin = time.perf_counter()
                state = np.array([*camera.pose, *self._pusher()])
                wanted = planner.step(state, command)
                times.append(time.perf_counter() - begin)
                command = self._towards(command, wanted)
                self._send(command)
                rows.append([*pose, *self._tool(), float(planner.phase is Phase.PUSH)])
                rested = rested + 1 if planner.phase is Phase.REST else 0
                if rested >= REST and self.task.reached(pose):
                    break
            self._tick(follow=True)
            forces.append(self._force())
        distance, angle = self.task.miss(pose)
        touching = np.array([f for f in forces if f > 0.5] or [0.0])
        return PushResult(
            self.task.reached(pose), moment, distance, angle, planner.searches,
            (float(np.median(touching)), float(np.percentile(touching, 99)), float(touching.max())),
            (float(np.median(times)), float(np.percentile(times, 99)), max(times)),
            np.array(rows),
        )  # fmt: skip

    def _scene(self, folder: Path) -> Scene:
        """Return the scene of the demo, with the thing in place of the box."""
        conditions, task = self.conditions, self.task
        scene = Scene.load("push_box")
        thing = Thing.make(task.thing.name, task.thing.mass * conditions.mass)
        height = TABLE + HEIGHT / 2.0
        (x, y, turn) = task.start
        objects = {
            "table": scene.objects["table"],
            "thing": ObjectConfig(
                urdf=str(thing.urdf(folder)), free=True, xyz=(x, y, height), rpy=(0.0, 0.0, turn)
            ),
        }
        surfaces = {
            name: dataclasses.replace(item, friction=item.friction * conditions.friction)
            if name == "smooth" else item
            for name, item in scene.surfaces.items()
        }  # fmt: skip
        config = dataclasses.replace(scene.config, engine=conditions.engine)
        return dataclasses.replace(scene, config=config, objects=objects, surfaces=surfaces)

    def _kick(self) -> bool:
        """Put the thing somewhere else within reach; return whether there was room."""
        draw = generator(self._seed, "kick")
        q, v = self.plant.engine.built.free_bodies["thing"]
        for _ in range(100):
            angle = draw.uniform(-math.pi, math.pi)
            place = self.plant.engine.q[q : q + 2] + self.conditions.kick * np.array(
                [math.cos(angle), math.sin(angle)]
            )
            near, far, azimuth = STARTS
            here = near <= np.hypot(*place) <= far and abs(math.atan2(*place[::-1])) <= azimuth
            room = np.linalg.norm(place - self._tool()) > self.task.thing.radius + 2 * PUSHER_RADIUS
            if here and room:
                turn = math.copysign(self.conditions.kick_turn, draw.uniform(-1.0, 1.0))
                pose = pin.XYZQUATToSE3(self.plant.engine.q[q : q + 7].copy())
                pose.rotation = pin.rpy.rpyToMatrix(0.0, 0.0, turn) @ pose.rotation
                pose.translation[:2] = place
                self.plant.engine.q[q : q + 7] = pin.SE3ToXYZQUAT(pose)
                self.plant.engine.v[v : v + 6] = 0.0
                return True
        return False

    def _tick(self, follow: bool) -> None:
        sensed = self._measured
        state = ArmState(
            sensed.time_ns, sensed.position, sensed.velocity, sensed.commanded_position,
            sensed.external_torque,
        )  # fmt: skip
        found = self._estimator.update(state.stamp, state.position, state.external_torque)
        report = ContactReport(state.stamp, found.contacts, found.torque, calibrated=True)
        goal = self._stream.goal(self._state, state.stamp) if follow else None
        inputs = LoopInputs(state.stamp, state, report, goal)
        self._state, passed, _ = self.loop.tick(self._state, inputs)
        command = sensed.commanded_position if passed is None else passed.position
        self._measured = dataclasses.replace(self.plant.tick(command), commanded_position=command)

    def _send(self, command: np.ndarray) -> None:
        azimuth, distance = command
        turn = pin.rpy.rpyToMatrix(0.0, 0.0, azimuth)
        place = turn @ np.array([distance, 0.0, TABLE + HEIGHT / 2.0])
        pose = pin.SE3(turn @ DOWN, place)
        now = self._measured.time_ns
        self._stream.put(PoseTarget(1e-9 * now, pose), now)

    def _towards(self, command: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the next command on the way to what is wanted, at the speed of the tool."""
        step = self.conditions.speed * LOOK * self._period
        change = wanted - command
        length = float(np.hypot(change[0] * command[1], change[1]))
        return command + change * min(1.0, step / max(length, 1e-9))

    def _tool(self) -> np.ndarray:
        self._arm.update(self._measured.position)
        return np.array(self._arm.tool_pose().translation[:2])

    def _pusher(self) -> np.ndarray:
        x, y = self._tool()
        return np.array([math.atan2(y, x), math.hypot(x, y)])

    def _pose(self) -> np.ndarray:
        (thing,) = (o for o in self.plant.truth().objects if o.name == "thing")
        x, y, z, w = thing.quaternion
        turn = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        return np.array([*thing.position[:2], turn])

    def _force(self) -> float:
        forces = [c.force for c in self.plant.truth().contacts]
        return float(np.linalg.norm(np.sum(forces, axis=0))) if forces else 0.0
