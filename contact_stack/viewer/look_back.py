"""The last minute of a live page: a slider leads back in time while the robot goes on."""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections import deque
from operator import attrgetter

from contact_stack.viewer.page import Page
from contact_stack.viewer.snapshot import PageState

STEP = 0.1
"""Of the slider [s]."""


class LookBack:
    """Remembers what a page could have shown, and shows it where a person looks back."""

    def __init__(self, page: Page, seconds: float) -> None:
        """Add the slider.

        Args:
            page: The page.
            seconds: How far back it leads [s].
        """
        self._page, self._seconds = page, seconds
        self._pictures: deque[PageState] = deque()
        self._back, self._at = 0.0, 0.0
        gui = page.server.gui
        with gui.add_folder("time", order=0.5):
            self._slider = gui.add_slider("look back [s]", -seconds, 0.0, STEP, 0.0)
            live = gui.add_button("live", hint="Show what is happening now.")
        live.on_click(lambda event: self.go_live())

    def go_live(self) -> None:
        """Show the present again."""
        self._slider.value = 0.0  # type: ignore[misc]

    def show(self, now: PageState) -> None:
        """Remember the present, and show it or the moment that somebody has chosen.

        Args:
            now: The present; a time before the last one is a new start.
        """
        pictures = self._pictures
        if pictures and now.time < pictures[-1].time:
            pictures.clear()
            self.go_live()
        if not pictures or now.time > pictures[-1].time:
            pictures.append(copy.copy(now))
        while pictures[0].time < now.time - self._seconds:
            pictures.popleft()
        if not self._page.watched:
            self._page.note(now)
            return
        back = float(self._slider.value)
        if back != self._back:
            # The moment stays while the robot goes on.
            self._back, self._at = back, now.time + back
        past = None if back == 0.0 else self._picture(self._at)
        self._page.draw(past or now, live=now)

    def _picture(self, time: float) -> PageState:
        """Return the picture of a time [s], or the nearest that is left."""
        index = bisect_left(self._pictures, time, key=attrgetter("time"))
        return self._pictures[min(index, len(self._pictures) - 1)]
