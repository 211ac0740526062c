"""colcon, the ament index and pip agree on what is installed."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import ament_index_python
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import bootstrap.__main__
from bootstrap import setup_project
from bootstrap.ament_index import console_scripts
from bootstrap.lock import OLDEST_RELEASE, lock_lines, may_be_chosen
from bootstrap.setup_project import ROOT, ROS_LOCKS, lock_entries, package_folders, read_pins

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
        f"-DCMAKE_PROJECT_INCLUDE={ROOT / 'bootstrap/python_interfaces.cmake'}",
    )
    package = install / "contact_stack"
    assert (package / "share/ament_index/resource_index/packages/contact_stack").is_file()
    for name in shared_names():
        assert (package / "share/contact_stack" / name).is_file()
    for name in NODES:
        assert os.access(package / "lib/contact_stack" / name, os.X_OK)
    messages = install / "contact_stack_msgs/share/contact_stack_msgs/msg"
    assert (messages / "ContactArray.msg").is_file()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what colcon builds of the package, without our environment's."""
    folder = tmp_path_factory.mktemp("colcon")
    only_ours = ("--base-paths", ".", "--packages-select", "contact_stack")
    colcon(folder / "log", "build", *folders(folder), *only_ours)
    return folder


def folders(folder: Path) -> list[str | Path]:
    return ["--build-base", folder / "build", "--install-base", folder / "install"]


def test_every_package_comes_with_its_types(tmp_path: Path):
    """A user's mypy reads them, also those of a wheel."""
    command = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", tmp_path]
    command += ["build_py", "--build-lib", tmp_path / "library"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    built = {path.parent.name for path in (tmp_path / "library").glob("*/py.typed")}
    assert built == {folder.name for folder in package_folders()}


@pytest.mark.verify
def test_what_is_built_is_complete_without_the_source_tree(built: Path, tmp_path: Path):
    """Every module, executable and shared file that runs is that of the install folder."""
    install = built / "install/contact_stack"
    for name in shared_names():
        assert (install / "share/contact_stack" / name).read_bytes() == (ROOT / name).read_bytes()
    executables = {path.name for path in (install / "lib/contact_stack").iterdir()}
    assert executables == set(console_scripts(PREFIX))
    (packages,) = install.glob("lib/python*/site-packages")
    environment = {
        **os.environ,
        "PATH": f"{PREFIX / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(packages),
        "AMENT_PREFIX_PATH": f"{install}{os.pathsep}{PREFIX}",
    }
    # colcon puts this folder on the path.
    command = [install / "bin/contact-stack", "launch", "sim", "--dry-run", "--json"]
    shown = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    ).stdout
    for node in json.loads(shown):
        assert node["command"][0] == str(install / "lib/contact_stack" / node["name"])
    assert str(ROOT) not in shown
    imported = "import contact_stack, tamsi_sim as t; print(contact_stack.__file__, t.__file__)"
    command = [sys.executable, "-c", imported]
    shown = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert all(Path(file).is_relative_to(install) for file in shown.split())


@pytest.mark.verify
def test_colcon_test_runs_the_tests(built: Path):
    """It recognises pytest, and reports its results; here of one file."""
    only_ours = ("--base-paths", ".", "--packages-select", "contact_stack")
    one_file = ("--pytest-args", "test/contact_core/base/test_seeds.py")
    colcon(built / "log", "test", *folders(built), *only_ours, *one_file)
    report = colcon(built / "log", "test-result", "--test-result-base", built / "build", "--all")
    summary = re.search(r"Summary: (\d+) tests, 0 errors, 0 failures", report)
    assert summary
    assert int(summary[1]) >= 2


def shared_names() -> list[Path]:
    """List every launch, configuration and description file of the repository."""
    files = [ROOT / "package.xml"]
    for folder in ("launch", "config", "description"):
        files += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [path.relative_to(ROOT) for path in files]


def test_the_licence_of_every_model_is_stated():
    models = {path.name for path in (ROOT / "description").rglob("*") if path.is_file()}
    stated = re.findall(r"^(\S+\.urdf) +\S", (ROOT / "NOTICE").read_text(), re.MULTILINE)
    assert sorted(stated) == sorted(models)


def test_the_ament_index_knows_every_shared_file():
    share = Path(ament_index_python.get_package_share_directory("contact_stack"))
    for name in shared_names():
        assert (share / name).read_bytes() == (ROOT / name).read_bytes()


