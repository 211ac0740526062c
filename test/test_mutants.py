"""How many of thirty small faults the tests notice, each those of its own package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import ROOMS, Mutant, draw_mutant

REPOSITORY = Path(__file__).resolve().parents[1]
EACH = 6
NOTED = "contact_stack/mutants"
CAUGHT = 0.9
PATIENCE = 1800.0
"""A mutant that keeps the tests busy for longer hangs [s]."""

pytestmark = [pytest.mark.verify, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("seed", range(EACH))
@pytest.mark.parametrize("room", ROOMS)
def test_a_mutant_is_tried(
    room: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    mutant = draw_mutant(REPOSITORY, room, seed)
    copy = tmp_path / "project"
    subprocess.run(["git", "clone", "--quiet", "--shared", REPOSITORY, copy], check=True)
    _take_kernels(copy, mutant.package)
    mutant.apply(copy)
    caught = _noticed(mutant, copy)
    print(f"{caught or 'SURVIVES'}: {mutant}")
    cache = request.config.cache
    assert cache is not None
    cache.set(NOTED, {**cache.get(NOTED, {}), f"{room} {seed}": [str(mutant), caught]})


def test_nine_of_ten_are_noticed(request: pytest.FixtureRequest) -> None:
    assert request.config.cache is not None
    noted = request.config.cache.get(NOTED, {})
    assert len(noted) == EACH * len(ROOMS)
    survivors = [mutant for mutant, caught in noted.values() if not caught]
    assert len(survivors) <= (1.0 - CAUGHT) * len(noted), "\n".join(survivors)


def _take_kernels(copy: Path, package: str) -> None:
    """Let what does not depend on the mutant be compiled already."""
    for room in (package, "contact_core"):
        for file in (REPOSITORY / room).rglob("*.nb[ic]"):
            place = copy / file.relative_to(REPOSITORY)
            place.parent.mkdir(exist_ok=True)
            shutil.copy(file, place)


def _noticed(mutant: Mutant, copy: Path) -> str:
    """Return the first test that fails, those that name the module first; empty for none."""
    tests = copy / "test"
    module = ".".join(mutant.file.with_suffix("").parts)
    near = [path for path in sorted(tests.rglob("test_*.py")) if module in path.read_text()]
    own, rounds = tests / mutant.package, [("not verify and not graph", near)]
    rounds.append(("not verify and not graph", [own]))
    if "node" in mutant.file.parts:
        rounds.append(("not verify and graph", [own, tests / "graph"]))
    for marks, paths in rounds:
        paths = [path for path in paths if path.is_relative_to(own) or path == tests / "graph"]
        failed = _first_failure(copy, marks, paths) if paths else ""
        if failed:
            return failed
    return ""


def _first_failure(copy: Path, marks: str, paths: list[Path]) -> str:
    # What the copy's own kernels are compiled to lies in it; nothing else is written.
    words = [sys.executable, "-m", "pytest", "-m", marks, "-x", "-q", "--no-header", *paths]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        run = subprocess.run(
            words, cwd=copy, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return "does not end"
    if run.returncode < 0:
        return f"ends the tests with signal {-run.returncode}"
    # 5: nothing was collected.
    assert run.returncode in (0, 1, 2, 5), run.stdout + run.stderr
    lines = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0] if lines else ""
