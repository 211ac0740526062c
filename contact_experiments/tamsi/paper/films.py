"""A film of the hand in Fig. 9."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from contact_core.base.sweep import Sweep
from contact_experiments.papers.pictures import MovingFigure
from contact_experiments.tamsi.cases import AllegroHand
from contact_experiments.tamsi.paper.hand_drawing import HandDrawing
from contact_experiments.tamsi.paper.hand_figure import DURATION, frame_hand, turn_mug


def film_9(sweep: Sweep, duration: float = DURATION) -> MovingFigure:
    """Fig. 9: the last period of the mug's turning to and fro, in real time."""
    (turned,) = sweep.run(turn_mug, [(AllegroHand(), duration)], "figure 9, motion")
    figure = Figure(figsize=(4.0, 4.0), layout="constrained")
    axes = figure.add_subplot(projection="3d")
    drawing = HandDrawing()
    begin = turned.time[-1] - turned.period
    angle = np.rad2deg(turned.angle())

    def draw(time: float) -> None:
        axes.clear()
        k = int(np.argmin(np.abs(turned.time - (begin + time))))
        drawing.draw(axes, turned.joints[k], turned.poses[k])
        frame_hand(axes, f"{turned.time[k]:.1f} s, {angle[k]:+.0f}°")

    return MovingFigure(figure, draw, turned.period)
