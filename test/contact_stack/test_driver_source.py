"""A checkout of a driver against the table of facts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from contact_core.base.errors import ConfigError
from contact_core.base.files import share
from contact_stack import cli
from contact_stack.checks import CheckStatus
from contact_stack.checks.driver_source import (
    COMPUTED,
    DriverVersion,
    Fact,
    driver_source,
    driver_versions,
)

VERSIONS = driver_versions()
WHOLE = [version for version in VERSIONS if len(version.version) == 40]


def write(folder: Path, version: DriverVersion) -> None:
    """Write files that say what a version's facts say, and nothing else."""
    texts: dict[str, str] = {}
    trees: dict[str, dict[str, Any]] = {}
    for fact in version.facts:
        if fact.reader == "yaml":
            tree = trees.setdefault(fact.file, {})
            for key in fact.key[:-1]:
                tree = tree.setdefault(key, {})
            tree[fact.key[-1]] = fact.value
        else:
            texts[fact.file] = texts.get(fact.file, "") + said(fact) + "\n"
    for file, text in {**texts, **{f: yaml.safe_dump(t) for f, t in trees.items()}}.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)


def said(fact: Fact) -> str:
    """Return lines that say a fact."""
    if fact.reader == "argument":
        default = "folder + 'x'" if fact.value == COMPUTED else repr(fact.value)
        return f"DeclareLaunchArgument(name={fact.key!r}, default_value={default})"
    if fact.reader == "fields":
        return "# Comment.\n" + "\n".join(f"{field}  # comment" for field in fact.value)
    return "\n".join(f"# {word}" for word in fact.value)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v.repository}-{v.version[:7]}")
def test_a_version_is_recognised(tmp_path: Path, version: DriverVersion) -> None:
    write(tmp_path / version.repository, version)
    (check,) = driver_source(tmp_path)
    assert version.version[:12] in check.detail
    assert check.status is (CheckStatus.FAIL if version.unfit else CheckStatus.OK)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v.repository}-{v.version[:7]}")
def test_every_fact_that_is_not_so_is_named(tmp_path: Path, version: DriverVersion) -> None:
    assert {fact.found(tmp_path) for fact in version.facts} == {"no such file"}
    write(tmp_path, version)
    assert version.differences(tmp_path) == []
    for file in {fact.file for fact in version.facts}:
        (tmp_path / file).write_text("")
    assert [fact for fact, _ in version.differences(tmp_path)] == list(version.facts)


def test_a_difference_is_named_with_what_depends_on_it(tmp_path: Path, capsys) -> None:
    version = next(item for item in VERSIONS if item.repository == "kuka_drivers")
    write(tmp_path, version)
    file = tmp_path / "kuka_sunrise_fri_driver/config/driver_config.yaml"
    file.write_text(file.read_text().replace("cycle_time: 10", "cycle_time: 4"))
    assert cli.main(["doctor", "--driver-source", str(tmp_path)]) == 1
    assert capsys.readouterr().out == (
        "FAIL  kuka_drivers, cycle_time: kuka_sunrise_fri_driver/config/driver_config.yaml has 4 "
        "instead of 10, as in 1a0acc326518 (2026-07-16, jazzy)\n"
        "      -> Cycle of the robot [ms]; parameter of robot_manager, no launch argument.\n"
    )


def test_a_folder_without_a_driver_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no driver is in .* lbr_fri_ros2_stack"):
        list(driver_source(tmp_path))


def test_the_default_of_an_argument_may_be_that_of_a_parameter(tmp_path: Path) -> None:
    (tmp_path / "description.py").write_text(
        "def arg_name(default_value: str = 'lbr'):\n"
        "    return DeclareLaunchArgument(name='robot_name', default_value=default_value)\n"
        "def arg_model(default_value: str = 'iiwa7'):\n"
        "    return DeclareLaunchArgument(name='model', default_value=default_value)\n"
    )
    assert Fact("", "description.py", "argument", "model", None, "").found(tmp_path) == "iiwa7"


def test_pinned_versions_are_those_of_the_facts() -> None:
    pins = {
        (name, str(item["version"]))
        for file in share("config", "drivers").glob("*.repos")
        for name, item in yaml.safe_load(file.read_text())["repositories"].items()
    }
    described = {(version.repository, version.version) for version in WHOLE if not version.unfit}
    repositories = {repository for repository, _ in described}
    assert {pin for pin in pins if pin[0] in repositories} <= described


def test_the_fields_of_the_installed_state_are_those_of_fri_1() -> None:
    from lbr_fri_idl.msg import LBRState

    (fri_1, _) = [item for item in VERSIONS if item.repository == "lbr_fri_idl"]
    fields = next(fact for fact in fri_1.facts if fact.name == "state").value
    types = {"double": "float64", "double[7]": "float64[7]"}
    installed = LBRState.get_fields_and_field_types().items()
    assert [f"{types.get(kind, kind)} {name}" for name, kind in installed] == fields


def test_real_checkouts_are_as_described() -> None:
    """Those that the variable names, e.g. after `vcs import` of the pins."""
    folder = os.environ.get("CONTACT_STACK_DRIVER_SOURCE")
    if folder is None:
        pytest.skip("CONTACT_STACK_DRIVER_SOURCE does not name a folder with checkouts of drivers")
    failed = [str(check) for check in driver_source(Path(folder)) if check.status.value != "OK"]
    assert failed == []
