"""The other one who pushes: a planner that knows the whole arm in 3-D, as ``move_objects`` does."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from contact_stack.demo.push_anything.pusher import PushConditions, write_push_scene
from contact_stack.demo.push_anything.task import OBJECT, PushTask
from irs_planner.closed_loop import ClosedLoop
from irs_planner.examples import build_problem
from irs_planner.object_mover import MoverConfig, ObjectMover
from irs_planner.scene_problems import scene_problem
from tamsi_sim.robot.camera import Camera


class ArmPusher:
    """Looks, and says where the joints are to be.

    Attributes:
        mover: What follows the thing and decides.
    """

    def __init__(self, task: PushTask, conditions: PushConditions, seed: int) -> None:
        """Begin.

        Args:
            task: What is to be pushed where.
            conditions: Noise of the camera; of mass and friction the planner knows the usual.
            seed: Of noise and searches.
        """
        self._camera = Camera(conditions.camera, seed)
        axes = ("x", "y") if task.thing.is_round else ("x", "y", "yaw")
        goal = {f"{OBJECT}/{axis}": value for axis, value in zip(axes, task.goal, strict=False)}
        with tempfile.TemporaryDirectory() as folder:
            scene = write_push_scene(task, PushConditions(), Path(folder))
            problem = build_problem(scene_problem(str(scene), goal))
        tolerance = problem.tolerance.copy()
        along = task.position / math.sqrt(2.0)
        for axis, counts in zip(axes, (along, along, task.angle), strict=False):
            tolerance[problem.dynamics.state_names.index(f"{OBJECT}/{axis}")] = counts
        self.mover = ObjectMover(replace(problem, tolerance=tolerance), MoverConfig(), seed)

    @property
    def loop(self) -> ClosedLoop:
        """The planner."""
        return self.mover.loop

    @property
    def rests(self) -> bool:
        """Whether the thing has been seen at its goal for some time."""
        return self.mover.rests

    def see(self, now: int, pose: pin.SE3) -> None:
        """Take a picture if it is time, and follow those that have arrived.

        Args:
            now: The time [ns], from 1.
            pose: Where the thing truly is.
        """
        for picture in self._camera.see(now, lambda: {OBJECT: pose}):
            self.mover.see(OBJECT, picture.stamp, picture.poses[OBJECT])

    def update(self, joints: np.ndarray, now: int) -> np.ndarray:
        """Return where the joints are to be at the next look (n) [rad].

        Args:
            joints: (n) where they are [rad].
            now: The time [ns].
        """
        if not self.mover.trackers:
            return joints
        command = self.mover.update(joints, now)
        self.mover.search()
        return command
