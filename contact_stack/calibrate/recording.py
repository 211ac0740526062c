"""Move an arm that nothing touches, on the graph or simulated here, and record its torques."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields

import numpy as np
from control_msgs.action import FollowJointTrajectory

from contact_aware_control.estimation.identification import REST, TorqueSamples
from contact_aware_control.reference import JointTrajectory
from contact_core.base.config import from_mapping
from contact_core.base.errors import CommunicationError
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription
from contact_core.robot.scene import Scene
from contact_ros.client import GraphClient
from contact_ros.driver_profile import DriverConfig, DriverProfile, driver_profile
from contact_ros.driver_profile.endpoints import StateReader
from contact_ros.identity import CONTROLLER, RobotIdentity
from contact_ros.stamps import NANOSECONDS
from contact_stack.demo.client_node import joint_goal
from tamsi_sim.robot.plant import Plant

Motion = Callable[[np.ndarray], JointTrajectory]
"""From where the arm is commanded to be (n) [rad] to how it shall move."""
OnTime = Callable[[float], None]
"""Told the time that has passed since the start [s]."""


def ignore(time: float) -> None:
    """Let time pass unnoticed."""


def record_simulated(
    scene: Scene, seed: int, motion: Motion, on_time: OnTime = ignore
) -> TorqueSamples:
    """Move the arm of a scene that is simulated here.

    Args:
        scene: The scene.
        seed: Seed of the sensors' noise.
        motion: How it shall move.
        on_time: Called from time to time.

    Returns:
        What was measured.
    """
    plant = Plant(scene, seed)
    report = plant.reset(seed)
    start = report.commanded_position
    wanted = motion(start)
    states = []
    for k in range(round((REST + wanted.duration) / scene.config.period)):
        time = k * scene.config.period
        report = plant.tick(wanted.sample(time - REST) if time > REST else start)
        states.append((time, report.position, report.commanded_position, report.external_torque))
        on_time(time)
    return TorqueSamples.of(states)


ACTION = "follow_joint_trajectory"
SILENCE = 10.0
"""How long the arm's states and the controller may take to appear [s]."""


def record_on_graph(
    driver: str | None,
    description: RobotDescription,
    namespace: str,
    motion: Motion,
    on_time: OnTime,
) -> TorqueSamples:
    """Move the arm of the running graph by its controller; Ctrl-C cancels the goal.

    Args:
        driver: Driver profile that the robot or simulator speaks; None: that of the controller.
        description: The robot.
        namespace: Namespace of the robot.
        motion: How it shall move.
        on_time: Called from time to time.

    Returns:
        What was measured.

    Raises:
        CommunicationError: If there is no controller, there are no states, its robot is another
            one, the motion is refused, or the arm does not get to its end.
    """
    joints = description.arm_joints
    states: list[tuple[float, np.ndarray, np.ndarray, np.ndarray]] = []
    began: list[int] = []

    def take(state: ArmState) -> None:
        began[:] = began or [state.stamp]
        time = (state.stamp - began[0]) / NANOSECONDS
        states.append((time, state.position, state.commanded_position, state.external_torque))
        on_time(time)

    with GraphClient("calibrate", namespace) as client:
        try:
            profile = profile_of(client, driver, joints, namespace)
            identity = RobotIdentity(client.node, profile, description, False, announce=False)
            StateReader(client.node, profile, False, take)
            client.wait_until(lambda: states and states[-1][0] > REST, SILENCE, "no joint states")
        except CommunicationError as error:
            raise CommunicationError(
                f"{error} of {description.name}: start 'contact-stack launch sim lockstep:=false' "
                "or the robot's driver and controller, or name the robot that is there by --robot"
            ) from error
        if identity.problem:
            raise CommunicationError(f"{identity.problem}: name the robot that is there by --robot")
        command = states[-1][2]
        wanted = motion(command if np.isfinite(command).all() else states[-1][1])
        goal = client.send(
            FollowJointTrajectory,
            ACTION,
            joint_goal(wanted, 0, profile.joint_names),
            timeout=SILENCE,
        )
        try:
            result = client.end_of(goal, math.inf).result
        except KeyboardInterrupt:
            client.cancel(goal, SILENCE)
            raise
    if result.error_code != FollowJointTrajectory.Result.SUCCESSFUL:
        raise CommunicationError(f"the arm did not finish its motion: {result.error_string}")
    return TorqueSamples.of(states)


def profile_of(
    client: GraphClient, driver: str | None, joints: Sequence[str], namespace: str
) -> DriverProfile:
    """Return how the running controller talks with the arm: names, and signs of torques.

    Args:
        client: In the robot's namespace.
        driver: Driver profile; None: that of the controller.
        joints: The arm's joints in the robot's file, base to flange.
        namespace: Namespace of the robot.

    Raises:
        CommunicationError: If there is no controller.
    """
    names = [field.name for field in fields(DriverConfig)]
    told = client.parameters(CONTROLLER, ["driver", *(f"arm.{name}" for name in names)], SILENCE)
    arm = {name: told[f"arm.{name}"] for name in names if f"arm.{name}" in told}
    return driver_profile(
        driver or told["driver"], from_mapping(DriverConfig, arm), None, joints, namespace
    )
