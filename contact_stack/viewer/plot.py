"""A rolling plot beside the scene."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np
import viser
from viser import uplot

MINIMUM_POINTS = 2


class RollingPlot:
    """Several quantities over the last seconds."""

    def __init__(
        self, server: viser.ViserServer, title: str, colors: Mapping[str, str], points: int
    ) -> None:
        """Add an empty plot to the page.

        Args:
            server: The page.
            title: What is drawn, with its unit.
            colors: Quantity -> its colour (CSS).
            points: How many of the latest points are kept.
        """
        self._time: deque[float] = deque(maxlen=points)
        self._values: dict[str, deque[float]] = {name: deque(maxlen=points) for name in colors}
        zeros = np.zeros(MINIMUM_POINTS)
        self._handle = server.gui.add_uplot(
            (np.arange(MINIMUM_POINTS, dtype=float), *(zeros for _ in colors)),
            (
                uplot.Series(label="time [s]"),
                *(uplot.Series(label=n, stroke=c, width=2) for n, c in colors.items()),
            ),
            title=title,
            scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
            legend=uplot.Legend(show=True),
            aspect=2.0,
        )

    def append(self, time: float, values: Mapping[str, float]) -> None:
        """Add one point; a time before the last one starts the plot anew.

        Args:
            time: [s].
            values: Quantity -> value.
        """
        if self._time and time < self._time[-1]:
            self._time.clear()
            for series in self._values.values():
                series.clear()
        self._time.append(time)
        for name, series in self._values.items():
            series.append(values[name])

    def draw(self) -> None:
        """Send the points to the browser."""
        if len(self._time) >= MINIMUM_POINTS:
            self._handle.data = (
                np.array(self._time), *(np.array(v) for v in self._values.values())
            )  # fmt: skip
