"""colcon, the ament index and pip agree on what is installed."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import ament_index_python
import pytest
from packaging.requirements import Requirement

from bootstrap.ament_index import console_scripts
from bootstrap.lock import lock_lines
from bootstrap.setup_project import LOCK, ROOT

PREFIX = Path(sys.prefix)
NODES = ("tamsi_sim", "contact_estimator", "contact_aware_controller", "viewer")


def colcon(log_folder: Path, *arguments: str | Path) -> str:
    command = [PREFIX / "bin/colcon", "--log-base", log_folder, *arguments]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_colcon_finds_both_packages_with_their_build_types(tmp_path: Path):
    rows = [line.split("\t") for line in colcon(tmp_path, "list").splitlines()]
    assert rows == [
        ["contact_stack", ".", "(ros.ament_python)"],
        ["contact_stack_msgs", "msgs", "(ros.ament_cmake)"],
    ]


@pytest.mark.verify
def test_colcon_builds_both_packages(tmp_path: Path):
    install = tmp_path / "install"
    colcon(
        *(tmp_path / "log", "build", "--build-base", tmp_path / "build"),
        *("--install-base", install, "--cmake-args", "-DBUILD_TESTING=OFF"),
        f"-DCMAKE_PREFIX_PATH={PREFIX}",
        f"-DPython3_EXECUTABLE={sys.executable}",
        f"-DCMAKE_PROJECT_INCLUDE={ROOT / 'bootstrap/drop_missing_includes.cmake'}",
    )
    package = install / "contact_stack"
    assert (package / "share/ament_index/resource_index/packages/contact_stack").is_file()
    for name in shared_names():
        assert (package / "share/contact_stack" / name).is_file()
    for name in NODES:
        assert os.access(package / "lib/contact_stack" / name, os.X_OK)
    messages = install / "contact_stack_msgs/share/contact_stack_msgs/msg"
    assert (messages / "ContactArray.msg").is_file()


def shared_names() -> list[Path]:
    """List every launch, configuration and description file of the repository."""
    files = [ROOT / "package.xml"]
    for folder in ("launch", "config", "description"):
        files += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [path.relative_to(ROOT) for path in files]


def test_the_ament_index_knows_every_shared_file():
    share = Path(ament_index_python.get_package_share_directory("contact_stack"))
    for name in shared_names():
        assert (share / name).read_bytes() == (ROOT / name).read_bytes()


def test_the_ament_index_knows_every_node():
    executables = Path(ament_index_python.get_package_prefix("contact_stack")) / "lib/contact_stack"
    for name in NODES:
        assert os.access(executables / name, os.X_OK)
    assert set(NODES) <= set(console_scripts(PREFIX))


def pins() -> dict[str, str]:
    """Read the lock file: name -> version, for this version of Python."""
    pinned = {}
    for line in LOCK.read_text().splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate():
                pinned[requirement.name] = str(requirement.specifier).removeprefix("==")
    return pinned


def test_every_requirement_has_a_pin_in_its_range():
    for line in importlib.metadata.requires("contact_stack") or []:
        requirement = Requirement(line)
        extra = re.search(r"extra == ['\"](\w+)['\"]", line)
        if extra and extra[1] == "bench":
            continue
        version = pins()[re.sub(r"[-_.]+", "-", requirement.name).lower()]
        assert requirement.specifier.contains(version), f"{line}: pinned to {version}"


def test_the_pinned_versions_are_installed():
    installed = {name: importlib.metadata.version(name) for name in pins()}
    assert installed == pins()


def test_a_version_that_differs_between_pythons_gets_a_marker():
    resolved = {"3.11": {"a": "1", "b": "1"}, "3.12": {"a": "1", "b": "2", "c": "3"}}
    assert lock_lines(resolved) == [
        "a==1",
        "b==1 ; python_version == '3.11'",
        "b==2 ; python_version == '3.12'",
        "c==3 ; python_version == '3.12'",
    ]
