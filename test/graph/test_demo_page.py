"""The page of every demo in a real browser: what a person sees moves while the demo runs."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from browser import Browser

pytestmark = [pytest.mark.graph, pytest.mark.verify, pytest.mark.timeout(900)]

PICTURES = Path("out/test/demo_page")
ARM = np.s_[150:650, 200:740]
"""Where the arm is on the page [pixels]."""
MOVED = 0.01
"""Share of the pixels there that changes when an arm moves."""
APART = 500
"""Pixels of another arm that are seen once it is elsewhere."""
PATIENCE = 90
"""How often one looks; a run begins only once everything has found each other."""


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mug_placement", ("--controller", "qp")),
        ("mug_moving", ("--controller", "qp", "--driver", "kuka_drivers")),
        ("two_contacts", ("--controller", "qp", "--driver", "ros2_control")),
        ("push_box", ()),
        ("push_anything", ("--shape", "disc")),
        ("slide_sled", ()),
        ("bottle_shake", ("--feedback", "on")),
    ],
)
def test_what_is_seen_moves(start_process, tmp_path: Path, name: str, options) -> None:
    command = (sys.executable, "-m", "contact_stack.cli", "demo", name, "--out", tmp_path)
    demo = start_process(*command, *options)
    with Browser() as browser:
        browser.do("open", address=page_of(demo))
        browser.do("wait", text="true contact force", seconds=120)
        first = browser.picture(PICTURES / f"{name}_first.png")
        assert any(moved(browser, first, name) for _ in range(PATIENCE))
        assert browser.do("errors") == []
    output, errors = demo.communicate(timeout=600)
    assert demo.returncode == 0, output + errors
    assert "Traceback" not in errors


def test_the_arm_of_the_baseline_is_beside_the_one_that_runs(start_process, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "contact_stack.cli", "demo", "mug_placement")
    demo = start_process(*command, "--out", tmp_path)
    page_of(demo)  # of the baseline alone
    address = page_of(demo)
    with Browser() as browser:
        browser.do("open", address=address)
        browser.do("wait", text="arm of greedy at the same time", seconds=120)
        before = red(browser.picture(PICTURES / "beside_first.png"))
        counts = []
        while demo.poll() is None and not any(count > before + APART for count in counts):
            time.sleep(1.0)
            counts.append(red(browser.picture(PICTURES / "beside_later.png")))
        # They begin at the same place, and part where the baseline presses.
        assert max(counts) > before + APART
        assert browser.do("errors") == []
    output, errors = demo.communicate(timeout=600)
    assert demo.returncode == 0, output + errors


def red(picture: np.ndarray) -> int:
    """Return the number of pixels that have the colour of another run's arm."""
    red, green, blue = np.moveaxis(picture[ARM], 2, 0)
    return int(((red > green + 0.15) & (red > blue + 0.15)).sum())


def page_of(demo: subprocess.Popen[str]) -> str:
    """Return the address that a demo prints."""
    assert demo.stdout is not None
    for line in demo.stdout:
        if address := re.search(r"live page at (http://\S+)", line):
            return address[1]
    raise AssertionError("the demo ended without a page")


def moved(browser: Browser, first: np.ndarray, name: str) -> bool:
    """Look again a second later, and return whether the arm looks otherwise than at first."""
    time.sleep(1.0)
    later = browser.picture(PICTURES / f"{name}_later.png")
    changed = np.abs(later[ARM] - first[ARM]).max(axis=2) > 0.1
    return bool(changed.mean() > MOVED)
