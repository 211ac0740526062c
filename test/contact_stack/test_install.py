"""The pip command for a machine whose ROS 2 comes from the system's packages."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shlex
from importlib.machinery import ModuleSpec

import pytest
from packaging.requirements import Requirement

from contact_stack import cli
from contact_stack.checks import software

VERSION = importlib.metadata.version


def hints(capsys) -> dict[str, Requirement]:
    """Return the requirements of the command that the doctor prints."""
    assert cli.main(["doctor", "--install-hints"]) == 0
    program, word, *requirements = shlex.split(capsys.readouterr().out)
    assert (program, word) == ("pip", "install")
    return {item.name: item for item in map(Requirement, requirements)}


def test_the_command_has_every_requirement_and_one_extra(capsys) -> None:
    required = [Requirement(line) for line in importlib.metadata.requires("contact_stack") or []]
    wanted = {
        item.name: item.specifier
        for item in required
        if item.marker is None or 'extra == "robust"' in str(item.marker)
    }
    hinted = {name: item.specifier for name, item in hints(capsys).items()}
    assert hinted.keys() == wanted.keys()
    # That of NumPy depends on the one that is installed.
    assert {**hinted, "numpy": wanted["numpy"]} == wanted
    assert {"casadi", "drake", "pin", "numba"} <= wanted.keys()


@pytest.mark.parametrize(("installed", "kept"), [("1.26.4", True), ("2.1.0", False)])
def test_the_numpy_of_ros_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys, installed: str, kept: bool
) -> None:
    monkeypatch.setattr(
        software.importlib.metadata,
        "version",
        lambda name: installed if name == "numpy" else VERSION(name),
    )
    numpy = hints(capsys)["numpy"].specifier
    assert numpy.contains(installed)
    assert numpy.contains("2.2.0") is not kept


def test_what_ros_provides_is_left_to_it(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Its Pinocchio has no distribution of Python."""

    def version(name: str) -> str:
        if name in ("pin", "drake"):
            raise importlib.metadata.PackageNotFoundError(name)
        return VERSION(name)

    found = {"pinocchio": ModuleSpec("pinocchio", None), "pydrake": None}
    monkeypatch.setattr(software.importlib.metadata, "version", version)
    monkeypatch.setattr(software.importlib.util, "find_spec", lambda name: found[name])
    assert "drake" in (named := hints(capsys))
    assert "pin" not in named
