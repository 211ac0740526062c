"""A recording in a real browser: it is played, scrubbed, and kept as a page of its own."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from films import write_recording

pytestmark = [pytest.mark.graph, pytest.mark.timeout(500)]

CLI = (sys.executable, "-m", "contact_stack.cli")
PICTURES = Path("out/test/view")
POSIX = "en-US@posix"
"""What a browser calls its language where LANG is C; JavaScript refuses it."""
ARM = np.s_[150:650, 350:750]
"""Where the arm is on the page [pixels]."""


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    write_recording(tmp_path / "run.mcap")
    return tmp_path / "run.mcap"


def changed(before: np.ndarray, after: np.ndarray) -> float:
    """Return the share of the pixels about the arm that have changed."""
    return float((np.abs(after[ARM] - before[ARM]).max(axis=2) > 0.1).mean())


def lead(browser: Browser, start: float, end: float) -> None:
    """Drag the timeline, from a share of it to another."""
    left, right, y = browser.do("slider")
    browser.do("drag", **{"from": (left + start * (right - left), y)},
               to=(left + end * (right - left), y))  # fmt: skip
    browser.do("release")


def settled(browser: Browser, name: str) -> np.ndarray:
    """Return a picture of what does not change any more, and keep it as a file."""
    before = browser.picture(PICTURES / name)
    for _ in range(30):
        time.sleep(0.5)
        picture = browser.picture(PICTURES / name)
        if changed(before, picture) == 0.0:
            break
        before = picture
    return picture


@pytest.mark.verify
def test_a_recording_is_scrubbed_both_ways(start_process, recording) -> None:
    process = start_process(*CLI, "view", recording, "--page-port", "8460")
    address = re.search(r"live page at (http://\S+)", process.stdout.readline())
    assert address is not None
    with Browser() as browser:
        browser.do("open", address=address[1], width=1280, height=800)
        browser.do("wait", text="recording", seconds=60)
        browser.do("wait", text="continue", seconds=30)  # at the end it stops
        end = settled(browser, "end.png")
        lead(browser, 1.0, 0.0)
        browser.do("wait", text="at 0.00 s", seconds=30)
        start = settled(browser, "start.png")
        lead(browser, 0.0, 0.6)
        browser.do("wait", text="feels 12.0 N at lbr_link_4", seconds=30)
        lead(browser, 0.6, 1.0)
        browser.do("wait", text="at 4.00 s", seconds=30)
        again = settled(browser, "again.png")
        assert changed(start, end) > 0.05
        assert changed(end, again) < 0.01
        assert browser.do("errors") == []
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0


def test_on_a_telephone_the_force_is_seen_and_the_panel_is_closed_until_it_is_opened(
    start_process, recording
) -> None:
    process = start_process(*CLI, "view", recording, "--page-port", "8470")
    address = re.search(r"live page at (http://\S+)", process.stdout.readline())
    assert address is not None
    with Browser() as browser:
        browser.do("open", address=address[1], width=390, height=780, language=POSIX)
        browser.do("wait", text="contact stack", seconds=60)
        until(lambda: "speed" not in browser.do("text"))
        time.sleep(3.0)  # it stays so, also with what comes later
        browser.picture(PICTURES / "narrow.png")
        text = browser.do("text")
        assert "speed" not in text
        headline = r"N\ncontact force\nlimit 15 N, peak \d+ N\n.*(TRACKING|HOLD) at \d"
        assert re.search(headline, text), text
        browser.do("click", text="contact stack")
        until(lambda: "speed" in browser.do("text"))
        browser.picture(PICTURES / "narrow_opened.png")
        assert browser.do("errors") == []
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0


def until(holds: Callable[[], bool]) -> None:
    """Wait for something on the page, which may take a moment."""
    for _ in range(60):
        if holds():
            return
        time.sleep(0.5)
    raise AssertionError("it never came")


@pytest.mark.verify  # drawn without a graphics card
def test_an_export_plays_from_the_disk(start_process, recording, tmp_path) -> None:
    page = tmp_path / "run.html"
    process = start_process(*CLI, "view", recording, "--html", page)
    assert process.wait(60) == 0
    with Browser() as browser:
        browser.do("open", address=page.as_uri(), width=1280, height=800, language=POSIX)
        first = arrived(browser)
        browser.do("wait", text="limit 15 N", seconds=30)
        assert "contact force that it feels" in browser.do("text")  # and the legend
        browser.do("wait", text="feels 12.0 N at lbr_link_4", seconds=120)
        end = time.monotonic() + 150.0  # a picture takes seconds on a busy machine
        while changed(first, browser.picture(PICTURES / "export_later.png")) < 0.02:
            assert time.monotonic() < end, "it stands still"
            time.sleep(0.3)
        assert browser.do("errors") == []


def arrived(browser: Browser) -> np.ndarray:
    """Return the first picture that has the orange of the arm."""
    end = time.monotonic() + 60.0
    while time.monotonic() < end:
        picture = browser.picture(PICTURES / "export.png")
        red, green, blue = np.moveaxis(picture[ARM], 2, 0)
        if ((red > 0.6) & (green > 0.3) & (blue < 0.4)).any():
            return picture
        time.sleep(0.5)
    raise AssertionError("the arm never appeared")
