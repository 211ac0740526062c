"""Three rods on ball joints are swung round until their weight drags on the ground and rests."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from tamsi_sim import World

ROD = """<body name="rod{n}" pos="{x} 0 0"><joint name="ball{n}" type="ball" damping="1e-3"/>
  <geom type="capsule" size="0.015" fromto="0.02 0 0 0.28 0 0" mass="0.1"/>{inside}</body>"""
chain = '<geom name="weight" size="0.04" pos="0.3 0 0" mass="0.3"/>'
for n in (2, 1, 0):
    chain = ROD.format(n=n, x=0.3 if n else 0.0, inside=chain)
text = f'<mujoco><worldbody><frame pos="0 0 0.8">{chain}</frame></worldbody></mujoco>'

world = World().add_ground()
# Swung about the vertical, hanging by 40 degrees below the horizontal.
world.add(
    "chain", text, positions={"ball0": (0.0, 0.7, 0.0)}, velocities={"ball0": (0.0, 0.0, 2.0)}
)
engine = world.build()
path, energy = [], []
for _ in range(400):
    engine.step(10)
    path.append(engine.observer.pose("chain", "rod2").act(np.array([0.3, 0.0, 0.0])))
    energy.append(engine.observer.energy().total)
print(f"energy {energy[0]:.2f} J, after 4 s {energy[-1]:.2f} J")

figure, axes = plt.subplots(1, 2, layout="constrained", figsize=(7, 3))
axes[0].plot(*np.transpose(path)[:2])
axes[0].set(xlabel="x [m]", ylabel="y [m]", title="the weight from above", aspect="equal")
axes[1].plot(0.01 * np.arange(400), energy)
axes[1].set(xlabel="time [s]", ylabel="energy [J]")
file = Path("out/chain_of_balls.png")
file.parent.mkdir(exist_ok=True)
figure.savefig(file, dpi=120)
print(file)
