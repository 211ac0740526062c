"""Writes requirements.lock.txt: ``python -m bootstrap.lock python3.11 python3.12 python3.13``.

For the maintainer, after a change of the requirements in setup.py. Every named interpreter needs
a recent pip. Versions that differ between them get an environment marker.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "bootstrap" / "requirements.lock.txt"
EXTRAS = "ros,interfaces,dev"


def resolve(python: str) -> dict[str, str]:
    """Let pip choose the version of every requirement, without installing anything.

    Args:
        python: The interpreter to choose for.

    Returns:
        Name -> version.
    """
    command = [python, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    command += ["--report", "-", f"{ROOT}[{EXTRAS}]"]
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
        The lines of the lock file.
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


def main(pythons: list[str]) -> None:
    """Resolve for every interpreter and write the lock file.

    Args:
        pythons: The interpreters.
    """
    lines = lock_lines({version_of(python): resolve(python) for python in pythons})
    header = "# Written by `python -m bootstrap.lock`; the ranges are in setup.py.\n"
    LOCK.write_text(header + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
