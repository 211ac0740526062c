"""The person's own browser, which opens the live page of a graph once that is there."""

from __future__ import annotations

import io
import os
import re
import sys
import threading
import webbrowser

ADDRESS = "live page at {}"
VISITED = "somebody looks at the live page"
"""What the page's node says in its log."""


def is_interactive() -> bool:
    """Return whether a person sits before this process, who can see and end it."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def open_browser(address: str) -> bool:
    """Open a page, if there are a person and a screen to show it to.

    Args:
        address: Of the page.

    Returns:
        Whether a browser was started.
    """
    # Without a screen, one in text mode would take the terminal.
    screen = sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    return is_interactive() and screen and webbrowser.open(address)


class PageOpener(io.TextIOBase):
    """Standard output of a graph, that opens the live page when it is told of it.

    The pages of further graphs, at the same address, are found by the browser itself.

    Attributes:
        address: Of the page; empty before it is known.
    """

    def __init__(self, browser: bool) -> None:
        """Begin.

        Args:
            browser: Whether to open the page; otherwise its address is only noted.
        """
        self.address = ""
        self._browser = browser
        self._settled = threading.Event()

    def write(self, text: str) -> int:
        """Print what the graph says."""
        found = re.search(ADDRESS.format(r"(http://\S+)"), text)
        if found and not self.address:
            self.address = found[1]
            if not (self._browser and open_browser(self.address)):
                self._settled.set()
        if VISITED in text:
            self._settled.set()
        return sys.stdout.write(text)

    def flush(self) -> None:
        """Show it."""
        sys.stdout.flush()

    def wait(self, seconds: float) -> bool:
        """Wait until the browser shows the page, unless none was opened.

        Args:
            seconds: For how long at most [s].

        Returns:
            Whether there is nothing left to wait for.
        """
        return self._settled.wait(seconds)
