"""The steps from a fresh clone to a project that runs, on the ROS of one distribution."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from zipfile import ZipFile

from bootstrap import contact_stack_environment, machine
from bootstrap.ament_index import SHARED, link_package, shared_files
from bootstrap.interfaces import build_interfaces, interface_packages, is_provided
from bootstrap.step import Log, Step, StepError, StepRunner

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMPS = VENV / "stamps"
LOCK = ROOT / "bootstrap" / "requirements.lock.txt"
JAZZY = "jazzy"
ROS_LOCKS = {JAZZY: LOCK, "kilted": LOCK.with_name("kilted.lock.txt")}
"""Distribution of ROS 2 that comes as wheels -> the file that pins its packages."""
ROS_NOTE = VENV / "ros_distribution"
NOT_INSTALLED = {"bootstrap", "test"}
BUILD_TOOLS = ("setuptools", "uv", "wheel")
LOAD_EXECUTABLES = """
from importlib.metadata import distribution
for executable in distribution("contact_stack").entry_points.select(group="console_scripts"):
    executable.load()
"""
GRAPH = ("contact_core", "tamsi_sim", "contact_aware_control")
"""Packages with the kernels of simulator, estimator and controller."""


def main(ros: str = "", everything: bool = True) -> int:
    """Check the machine, then do every step that is out of date.

    Args:
        ros: Distribution of ROS 2; by default the one that the environment has, at first Jazzy.
        everything: Also compile the kernels that planners and benchmarks use, which no demo of the
            controller waits for.

    Returns:
        The exit code.
    """
    missing = machine.problems(machine.Machine.here())
    for line in missing:
        print(f"error: {line}", file=sys.stderr)
    if missing:
        return 1
    start = time.monotonic()
    runner = StepRunner(STAMPS, ROOT / "build", command_environment())
    try:
        with one_at_a_time():
            # Side by side: one processor would idle behind the longest kernel or C file.
            done = runner.run(environment(ros or ros_distribution()))
            done = done and runner.run(packages(), [graph_kernels()])
            if not done or (everything and not runner.run([other_kernels()])):
                return 1
    except KeyboardInterrupt:
        print("\ninterrupted: `make setup` continues where it stopped", file=sys.stderr)
        return 130
    outcome = "ready" if runner.done else "ready, nothing to do"
    print(f"  set-up: {outcome} ({time.monotonic() - start:.1f} s)")
    return 0


def ros_distribution() -> str:
    """Return the distribution of ROS 2 that the environment has, or gets by default."""
    return ROS_NOTE.read_text() if ROS_NOTE.is_file() else JAZZY


def ros_extra(name: str, ros: str) -> str:
    """Return what an extra of setup.py is called for a distribution of ROS 2.

    Args:
        name: For Jazzy.
        ros: The distribution.
    """
    return name if ros == JAZZY else f"{name}-{ros}"


def environment(ros: str) -> Iterator[Step]:
    """List the steps to what others wrote.

    Args:
        ros: Distribution of ROS 2.
    """
    base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    yield Step(
        "environment",
        "create the virtual environment .venv",
        # The scripts in it name its folder, so a moved one is made again.
        (
            "{}.{}".format(*sys.version_info),
            base,
            str(VENV),
            ROOT / "bootstrap/contact_stack_environment.py",
            # Two distributions share names of files, so neither is installed over the other.
            *([] if ros == JAZZY else [ros]),
        ),
        partial(create_environment, base=base, ros=ros),
        "remove the folder .venv and try again",
    )
    yield Step(
        "requirements",
        f"install {len(read_pins(ros))} pinned requirements",
        tuple(dict.fromkeys((LOCK, ROS_LOCKS[ros]))),
        partial(install_requirements, ros=ros),
        "check the network and the free disk space (2 GB), then try again",
        usual=30.0,
    )


def packages() -> Iterator[Step]:
    """List the steps to our own packages: the interfaces, then the code."""
    ros_pins = pins("ros-", "empy", "numpy")
    for name, folder in interface_packages(ROOT).items():
        if is_provided(name, VENV):
            continue
        yield Step(
            f"interfaces-{name}",
            f"generate and compile {name}",
            (folder, ROOT / "bootstrap/python_interfaces.cmake", ros_pins),
            partial(build_interfaces, name=name, folder=folder, root=ROOT, venv=VENV),
            "correct the interface files or install the compiler the log asks for",
            usual=60.0 if name == "contact_stack_msgs" else 20.0,
        )
    yield Step(
        "package",
        "install contact_stack (editable)",
        (
            *(ROOT / name for name in ("setup.py", "setup.cfg", "package.xml", "pyproject.toml")),
            ROOT / "bootstrap/ament_index.py",
            "\n".join(folder.name for folder in package_folders()),
            "\n".join(str(file) for name in SHARED for file in shared_files(ROOT / name)),
        ),
        install_package,
        "correct what the log names",
        usual=15.0,
    )


def graph_kernels() -> Step:
    """Return the step that compiles what the nodes of a graph run."""
    files = kernel_files(ROOT / name for name in GRAPH)
    return Step(
        "kernels-graph",
        "compile the kernels of simulator and controller",
        (*files, pins("numba", "llvmlite")),
        partial(compile_kernels, group="graph"),
        "correct the kernel the log names",
        usual=90.0,
    )


def other_kernels() -> Step:
    """Return the step that compiles the rest; it may call what the first one compiled."""
    return Step(
        "kernels-others",
        "compile the kernels of planners and benchmarks",
        (*kernel_files(package_folders()), pins("numba", "llvmlite")),
        partial(compile_kernels, group="others"),
        "correct the kernel the log names",
        usual=45.0,
    )


def lock_entries(ros: str) -> list[str]:
    """Read the lock files: a requirement each, with the hashes of its files.

    Args:
        ros: Distribution of ROS 2.
    """
    entries = [
        re.split(r"\n(?! )", path.read_text().strip())[1:] for path in (LOCK, ROS_LOCKS[ros])
    ]
    others = [entry for entry in entries[0] if not entry.startswith("ros-")]
    return others + [entry for entry in entries[1] if entry.startswith("ros-")]


def read_pins(ros: str = "") -> list[str]:
    """Read the requirements without their hashes, e.g. ``"numpy==2.4.6"``.

    Args:
        ros: Distribution of ROS 2; by default that of the environment.
    """
    return [entry.partition(" \\\n")[0] for entry in lock_entries(ros or ros_distribution())]


def pins(*beginnings: str) -> str:
    """Return the requirements whose names begin so, one a line."""
    return "\n".join(pin for pin in read_pins() if pin.startswith(beginnings))


def create_environment(log: Log, base: str, ros: str) -> None:
    """Make an empty virtual environment that knows its ROS."""
    shutil.rmtree(VENV, ignore_errors=True)
    log.run(base, "-m", "venv", VENV)
    module = contact_stack_environment.__name__.rpartition(".")[2]
    site_packages = VENV / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"
    shutil.copy(contact_stack_environment.__file__, site_packages / f"{module}.py")
    (site_packages / f"{module}.pth").write_text(f"import {module}\n")
    ROS_NOTE.write_text(ros)


def install_requirements(log: Log, ros: str) -> None:
    """Install exactly what the lock files list, and no other file than they were written for."""
    pip = (VENV / "bin/python", "-m", "pip", "install", "--disable-pip-version-check")
    uv = (VENV / "bin/uv", "pip", "install", "--python", VENV / "bin/python", "--link-mode", "copy")
    exactly = ("--no-deps", "--require-hashes")
    # First the build tools: packages that come as source are then built with the pinned ones.
    tools, pinned = log.path.with_name("build_tools.txt"), log.path.with_name("pinned.txt")
    entries = lock_entries(ros)
    tools.write_text("\n".join(e for e in entries if e.split("==")[0] in BUILD_TOOLS) + "\n")
    pinned.write_text("\n".join(entries) + "\n")
    log.run(*pip, *exactly, "-r", tools)
    everything = (*exactly, "--no-build-isolation", "-r", pinned)
    try:
        log.run(*uv, *everything)
    except StepError:
        # It takes a tenth of pip's time, and knows nothing of pip's configuration, e.g. an index.
        log.run(*pip, *everything)


def install_package(log: Log) -> None:
    """Install this package so that edits take effect at once, and see that it can be started."""
    log.run(
        *(VENV / "bin/python", "-m", "pip", "install", "--disable-pip-version-check"),
        *("--no-deps", "--no-build-isolation", "--editable", ROOT),
    )
    link_package(ROOT, VENV)
    log.run(VENV / "bin/python", "-c", LOAD_EXECUTABLES)


def package_folders() -> list[Path]:
    """List the top-level Python packages that are installed."""
    folders = sorted(path.parent for path in ROOT.glob("*/__init__.py"))
    return [folder for folder in folders if folder.name not in NOT_INSTALLED]


def kernel_files(folders: Iterable[Path]) -> list[Path]:
    """List the files in some folders that hold compiled functions."""
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return [path for path in files if "kernel" in path.read_text()]


def compile_kernels(log: Log, group: str) -> None:
    """Fill the cache of compiled functions; what fits the sources is not compiled again."""
    unpack_kernels(ROOT / "dist", ROOT)
    log.run(VENV / "bin/python", "-m", "contact_stack.precompile", group)


def unpack_kernels(dist: Path, root: Path) -> None:
    """Take compiled kernels from wheels, e.g. of a release, where nothing has been compiled yet.

    Args:
        dist: Folder of the wheels.
        root: Folder of the packages.
    """
    if any(root.glob("*/**/__pycache__/*.nbi")):
        return
    for path in sorted(dist.glob("contact_stack-*-cp{}{}-*.whl".format(*sys.version_info))):
        with ZipFile(path) as wheel:
            names = [name for name in wheel.namelist() if name.endswith((".nbi", ".nbc"))]
            wheel.extractall(root, names)


def command_environment() -> dict[str, str]:
    """Return the environment variables of all commands: without any other Python or ROS."""
    environment = dict(os.environ)
    contact_stack_environment.prepare(environment, str(VENV))
    # The wheels look up their libraries again: this very set-up may have installed new ones.
    environment.pop(contact_stack_environment.WHEELS_ARE_READY, None)
    for name in ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX"):
        environment.pop(name, None)
    # Without bytecode a node takes twice as long to start, every time.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other set-up of this checkout runs."""
    path = ROOT / "build" / "setup.lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
