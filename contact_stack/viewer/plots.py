"""Plots beside the scene: of the last seconds while a robot runs, of everything in a recording."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import viser
from viser import uplot

from contact_stack.viewer.snapshot import PageState

Quantities = Mapping[str, Callable[[PageState], float]]
"""Name of a curve -> its value."""

MINIMUM_POINTS = 2
MAX_POINTS = 1000
"""In a plot of a whole recording; of those that share a point the largest is drawn."""
LAST = 10.0
"""Order of plots on the page: below everything else."""
NOW, NOW_COLOR = "now", "#c0392b"


class Plot:
    """Several quantities over time."""

    def __init__(
        self,
        server: viser.ViserServer,
        title: str,
        curves: Mapping[str, uplot.Series],
        quantities: Quantities,
    ) -> None:
        """Add an empty plot to the page.

        Args:
            server: The page.
            title: What is drawn, with its unit.
            curves: Name of a curve -> how it is drawn.
            quantities: Name of a curve -> what it shows.
        """
        self._quantities = quantities
        zeros = np.zeros(MINIMUM_POINTS)
        self._handle = server.gui.add_uplot(
            (np.arange(MINIMUM_POINTS, dtype=float), *(zeros for _ in curves)),
            (
                uplot.Series(label="time [s]"),
                *(uplot.Series(label=name, **style) for name, style in curves.items()),
            ),
            title=title,
            scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
            legend=uplot.Legend(show=True),
            aspect=2.0,
            order=LAST,
        )

    def note(self, now: PageState) -> None:
        """Remember a point; of a recording they are known."""

    def draw(self, now: PageState) -> None:
        """Show what was noted up to now."""

    def _values(self, picture: PageState) -> list[float]:
        return [quantity(picture) for quantity in self._quantities.values()]

    def _send(self, *data: np.ndarray) -> None:
        self._handle.data = data


class RollingPlot(Plot):
    """The last seconds."""

    def __init__(
        self,
        server: viser.ViserServer,
        title: str,
        curves: Mapping[str, uplot.Series],
        quantities: Quantities,
        seconds: float,
    ) -> None:
        """Add an empty plot of the last ``seconds``, see :class:`Plot`."""
        super().__init__(server, title, curves, quantities)
        self._seconds = seconds
        self._points: deque[tuple[float, ...]] = deque()

    def note(self, now: PageState) -> None:
        """Remember a point, if there is news; a time before the last one starts the plot anew."""
        if self._points and now.time == self._points[-1][0]:
            return
        if self._points and now.time < self._points[-1][0]:
            self._points.clear()
        self._points.append((now.time, *self._values(now)))
        while self._points[0][0] < now.time - self._seconds:
            self._points.popleft()

    def draw(self, now: PageState) -> None:
        """Show the last seconds."""
        if len(self._points) >= MINIMUM_POINTS:
            self._send(*np.array(self._points).T)


class TimelinePlot(Plot):
    """A whole recording, with a needle where it is shown."""

    def __init__(
        self,
        server: viser.ViserServer,
        title: str,
        curves: Mapping[str, uplot.Series],
        quantities: Quantities,
        pictures: Sequence[PageState],
    ) -> None:
        """Plot all pictures, see :class:`Plot`."""
        needle = uplot.Series(stroke=NOW_COLOR, width=1)
        super().__init__(server, title, {**curves, NOW: needle}, quantities)
        values = np.array([(picture.time, *self._values(picture)) for picture in pictures])
        starts = np.arange(0, len(values), 1 + len(values) // MAX_POINTS)
        self._curves = np.maximum.reduceat(values, starts).T
        self._shown: PageState | None = None
        self.draw(pictures[0])

    def draw(self, now: PageState) -> None:
        """Move the needle."""
        if now is self._shown:
            return
        self._shown = now
        times, *curves = self._curves
        needle = np.zeros(len(times))
        index = int(np.searchsorted(times, now.time))
        needle[min(index, len(times) - 1)] = np.max(curves)
        self._send(*self._curves, needle)
