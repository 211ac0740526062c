"""The documentation builds without a warning, lists every parameter and every public name."""

from __future__ import annotations

import importlib
import io
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tf2_msgs.msg import TFMessage

from contact_core.robot.scene import Scene
from contact_ros.client import GraphClient
from contact_stack.launch import NodeGraph, find_launch_file, parse
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.robot.plant import Plant

REPOSITORY = Path(__file__).resolve().parents[2]
# The whole site takes a processor for a minute, and a busy machine has less than half of one.
pytestmark = pytest.mark.timeout(500)

PACKAGES = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"][
    "root_packages"
]


def test_the_site_is_complete(tmp_path: Path) -> None:
    """One test: every process that has one with the site would build it anew."""
    site = build_site(tmp_path, rooms="false")
    check_every_page_is_built(site)
    for page in site.rglob("*.html"):
        check_it_loads_nothing_from_the_network(page)
        check_every_picture_and_film_is_there(page)
    assert ".highlight .kn" in (site / "highlight.css").read_text()
    assert (
        '<span class="kn">from</span>' in (site / "howto" / "own_node" / "index.html").read_text()
    )
    check_parameters_come_from_the_dataclasses(site / "parameters" / "index.html")
    for package in PACKAGES:
        check_the_reference_has_every_public_name(site, package)


@pytest.mark.verify
def test_docstrings_are_readable_in_the_whole_reference(tmp_path: Path) -> None:
    """No role of Sphinx is left, and units in brackets are no links."""
    site = build_site(tmp_path, rooms="true")
    pages = list((site / "reference").rglob("index.html"))
    assert sum("doc-object" in path.read_text() for path in pages) > 100
    for path in pages:
        assert not re.search(r":(func|meth|class|data|attr|mod):", path.read_text()), path


def build_site(folder: Path, rooms: str) -> Path:
    """Build the documentation without a warning, with or without the reference of all modules."""
    pytest.importorskip("mkdocs", reason="the extra `dev` is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "REFERENCE_OF_ROOMS": rooms},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    return folder


def check_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(REPOSITORY / "docs") for path in REPOSITORY.glob("docs/**/*.md")}
    for page in pages:
        folder = page.parent if page.stem == "index" else page.with_suffix("")
        assert (site / folder / "index.html").is_file()


def check_it_loads_nothing_from_the_network(page: Path) -> None:
    loaded = re.compile(r"<(?:script|link|img)\b[^>]*?\b(?:src|href)=[\"'](?:https?:)?//[^\"']*")
    assert not loaded.findall(page.read_text()), page


def check_every_picture_and_film_is_there(page: Path) -> None:
    shown = re.compile(r"<img\b[^>]*?\bsrc=[\"'](?!data:|/)([^\"'?#]*)")
    for file in shown.findall(page.read_text()):
        assert (page.parent / file).is_file(), (page, file)


def check_parameters_come_from_the_dataclasses(page: Path) -> None:
    text = page.read_text()
    for name in (
        "robot.gripper.speed",
        "friction",
        "force.limit",
        "driver_faults.late",
        "arm.torque_sign",
        "limits.push_torque",
    ):
        assert f"<code>{name}</code>" in text
    assert "&lt;!-- parameters" not in text
    assert "<!-- parameters" not in text


def check_the_reference_has_every_public_name(site: Path, package: str) -> None:
    """What ``__init__`` exports is on the package's page; every room and module has its own."""
    folder = site / "reference" / package
    page = (folder / "index.html").read_text()
    for name in getattr(importlib.import_module(package), "__all__", ()):
        assert f'id="{package}.{name}"' in page
    rooms = {
        path.stem
        for path in (REPOSITORY / package).iterdir()
        if path.stem != "__init__" and (path.suffix == ".py" or (path / "__init__.py").is_file())
    }
    assert rooms == {path.name for path in folder.iterdir() if path.is_dir()}
    assert all(f'href="{room}/"' in page for room in rooms)


def test_the_files_that_the_architecture_names_exist() -> None:
    page = (REPOSITORY / "docs/architecture.md").read_text()
    files = re.findall(r"`(\w+/[\w/]+\.py)`", page)
    assert len(files) > 40
    assert [file for file in files if not (REPOSITORY / file).is_file()] == []


def test_the_scene_of_the_how_to_page_can_be_simulated(tmp_path: Path) -> None:
    """Followed literally, with an object of one's own beside the scene."""
    write_own_scene(tmp_path)
    plant = Plant(Scene.load(str(tmp_path / "my_scene.yaml")))
    start = plant.reset(0)
    for _ in range(20):
        assert plant.tick(start.position).status is StepStatus.OK
    truth = {item.name: item for item in plant.truth().objects}
    assert set(truth) == {"pedestal", "shelf", "my_box"}
    assert abs(truth["my_box"].position[2] - 0.55) < 2e-3  # it stands on the shelf


@pytest.mark.graph
@pytest.mark.verify
def test_the_motion_of_the_how_to_page_pushes_the_box(tmp_path: Path, ros_domain: int) -> None:
    """A new user's hour: the page's three files, followed literally; in lock-step, as tests are."""
    write_own_scene(tmp_path)
    arguments = {"scene": str(tmp_path / "my_scene.yaml"), "view": "false", "lockstep": "true"}
    with (
        NodeGraph(parse(find_launch_file("sim"), arguments), io.StringIO()),
        GraphClient() as client,
    ):
        before = box(client)
        motion = subprocess.run(
            [sys.executable, "my_motion.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert motion.returncode == 0, motion.stderr
        assert "mm from the last corner" in motion.stdout
        assert 0.06 < box(client) - before < 0.18


def write_own_scene(folder: Path) -> None:
    """Write the three files of the page."""
    page = (REPOSITORY / "docs/howto/own_scene.md").read_text()
    names = {"xml": "my_box.urdf", "yaml": "my_scene.yaml", "python": "my_motion.py"}
    for language, name in names.items():
        (block,) = re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
        assert f"`{name}`" in page
        (folder / name).write_text(block)


def box(client: GraphClient) -> float:
    """Return y of the box [m]."""
    objects = client.wait_for(TFMessage, "truth/objects", timeout=100.0).transforms
    (pose,) = [item.transform for item in objects if item.child_frame_id == "my_box"]
    return float(pose.translation.y)
