"""Drawings of plans: convergence, strips of frames and animations."""

from irs_planner.plots.animation import animate, draw_strip
from irs_planner.plots.figures import plot_costs

__all__ = ["animate", "draw_strip", "plot_costs"]
