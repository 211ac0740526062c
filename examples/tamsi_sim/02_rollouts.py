"""Many throws at once: where does a brick that slides and tumbles come to rest?"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from contact_core.base.seeds import generator
from tamsi_sim import World

BRICK = """<robot name="brick"><link name="brick"><inertial><mass value="1"/>
  <inertia ixx="1.3e-3" iyy="2.1e-3" izz="2.8e-3" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.15 0.1 0.07"/></geometry></collision></link></robot>"""

world = World().add_ground().add("brick", BRICK, (0.0, 0.0, 0.2), free=True)
engine = world.build(time_step=2e-3)
velocities = np.zeros((200, 6))
velocities[:, 0] = 2.0
velocities[:, 3:] = 4.0 * generator(0, "throws").standard_normal((200, 3))
throws = engine.rollouts(engine.q, velocities, np.zeros((200, 1000, 6)))
print(f"{np.sum(throws.status == 0)} of {len(throws.status)} throws simulated for 2 s")

figure, ax = plt.subplots(layout="constrained", figsize=(6, 2.8))
ax.plot(throws.q[:, :, 0].T, throws.q[:, :, 1].T, color="tab:blue", alpha=0.15, lw=0.8)
ax.plot(throws.q[:, -1, 0], throws.q[:, -1, 1], ".", color="tab:red", ms=4, label="at rest")
ax.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
ax.legend()
ax.grid(alpha=0.3)
path = Path("out/rollouts.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=120)
print(path)
