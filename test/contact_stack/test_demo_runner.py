"""The runner of the demos: what it writes, prints and returns, and that every demo fits it."""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from films import write_recording
from page import visit

from contact_core.base.errors import ConfigError
from contact_core.base.results import table
from contact_stack.demo import command, runner
from contact_stack.demo.client_node import ClientNode, Connection
from contact_stack.demo.runner import Demo, run_demo
from contact_stack.launch import find_launch_file, parse
from contact_stack.viewer import browser
from contact_stack.viewer.browser import PageOpener


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(words)


class Throw(Demo[float]):
    """Two runs, whose data is a distance [m]."""

    options = (runner.ENGINE, runner.DRIVER, runner.REALTIME)

    @property
    def runs(self) -> Sequence[str]:
        return ["near", "far"]

    def launch(self, run: str, folder: Path) -> tuple[str, Mapping[str, str]]:
        raise AssertionError("no graph is started here")

    def client(self, run: str, connection: Connection) -> ClientNode[float]:
        raise AssertionError("no graph is joined here")

    def summarise(self, runs: Mapping[str, float]) -> dict[str, Any]:
        return {run: {**self.envelope(2.0, 4.0), "way_m": way} for run, way in runs.items()}

    def report(self, summary: Mapping[str, Any]) -> list[str]:
        return table(summary, (("way", "way_m", 1e3, "mm"),))

    def draw(self, runs: Mapping[str, float], folder: Path) -> list[Path]:
        (folder / "way.png").write_bytes(b"")
        return [folder / "way.png"]

    def verdict(self, summary: Mapping[str, Any]) -> tuple[list[str], bool]:
        short = [run for run, figures in summary.items() if figures["way_m"] < 1.0]
        return [f"failed run: {run}: too short" for run in short], bool(short)


def throw(ways: dict[str, float], out: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the demo with given data instead of graphs."""
    monkeypatch.setattr(runner, "run_graph", lambda demo, run, *rest: ways[run])
    monkeypatch.setattr(command, "DEMOS", {"throw": Throw})
    demo = command.make_demo(argparse.Namespace(name="throw", seed=3, view=False, browser=False))
    return run_demo(demo, out, out / "copy.json")


def test_one_shape_of_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert throw({"near": 1.0, "far": 2.0}, tmp_path / "out", monkeypatch) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary == json.loads((tmp_path / "out" / "copy.json").read_text())
    assert list(summary) == ["near", "far"]
    assert summary["far"] == {
        "experiment": "throw",
        "driver": "lbr_fri",
        "engine": "tamsi",
        "seed": 3,
        "lockstep": True,
        "sim_time_s": 2.0,
        "wall_time_s": 4.0,
        "real_time_factor": 0.5,
        "way_m": 2.0,
    }
    printed = capsys.readouterr().out
    assert "1e+03" not in printed
    assert "2000 mm" in printed
    assert "summary.json, way.png, *.mcap" in printed


def test_the_first_run_is_made_last_beside_the_one_it_is_compared_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Sequence[str]] = []

    def run_graph(demo: Throw, run: str, out: Path, opener: object, other: str = "") -> float:
        made.append((run, other))
        return 1.0

    monkeypatch.setattr(runner, "run_graph", run_graph)
    monkeypatch.setattr(command, "DEMOS", {"throw": Throw})
    demo = command.make_demo(argparse.Namespace(name="throw", seed=3, view=False, browser=False))
    assert run_demo(demo, tmp_path) == 0
    assert made == [("far", ""), ("near", "far")]


def test_a_failed_run_is_named_and_gives_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert throw({"near": 0.5, "far": 2.0}, tmp_path, monkeypatch) == 1
    assert capsys.readouterr().out.endswith("failed run: near: too short\n")


@pytest.mark.parametrize("name", [name for name in command.DEMOS if name != "slide_sled"])
def test_every_demo_starts_a_graph_that_its_launch_file_knows(name: str, tmp_path: Path) -> None:
    demo = command.make_demo(parsed(name))
    for run in demo.runs:
        file, arguments = demo.launch(run, tmp_path)
        plan = parse(find_launch_file(file), {"lockstep": "true", **arguments})
        assert "tamsi_sim" in {node.name for node in plan.nodes}


@pytest.mark.parametrize("name", command.DEMOS)
def test_an_option_is_taken_or_refused_but_never_ignored(name: str) -> None:
    """The error lists what the demo takes."""
    kind = command.DEMOS[name]
    for option in command.OPTIONS:
        value = [] if "action" in option.settings else [str(option.default)]
        args = parsed(name, option.flag, *value)
        if option in kind.options:
            command.make_demo(args)
            continue
        taken = ", ".join(own.flag for own in kind.options)
        with pytest.raises(ConfigError, match=rf"{name} takes no {option.flag} \(valid: {taken}\)"):
            command.make_demo(args)


def test_an_unknown_demo_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown demo 'juggle'"):
        command.DEMOS["juggle"]
    with pytest.raises(SystemExit):
        parsed("juggle")


PAGE = "http://127.0.0.1:8470"


def test_in_a_terminal_the_page_plays_the_first_run_until_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_graph(
        demo: Demo[float], run: str, out: Path, opener: PageOpener, other: str = ""
    ) -> float:
        write_recording(out / f"{run}.mcap")
        opener.write(f"[viewer] live page at {PAGE}\n")
        assert opener.wait(0.0)  # no browser is to be opened
        return 1.0

    def look() -> None:
        while "TRACKING" not in "".join(seen):
            with suppress(OSError):
                seen.append(str(visit(PAGE).words))
        os.kill(os.getpid(), signal.SIGINT)

    seen: list[str] = []
    monkeypatch.setattr(runner, "run_graph", run_graph)
    monkeypatch.setattr(runner, "is_interactive", lambda: True)
    monkeypatch.setattr(command, "DEMOS", {"throw": Throw})
    demo = command.make_demo(argparse.Namespace(name="throw", seed=3, view=True, browser=False))
    visitor = threading.Thread(target=look)
    visitor.start()
    assert run_demo(demo, tmp_path) == 0
    visitor.join()
    assert f"live page at {PAGE} (Ctrl-C ends it)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("terminal", "screen", "opened"), [(True, True, 1), (True, False, 0), (False, True, 0)]
)
def test_a_browser_opens_once_where_somebody_can_see_it(
    terminal: bool, screen: bool, opened: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(browser, "is_interactive", lambda: terminal)
    monkeypatch.setattr(browser.webbrowser, "open", lambda address: not asked.append(address))
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0" if screen else "")
    opener = PageOpener(browser=True)
    for _ in range(2):
        opener.write(f"[viewer] [INFO]: live page at {PAGE}\n")
    assert asked == [PAGE] * opened
    assert opener.wait(0.0) == (not opened)
    opener.write("[viewer] [INFO]: somebody looks at the live page\n")
    assert opener.wait(0.0)
