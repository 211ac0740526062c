"""The runner of the demos: what it writes, prints and returns, and that every demo fits it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from contact_core.errors import ConfigError
from contact_core.results import table
from contact_stack.demo import command, runner
from contact_stack.demo.client_node import ClientNode, Connection
from contact_stack.demo.runner import Demo, run_demo
from contact_stack.launch import find_launch_file, parse


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
    monkeypatch.setattr(runner, "run_graph", lambda demo, run, folder: ways[run])
    monkeypatch.setattr(command, "DEMOS", {"throw": Throw})
    demo = command.make_demo(argparse.Namespace(name="throw", seed=3, view=False))
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
