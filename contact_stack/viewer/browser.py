"""The person's own browser."""

from __future__ import annotations

import os
import sys
import webbrowser


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
