"""Simulate without a graph: push the arm with a hand, and see its joint springs give way."""

import numpy as np

from contact_core import Scene
from tamsi_sim.robot.plant import Plant

plant = Plant(Scene.load("mug_placement"), seed=0)
start = plant.reset(0)
plant.push(np.array([4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
for _ in range(400):
    measurement = plant.tick(start.position)
bent = measurement.position - start.position
print(f"joint A1 gave way by {1e3 * bent[0]:.2f} mrad, tau / K is {1e3 * 4.0 / 800.0:.2f} mrad")
