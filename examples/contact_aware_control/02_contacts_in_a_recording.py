"""Find contacts in a recording of joint torques.

A line of FILE.csv has time [s], joint positions [rad] and torques [Nm], the first one their names.
Nothing touches the arm in its first quarter of a second.
"""

import argparse
from dataclasses import replace

import numpy as np

import contact_aware_control as cac
from contact_core import Robot, RobotDescription
from contact_core.errors import ContactStackError

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("file")
parser.add_argument("--arm", default="iiwa14_wsg50")
chosen = parser.parse_args()
try:
    robot, arm = map(Robot.from_description, [RobotDescription.load(chosen.arm)] * 2)
    states = cac.read_joint_torques(chosen.file, robot.joint_names)
    cac.check_joint_torques(states, robot)
except ContactStackError as error:
    parser.error(str(error))
observer, estimator = cac.MomentumObserver(robot), cac.ContactEstimator(robot)
controller = cac.make_controller(arm, config := cac.ControllerConfig())
memory, step, felt = cac.ControllerState(), np.full(robot.n, config.limits.step), {}
for state in states:
    time, q, external = 1e-9 * state.stamp, state.position, observer.update(state)
    found = estimator.update(replace(state, external_torque=external))
    known = cac.ControllerInput(time, q, q, -step, step, found.contacts)
    memory, answer = controller.give_way(memory, known)  # what the arm would do about it
    way = f"until {time:.2f} s; gives way by {np.abs(answer.command - q).max():.2g} rad a tick"
    for c in found.contacts:
        place = f"at {c.point_world.round(3)} m" if c.identifiable else "somewhere"
        if c.force > 0.9 * (most := max(c.force, felt.get(c.number, (0.0,))[0])):  # else it ends
            felt[c.number] = most, f"{c.force:.1f} N on {c.link} {place}, {way}"
said = [f"contact {number}: {said}" for number, (_, said) in felt.items()] or ["no contact"]
print(*said, f"tare: {found.tare.value}; {found.rejected} lines left out", sep="\n")
