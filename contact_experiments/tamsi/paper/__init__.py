"""The figures of the TAMSI paper: each function runs a study, plots it and sums it up."""

from collections.abc import Callable

from contact_core.figures import FigureResult
from contact_experiments.tamsi.paper.box_figures import figure_4, figure_5
from contact_experiments.tamsi.paper.gripper_figures import figure_6, figure_8
from contact_experiments.tamsi.paper.hand_figure import figure_9
from contact_experiments.tamsi.paper.moving_configuration import section_iv_b
from contact_experiments.tamsi.paper.speed import figure_7

FIGURES: dict[str, Callable[[], FigureResult]] = {
    "4": figure_4,
    "5": figure_5,
    "6": figure_6,
    "7": figure_7,
    "8": figure_8,
    "9": figure_9,
    "IV-B": section_iv_b,
}
"""Name -> what makes it."""
