"""A simulated arm over a table, calibrated and tared, that a hand may push; how it touches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from contact_aware_control.compliant_move import HEADROOM, CompliantMove
from contact_aware_control.guarded_move import GuardedMove
from contact_aware_control.reference import Goal, Guidance
from contact_aware_control.safety.status import FOLLOWING, Mode
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ObjectConfig
from contact_experiments.control.touch_rig import TouchRig


class TouchBench(TouchRig):
    """A rig over a table, that a hand may push.

    With a phantom the arm is not calibrated, and that contact is reported too. A post stands where
    it is said (3) [m]: the middle of a beam of 0.04 x 0.04 x 0.4 m.
    """

    def __init__(self, height=0.2, seed=0, phantom=None, robot="", home=None, edge=1.0, post=None):
        scene = Scene.load("mug_placement", robot)
        table = ObjectConfig(urdf="urdf/table.urdf", xyz=(edge, 0.0, height))
        objects = {"table": table}
        if post is not None:
            middle = tuple(np.subtract(post, (0.0, 0.0, 0.2)))
            objects["post"] = ObjectConfig(urdf="urdf/post.urdf", xyz=middle)
        scene = dataclasses.replace(scene, objects=objects)
        if home is not None:
            arm = dataclasses.replace(scene.config.robot, initial_positions=home)
            config = dataclasses.replace(scene.config, robot=arm)
            scene = dataclasses.replace(scene, config=config)
        super().__init__(scene, seed, phantom)

    def pressing(self, body=""):
        """Return what the arm presses with [N], on all that it touches or on one body."""
        touched = [c for c in self.plant.truth().contacts if body in ("", c.body)]
        return sum(float(np.linalg.norm(c.force)) for c in touched)

    def push(self, link, force):
        """Push on the origin of a link with a force (3) [N], world frame, from now on."""
        self._hand.update(self.report.position)
        point = self._hand.link_pose(link).translation
        self.plant.push(self._hand.torque_of_force(link, point, np.array(force)))

    def velocity(self, link):
        """Return how fast the origin of a link moves (3) [m/s]."""
        self._hand.update(self.report.position)
        point = self._hand.link_pose(link).translation
        return self._hand.point_jacobian(link, point) @ self.report.velocity

    def acceleration(self):
        """Return how fast the speed of a joint's command has grown at most [rad/s^2]."""
        speeds = np.diff(self.commands[1:], axis=0) / self.config.period
        before, after = speeds[:-1] * np.sign(speeds[1:]), np.abs(speeds[1:])
        return (after - np.maximum(before, 0.0)).max() / self.config.period


DOWN = np.array([0.0, 0.0, -1.0])


def guarded_move(bench, force, speed=0.02, distance=0.15, direction=DOWN, blocked=False):
    """Return the last touch, the distance of the tool when it really touched, and forces.

    It has to end, unless something in its way may keep its reference waiting.
    """
    guarded = GuardedMove(
        bench.arm, bench.loop_state.command, direction, speed, distance, force, bench.bounds,
        bench.config.period,
    )  # fmt: skip
    real, forces = np.nan, []
    for _ in range(round((2.0 * distance / speed + 5.0) / bench.config.period)):
        position, found, status = bench.tick(Goal(guarded.reference, guarded.force_limits))
        touch = guarded.watch(position, found.torque, found.contacts)
        assert status.mode in (Mode.TRACKING, Mode.CONSERVATIVE)
        forces.append(bench.pressing())
        if np.isnan(real) and forces[-1] > 0.0:
            real = touch.distance
        if guarded.over(bench.loop_state.reference_time):
            break
    else:
        assert blocked, "the move does not end"
    for _ in range(200):
        bench.tick(None)
        forces.append(bench.pressing())
    return guarded, touch, real, np.array(forces)


BASE = np.eye(3)
ASKED = {
    "axes": BASE,
    "compliance": np.zeros(3),
    "force": np.zeros(3),
    "travel": np.zeros(3),
    "speed": 0.03,
    "duration": 0.0,
    "force_limit": 0.0,
}


class Moved:
    """A compliant move, done; what happened tick by tick."""

    def __init__(self, bench, meanwhile=lambda time: None, **asked):
        period = bench.config.period
        asked = {name: np.asarray(value) for name, value in {**ASKED, **asked}.items()}
        self.move = CompliantMove(
            bench.arm, bench.loop_state.command, bounds=bench.bounds, period=period, **asked
        )
        goal = Goal(self.move.reference, self.move.force_limits)
        start, tools, pressing, forces, offsets = bench.tool(), [], [], [], []
        for tick in range(round(self.move.duration / period)):
            meanwhile(tick * period)
            position, found, status = bench.tick(goal)
            assert status.mode in (Mode.TRACKING, Mode.CONSERVATIVE)
            reference = self.move.step(
                status.reference_time, position, bench.loop_state.command, found.torque,
                found.contacts,
            )  # fmt: skip
            goal = Goal(reference, self.move.force_limits, refreshed=bench.report.time_ns)
            tools.append(bench.tool() - start)
            pressing.append(bench.truly_pressing())
            forces.append(self.move.force)
            offsets.append(self.move.offset)
        self.time = period * np.arange(len(tools))
        self.tools, self.pressing = np.array(tools), np.array(pressing)
        self.forces, self.offsets = np.array(forces), np.array(offsets)
        assert bench.acceleration() <= bench.config.limits.acceleration + 1e-9


def check_force(moved, wanted):
    """The force (3) is there a second after the touch, and its peak is bounded."""
    along = moved.pressing @ wanted / np.linalg.norm(wanted)
    touched = moved.time[np.argmax(along > 0.0)]
    late = along[moved.time > touched + 1.5]
    assert late.size > 200
    assert np.median(late) == pytest.approx(np.linalg.norm(wanted), rel=0.1)
    assert along.max() <= 1.3 * np.linalg.norm(wanted)
    limit = HEADROOM * np.linalg.norm(wanted)
    assert np.linalg.norm(moved.pressing, axis=1).max() <= 1.3 * limit


FORCE = 8.0
SPEED = 0.15
GRIP = 200.0
"""How firmly the hand keeps its speed [N s/m]."""


class Guided:
    """An arm that is led for two seconds, by a hand that goes at SPEED."""

    def __init__(self, link, direction, free=None, force=FORCE, strength=40.0, **bench):
        bench = TouchBench(**bench)
        command = bench.loop_state.command
        free = np.ones(bench.arm.n, dtype=bool) if free is None else free
        limits = dict.fromkeys(bench.arm.link_names, force)
        goal = Goal(Guidance(command, free, force, 60.0), limits)
        places, forces, statuses = [bench.tool()], [], set()
        for tick in range(700):
            wanted = SPEED * np.array(direction)
            push = np.clip(GRIP * (wanted - bench.velocity(link)), -strength, strength)
            if not 100 <= tick < 500:
                push = np.zeros(3)
            bench.push(link, push)
            _, _, status = bench.tick(goal)
            assert status.mode in FOLLOWING
            statuses.add(status.status)
            places.append(bench.tool())
            forces.append(np.linalg.norm(push))
        self.bench, self.statuses = bench, statuses
        self.led = places[500] - places[100]
        self.left = places[-1] - places[500]
        self.force = np.array(forces)
        self.turned = bench.loop_state.command - command
        assert bench.acceleration() <= bench.config.limits.acceleration + 1e-9
