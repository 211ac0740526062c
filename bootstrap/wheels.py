"""Wheels of the project, its interfaces and its simulator: `make wheels`, after `make setup`.

``pip install dist/*.whl`` then needs neither compiler nor cmake. What a wheel cannot put beside its
Python code, libraries and the files of the ament index, goes below the environment's own folder,
where ``make setup`` has it as well.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZipFile

from bootstrap import contact_stack_environment
from bootstrap.interfaces import interface_packages
from bootstrap.setup_project import ROOT, VENV, ros_distribution, ros_extra

OWN = "contact_stack"
SIMULATOR = "tamsi-sim"
LEFT_OUT = ("include/", "lib/cmake/")
"""What only compilers need."""


def main() -> int:
    """Build all wheels into ``dist``, that of the simulator alone into a folder of its own there.

    Returns:
        The exit code: 1 if an interface package has not been built.
    """
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    packages = interface_packages(ROOT)
    missing = [name for name in packages if not (ROOT / "build" / name).is_dir()]
    if missing:
        print(f"error: not built: {', '.join(missing)} (run `make setup`)", file=sys.stderr)
        return 1
    build(OWN, dist)
    build(SIMULATOR, dist / "simulator")
    for name, description in packages.items():
        others = [other for other in packages if other != name] if name == f"{OWN}_msgs" else []
        with tempfile.TemporaryDirectory() as folder:
            install = (VENV / "bin/cmake", "--install", ROOT / "build" / name, "--prefix", folder)
            subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
            pack(name, description / "package.xml", Path(folder), others, dist)
    print("\n".join(f"  {path.relative_to(ROOT)}" for path in sorted(dist.rglob("*.whl"))))
    return 0


def build(name: str, dist: Path) -> Path:
    """Build the wheel of a distribution of setup.py.

    Args:
        name: Of the distribution.
        dist: Folder of the wheel, which is made.

    Returns:
        The wheel.
    """
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check")
    # Kernels come along for this Python; another one finds a wheel of its own.
    python = "--config-settings=--build-option=--python-tag=cp{}{}".format(*sys.version_info)
    options = ("--no-deps", "--no-build-isolation", python, "--wheel-dir", dist)
    # Setuptools keeps what it once copied into its folder in build.
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / OWN
        shutil.copytree(ROOT, source, ignore=_not_ours)
        copy_kernels(ROOT, source)
        environment = {**os.environ, "DISTRIBUTION": name}
        subprocess.run([*pip, *options, source], check=True, env=environment)
    (wheel,) = dist.glob(f"{name.replace('-', '_')}-{version_of(OWN)}-*.whl")
    return wheel


def copy_kernels(root: Path, copy: Path) -> None:
    """Copy the compiled kernels of our packages that fit their sources, if others can run them.

    Args:
        root: Folder of the packages.
        copy: A copy of it without caches.
    """
    # Numba is there once ``make setup`` has installed it.
    from contact_core.base.kernel_cache import COMMON_PROCESSOR, compiled_files, processor

    if processor() != COMMON_PROCESSOR:
        return
    for package in sorted(path.parent for path in root.glob("*/__init__.py")):
        for module in sorted(package.rglob("*.py")):
            for path in compiled_files(module, root):
                if path.is_relative_to(root):
                    place = copy / path.relative_to(root)
                    place.parent.mkdir(exist_ok=True)
                    shutil.copyfile(path, place)


def pack(name: str, manifest: Path, prefix: Path, others: Sequence[str], dist: Path) -> Path:
    """Write the wheel of an interface package.

    Args:
        name: Of the package.
        manifest: Its package.xml.
        prefix: Where it is installed, and nothing else.
        others: Interface packages that it needs; the one that has any also brings what makes an
            environment know its ROS, and asks for rclpy.
        dist: Folder of the wheel.

    Returns:
        The wheel.
    """
    package = ElementTree.parse(manifest).getroot()
    version = package.findtext("version", "0")
    project = distribution(name)
    python = "cp{}{}".format(*sys.version_info)
    tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    info = f"{project}-{version}.dist-info"
    requires = [f"{distribution(other)}=={version_of(other)}" for other in others]
    extra = ros_extra("ros", ros_distribution())
    requires += [f"{OWN}[{extra}]=={version_of(OWN)}"] if others else []
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {project}",
        f"Version: {version}",
        f"Summary: {' '.join(package.findtext('description', '').split())}",
        f"License: {package.findtext('license', '')}",
        "Requires-Python: =={}.{}.*".format(*sys.version_info),
        *(f"Requires-Dist: {requirement}" for requirement in requires),
    ]
    wheel = ["Wheel-Version: 1.0", "Generator: bootstrap", "Root-Is-Purelib: false", f"Tag: {tag}"]
    files = {inside: path.read_bytes() for inside, path in _placed(prefix, project, version)}
    if others:
        module = contact_stack_environment.__name__.rpartition(".")[2]
        files[f"{module}.py"] = Path(contact_stack_environment.__file__).read_bytes()
        files[f"{module}.pth"] = f"import {module}\n".encode()
    files[f"{info}/METADATA"] = ("\n".join(metadata) + "\n").encode()
    files[f"{info}/WHEEL"] = ("\n".join(wheel) + "\n").encode()
    path = dist / f"{project}-{version}-{tag}.whl"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for inside, content in files.items():
            archive.writestr(inside, content)
        record = [
            f"{inside},{_digest(content)},{len(content)}" for inside, content in files.items()
        ]
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")
    return path


def distribution(name: str) -> str:
    """Return what an interface package is called for pip: nobody else's package.

    Args:
        name: Its name.
    """
    return name if name.startswith(OWN) else f"{OWN}_{name}"


def version_of(name: str) -> str:
    """Return the version of one of our packages.

    Args:
        name: Its name.
    """
    folder = interface_packages(ROOT).get(name, ROOT)
    return ElementTree.parse(folder / "package.xml").getroot().findtext("version", "0")


def _placed(prefix: Path, project: str, version: str) -> Iterator[tuple[str, Path]]:
    """Yield where each installed file is in the wheel."""
    packages = "lib/python{}.{}/site-packages/".format(*sys.version_info)
    for path in sorted(path for path in prefix.rglob("*") if path.is_file()):
        name = path.relative_to(prefix).as_posix()
        if name.startswith(packages):
            # The dist-info takes the place of the egg-info.
            if ".egg-info/" not in name and path.suffix not in (".c", ".pyc"):
                yield name.removeprefix(packages), path
        elif not name.startswith(LEFT_OUT):
            yield f"{project}-{version}.data/data/{name}", path


def _not_ours(folder: str, names: list[str]) -> set[str]:
    """Leave generated folders of the repository out of a copy."""
    if Path(folder) != ROOT:
        return {name for name in names if name in ("__pycache__", "node_modules")}
    return {
        name for name in names if name in ("build", "dist", "install", "log", "out", "test")
    } | {name for name in names if name.startswith(".") or name.endswith(".egg-info")}


def _digest(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return "sha256=" + digest.rstrip(b"=").decode()


if __name__ == "__main__":
    sys.exit(main())
