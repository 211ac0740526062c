"""The demo bottle_shake on the plant itself, without a graph."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from contact_aware_control.reference.motion import tool_pose
from contact_core.robot.gripper import GripperCommand
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_stack.demo.bottle_shake.node import inverse_dynamics, scene_for
from contact_stack.demo.bottle_shake.procedure import Observation, Procedure
from contact_stack.demo.bottle_shake.record import BottleRecord, BottleSample
from contact_stack.demo.bottle_shake.task import BottleTask
from tamsi_sim.robot.plant import Plant


def run_on_plant(
    controller: str = "impedance",
    feedback: bool = True,
    task: BottleTask | None = None,
    scene: Scene | None = None,
    seed: int = 0,
) -> BottleRecord:
    """Run the demo.

    Args:
        controller: The joint controller.
        feedback: Whether forces are used.
        task: What to do.
        scene: Where.
        seed: Of the sensor noise.
    """
    scene = scene or scene_for(controller)
    task = task or BottleTask()
    plant = Plant(scene, seed)
    measured = plant.reset(seed)
    period = scene.config.period
    procedure = Procedure(
        Robot.from_description(scene.robot),
        task,
        measured.position,
        period,
        feedback,
    )
    dynamics = inverse_dynamics(scene)
    arm = Robot.from_description(scene.robot)
    samples: list[BottleSample] = []
    wanted = measured.position
    while not procedure.finished:
        seen = Observation(
            measured.time_ns,
            measured.position,
            measured.external_torque,
            -measured.gripper_effort,
        )
        decision = procedure.update(seen)
        (bottle,) = (item for item in plant.truth().objects if item.name == "bottle")
        samples.append(
            BottleSample(
                seen.stamp,
                procedure.stage,
                seen.position,
                tool_pose(arm, seen.position),
                tool_pose(arm, wanted),
                pin.XYZQUATToSE3(np.concatenate([bottle.position, bottle.quaternion])),
                seen.grip,
            )
        )
        wanted = decision.setpoint.position
        torque = dynamics and dynamics.torque(decision.setpoint, seen.position, seen.stamp)
        goal = decision.gripper
        gripper = None if goal is None else GripperCommand(goal.position, goal.effort)
        measured = plant.tick(wanted, gripper, torque)
        assert measured.status == 0, measured.status.remedy
    assert procedure.verdict is not None
    return BottleRecord(samples, period, procedure.verdict, 1.0)
