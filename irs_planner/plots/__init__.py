"""The paper's figures, from our own runs."""

from irs_planner.plots.contact_figures import figure_5, figure_7, figure_8
from irs_planner.plots.convergence_figure import figure_9
from irs_planner.plots.film import animate, draw_strip
from irs_planner.plots.smoothing_figures import figure_2, figure_3, figure_4

__all__ = [
    "animate",
    "draw_strip",
    "figure_2",
    "figure_3",
    "figure_4",
    "figure_5",
    "figure_7",
    "figure_8",
    "figure_9",
]
