"""The tutorial, step by step, from its text alone."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs_blocks import REPOSITORY
from page import visit

pytestmark = [pytest.mark.graph, pytest.mark.verify]

PAGES = REPOSITORY / "docs/tutorial"
STEP = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"[Ss]ave (?:this|it) as\s+`([\w.]+)`")
ADDRESS = re.compile(r"live page at (http://\S+)")
GOES_ON = re.compile(r"contact-stack (launch|view (?!.*--html))")
"""What runs until Ctrl-C."""


class Reader:
    """A person with two terminals who does what a page says.

    Attributes:
        folder: Where both are.
        printed: What each command that ended has printed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed: dict[str, str] = {}
        self._path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._running: list[subprocess.Popen[str]] = []

    def follow(self, name: str) -> None:
        """Do everything that a page says."""
        text = (PAGES / name).read_text()
        for step in STEP.finditer(text):
            language, code = step.groups()
            if language == "bash":
                for line in code.splitlines():
                    self._type(line)
            elif language != "text":
                (self.folder / FILE.findall(text[: step.start()])[-1]).write_text(code)

    def _type(self, line: str) -> None:
        if line.startswith("cd "):
            self.folder /= shlex.split(line)[1]
            return
        if GOES_ON.match(line):
            self._keep_running(line)
            return
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env={**os.environ, "PATH": self._path},
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        self.printed[line] = done.stdout + done.stderr
        assert done.returncode == 0, self.printed[line]

    def _keep_running(self, line: str) -> None:
        """Start it, and look at its page."""
        self.press_control_c()
        log = self.folder / "terminal.log"
        with log.open("w") as output:
            self._running.append(
                subprocess.Popen(
                    ["bash", "-c", f"exec {line}"],
                    cwd=self.folder,
                    env={**os.environ, "PATH": self._path},
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    text=True,
                    start_new_session=True,
                )
            )
        end = time.monotonic() + 200.0
        while not (address := ADDRESS.search(log.read_text())):
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.5)
        assert visit(address[1], 3.0).nodes, line

    def press_control_c(self) -> None:
        """End what is running."""
        while self._running:
            process = self._running.pop()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0


@pytest.fixture
def reader(ros_domain: int, tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path)
    yield reader
    reader.press_control_c()


def test_touch_the_arm(reader: Reader) -> None:
    """What the mouse does is tested with a browser, in test_page.py."""
    reader.folder = REPOSITORY
    reader.follow("1_touch_the_arm.md")
    demo = reader.printed["make demo"]
    assert re.search(r"qp.*\n", demo), demo


def test_your_own_scene_and_a_plan_for_it(reader: Reader) -> None:
    reader.follow("2_your_own_scene.md")
    at = re.search(r"the box is at y = (\S+) m", reader.printed["python my_controller.py"])
    assert at is not None
    assert 0.04 <= float(at[1]) < 0.06

    reader.follow("3_plan_a_push.md")
    plan, mistake = (text for line, text in reader.printed.items() if "contact-stack plan" in line)
    assert "SUCCEEDED" in plan
    assert (reader.folder / "out/plan/motion.gif").is_file()
    assert "unknown state 'my_bux/x' (did you mean my_box/x? valid: my_box/x" in mistake
    missing = re.findall(r"(\d+) mm are missing", reader.printed["python my_push.py"])
    assert int(missing[-1]) < 30, reader.printed["python my_push.py"]
