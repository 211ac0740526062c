"""The picture of the demo: what the arm was told to push, and where the sled went."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from contact_experiments.robust.grid_figures import REFERENCE, label, legend
from contact_stack.demo.sled.plans import SledPlans
from contact_stack.demo.sled.summary import Slides

DOTS_PER_INCH = 130


def plot_slides(planned: SledPlans, slides: Slides, path: Path) -> None:
    """Draw force and motion of each plan, one column per plan.

    Args:
        planned: The plans.
        slides: Their runs.
        path: The PNG to write.
    """
    goal = planned.example.problem.goal[0]
    figure = Figure(figsize=(5.0 * len(slides), 6.4), layout="constrained")
    axes = figure.subplots(2, len(slides), sharex=True, sharey="row", height_ratios=(2, 3))
    for (push, motion), (name, runs) in zip(axes.T, slides.items(), strict=True):
        trajectory = planned.plans[name].trajectory
        push.step(trajectory.time[:-1], trajectory.control[:-1, 0], where="post", color="black")
        for run in runs:
            motion.plot(run.time, run.distance, label=f"mu = {run.friction:.2f}")
        motion.plot(trajectory.time, trajectory.position[:, 0], label="planned", **REFERENCE)
        motion.axhline(goal, color="black", linestyle=":", linewidth=1.0)
        ends = np.array([run.distance[-1] for run in runs])
        text = f"mean {1e3 * (ends.mean() - goal):+.0f} mm, range {1e3 * np.ptp(ends):.0f} mm"
        label(push, f"{name} plan", "", "")
        label(motion, text, "time [s]", "")
        for panel in (push, motion):
            panel.grid(alpha=0.3)
            panel.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("wrench along the motion [N]")
    axes[1, 0].set_ylabel("way of the sled [m]")
    legend(axes[1, 0], loc="upper left")
    figure.suptitle(
        "A 1.5 kg tool slid by the arm, without feedback, over tables of other friction"
    )
    figure.savefig(path, dpi=DOTS_PER_INCH)
