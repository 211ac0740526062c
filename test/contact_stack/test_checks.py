"""The checks of this machine: each finds what it is there for, and names the remedy."""

from __future__ import annotations

import importlib.util
import os
import pickle
import socket
from pathlib import Path

import pytest

from contact_core.base import kernel_cache
from contact_stack.checks import CheckStatus, machine, network, software


@pytest.mark.parametrize(
    ("value", "status"),
    [("", "OK"), ("0", "OK"), ("101", "OK"), ("102", "FAIL"), ("-1", "FAIL"), ("x", "FAIL")],
)
def test_a_domain_is_usable_if_its_ports_are_ours(monkeypatch, value: str, status: str) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", value)
    check = network.domain_id()
    assert check.status is CheckStatus(status)
    assert bool(check.remedy) == (status == "FAIL")


@pytest.mark.parametrize(
    ("value", "status"),
    [("LOCALHOST", "OK"), ("", "WARN"), ("SUBNET", "WARN"), ("OFF", "FAIL"), ("local", "FAIL")],
)
def test_discovery_beyond_this_machine_is_a_warning(monkeypatch, value: str, status: str) -> None:
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", value)
    assert network.discovery_range().status is CheckStatus(status)


def test_a_port_in_use_is_a_warning() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        assert network.port(number).status is CheckStatus.WARN
    assert network.port(number).status is CheckStatus.OK


@pytest.mark.graph
def test_two_processes_can_talk_here(ros_domain: int) -> None:
    assert network.communication().status is CheckStatus.OK


def test_what_ros_cannot_use_is_named(monkeypatch) -> None:
    monkeypatch.setenv("ROS_LOG_DIR", "/proc/none")
    check = network.communication()
    assert check.status is CheckStatus.FAIL
    assert "ROS_LOG_DIR is '/proc/none'" in check.detail


@pytest.mark.graph
def test_processes_that_cannot_find_each_other_are_reported(ros_domain: int, monkeypatch) -> None:
    monkeypatch.setattr(network, "PATIENCE", 1.0)
    monkeypatch.setattr(network, "TALKER", "import time; time.sleep(60)")
    check = network.communication()
    assert check.status is CheckStatus.FAIL
    assert "/dev/shm" in check.remedy


def test_a_missing_library_fails_only_if_nothing_runs_without_it(monkeypatch) -> None:
    find = importlib.util.find_spec
    hidden = ("numba", "viser")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in hidden else find(name)
    )
    checks = {check.name: check for check in map(software._library, software.LIBRARIES)}
    assert checks["numba"].status is CheckStatus.FAIL
    assert checks["viser"].status is CheckStatus.WARN
    assert "browser" in checks["viser"].detail
    assert "make setup" in checks["viser"].remedy
    assert checks["numpy"].status is CheckStatus.OK


def test_message_packages_that_are_not_built_are_named_with_the_remedy() -> None:
    check = software._messages("no_such_msgs.msg")
    assert (check.name, check.status) == ("no_such_msgs", CheckStatus.FAIL)
    assert "make setup" in check.remedy


def test_a_second_ros_in_the_environment_is_a_failure(monkeypatch) -> None:
    monkeypatch.setattr(software.sys, "prefix", str(Path(software.sys.prefix)))
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/opt/ros/jazzy")
    monkeypatch.setattr(software.sys, "base_prefix", "/usr")
    assert software._single_ros().status is CheckStatus.FAIL
    monkeypatch.setenv("AMENT_PREFIX_PATH", software.sys.prefix)
    assert software._single_ros().status is CheckStatus.OK


def test_kernels_are_warm_when_each_has_an_index_of_its_sources(tmp_path: Path) -> None:
    package = tmp_path / "package"
    cache = package / "__pycache__"
    cache.mkdir(parents=True)
    source = package / "solver.py"
    source.write_text("import package.plain\n\n@kernel\ndef f(): ...\n")
    (package / "plain.py").write_text("x = 1\n")
    digest = kernel_cache.source_digest("package.solver", str(source))
    index = cache / f"solver.f-{kernel_cache.processor()}.py311.nbi"
    assert machine.kernel_cache([package]).status is CheckStatus.WARN
    index.write_bytes(pickle.dumps(kernel_cache._version(digest)))
    assert machine.kernel_cache([package]).status is CheckStatus.OK
    os.utime(index, (0, 0))
    assert machine.kernel_cache([package]).status is CheckStatus.OK
    (package / "plain.py").write_text("x = 22\n")
    check = machine.kernel_cache([package])
    assert check.status is CheckStatus.WARN
    assert "solver" in check.detail


@pytest.mark.parametrize(
    ("values", "status"), [([], "OK"), (["performance"] * 2, "OK"), (["powersave"] * 2, "WARN")]
)
def test_a_governor_that_saves_power_is_a_warning(tmp_path: Path, values, status: str) -> None:
    for i, value in enumerate(values):
        folder = tmp_path / f"cpu{i}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{value}\n")
    assert machine.governor(tmp_path).status is CheckStatus(status)
