"""Press an arm against a wall, without ROS: the controller keeps the force at its limit."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import contact_aware_control as cac
from contact_core import Robot, RobotDescription
from contact_core.robot.arm_state import ArmState

description, config = RobotDescription.load("iiwa14_wsg50"), cac.ControllerConfig()
arm, stiffness = Robot.from_description(description), np.array(description.joints.stiffness)
loop = cac.ControlLoop(Robot.from_description(description), config)
command = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
arm.update(command)
start = arm.tool_pose()
wall, away = start.translation[0] + 0.02, np.array([-1.0, 0.0, 0.0])
into = start.copy()
into.translation += 0.06 * -away  # 4 cm behind the wall
goal = cac.Goal(cac.PoseTrajectory([0.0, 3.0], [start, into]))
state, forces = loop.start(), []
for now in range(0, 6_000_000_000, 5_000_000):
    # The arm: springs between its command and a wall of 20 N/mm.
    arm.update(command)
    point = arm.tool_pose().translation
    row = arm.torque_of_force(arm.tool_link, point, away)
    force = max(0.0, point[0] - wall) / (1.0 / 20e3 + row @ (row / stiffness))
    contacts = [cac.ContactEstimate.known(arm, arm.tool_link, point, force * away)]
    sensed = ArmState(now, command + row / stiffness * force, 0.0 * row, command, row * force)
    inputs = cac.LoopInputs(now, sensed, cac.ContactReport(now, contacts), goal if now else None)
    state, passed, status = loop.tick(state, inputs)
    command = passed.position
    forces.append(force)
print(f"{status.mode.name}: {forces[-1]:.1f} N at the wall, limit {config.force.limit:g} N")
Path("out").mkdir(exist_ok=True)
plt.plot(forces)
plt.ylabel("force on the wall [N], by tick")
plt.savefig("out/wall.png")
