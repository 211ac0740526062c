"""The simulator alone: what its wheel asks for is enough, where nothing else can be imported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest
from docs_blocks import blocks

from bootstrap.setup_project import ROOT
from bootstrap.wheels import SIMULATOR, build
from contact_core.base.kernel_cache import COMMON_PROCESSOR, processor

MODULES = {
    "numba": ("numba", "llvmlite"),
    "numpy": ("numpy",),
    "pin": ("pinocchio", "coal", "hppfcl", "eigenpy", "cmeel"),
    "pyyaml": ("yaml", "_yaml"),
    "scipy": ("scipy",),
}
"""What is required -> what Python imports of it, and of what it requires itself."""

EXTRAS = re.compile(r"tamsi_sim\.(viewer\.|drake\.drake_).*|contact_core\.model\.(drawing|serving)")
"""Modules that need libraries of extras."""

README = next(block.text for block in blocks(ROOT / "README.md") if block.language == "python")

PROGRAM = """
from importlib import import_module
from importlib.util import find_spec

import contact_core
import tamsi_sim
from contact_core import ContactStackError, Scene
from tamsi_sim.robot.physics import build_physics

assert trajectory.time[-1] > 0.999
assert 0.0 < trajectory.q[0, 2] - trajectory.q[-1, 2] < 0.1, "the mug falls onto the ground"
for package in (contact_core, tamsi_sim):
    for name in package.__all__:
        getattr(package, name)
for name in OURS:
    import_module(name)
for name in ("rclpy", "pydrake", "matplotlib", "contact_stack", "contact_ros", "tamsi_sim.node"):
    assert find_spec(name) is None, name
engine = world.build()
for call in (
    engine.show,
    lambda: engine.play(trajectory),
    lambda: build_physics(Scene.load("free_space").on("drake")),
    World().add("mug", "urdf/mug.urdf", decompose=True).build,
):
    try:
        call()
    except ContactStackError as error:
        print(error)
"""

SAID = """\
'viser' is not installed: pip install 'tamsi-sim[page]'
'viser' is not installed: pip install 'tamsi-sim[page]'
'pydrake' is not installed: pip install 'tamsi-sim[drake]'
mug: decompose needs CoACD, which is not installed: pip install 'tamsi-sim[decomposition]'
"""

HIDING = """
import sys

class Finder:
    "Finds what Python itself has, what is required, and our own modules that the wheel holds."
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, *args):
        top = name.partition(".")[0]
        python = top in sys.stdlib_module_names or top.startswith("_sysconfigdata")
        known = python or top in REQUIRED or name in HELD
        return self.finder.find_spec(name, *args) if known else None

sys.meta_path = [Finder(finder) for finder in sys.meta_path]
"""


@dataclass(frozen=True)
class Parts:
    """What is in the wheel, and what it asks for."""

    modules: set[str]
    required: set[str]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    folder = tmp_path_factory.mktemp("simulator")
    command = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", folder]
    command += ["build_py", "--build-lib", folder / "library"]
    environment = {**os.environ, "DISTRIBUTION": SIMULATOR}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    files = [path.relative_to(folder / "library") for path in folder.rglob("library/**/*.py")]
    modules = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files}
    (requirements,) = folder.glob("*.egg-info/requires.txt")
    base = requirements.read_text().partition("\n[")[0].split()
    return Parts(modules, {re.split(r"[<>=]", line)[0] for line in base})


def program(parts: Parts) -> str:
    ours = sorted(name for name in parts.modules if not EXTRAS.fullmatch(name))
    return f"OURS = {ours}\n{README}{PROGRAM}"


def test_a_world_is_built_and_stepped_with_what_is_required(parts: Parts, tmp_path: Path) -> None:
    assert parts.required == MODULES.keys()
    required = [name for names in MODULES.values() for name in names]
    hiding = f"HELD = {parts.modules}\nREQUIRED = {required}\n{HIDING}"
    command = [sys.executable, "-c", hiding + program(parts)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == SAID


@pytest.mark.verify
@pytest.mark.timeout(1800)
def test_the_wheel_runs_in_an_empty_environment(parts: Parts, tmp_path: Path) -> None:
    wheel = build(SIMULATOR, tmp_path / "dist")
    python = tmp_path / "empty/bin/python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty"], check=True)
    pip = (sys.executable, "-m", "pip", "--python", python, "--quiet")
    # Kernels fit one version of each.
    compilers = [f"{name}=={version(name)}" for name in MODULES["numba"]]
    subprocess.run([*pip, "install", wheel, *compilers], check=True)
    shipped = kernels(tmp_path)
    assert bool(shipped) == (processor() == COMMON_PROCESSOR)
    # Nothing of this environment: neither its variables nor what it has compiled.
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    command = [python, "-c", program(parts)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == SAID
    if shipped:
        assert kernels(tmp_path) == shipped, "nothing was compiled"


def kernels(folder: Path) -> dict[Path, int]:
    """When each file of compiled code was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb[ic]")}
