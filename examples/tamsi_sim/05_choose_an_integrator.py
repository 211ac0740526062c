"""Shake a gripper with several integrators: their cost, where the mug ends, what they warn of."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from contact_core.base.figures import save
from contact_experiments.tamsi.cases import MUG, ParallelGripper
from contact_experiments.tamsi.integrators.integrator import make_integrator

case = ParallelGripper()  # h = 3 ms
figure = Figure(figsize=(7.0, 4.0), layout="constrained")
axes = figure.subplots()
for name in ("tamsi", "ie_fn_tals", "ie_qn_ec", "semi_implicit"):
    engine = case.engine()
    integrator = make_integrator(name, engine, case.excitation())
    status, positions, _ = integrator.roll(333)
    effort = integrator.effort
    print(f"{name}: {effort.evaluations} evaluations of f, {status.remedy}")
    for warning in integrator.warnings():
        print(f"  warning: {warning.remedy}")
    height = positions[:, engine.built.free_bodies[MUG][0] + 2]
    width = 5.0 if name == "tamsi" else 1.5  # another curve lies on it
    axes.plot(case.time_step * np.arange(len(height)), height, label=name, lw=width)
axes.set(xlabel="time [s]", ylabel="height of the mug [m]", ylim=(-0.4, 0.2))
axes.grid(alpha=0.3)
axes.legend()

print(save(figure, Path("out/choose_an_integrator.png")))
