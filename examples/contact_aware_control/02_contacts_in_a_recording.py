"""Find contacts in a recording of joint torques.

A line of FILE.csv has time [s], joint positions [rad] and joint torques [Nm], the first one their
names. Nothing touches the arm in its first quarter of a second.
"""

import argparse
import dataclasses

import numpy as np

import contact_aware_control as cac
from contact_core import Robot, RobotDescription
from contact_core.robot.arm_state import ArmState

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("file")
parser.add_argument("--arm", default="iiwa14_wsg50")
chosen = parser.parse_args()
description = RobotDescription.load(chosen.arm)
robot, arm = Robot.from_description(description), Robot.from_description(description)
observer, estimator = cac.MomentumObserver(robot), cac.ContactEstimator(robot)
config = cac.ControllerConfig()
controller, memory = cac.make_controller(arm, config), cac.ControllerState()
step, felt = np.full(robot.n, config.limits.step), {}
for time, *row in np.loadtxt(chosen.file, delimiter=",", skiprows=1):
    q, torque = np.split(np.array(row), 2)
    state = ArmState.recorded(round(1e9 * time), q, joint_torque=torque)
    external = observer.update(state)
    if external is None:
        continue
    contacts = estimator.update(dataclasses.replace(state, external_torque=external)).contacts
    # What the arm would do about it:
    known = cac.ControllerInput(time, q, q, -step, step, contacts)
    memory, answer = controller.give_way(memory, known)
    for c in contacts:
        place = f"at {c.point_world.round(3)} m" if c.identifiable else "somewhere"
        said = f"{c.force:.1f} N on {c.link} {place}, until {time:.2f} s"
        felt[c.number] = f"{said}; gives way by {np.abs(answer.command - q).max():.2g} rad a tick"
print("\n".join(f"contact {number}: {said}" for number, said in felt.items()))
