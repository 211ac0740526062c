"""The contact-aware controller where model, sensors and scene are not what it believes.

Estimator in the loop, true forces, definitions of
``contact_stack.demo.contact_tracking.statistics``. Each case is run on both of the paper's
experiments.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control.config import ControllerConfig
from contact_aware_control.safety.status import Mode
from contact_core.base.seeds import generator
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_stack.demo.contact_tracking.experiments import EXPERIMENTS

LIMIT = ControllerConfig().force.limit
GRAVITY_ERROR = np.array([0.0, 1.0, 0.0, -0.6, 0.0, 0.2, 0.0])
# Reflected inertia of the rotors; the plant's armature is a share of it.
ROTORS = np.array([3.38, 3.38, 3.38, 3.38, 1.32, 1.16, 1.16])

Case = Callable[[Scene], dict[str, Any]]


def stiffness(factor: float) -> Case:
    """K of the model off by a factor."""

    def case(scene: Scene) -> dict[str, Any]:
        believed = tuple(factor * k for k in scene.robot.joints.stiffness)
        joints = dataclasses.replace(scene.robot.joints, stiffness=believed)
        robot = dataclasses.replace(scene.robot, joints=joints)
        return {"scene": dataclasses.replace(scene, robot=robot)}

    return case


def gravity(size: float) -> Case:
    """Gravity compensation off by some Nm."""
    return lambda scene: {"load": lambda q: size * GRAVITY_ERROR}


def payload(mass: float) -> Case:
    """A mass at the tool [kg] that nobody was told of; what it weighs at the start is tared."""

    def case(scene: Scene) -> dict[str, Any]:
        arm = Robot.from_description(scene.robot)

        def weight(q: np.ndarray) -> np.ndarray:
            arm.update(q)
            return arm.gravity_torque_of_payload(mass, np.array([0.025, 0.0, 0.0]))

        return {"load": weight}

    return case


def friction(coefficient: float) -> Case:
    """Other friction between robot and furniture."""

    def case(scene: Scene) -> dict[str, Any]:
        hard = dataclasses.replace(scene.surfaces["hard"], friction=coefficient)
        return {"scene": dataclasses.replace(scene, surfaces={**scene.surfaces, "hard": hard})}

    return case


def height(change: float) -> Case:
    """The table higher by some metres."""

    def case(scene: Scene) -> dict[str, Any]:
        x, y, z = scene.objects["table"].xyz
        table = dataclasses.replace(scene.objects["table"], xyz=(x, y, z + change))
        return {"scene": dataclasses.replace(scene, objects={**scene.objects, "table": table})}

    return case


def calibration(shift: float, turn: float, seed: int = 0) -> Case:
    """Every joint's origin off by some metres and radians, in random directions."""

    def case(scene: Scene) -> dict[str, Any]:
        def believed() -> Robot:
            rng = generator(seed, "calibration error")
            robot = Robot.from_description(scene.robot)
            for joint in range(1, robot.n + 1):
                error = rng.standard_normal((2, 3))
                error /= np.linalg.norm(error, axis=1, keepdims=True)
                robot.model.jointPlacements[joint] *= pin.SE3(
                    pin.exp3(turn * error[1]), shift * error[0]
                )
            return robot

        return {"arm": believed}

    return case


def late_torque(cutoff: float, delay: float) -> Case:
    """The external torque low-passed [Hz] and late [s]."""

    def case(scene: Scene) -> dict[str, Any]:
        sensor = dataclasses.replace(scene.config.torque_sensor, cutoff=cutoff, delay=delay)
        config = dataclasses.replace(scene.config, torque_sensor=sensor)
        return {"scene": dataclasses.replace(scene, config=config)}

    return case


def armature(share: float) -> Case:
    """Another share of the rotors' inertia that contacts feel."""

    def case(scene: Scene) -> dict[str, Any]:
        robot = dataclasses.replace(scene.config.robot, effective_armature=tuple(share * ROTORS))
        config = dataclasses.replace(scene.config, robot=robot)
        return {"scene": dataclasses.replace(scene, config=config)}

    return case


CASES: dict[str, Case] = {
    "stiffness -20 %": stiffness(0.8),
    "stiffness +20 %": stiffness(1.2),
    "gravity +1 Nm": gravity(1.0),
    "gravity -1 Nm": gravity(-1.0),
    "payload 0.3 kg": payload(0.3),
    "friction 0": friction(0.0),
    "friction 0.2": friction(0.2),
    "friction 0.8": friction(0.8),
    "table 2 cm higher": height(0.02),
    "table 2 cm lower": height(-0.02),
    "calibration 2 mm, 0.3 deg": calibration(0.002, np.radians(0.3)),
    "torque at 10 Hz, 2 periods late": late_torque(10.0, 0.01),
    "armature 0.1": armature(0.1 / 3.38),
    "armature 3.38": armature(1.0),
}


def run_case(experiment: str, case: Case, seed: int = 0) -> tuple[ClosedLoopRun, dict[str, Any]]:
    """Run an experiment once; return the run and its figures."""
    scene = Scene.load(EXPERIMENTS[experiment].scene)
    settings = {"controller": ControllerConfig(), "scene": scene} | case(scene)
    run = ClosedLoopRun(experiment=EXPERIMENTS[experiment](), seed=seed, **settings)
    return run, run.summary(run.run())


def assert_gentle(run: ClosedLoopRun, summary: dict[str, Any]) -> None:
    """The force keeps to its limit, without a fault and without much bouncing."""
    assert summary["contact"]["force_post_impact_p50_N"] <= 1.25 * LIMIT
    assert max(figures["segments"] for figures in summary["passes"].values()) <= 5
    assert not any(status.mode in (Mode.FAULT, Mode.HOLD) for status in run.status)


# Among the quick tests an arm with friction is wrong, see test_gentle_figures.py.
@pytest.mark.verify
@pytest.mark.parametrize("name", ["payload 0.3 kg", "calibration 2 mm, 0.3 deg"])
def test_wrong_models_are_tolerated(name: str) -> None:
    assert_gentle(*run_case("mug_placement", CASES[name]))


NOT_TOLERATED = {
    ("friction 0", "mug_moving"): "nothing damps the first 5 N: it touches 7 and 9 times, not 5",
    ("table 2 cm higher", "mug_moving"): "tared with 5 N on the wrist, it presses by 5 N more",
}
"""What fails, and why."""


@pytest.mark.verify
@pytest.mark.parametrize("experiment", ["mug_placement", "mug_moving"])
@pytest.mark.parametrize("name", CASES)
def test_what_it_does_not_know_is_tolerated(
    name: str, experiment: str, request: pytest.FixtureRequest
) -> None:
    if reason := NOT_TOLERATED.get((name, experiment)):
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    for seed in range(3):
        assert_gentle(*run_case(experiment, CASES[name], seed))
