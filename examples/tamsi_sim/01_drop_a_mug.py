"""From URDF to trajectory: a tilted mug drops on the ground and comes to stand."""

from pathlib import Path

import matplotlib.pyplot as plt

from tamsi_sim import World

world = World().add_ground().add("mug", "urdf/mug.urdf", (0.0, 0.0, 0.09), (0.2, 0.1, 0.0), True)
engine = world.build(time_step=1e-3)
start = engine.observer.energy().total
run = engine.simulate(duration=1.5)
print(f"{run.status.remedy}; energy {start:.3f} J, then {engine.observer.energy().total:.3f} J")
for contact in engine.contacts():
    print(f"{contact.link_a} on {contact.link_b}: {contact.force.round(3)} N at {contact.point}")

figure, axes = plt.subplots(2, 1, sharex=True, layout="constrained", figsize=(6, 4))
axes[0].plot(run.time, 1e3 * run.q[:, 2])
axes[0].set_ylabel("height [mm]")
axes[1].plot(run.time, run.v[:, 3:], label=["about x", "about y", "about z"])
axes[1].set(xlabel="time [s]", ylabel="angular velocity [rad/s]")
axes[1].legend(loc="upper right")
for ax in axes:
    ax.grid(alpha=0.3)
path = Path("out/drop_a_mug.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=120)
print(path)
