"""Two hands push two links from the same moment on, stay, and withdraw; no force moves them.

Seven torques do not tell two places and two forces. What counts is that both forces stay near
the limit, and that no estimate claims what is not so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.estimation import EstimatorConfig
from contact_core.multibody.collision.signed_distance import signed_distance
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ObjectConfig
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_experiments.control.moving_ball import FIRST_HIT, RADIUS, BallPush, Stay
from contact_stack.demo.contact_tracking.statistics import ContactSample, ExperimentData
from tamsi_sim.robot.plant import Plant

APPROACH = 0.5
"""Time until the hands touch the arm [s]."""

FARTHEST = 1.0
"""From where a hand is moved up to its link [m], in STEPS steps."""

STEPS = 50

CLOSE_FORCE = 0.3
"""A force is right within this share of it."""


@dataclass(frozen=True)
class HandFigures:
    """What came of one hand; forces are the simulator's [N].

    Attributes:
        peak: Largest force.
        p50: Median from FIRST_HIT after the touch until the hand withdraws.
        p99: Its 99th percentile.
        honest: Share of that time, as far as it touches, in which the estimate next to it has its
            force, or is not identifiable.
    """

    peak: float
    p50: float
    p99: float
    honest: float


class TwoHands:
    """One run, of an arm that is to stay where it is.

    Attributes:
        pushes: What the hands do, on different links.
        run: The closed loop.
    """

    def __init__(
        self,
        pushes: Sequence[BallPush],
        controller: ControllerConfig | None = None,
        *,
        estimator: str = "contact_particle_filter",
        seed: int = 0,
        **options: Any,
    ) -> None:
        """Build everything.

        Args:
            pushes: What the hands do.
            controller: The controller's parameters.
            estimator: Name of the estimator, ``truth`` among them.
            seed: Of sensor noise and particles.
            options: More for the :class:`ClosedLoopRun`.
        """
        self.pushes = {f"hand_{i}": push for i, push in enumerate(pushes)}
        scene = Scene.load(Stay.scene)
        robot = Robot.from_description(scene.robot)
        robot.update(np.array(scene.config.robot.initial_positions))
        hands = {}
        for name, push in self.pushes.items():
            start = _touching(robot, push) - APPROACH * push.speed * _along(push)
            xyz = tuple(start.tolist())
            hands[name] = ObjectConfig(urdf="urdf/ball.urdf", kinematic=True, xyz=xyz)
        may_touch = tuple(f"{push.link} / {name}" for name, push in self.pushes.items())
        config = dataclasses.replace(scene.config, may_touch=may_touch)
        scene = dataclasses.replace(scene, config=config, objects={**scene.objects, **hands})
        self.run = ClosedLoopRun(
            controller or ControllerConfig(),
            Stay(),
            seed=seed,
            scene=scene,
            estimator=EstimatorConfig(estimator=estimator),
            clock_waits=True,
            before_tick=self._drive,
            **options,
        )

    def execute(self) -> tuple[ExperimentData, tuple[HandFigures, ...]]:
        """Run it; once.

        Returns:
            The ticks, and what came of each hand.
        """
        end = max(_withdrawal(push) + push.stroke / push.speed for push in self.pushes.values())
        data = self.run.run(until=end + APPROACH)
        return data, tuple(_figures(push, data) for push in self.pushes.values())

    def _drive(self, plant: Plant, time: float) -> None:
        """Set the velocities of the hands."""
        for name, push in self.pushes.items():
            pushed, back = APPROACH + push.stroke / push.speed, _withdrawal(push)
            gone = back + pushed
            way = float(time < pushed) - float(back <= time < gone)
            dof = plant.engine.built.free_bodies[name][1]
            plant.engine.v[dof : dof + 3] = way * push.speed * _along(push)


def _along(push: BallPush) -> np.ndarray:
    """Return the unit vector (3) of a hand's motion."""
    along: np.ndarray = np.array(push.direction) / np.linalg.norm(push.direction)
    return along


def _withdrawal(push: BallPush) -> float:
    """Return when a hand begins to withdraw [s]."""
    return APPROACH + push.stroke / push.speed + push.stay


def _touching(robot: Robot, push: BallPush) -> np.ndarray:
    """Return where a hand's centre (3) is when it touches its link [m], by sphere tracing."""
    shapes = [s for s in robot.collision_shapes if s.body == push.link]
    placed = [(s.shape, robot.link_pose(push.link) * s.placement) for s in shapes]
    center: np.ndarray = placed[0][1].translation - FARTHEST * _along(push)
    for _ in range(STEPS):
        gaps = [
            signed_distance(int(shape.kind), np.array(shape.size), *pose.actInv(center))[0]
            for shape, pose in placed
        ]
        center = center + (min(gaps) - RADIUS) * _along(push)
    return center


def _figures(push: BallPush, data: ExperimentData) -> HandFigures:
    touched = [[c for c in tick if c.link == push.link] for tick in data.contacts]
    force = np.array([np.linalg.norm(sum((c.force for c in t), np.zeros(3))) for t in touched])
    watched = (data.time > APPROACH + FIRST_HIT) & (data.time <= _withdrawal(push))
    felt = np.flatnonzero(watched & (force > 0.0))
    honest = [_is_honest(touched[k][0], data.estimates[k]) for k in felt] or [True]
    return HandFigures(
        peak=float(force.max()),
        p50=float(np.percentile(force[watched], 50)),
        p99=float(np.percentile(force[watched], 99)),
        honest=float(np.mean(honest)),
    )


def _is_honest(true: ContactSample, estimates: Sequence[ContactSample]) -> bool:
    """Tell whether the estimate next to a contact has its force, or says that it may not."""
    if not estimates:
        return False
    found = min(estimates, key=lambda e: float(np.linalg.norm(e.point - true.point)))
    error = float(np.linalg.norm(found.force - true.force))
    return not found.identifiable or error <= CLOSE_FORCE * true.magnitude
