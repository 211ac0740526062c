"""One push on a simulator: camera, planner, controller and arm, tick by tick, without ROS.

The planner streams places of the tool to the contact-aware controller, which bounds every force.
"""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from contact_aware_control.targets import (
    JointTarget,
    PoseTarget,
    StreamConfig,
    StreamedTargets,
    Target,
)
from contact_core.base.seeds import generator
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_experiments.control.touch_rig import TouchRig
from contact_experiments.push.arm_pusher import ArmPusher
from contact_stack.demo.push_anything.pusher import (
    KICK_TURN,
    UPDATE_PERIOD,
    PushConditions,
    Pusher,
    write_push_scene,
)
from contact_stack.demo.push_anything.task import (
    OBJECT,
    PUSHER_RADIUS,
    STARTS,
    PushTask,
    seen_from_above,
)
from irs_planner.closed_loop import Phase

TOUCHES = 0.5
"""A smaller force is none [N]."""


@dataclass(frozen=True)
class PushResult:
    """How a push went.

    Attributes:
        reached: Whether the thing came to rest at its goal.
        seconds: Until then, simulated [s].
        distance: From the goal at the end [m].
        angle: From the goal's at the end [rad].
        searches: How often the planner has looked for another place.
        force: Median and 99th percentile of the force on the pusher while it touches, and its
            peak [N].
        searching: How long it looked for another place altogether, simulated [s].
        look: Median, 99th percentile and maximum of the time of a look while it pushes [s].
        search: Median, 99th percentile and maximum of the time of a look while it looks for another
            place [s].
        path: (looks, 6) x, y, angle of the thing, x, y of the tool, and 1 while it pushes.
    """

    reached: bool
    seconds: float
    distance: float
    angle: float
    searches: int
    force: tuple[float, float, float]
    searching: float
    look: tuple[float, float, float]
    search: tuple[float, float, float]
    path: np.ndarray


class PushRun:
    """One task under some conditions; :meth:`run` can be called once.

    Attributes:
        task: What is to be pushed where.
        conditions: What the planner does not know.
        rig: Simulator, estimator and control loop.
    """

    def __init__(
        self,
        task: PushTask,
        conditions: PushConditions | None = None,
        seed: int = 0,
    ) -> None:
        """Build everything.

        Args:
            task: What is to be pushed where.
            conditions: What the planner does not know; None for the usual.
            seed: Of all noise.
        """
        self.task = task
        self.conditions = conditions or PushConditions()
        self._seed = seed
        with tempfile.TemporaryDirectory() as folder:
            scene = Scene.load(str(write_push_scene(task, self.conditions, Path(folder))))
            self.rig = TouchRig(scene, seed)
        arm = Robot.from_description(scene.robot)
        self._stream = StreamedTargets(arm, self.rig.config, StreamConfig())

    def run(self) -> PushResult:
        """Push until the thing is at rest at its goal, or time is over."""
        rig, period = self.rig, self.rig.config.period
        pusher = self._pusher()
        pose, rows, forces = self._pose(), [], []
        looks: dict[Phase, list[float]] = {phase: [] for phase in Phase}
        kicked = self.conditions.kick == 0.0
        halfway = 0.5 * self.task.miss(pose)[0]
        pause = round(UPDATE_PERIOD / period)
        for k in range(round(self.conditions.timeout / period)):
            moment, pose = k * period, self._pose()
            if not kicked and self.task.miss(pose)[0] < halfway:
                kicked = self._kick()
                pose = self._pose()
            pusher.see(rig.report.time_ns, rig.plant.truth().pose_of(OBJECT))
            if k % pause == 0:
                stamp, begin = rig.report.time_ns, time.perf_counter()
                target = self._update(pusher)
                looks[pusher.loop.phase].append(time.perf_counter() - begin)
                self._stream.put(target, stamp)
                rows.append([*pose, *rig.tool()[:2], float(pusher.loop.phase is Phase.PUSH)])
                if pusher.rests and self.task.reached(pose):
                    break
            rig.tick(self._stream.goal(rig.loop_state, rig.report.time_ns))
            forces.append(float(np.linalg.norm(rig.truly_pressing())))
        distance, angle = self.task.miss(pose)
        touching = [force for force in forces if force > TOUCHES]
        return PushResult(
            self.task.reached(pose), moment, distance, angle, pusher.loop.searches,
            _quantiles(touching),
            UPDATE_PERIOD * len(looks[Phase.SEARCH]),
            _quantiles(looks[Phase.PUSH]),
            _quantiles(looks[Phase.SEARCH]),
            np.array(rows),
        )  # fmt: skip

    def _pusher(self) -> Pusher | ArmPusher:
        if self.conditions.whole_arm:
            return ArmPusher(self.task, self.conditions, self._seed)
        return Pusher(self.task, self.conditions, self.rig.tool()[:2], self._seed)

    def _update(self, pusher: Pusher | ArmPusher) -> Target:
        now = self.rig.report.time_ns
        if isinstance(pusher, ArmPusher):
            return JointTarget(1e-9 * now, pusher.update(self.rig.report.position, now))
        return PoseTarget(1e-9 * now, pusher.update(self.rig.tool()[:2]))

    def _kick(self) -> bool:
        """Put the thing somewhere else within reach; return whether there was room."""
        draw, engine = generator(self._seed, "kick"), self.rig.plant.engine
        q, v = engine.built.free_bodies[OBJECT]
        for _ in range(100):
            angle = draw.uniform(-math.pi, math.pi)
            place = engine.q[q : q + 2] + self.conditions.kick * np.array(
                [math.cos(angle), math.sin(angle)]
            )
            near, far, azimuth = STARTS
            here = near <= np.hypot(*place) <= far and abs(math.atan2(*place[::-1])) <= azimuth
            room = (
                np.linalg.norm(place - self.rig.tool()[:2])
                > self.task.thing.radius + 2 * PUSHER_RADIUS
            )
            if here and room:
                turn = math.copysign(KICK_TURN, draw.uniform(-1.0, 1.0))
                pose = pin.XYZQUATToSE3(engine.q[q : q + 7].copy())
                pose.rotation = pin.rpy.rpyToMatrix(0.0, 0.0, turn) @ pose.rotation
                pose.translation[:2] = place
                engine.q[q : q + 7] = pin.SE3ToXYZQUAT(pose)
                engine.v[v : v + 6] = 0.0
                return True
        return False

    def _pose(self) -> np.ndarray:
        return seen_from_above(self.rig.plant.truth().pose_of(OBJECT))


def _quantiles(values: list[float]) -> tuple[float, float, float]:
    """Return median, 99th percentile and maximum; 0 of nothing."""
    median, high, peak = np.percentile(values or [0.0], (50, 99, 100))
    return float(median), float(high), float(peak)
