"""Fixtures of the tests that start throw-away nodes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGE = "throw_away"

PREAMBLE = f"""#!{sys.executable}
import os, signal, sys, threading, time
def line(text):
    print(text, flush=True)
def unblock():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
"""


@pytest.fixture
def make_executable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Install a package ``throw_away`` and put scripts into it."""
    prefix = tmp_path / "prefix"
    index = prefix / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    (index / PACKAGE).touch()
    (prefix / "share" / PACKAGE).mkdir()
    folder = prefix / "lib" / PACKAGE
    folder.mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix), prepend=":")

    def make(name: str, script: str) -> Path:
        path = folder / name
        path.write_text(PREAMBLE + script)
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def launch_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a launch file around some elements."""

    def write(body: str, name: str = "test.launch.xml") -> Path:
        path = tmp_path / name
        path.write_text(f"<launch>\n{body}\n</launch>\n")
        return path

    return write
