"""A machine that cannot run the project gets one clear line per problem, never a traceback."""

from __future__ import annotations

import ast
import dataclasses
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from bootstrap import __main__, machine, setup_project, supported_python
from bootstrap.machine import Machine

GOOD_TOOLS = {"gcc", "g++", "make"}


def find_in(tools: set[str]):
    return lambda name: f"/usr/bin/{name}" if name in tools else None


@pytest.fixture
def good(tmp_path: Path) -> Machine:
    (tmp_path / "Python.h").touch()
    return Machine(
        system="linux",
        architecture="x86_64",
        glibc=(2, 36),
        python=(3, 12),
        python_include=tmp_path,
        has_venv=True,
        find=find_in(GOOD_TOOLS),
        environment={},
    )


def test_a_complete_machine_has_no_problem(good: Machine):
    assert machine.problems(good) == []


@pytest.mark.parametrize(
    ("change", "problem", "remedy"),
    [
        ({"architecture": "aarch64"}, "linux on aarch64", "use such a machine"),
        ({"system": "darwin"}, "darwin on x86_64", "use such a machine"),
        ({"glibc": (2, 31)}, "this system has 2.31", "use Debian 12"),
        ({"glibc": ()}, "another C library", "use Debian 12"),
        ({"has_venv": False}, "venv module", "sudo apt install python3.12-venv"),
        ({"python_include": Path("/nowhere")}, "headers", "sudo apt install python3.12-dev"),
        ({"find": find_in({"gcc", "make"})}, "no C++ compiler", "sudo apt install build-essential"),
        ({"find": find_in({"g++", "make"})}, "no C compiler", "sudo apt install build-essential"),
        ({"find": find_in({"gcc", "g++"})}, "make was not found", "sudo apt install make"),
        ({"environment": {"CXX": "g++-99 -O2"}}, "CXX=g++-99 does not exist", "unset CXX"),
    ],
)
def test_each_missing_thing_is_one_line_with_its_remedy(
    good: Machine, change: dict, problem: str, remedy: str
):
    (line,) = machine.problems(dataclasses.replace(good, **change))
    assert problem in line
    assert remedy in line
    assert "\n" not in line


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 12, 7), (3, 13, 1)])
def test_supported_versions_of_python(version: tuple[int, ...]):
    assert supported_python.problem(version) == ""


@pytest.mark.parametrize("version", [(3, 8, 18), (3, 10, 13), (3, 14, 0)])
def test_other_versions_of_python_name_one_that_is_installed(version: tuple[int, ...]):
    line = supported_python.problem(version, find_in({"python3.11", "python3.12"}))
    assert "{}.{}".format(*version) in line
    assert "make setup PYTHON=python3.12" in line


def test_without_a_supported_python_the_remedy_is_to_install_one():
    assert "install python3.12" in supported_python.problem((3, 10, 0), find_in(set()))


@pytest.mark.parametrize("module", [__main__, supported_python])
def test_the_version_check_itself_runs_on_an_old_python(module):
    ast.parse(Path(module.__file__).read_text(), feature_version=(3, 6))


def test_a_wrong_python_ends_with_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    assert __main__.main() == 1
    assert capsys.readouterr().err.startswith("error: Python 3.11 to 3.13 is needed, this is 3.9")


def test_a_wrong_architecture_ends_with_one_line(monkeypatch, capsys):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert setup_project.main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: Linux on x86_64 is needed")


def test_a_missing_compiler_ends_the_real_command_before_it_does_anything(tmp_path: Path):
    environment = {key: value for key, value in os.environ.items() if key not in ("CC", "CXX")}
    for name in ("gcc", "make"):
        (tmp_path / name).touch(mode=0o755)
    result = subprocess.run(
        [sys.executable, "-m", "bootstrap"],
        cwd=setup_project.ROOT,
        env={**environment, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert result.stderr == (
        "error: no C++ compiler was found: `sudo apt install build-essential`\n"
    )
    assert result.stdout == ""
