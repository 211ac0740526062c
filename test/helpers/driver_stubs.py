"""A ROS workspace with the launch files of a driver, and stubs for everything they start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from contact_core.base.files import share

# What the launch files find by the name of its package, below the folder of a driver.
SHARED = {
    "lbr_fri_ros2_stack": ("lbr_bringup", "lbr_description", "lbr_ros2_control"),
    "kuka_drivers": ("kuka_sunrise_fri_driver",),
}
EXECUTABLES = {
    "controller_manager": ("ros2_control_node", "spawner"),
    "robot_state_publisher": ("robot_state_publisher",),
    "tf2_ros": ("static_transform_publisher",),
    "kuka_drivers_core": ("control_node",),
    "kuka_sunrise_fri_driver": ("robot_manager_node",),
    "kuka_lbr_iiwa_support": (),
    "contact_stack": (
        *("contact_estimator", "contact_aware_controller", "command_watchdog", "preflight"),
        *("viewer", "wsg50"),
    ),
}

# A spawner ends by itself, everything else when it is told to.
STUB = """#!{python} -SE
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
import json, os, pathlib, sys
name = pathlib.Path(sys.argv[0]).name
files = [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == "--params-file"]
record = {{
    "executable": name,
    "arguments": sys.argv[1:],
    "parameters": [pathlib.Path(file).read_text() for file in files],
}}
place = pathlib.Path({records!r}) / f"{{name}}.{{os.getpid()}}.part"
place.write_text(json.dumps(record))
place.rename(place.with_suffix(".json"))
if name == "xacro":
    print("<robot name='stub'/>")
elif name != "spawner":
    signal.sigwait([signal.SIGINT, signal.SIGTERM])
"""


@dataclass(frozen=True)
class Started:
    """A process that a launch file has started.

    Attributes:
        executable: Its name.
        arguments: Its command line without it.
        parameters: What its parameter files say, in their order.
    """

    executable: str
    arguments: list[str]
    parameters: list[Any]

    def option(self, name: str) -> str:
        """Return the word after an option."""
        return self.arguments[self.arguments.index(name) + 1]

    def parameter(self, node: str, name: str) -> Any:
        """Return a parameter of a node, as the last file that has it says."""
        found = [
            section["ros__parameters"][name]
            for file in self.parameters
            for key, section in file.items()
            if key.endswith(node) and name in section["ros__parameters"]
        ]
        return found[-1]


class StubWorkspace:
    """Runs hardware.launch.xml with the real launch, and says what it started."""

    def __init__(self, folder: Path, source: Path) -> None:
        """Lay the workspace out.

        Args:
            folder: Where; empty.
            source: Folder with checkouts of the drivers.
        """
        self._folder, self._source = folder, source
        self._prefix, self._records = folder / "prefix", folder / "records"
        self._records.mkdir()
        index = self._prefix / "share/ament_index/resource_index/packages"
        index.mkdir(parents=True)
        for repository, packages in SHARED.items():
            for package in packages:
                if (source / repository / package).is_dir():
                    (index / package).touch()
                    (self._prefix / "share" / package).symlink_to(source / repository / package)
        for package, names in EXECUTABLES.items():
            (index / package).touch()
            (self._prefix / "share" / package).mkdir(exist_ok=True)
            for name in names:
                self._stub(self._prefix / "lib" / package / name)
        (self._prefix / "share/contact_stack").rmdir()
        (self._prefix / "share/contact_stack").symlink_to(share("launch").parent)
        command = self._prefix / "lib/contact_stack/contact-stack"
        command.symlink_to(Path(sys.executable).parent / "contact-stack")
        self._stub(folder / "bin/xacro")

    def _stub(self, path: Path) -> None:
        python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STUB.format(python=python, records=str(self._records)))
        path.chmod(0o755)

    def run(
        self, complete: Callable[[list[Started]], bool], **arguments: str
    ) -> tuple[list[Started], str]:
        """Launch until everything is there, the launch ends, or a minute is over.

        Args:
            complete: Whether what was started is all that is waited for.
            arguments: Of hardware.launch.xml.

        Returns:
            What was started, and the output.
        """
        words = [f"{name}:={value}" for name, value in arguments.items()]
        lbr_bringup = self._source / "lbr_fri_ros2_stack/lbr_bringup"
        environment = {
            **os.environ,
            "AMENT_PREFIX_PATH": f"{self._prefix}:{os.environ['AMENT_PREFIX_PATH']}",
            "PATH": f"{self._folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": f"{lbr_bringup}:{os.environ.get('PYTHONPATH', '')}",
            "ROS_LOG_DIR": str(self._folder / "log"),
            "XDG_CACHE_HOME": str(self._folder / "cache"),
        }
        output = self._folder / "output"
        with output.open("w") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "contact_stack.cli", "launch", "hardware", *words],
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=environment,
            )
            end = time.monotonic() + 60.0
            try:
                while process.poll() is None and time.monotonic() < end:
                    if complete(self._started()):
                        break
                    time.sleep(0.05)
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(20.0)
        return self._started(), output.read_text()

    def _started(self) -> list[Started]:
        # Full: launch_ros writes some lists as tuples of Python.
        records = [json.loads(file.read_text()) for file in sorted(self._records.glob("*.json"))]
        return [
            Started(r["executable"], r["arguments"], [*map(yaml.full_load, r["parameters"])])
            for r in records
        ]
