"""The contact_stack package: metadata, requirements and executables.

Used in two ways: ``colcon build`` (build type ament_python) copies the shared files into the
install folder; ``make setup`` installs the package in editable mode and links them instead.

With ``DISTRIBUTION=tamsi-sim`` in the environment it is the simulator alone.
"""

import os
import sys
from itertools import groupby
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "contact_stack"
ALONE = os.environ.get("DISTRIBUTION") == "tamsi-sim"
SHARED_FOLDERS = ("launch", "config", "description")
# What simulations take of the shared files and of contact_core.base; the rest needs more libraries.
SIMULATED_FOLDERS = ("config/robots", "config/scenes", "description")
SIMULATOR_BASE = (
    "config",
    "errors",
    "files",
    "kernel",
    "kernel_cache",
    "lazy",
    "low_pass",
    "registry",
    "seeds",
)
# Types for mypy, and kernels that are compiled already.
PACKAGE_DATA = ["py.typed", "__pycache__/*.nb?"]
# All that it takes to build a World and step it.
SIMULATION = [
    "numba>=0.61,<0.69",
    "numpy>=1.26,<2.5",
    "pin>=4.0,<4.2",
    "pyyaml>=6.0,<7",
    "scipy>=1.13,<1.18",
]
# What shows it in the browser.
PAGE = ["rich>=13.3,<16", "viser>=1.0,<1.2"]
# A second engine, and SNOPT.
DRAKE = ["drake>=1.40,<=1.51.1"]
# What plans for uncertain friction: derivatives, and IPOPT.
ROBUST = ["casadi>=3.6,<3.9"]
TEST = ["pytest>=8,<10", "pytest-timeout>=2.3,<3"]
# What the algorithms are compared with: no node and no algorithm needs it.
ORACLES = ["mujoco>=3.2,<4", "quadprog>=0.1.12,<0.2"]
EXPERIMENTS = ["clarabel>=0.9,<1", "piqp>=0.5,<1", *ORACLES, *ROBUST]
# Tasks of others, with their physics.
TASKS = ["gym-pusht>=0.1.8,<0.2", "pybullet>=3.2.6,<4", "pymunk>=6.6,<7"]
# What reads and writes the messages of FRI.
FRI = ["protobuf>=6,<8"]
# What splits meshes that are not convex into convex parts.
DECOMPOSITION = ["coacd>=1.0.7,<1.1"]
# What lets many machines work on a sweep.
CLUSTER = ["distributed>=2025.1,<2027"]
# Robots of others, which the simulator has to load; together 0.5 GB.
MODELS = [
    "airo-models>=0.0.12,<0.1",
    "dexmate-urdf>=0.8,<0.9",
    "example-robot-data>=4.3,<7",
    "gymnasium>=1.2,<2",
    "hello-robot-stretch-urdf>=0.1,<0.2",
    "jvrc-description>=1.1,<2",
]
# What expands xacro files.
XACRO = ["xacro>=2.1,<2.2"]
# The wheels of each distribution of ROS 2, by the suffix of its extras: Jazzy's have none.
ROS_VERSIONS = {
    "": {
        "ament-cmake": "2.5.4",
        "ament-cmake-ros": "0.12.0",
        "ament-package": "0.16.4",
        "common-interfaces": "5.3.6",
        "rclpy[fastrtps]": "7.1.6",
        "rosidl-core-generators": "0.2.0",
        "rosidl-default-generators": "1.6.0",
    },
    "-kilted": {
        "ament-cmake": "2.7.3",
        "ament-cmake-ros-core": "0.14.5",
        "ament-package": "0.17.2",
        "common-interfaces": "5.5.1",
        "rclpy[fastrtps]": "9.1.2",
        "rosidl-core-generators": "0.3.1",
        "rosidl-default-generators": "1.7.1",
    },
}
ROS_RUNTIME = ("common-interfaces", "rclpy[fastrtps]")
AMENT_PARTS = ("gmock", "gtest", "include-directories", "pytest")
ROS_EXTRAS = {
    extra + suffix: requirements
    for suffix, versions in ROS_VERSIONS.items()
    for extra, requirements in {
        "ros": [
            "ros-domain-coordinator~=0.12.0",
            *(f"ros-{name}~={versions[name]}" for name in ROS_RUNTIME),
        ],
        "interfaces": [
            "catkin-pkg>=1.0,<2",
            "cmake>=3.28,<5",
            "empy>=3.3.4,<4",
            "ros-python-cmake-module~=0.11.1",
            *(f"ros-ament-cmake-{part}~={versions['ament-cmake']}" for part in AMENT_PARTS),
            *(f"ros-{name}~={versions[name]}" for name in versions if name not in ROS_RUNTIME),
        ],
    }.items()
}
SIMULATOR_EXTRAS = {
    "decomposition": DECOMPOSITION,
    "drake": DRAKE,
    "models": MODELS,
    "page": PAGE,
    "xacro": XACRO,
}


def shared_files() -> list[tuple[str, list[str]]]:
    """List what belongs into the install prefix besides Python code.

    Returns:
        (folder in the prefix, files), relative to the folder of this file. Empty for an
        editable installation, where pip would copy the files and edits would have no effect.
    """
    if "editable_wheel" in sys.argv:
        return []
    files = []
    for folder in SIMULATED_FOLDERS if ALONE else SHARED_FOLDERS:
        found = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        for parent, paths in groupby(found, key=lambda path: path.parent):
            files.append((f"share/{PACKAGE}/{parent}", [str(path) for path in paths]))
    if ALONE:
        return files
    files += [
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml", "LICENSE", "NOTICE"]),
    ]
    if "bdist_wheel" not in sys.argv:
        # pip puts executables on the path by itself.
        files.append(("bin", ["resource/bin/contact-stack"]))
    return files


