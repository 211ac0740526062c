"""The same scene on our engine and on Drake: what the arm feels when it holds a mug."""

import numpy as np

from contact_core import Scene
from contact_core.robot.gripper import GripperCommand
from tamsi_sim.robot.plant import Plant

for engine in ("tamsi", "drake"):
    plant = Plant(Scene.load("mug_placement").on(engine))
    command = plant.reset(seed=0).position
    for _ in range(100):
        measurement = plant.tick(command, GripperCommand(position=0.0, max_effort=20.0))
    torque = np.array2string(measurement.external_torque, precision=2, suppress_small=True)
    print(f"{engine}: {torque} Nm, {len(plant.truth().contacts)} contacts")
