"""Drive an arm by its actuators, feel the friction of a joint, and read sensors."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from contact_core import RobotDescription
from tamsi_sim import Actuator, ForceTorque, Imu, JointTorque, SensorNoise, World

robot = RobotDescription.load("iiwa14_wsg50")
engine = World().add("arm", robot.urdf, positions={robot.arm_joints[1]: 0.6}).build()
for joint in robot.arm_joints:
    engine.actuators.add(joint, Actuator.position(joint, stiffness=2e3, damping=60.0))
    engine.set_friction(joint, kinetic=3.0, static=4.0, presliding_stiffness=4e3)
engine.actuators.command({joint: 0.0 for joint in robot.arm_joints} | {robot.arm_joints[1]: 0.6})

shoulder, hand = robot.arm_joints[1], robot.tool_link
faults = SensorNoise(cutoff=50.0, delay=2e-3, bias=0.2, noise=0.05)
engine.sensors.add("shoulder", JointTorque(shoulder), faults, period=5e-3)
engine.sensors.add("wrist", ForceTorque("arm", hand), SensorNoise(noise=0.02), period=5e-3)
engine.sensors.add("imu", Imu("arm", hand), period=5e-3)

loop = []
for k in range(1200):
    command = 0.6 + 0.01 * np.sin(2.0 * np.pi * k / 400)
    engine.actuators.command({shoulder: command})
    engine.step(5)
    loop.append([command, engine.q[engine.built.arrays.joints.q[engine.built.joints[shoulder]]]])
print(f"shoulder {engine.sensors['shoulder'].round(1)} Nm")
print(f"wrist {engine.sensors['wrist'].round(2)} N and Nm, imu {engine.sensors['imu'].round(2)}")

figure, ax = plt.subplots(layout="constrained", figsize=(6, 4))
ax.plot(*np.array(loop[400:]).T)
ax.set(xlabel="commanded angle [rad]", ylabel="angle of the shoulder [rad]")
path = Path("out/actuators_and_sensors.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=120)
print(path)