COMMON = dict(
    version="0.2.0",
    license="Apache-2.0",
    data_files=shared_files(),
    python_requires=">=3.11,<3.14",
)
SIMULATOR = dict(
    name="tamsi-sim",
    description="Simulation of robots in compliant frictional contact.",
    packages=find_packages(
        include=["contact_core*", "tamsi_sim*"],
        exclude=["contact_core.base", "contact_core.quadratic_program", "tamsi_sim.node"],
    ),
    py_modules=[f"contact_core.base.{name}" for name in SIMULATOR_BASE],
    package_data={"": PACKAGE_DATA},
    install_requires=SIMULATION,
    extras_require=SIMULATOR_EXTRAS,
    # Setuptools packs whatever is in its folder, also what another distribution has left there.
    options={"build": {"build_base": "build/tamsi-sim"}},
)
STACK = dict(
    name=PACKAGE,
    description="Contact simulation, estimation, control and planning for robot arms on ROS 2.",
    packages=find_packages(
        include=[
            "contact_aware_control*",
            "contact_core*",
            "contact_experiments*",
            "contact_ros*",
            "contact_stack",
            "contact_stack.*",
            "irs_planner*",
            "robust_planner*",
            "tamsi_sim*",
        ],
    ),
    package_data={"": PACKAGE_DATA, "contact_stack": ["help/*.txt", "viewer/*.js"]},
    install_requires=[
        *SIMULATION,
        *PAGE,
        *DRAKE,
        "grimp>=3.5,<4",
        "joblib>=1.3,<2",
        "markdown>=3.6,<4",
        "matplotlib>=3.9,<3.12",
        "mcap>=1.2,<2",
        "mcap-ros2-support>=0.5.5,<0.7",
        "osqp>=1.0,<1.2",
        "ruckig>=0.19,<0.20",
        "shtab>=1.7,<2",
        "threadpoolctl>=3.5,<4",
        "tqdm>=4.66,<5",
    ],
    extras_require={
        # All that a first run needs, with what the kernels in the wheels were compiled by.
        "demo": [f"{PACKAGE}_msgs", "llvmlite==0.50.0", "numba==0.68.1"],
        # ROS 2 for machines without a ROS installation, and what generates and compiles interface
        # packages there.
        **ROS_EXTRAS,
        "dev": [
            "colcon-cmake>=0.2,<0.3",
            "colcon-core>=0.18,<0.22",
            "colcon-defaults>=0.2,<0.3",
            "colcon-package-information>=0.4,<0.5",
            "colcon-package-selection>=0.2,<0.3",
            "colcon-recursive-crawl>=0.2,<0.3",
            "colcon-ros>=0.5,<0.6",
            "hypothesis>=6.130,<7",
            "import-linter>=2.5,<3",
            "mkdocs>=1.6,<2",
            "mkdocstrings[python]>=1.0,<2",
            "mypy>=1.13,<3",
            *CLUSTER,
            *DECOMPOSITION,
            *FRI,
            *ORACLES,
            *ROBUST,
            *TEST,
            *XACRO,
            # 13 asks for Python 3.11.5, and Debian 12 has 3.11.2.
            "pymdown-extensions>=10,<13",
            "pytest-xdist>=3.6,<4",
            "ruff>=0.8,<0.18",
            "setuptools>=68,<80",
            "types-markdown>=3.6,<4",
            "types-pyyaml>=6.0,<7",
            "uv>=0.9,<0.14",
            "wheel>=0.43,<1",
        ],
        # By this name `colcon test` recognises what runs the tests.
        "test": TEST,
        "experiments": EXPERIMENTS,
        "cluster": CLUSTER,
        "fri": FRI,
        "robust": ROBUST,
        "tasks": TASKS,
        **SIMULATOR_EXTRAS,
        # Its old name.
        "bench": EXPERIMENTS,
    },
    entry_points={
        "console_scripts": [
            "contact-stack = contact_stack.entry:main",
            "tamsi_sim = tamsi_sim.node.simulator:main",
            "contact_estimator = contact_aware_control.node.estimator:main",
            "contact_aware_controller = contact_aware_control.node.controller:main",
            "command_watchdog = contact_aware_control.node.watchdog:main",
            "robot_frames = contact_stack.robot_frames:main",
            "preflight = contact_stack.preflight.node:main",
            "irs_planner = irs_planner.node.server:main",
            "object_mover = irs_planner.node.object_mover:main",
            "robust_planner = robust_planner.node.server:main",
            "viewer = contact_stack.viewer.node:main",
            "wsg50 = contact_stack.wsg50.node:main",
            "fri_driver = contact_stack.fri.node:main",
        ],
        "contact_stack.commands": [
            "bench = contact_experiments.commands:BENCHMARKS",
            "fake = contact_experiments.commands:FAKE",
            "paper = contact_experiments.commands:PAPER",
        ],
        "contact_stack.judges": [
            "tamsi_sim = contact_stack.judge:SimulatedWorld",
        ],
        "contact_stack.kernels": [
            "experiments = contact_experiments.tamsi.precompile:precompile",
        ],
        "contact_stack.contact_models": [
            "second_order = contact_experiments.irs.second_order:second_order",
        ],
    },
)
setup(**(SIMULATOR if ALONE else STACK), **COMMON)
