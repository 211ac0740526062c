"""A Python of the virtual environment finds its own ROS in every shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bootstrap.contact_stack_environment import WHEELS_ARE_READY, prepare

VENV = "/project/.venv"


def test_an_empty_shell_gets_the_index_of_the_environment():
    variables: dict[str, str] = {}
    prepare(variables, VENV)
    assert variables == {"AMENT_PREFIX_PATH": VENV}


def test_an_overlay_of_the_environment_is_kept_and_preferred():
    variables = {"AMENT_PREFIX_PATH": "/workspace/install/mine", "PYTHONPATH": "/workspace/python"}
    prepare(variables, VENV)
    assert variables["AMENT_PREFIX_PATH"] == f"/workspace/install/mine:{VENV}"
    assert variables["PYTHONPATH"] == "/workspace/python"


def test_a_sourced_ros_installation_is_left_out(tmp_path: Path):
    (tmp_path / "share/rclpy").mkdir(parents=True)
    variables = {
        "AMENT_PREFIX_PATH": f"/workspace/install/mine:{tmp_path}",
        "CMAKE_PREFIX_PATH": str(tmp_path),
        "LD_LIBRARY_PATH": f"{tmp_path}/lib:/usr/local/cuda/lib",
        "PYTHONPATH": f"/workspace/install/mine/lib/python:{tmp_path}/lib/python:/home/me",
        WHEELS_ARE_READY: "1",
    }
    prepare(variables, VENV)
    assert variables == {
        "AMENT_PREFIX_PATH": VENV,
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib",
        "PYTHONPATH": "/home/me",
    }


@pytest.mark.parametrize("libraries", ["", "/another/venv/lib"])
def test_an_inherited_note_without_our_libraries_does_not_count(libraries: str):
    variables = {WHEELS_ARE_READY: "1", "LD_LIBRARY_PATH": libraries}
    prepare(variables, VENV)
    assert WHEELS_ARE_READY not in variables


def test_a_prepared_environment_is_left_alone():
    variables = {
        "AMENT_PREFIX_PATH": VENV,
        "LD_LIBRARY_PATH": f"{VENV}/lib",
        WHEELS_ARE_READY: "1",
    }
    before = dict(variables)
    prepare(variables, VENV)
    assert variables == before


@pytest.mark.parametrize("inherited", [{}, {WHEELS_ARE_READY: "1"}])
def test_ros_works_without_sourcing_anything(inherited: dict[str, str], tmp_path: Path):
    script = "import os, rclpy; rclpy.init(); print(os.environ['AMENT_PREFIX_PATH'])"
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **inherited},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == sys.prefix