def test_no_shared_folder_is_a_link():
    """`ros2 launch` looks for launch files in folders only."""
    share = Path(ament_index_python.get_package_share_directory("contact_stack"))
    walked = {Path(folder, file) for folder, _, files in os.walk(share) for file in files}
    assert walked == {share / name for name in shared_names()}


def test_the_ament_index_knows_every_node():
    executables = Path(ament_index_python.get_package_prefix("contact_stack")) / "lib/contact_stack"
    for name in NODES:
        assert os.access(executables / name, os.X_OK)
    assert set(NODES) <= set(console_scripts(PREFIX))


def pins(ros: str = "") -> dict[str, str]:
    """Read the lock files: name -> version, for this version of Python."""
    pinned = {}
    for requirement in map(Requirement, read_pins(ros)):
        if requirement.marker is None or requirement.marker.evaluate():
            pinned[requirement.name] = str(requirement.specifier).removeprefix("==")
    return pinned


@pytest.mark.parametrize("ros", ROS_LOCKS)
def test_every_pin_has_the_hashes_of_its_files(ros: str):
    """What pip demands of every line as soon as it is to check any."""
    entries = lock_entries(ros)
    assert [entry.partition(" \\\n")[0] for entry in entries] == read_pins(ros)
    for entry in entries:
        _, *hashes = entry.split(" \\\n")
        assert hashes
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}", line) for line in hashes)


def test_the_environment_remembers_its_ros(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    note = tmp_path / "ros_distribution"
    monkeypatch.setattr(setup_project, "ROS_NOTE", note)
    assert setup_project.ros_distribution() == "jazzy"
    note.write_text("kilted")
    assert pins()["ros-rclpy"] == pins("kilted")["ros-rclpy"] != pins("jazzy")["ros-rclpy"]


def test_a_ros_without_wheels_is_refused(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bootstrap", "humble"])
    assert bootstrap.__main__.main() == 1
    assert capsys.readouterr().err == "error: no wheels of ROS=humble (valid: jazzy, kilted)\n"


@pytest.mark.parametrize(
    ("file", "chosen"),
    [
        ("numpy-2.4.6.tar.gz", True),
        ("click-8.5.1-py3-none-any.whl", True),
        ("six-1.17.0-py2.py3-none-any.whl", True),
        ("numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", True),
        ("ruff-0.17.5-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        ("x-1-cp38-abi3-manylinux_2_34_x86_64.whl", True),
        ("mosek-11.1.2-cp39-abi3-manylinux2014_x86_64.whl", True),
        ("numpy-2.4.6-cp314-cp314-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", False),
        ("numpy-2.4.6-cp313-cp313t-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", False),
        ("numpy-2.4.6-cp311-cp311-manylinux_2_27_aarch64.manylinux_2_28_aarch64.whl", False),
        ("numpy-2.4.6-cp311-cp311-musllinux_1_2_x86_64.whl", False),
        ("numpy-2.4.6-cp311-cp311-macosx_10_9_x86_64.whl", False),
        ("x-1-cp38-abi3-win_amd64.whl", False),
    ],
)
def test_hashes_are_those_of_files_that_pip_may_choose_here(file: str, chosen: bool):
    assert may_be_chosen(file, ("3.11", "3.12", "3.13")) == chosen


def test_every_requirement_has_a_pin_in_its_range():
    for line in importlib.metadata.requires("contact_stack") or []:
        requirement = Requirement(line)
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if requirement.name == "contact_stack_msgs":
            continue
        if extra and extra[1] in ("bench", "experiments", "models", "tasks"):
            continue
        ros = extra[1].partition("-")[2] if extra else ""
        version = pins(ros or "jazzy")[re.sub(r"[-_.]+", "-", requirement.name).lower()]
        assert requirement.specifier.contains(version), f"{line}: pinned to {version}"


def test_every_pin_runs_on_the_oldest_python():
    """Debian 12 has 3.11.2, for which set-up failed where this Python was newer."""
    asked = {name: importlib.metadata.metadata(name)["Requires-Python"] for name in pins()}
    refusing = {n: a for n, a in asked.items() if a and OLDEST_RELEASE not in SpecifierSet(a)}
    assert refusing == {}


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
