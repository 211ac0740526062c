"""Find contacts in a recording of joint torques.

``python 02_contacts_in_a_recording.py FILE.csv``: the first line is a title; every other one
has the time [s], all joint positions [rad] and all joint torques [Nm] of an arm that nothing
touches in the first quarter of a second. ``--arm`` names another one than an iiwa 14.
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
    if external is None:  # a torque that is no number, or a time that is not later
        continue
    contacts = estimator.update(dataclasses.replace(state, external_torque=external)).contacts
    known = cac.ControllerInput(time, q, q, -step, step, contacts)
    memory, answer = controller.give_way(memory, known)  # what the arm would do about it
    for c in contacts:
        place = f"at {c.point_world.round(3)} m" if c.identifiable else "somewhere"
        felt[c.number] = f"{c.force:.1f} N on {c.link} {place}, until {time:.2f} s"
        felt[c.number] += f"; gives way by {np.abs(answer.command - q).max():.2g} rad a tick"
for number, said in felt.items():
    print(f"contact {number}: {said}")
