"""Wheels that pip installs: a made-up interface package, and the order of what they ask for."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bootstrap.interfaces import interface_packages
from bootstrap.setup_project import unpack_kernels
from bootstrap.wheels import ROOT, copy_kernels, distribution, pack, version_of
from contact_core.base import kernel_cache

SITE_PACKAGES = "lib/python{}.{}/site-packages".format(*sys.version_info)


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Where a package is installed that has a bit of everything."""
    prefix = tmp_path / "prefix"
    for name, text in {
        f"{SITE_PACKAGES}/made_up/__init__.py": "VALUE = 7\n",
        f"{SITE_PACKAGES}/made_up/_made_up_s.c": "int x;\n",
        f"{SITE_PACKAGES}/made_up-1.2.3-py3.egg-info/PKG-INFO": "Name: made_up\n",
        "lib/libmade_up.so": "binary",
        "include/made_up/made_up.h": "int x;\n",
        "share/ament_index/resource_index/packages/made_up": "",
        "share/made_up/package.xml": "<package/>",
    }.items():
        path = prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return prefix


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "package.xml"
    path.write_text(
        "<package><name>made_up</name><version>1.2.3</version>"
        "<description>A test.</description><license>Apache-2.0</license></package>"
    )
    return path


def test_pip_installs_a_wheel_where_it_belongs(
    tmp_path: Path, prefix: Path, manifest: Path
) -> None:
    wheel = pack("made_up", manifest, prefix, (), tmp_path)
    home = tmp_path / "home"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([*pip, "--prefix", home, wheel], check=True, env=environment)
    packages = home / SITE_PACKAGES
    assert (packages / "made_up/__init__.py").read_text() == "VALUE = 7\n"
    assert (home / "lib/libmade_up.so").read_text() == "binary"
    assert (home / "share/ament_index/resource_index/packages/made_up").is_file()
    left = {path.name for path in home.rglob("*")}
    assert not left & {"made_up.h", "_made_up_s.c", "PKG-INFO", "contact_stack_environment.pth"}
    assert (packages / "contact_stack_made_up-1.2.3.dist-info/RECORD").is_file()


def test_the_wheel_of_our_messages_asks_for_all_others(
    tmp_path: Path, prefix: Path, manifest: Path
) -> None:
    others = [name for name in interface_packages(ROOT) if name != "contact_stack_msgs"]
    assert len(others) == 3
    wheel = pack("contact_stack_msgs", manifest, prefix, others, tmp_path)
    assert wheel.name.startswith("contact_stack_msgs-1.2.3-cp")
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, home], check=True)
    metadata = (home / "contact_stack_msgs-1.2.3.dist-info/METADATA").read_text()
    for name in others:
        assert f"Requires-Dist: {distribution(name)}=={version_of(name)}\n" in metadata
    assert f"Requires-Dist: contact_stack[ros]=={version_of('contact_stack')}\n" in metadata
    assert (home / "contact_stack_environment.py").is_file()
    assert (
        "import contact_stack_environment" in (home / "contact_stack_environment.pth").read_text()
    )


def test_kernels_come_along_that_fit_their_sources_and_other_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, copy = tmp_path / "root", tmp_path / "copy"
    cache = root / "package/__pycache__"
    cache.mkdir(parents=True)
    (copy / "package").mkdir(parents=True)
    monkeypatch.setattr(kernel_cache, "processor", lambda: kernel_cache.COMMON_PROCESSOR)
    (root / "package/__init__.py").touch()
    for name in ("good", "edited"):
        source = root / f"package/{name}.py"
        source.write_text("# as it was")
        digest = kernel_cache.source_digest(f"package.{name}", str(source)) or ""
        base = f"{name}.f-{kernel_cache.COMMON_PROCESSOR}.py311"
        (cache / f"{base}.nbi").write_bytes(pickle.dumps(kernel_cache._version(digest)))
        (cache / f"{base}.0.nbc").write_text("code")
    source.write_text("# as it is now")
    copy_kernels(root, copy)
    assert {path.name.split(".")[0] for path in copy.rglob("*.nb?")} == {"good"}
    assert len(list(copy.rglob("*.nb?"))) == 2
    # A clone takes them from the wheel.
    clone, dist = tmp_path / "clone", tmp_path / "dist"
    tag = "cp{}{}".format(*sys.version_info)
    shutil.make_archive(str(dist / "wheel"), "zip", copy)
    (dist / "wheel.zip").rename(dist / f"contact_stack-1-{tag}-none-any.whl")
    (clone / "package").mkdir(parents=True)
    unpack_kernels(dist, clone)
    assert {path.name for path in clone.rglob("*.nb?")} == {p.name for p in copy.rglob("*.nb?")}
    shutil.rmtree(copy)
    monkeypatch.setattr(kernel_cache, "processor", lambda: "another")
    copy_kernels(root, copy)
    assert not copy.exists()
