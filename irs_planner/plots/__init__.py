"""Drawings of plans: convergence, films and strips."""

from irs_planner.plots.convergence_figure import figure_9
from irs_planner.plots.film import animate, draw_strip

__all__ = ["animate", "draw_strip", "figure_9"]
