"""Which contact point is open, stuck or sliding when."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from contact_experiments.robust.figures.style import Plans, greek, new_figure
from robust_planner.contact_schedule import ContactState, contact_schedule
from robust_planner.model.contact_model import ContactModel

COLOURS = {ContactState.STICKING: "tab:blue", ContactState.SLIDING: "tab:orange"}


def plot_schedule(plans: Plans, model: ContactModel) -> Figure:
    """Draw a bar for every phase in which a contact point carries force.

    Args:
        plans: Label -> plan.
        model: The model of all plans.

    Returns:
        The figure: one row per plan and contact point.
    """
    rows = [(name, contact) for name in plans for contact in model.contact_names]
    figure = new_figure(1, 1, height=1.2 + 0.55 * len(rows))
    (axes,) = figure.axes
    for name, plan in plans.items():
        for phase in contact_schedule(plan.trajectory, model):
            if phase.mode is not ContactState.OPEN:
                row = rows.index((name, phase.contact))
                span = (phase.start, phase.end - phase.start)
                axes.broken_barh([span], (row - 0.3, 0.6), color=COLOURS[phase.mode])
    axes.set_yticks(range(len(rows)), [greek(f"{name}\n{contact}") for name, contact in rows])
    end = max(plan.trajectory.time[-1] for plan in plans.values())
    axes.set(xlim=(0.0, end), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xlabel("time [s]")
    axes.set_title("contact schedule; blank: no force", fontsize="medium")
    handles = [Patch(color=colour, label=mode.value) for mode, colour in COLOURS.items()]
    axes.legend(handles=handles, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
