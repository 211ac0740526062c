"""Steps of the set-up run once, run again when their inputs change, and fail readably."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bootstrap import setup_project
from bootstrap.step import Log, Step, StepRunner


class _Recorder:
    """Steps that note their runs."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.sources = {name: folder / name for name in ("first", "second")}
        for source in self.sources.values():
            source.mkdir()
            (source / "content").write_text("as it was")

    def run(self) -> list[str]:
        """Run both steps with a new runner and return those that did something."""
        runner = StepRunner(self.folder / "stamps", self.folder / "logs", os.environ)
        for name, source in self.sources.items():
            assert runner.run([Step(name, name, (source, "a text"), self.act, "no remedy")])
        return runner.done

    def act(self, log: Log) -> None:
        log.run(sys.executable, "-c", "print('acted')")


@pytest.fixture
def recorder(tmp_path: Path) -> _Recorder:
    return _Recorder(tmp_path)


def test_every_step_runs_once(recorder: _Recorder):
    assert recorder.run() == ["first", "second"]
    assert recorder.run() == []


@pytest.mark.parametrize("change", ["edit", "add", "remove", "rename"])
def test_a_changed_input_redoes_its_step_only(recorder: _Recorder, change: str):
    recorder.run()
    content = recorder.sources["second"] / "content"
    match change:
        case "edit":
            content.write_text("as it is")
        case "add":
            (content.parent / "another").touch()
        case "remove":
            content.unlink()
        case "rename":
            content.rename(content.with_name("renamed"))
    assert recorder.run() == ["second"]


def test_generated_files_are_no_inputs(recorder: _Recorder):
    recorder.run()
    cache = recorder.sources["first"] / "__pycache__"
    cache.mkdir()
    (cache / "module.pyc").touch()
    assert recorder.run() == []


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ([sys.executable, "-c", "print('the reason'); raise SystemExit(3)"], "the reason"),
        (["/nowhere/at/all"], "No such file or directory"),
    ],
)
def test_a_failed_step_shows_its_log_and_remedy_and_is_tried_again(
    tmp_path: Path, capsys, command: list[str], reason: str
):
    step = Step("broken", "do it", (), lambda log: log.run(*command), "turn it off and on")
    runner = StepRunner(tmp_path / "stamps", tmp_path / "logs", os.environ)
    assert not runner.run([step])
    errors = capsys.readouterr().err
    assert reason in errors
    assert "error: do it failed: turn it off and on" in errors
    assert str(tmp_path / "logs/broken.log") in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "stamps/broken").exists()


def test_a_failure_removes_the_stamp_of_the_last_success(tmp_path: Path):
    runner = StepRunner(tmp_path / "stamps", tmp_path / "logs", os.environ)
    assert runner.run([Step("step", "step", ("old",), lambda log: None, "")])
    runner = StepRunner(tmp_path / "stamps", tmp_path / "logs", os.environ)
    assert not runner.run([Step("step", "step", ("new",), lambda log: log.run("/nowhere"), "")])
    assert not (tmp_path / "stamps/step").exists()


def test_tracks_run_side_by_side_and_the_steps_of_each_in_turn(tmp_path: Path):
    both = threading.Barrier(2, timeout=10.0)
    order: list[str] = []

    def track(name: str) -> list[Step]:
        meet = Step(f"{name}_meets", "", (), lambda log: both.wait() and None, "")
        return [meet, Step(f"{name}_ends", "", (), lambda log: order.append(name), "")]

    runner = StepRunner(tmp_path / "stamps", tmp_path / "logs", os.environ)
    assert runner.run(track("first"), track("second"))
    assert sorted(order) == ["first", "second"]
    for name in order:
        assert runner.done.index(f"{name}_meets") < runner.done.index(f"{name}_ends")


def test_what_fails_ends_what_runs_beside_it(tmp_path: Path, capsys):
    """And what that has started."""
    child = tmp_path / "child"
    lasting = ("sh", "-c", f"sleep 600 & echo $! > {child}.new; mv {child}.new {child}; wait")

    def fail(log) -> None:
        until(child.exists)
        log.run("/nowhere")

    long = [
        Step("long", "take long", (), lambda log: log.run(*lasting), "never shown"),
        Step("later", "do more", (), lambda log: None, ""),
    ]
    broken = [Step("broken", "do it", (), fail, "turn it off and on")]
    runner = StepRunner(tmp_path / "stamps", tmp_path / "logs", os.environ)
    assert not runner.run(long, broken)
    shown = capsys.readouterr()
    assert "never shown" not in shown.err
    assert [line.split()[-1] for line in shown.out.splitlines()] == ["failed", "stopped"]
    assert not runner.done
    state = Path("/proc", child.read_text().strip(), "stat")
    until(lambda: not state.exists() or ") Z " in state.read_text())


def until(condition: Callable[[], bool]) -> None:
    """Wait for something."""
    end = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_second_make_setup_does_nothing():
    assert setup_project.STAMPS.is_dir(), "run `make setup` first"
    stamps = {path: path.stat().st_mtime_ns for path in setup_project.STAMPS.iterdir()}
    result = subprocess.run(
        ["make", "setup"], cwd=setup_project.ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert "ready, nothing to do" in result.stdout
    assert stamps == {path: path.stat().st_mtime_ns for path in setup_project.STAMPS.iterdir()}
