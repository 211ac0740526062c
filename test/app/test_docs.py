"""The documentation builds without a warning, and lists every parameter of every node."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from contact_stack.core.description import share
from tamsi_sim.plant import Plant
from tamsi_sim.scene import Scene
from tamsi_sim.status import StepStatus

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the extra `dev` is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(REPOSITORY / "docs") for path in REPOSITORY.glob("docs/**/*.md")}
    for page in pages - {Path("index.md")}:
        assert (site / page.with_suffix("") / "index.html").is_file()


def test_parameters_come_from_the_dataclasses(site: Path) -> None:
    page = (site / "parameters" / "index.html").read_text()
    for name in ("force.limit", "driver_faults.late", "arm.torque_sign", "limits.push_torque"):
        assert f"<code>{name}</code>" in page
    assert "&lt;!-- parameters" not in page
    assert "<!-- parameters" not in page


def test_the_scene_of_the_how_to_page_can_be_simulated(tmp_path: Path) -> None:
    """Followed literally, with an object of one's own."""
    lines = (REPOSITORY / "docs/howto/own_scene.md").read_text().splitlines()
    indented = [line.removeprefix("    ") for line in lines if line.startswith("    ")]
    scene = "\n".join(line for line in indented if not line.startswith("contact-stack"))
    assert "/home/me/my_table.urdf" in scene
    table = tmp_path / "my_table.urdf"
    table.write_text(share("description", "urdf", "table.urdf").read_text())
    file = tmp_path / "my_scene.yaml"
    file.write_text(scene.replace("/home/me/my_table.urdf", str(table)))
    plant = Plant(Scene.load(str(file)))
    assert plant.tick(plant.reset(0).position).status is StepStatus.OK
    assert {item.name for item in plant.truth().objects} == {"post", "table"}
