"""Planned pushes, friction and motion of a sliding block (Fig. 2, 4)."""

from __future__ import annotations

from matplotlib.figure import Figure

from robust_planner.evaluation.final_error import FinalErrors
from robust_planner.figures.style import Plans, label, new_figure


def plot_controls(plans: Plans) -> Figure:
    """Plot push, friction and speed over time (Fig. 2).

    Args:
        plans: Label -> plan of a sliding block.

    Returns:
        The figure.
    """
    figure = new_figure(3, 1, height=8.0)
    push, friction, speed = figure.axes
    for name, plan in plans.items():
        trajectory = plan.trajectory
        time = trajectory.time
        push.step(time[:-1], trajectory.control[:-1, 0], where="post", label=name)
        friction.step(time[1:], trajectory.friction_force[1:, 0, 0], where="pre")
        speed.plot(time, trajectory.velocity[:, 0])
    # Robust plans start and end with impulses a hundred times the force in between.
    push.set_yscale("symlog", linthresh=10.0)
    label(push, "push", "", "u [N], symlog")
    label(friction, "friction", "", "friction [N]")
    label(speed, "speed", "time [s]", "v [m/s]")
    push.legend(fontsize="small", ncols=2, loc="lower left")
    return figure


def plot_simulations(results: dict[str, FinalErrors], goal: float) -> Figure:
    """Plot open-loop motions under several frictions, one panel per plan (Fig. 4).

    Args:
        results: Label of a plan -> its simulations.
        goal: Position to be reached [m].

    Returns:
        The figure.
    """
    figure = new_figure(1, len(results), width=3.6 * len(results), height=3.4)
    for axes, (name, errors) in zip(figure.axes, results.items(), strict=True):
        for mu, run in zip(errors.friction, errors.simulations, strict=True):
            axes.plot(run.time, run.position[:, 0], label=f"mu = {mu:.2f}")
        axes.axhline(goal, color="black", linestyle=":")
        text = f"{name}\nmean {errors.mean:+.3f} m, range {errors.range:.3f} m"
        label(axes, text, "time [s]", "position [m]")
        axes.sharey(figure.axes[0])
    figure.axes[0].legend(fontsize="small")
    return figure
