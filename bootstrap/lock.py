"""Writes the lock files: ``python -m bootstrap.lock python3.11 python3.12 python3.13``.

For the maintainer, after a change of the requirements in setup.py; `uv` has to be installed. Every
named interpreter needs a recent pip. Versions that differ between them get an environment marker.
Each version is followed by the hashes of its files that pip may choose on a supported machine, so
that no index and no mirror can put another file in their place. What is the same with every
distribution of ROS 2 is in the one of Jazzy alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bootstrap.setup_project import JAZZY, ROOT, ROS_LOCKS, ros_extra
from bootstrap.supported_python import OLDEST

ARCHITECTURE = "x86_64"
"""Of the machines that are supported, see machine.py; their C library is glibc."""

OLDEST_RELEASE = "{}.{}.0".format(*OLDEST)
"""Of Python; distributions keep early ones."""


def resolve(python: str, ros: str) -> dict[str, str]:
    """Let pip choose the version of every requirement, without installing anything.

    Args:
        python: The interpreter to choose for.
        ros: Distribution of ROS 2.

    Returns:
        Name -> version.
    """
    command = [python, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    command += [
        "--report",
        "-",
        f"{ROOT}[{ros_extra('ros', ros)},{ros_extra('interfaces', ros)},dev]",
    ]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    chosen = (entry["metadata"] for entry in report["install"])
    return {
        item["name"].lower().replace("_", "-"): item["version"]
        for item in chosen
        if item["name"] != "contact_stack"
    }


def version_of(python: str) -> str:
    """Return the (major.minor) version of an interpreter."""
    command = [python, "-c", "import sys; print('{}.{}'.format(*sys.version_info))"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def lock_lines(resolved: dict[str, dict[str, str]]) -> list[str]:
    """Merge what was chosen for several versions of Python.

    Args:
        resolved: Version of Python -> name -> version.

    Returns:
        The requirements of the lock file.
    """
    versions: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for python, chosen in resolved.items():
        for name, version in chosen.items():
            versions[name][version].append(python)
    lines = []
    for name, by_version in sorted(versions.items()):
        for version, pythons in by_version.items():
            marker = " or ".join(f"python_version == '{python}'" for python in pythons)
            everywhere = len(pythons) == len(resolved)
            lines.append(f"{name}=={version}" + ("" if everywhere else f" ; {marker}"))
    return lines


def package_files(lines: Iterable[str]) -> dict[str, dict[str, str]]:
    """Let uv look up the files of every version.

    Args:
        lines: The requirements.

    Returns:
        ``"name==version"`` -> name of the file -> its SHA-256.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pins.in").write_text("\n".join(lines))
        command = ["uv", "pip", "compile", "--quiet", "--no-deps", "--universal"]
        command += ["--python-version", OLDEST_RELEASE, "--format", "pylock.toml"]
        subprocess.run([*command, "-o", "pylock.toml", "pins.in"], check=True, cwd=folder)
        found = tomllib.loads((Path(folder) / "pylock.toml").read_text())
    return {f"{p['name']}=={p['version']}": _hashes(p) for p in found["packages"]}


def _hashes(package: dict[str, Any]) -> dict[str, str]:
    files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
    return {file["url"].rpartition("/")[2]: file["hashes"]["sha256"] for file in files}


def may_be_chosen(file: str, pythons: Iterable[str]) -> bool:
    """Tell whether pip may choose a file on a supported machine.

    Args:
        file: Its name.
        pythons: The supported versions of Python, e.g. ``"3.11"``.

    Returns:
        True for a source archive, and for a wheel that fits.
    """
    if not file.endswith(".whl"):
        return True
    *_, tags, abi, platform = file.removesuffix(".whl").split("-")
    fits_platform = platform == "any" or ("linux" in platform and ARCHITECTURE in platform)
    wanted = {f"cp{python.replace('.', '')}" for python in pythons}
    fits_python = any(tag.startswith("py3") for tag in tags.split(".")) or (
        bool(wanted & set(tags.split("."))) and not abi.endswith("t")
    )
    # A stable interface made for an older Python serves the later ones.
    return fits_platform and "musllinux" not in platform and (fits_python or abi == "abi3")


def with_hashes(line: str, files: dict[str, str]) -> str:
    """Write a requirement with the hashes of its files, sorted.

    Args:
        line: The requirement.
        files: Name of each file -> its SHA-256.

    Returns:
        Lines of the lock file.
    """
    return " \\\n".join([line, *(f"    --hash=sha256:{value}" for value in sorted(files.values()))])


def main(pythons: list[str]) -> None:
    """Resolve for every interpreter and write the lock files.

    Args:
        pythons: The interpreters.
    """
    versions = [version_of(python) for python in pythons]
    for ros, lock in ROS_LOCKS.items():
        chosen = [resolve(python, ros) for python in pythons]
        if ros != JAZZY:
            chosen = [{n: v for n, v in c.items() if n.startswith("ros-")} for c in chosen]
        write(lock, dict(zip(versions, chosen, strict=True)))


def write(lock: Path, resolved: dict[str, dict[str, str]]) -> None:
    """Write a lock file.

    Args:
        lock: The file.
        resolved: Version of Python -> name -> version.
    """
    lines = lock_lines(resolved)
    files = package_files(lines)
    entries = []
    for line in lines:
        fitting = {
            name: value
            for name, value in files[line.partition(" ;")[0]].items()
            if may_be_chosen(name, resolved)
        }
        entries.append(with_hashes(line, fitting))
    header = "# Written by `python -m bootstrap.lock`; the ranges are in setup.py.\n"
    lock.write_text(header + "\n".join(entries) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
