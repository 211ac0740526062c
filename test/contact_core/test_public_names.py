"""The names that a package exports exist, and importing the package alone imports little else."""

import ast
import importlib
import subprocess
import sys
from collections import defaultdict

import pytest

from contact_core.base.fingerprint import PACKAGES as ALL_PACKAGES
from contact_core.base.fingerprint import ROOT

PACKAGES = ("contact_core", "contact_ros")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_can_be_imported(package: str) -> None:
    module = importlib.import_module(package)
    assert all(getattr(module, name) is not None for name in module.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Robott'"):
        importlib.import_module(package).Robott  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_its_parts_when_they_are_used(package: str) -> None:
    script = (
        f"import sys, {package}\n"
        "print(*{'numpy', 'pinocchio', 'numba', 'rclpy'}.intersection(sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert found.stdout.strip() == ""


def test_a_class_name_stands_for_one_class() -> None:
    places = defaultdict(set)
    for package in ALL_PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].add(file.relative_to(ROOT))
    assert len(places) > 500
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
