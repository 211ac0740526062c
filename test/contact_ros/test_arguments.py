"""What a node is given and has no use for is refused, or at least said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import make_dataclass
from pathlib import Path

import pytest
from control_msgs.action import ParallelGripperCommand
from rclpy.action import ActionServer
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from contact_core.base.config import parameter
from contact_core.base.errors import ConfigError
from contact_ros.arguments import (
    check_files,
    refuse_disagreement,
    refuse_useless_files,
    useless_remaps,
)
from contact_ros.parameters import read

pytestmark = pytest.mark.graph

SEED = "  ros__parameters:\n    seed: 3\n"

Written = Callable[[str], str]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Write a parameter file; return where it is."""

    def write(text: str) -> str:
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.yaml"
        file.write_text(text)
        return str(file)

    return write


def given(*files: str) -> list[str]:
    words = [word for file in files for word in ("--params-file", file)]
    return ["node", "--ros-args", "-r", "__ns:=/lbr", *words]


@pytest.mark.parametrize(
    "text",
    [
        *(f"{key}:\n{SEED}" for key in ("/**", "/*/ctl", "/**/ctl", "/lbr/ctl", "lbr/ctl")),
        "lbr:\n  ctl:\n    ros__parameters:\n      seed: 3\n",
        f"/left/ctl:\n{SEED}/lbr/ctl:\n{SEED}",
    ],
)
def test_a_file_is_for_a_node_if_ros_thinks_so(graph, written: Written, text: str) -> None:
    file = written(text)
    node = graph.node("ctl", "-r", "__ns:=/lbr", "--params-file", file)
    assert node._parameter_overrides["seed"].value == 3
    refuse_useless_files(node, given(file))
    assert node.get_node_names() == ["ctl"]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        *((f"{key}:\n{SEED}", key) for key in ("ctl", "/ctl", "/left/ctl", "/lbr/clt", "/*")),
        ("left:\n  ctl:\n    ros__parameters:\n      seed: 3\n", "left/ctl"),
        (f"/left/ctl:\n{SEED}right/ctl:\n{SEED}", "/left/ctl, right/ctl"),
        ("/lbr/ctl:\n  ros__parameters: {}\n", "none"),
        ("/lbr/ctl: {}\n", "none"),
        ("# seed: 3\n", "none"),
    ],
)
def test_a_file_for_others_is_refused(graph, written: Written, text: str, keys: str) -> None:
    file = written(text)
    node = graph.node("ctl", "-r", "__ns:=/lbr", "--params-file", file)
    assert not node._parameter_overrides
    with pytest.raises(ConfigError) as caught:
        refuse_useless_files(node, given(written(f"/**:\n{SEED}"), file))
    assert f"parameter file {file} is for the node /lbr/ctl;" in str(caught.value)
    assert f"it has parameters for: {keys} (valid: /lbr/ctl, /**/ctl or /**" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "must map names to values, got 'hello'"),
        ("/lbr/ctl: [", "is not valid YAML"),
        ("/lbr/ctl: 3\n", "'/lbr/ctl' is no parameter of a node"),
        ("/lbr/ctl:\n  force:\n    limit: 6\n", "'/lbr/ctl.force.limit' is no parameter of a node"),
        ("/lbr/ctl:\n  ros__parameters:\n", "'/lbr/ctl.ros__parameters' is no parameter"),
        ("ros__parameters:\n  seed: 3\n", "'ros__parameters' is no parameter"),
        ("/**:\n  ros__parameters:\n    seed:\n", "'seed' has no value (valid: 'seed: VALUE')"),
        ("/**:\n  ros__parameters:\n    a: {b: 1}\n    a.b: 2\n", "'a.b' is there twice"),
    ],
)
def test_a_file_that_ros_cannot_read_is_named(written: Written, text: str, message: str) -> None:
    file = written(text)
    with pytest.raises(ConfigError) as caught:
        check_files(given(written(f"/**:\n{SEED}"), file))
    assert file in str(caught.value)
    assert message in str(caught.value)


def test_what_is_no_file_of_text_is_named(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\x00")
    for file, message in (
        (picture, f"{picture} is no text"),
        (tmp_path, f"cannot read {tmp_path}: Is a directory"),
        (tmp_path / "none", f"cannot read {tmp_path / 'none'}: No such file"),
    ):
        with pytest.raises(ConfigError, match=message):
            check_files(given(str(file)))


def test_whoever_reads_parameters_refuses_files_for_others(
    graph, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_dataclass("Config", [("seed", int, parameter(0, "Seed."))], frozen=True)
    monkeypatch.setattr(sys, "argv", given(written(f"/lbr/ctl:\n{SEED}")))
    with pytest.raises(ConfigError, match="nothing in the parameter file"):
        read(graph.node("other"), config)


def test_files_must_agree_where_it_counts(graph, written: Written) -> None:
    real, simulated = (
        written(f"/**:\n  ros__parameters:\n    hardware: {value}\n") for value in ("true", "false")
    )
    silent, node = written(f"/**:\n{SEED}"), graph.node("ctl")
    refuse_disagreement(node, given(real, silent, real), "hardware")
    refuse_disagreement(node, given(real, simulated), "seed")
    with pytest.raises(ConfigError) as caught:
        refuse_disagreement(node, given(simulated, silent, real), "hardware")
    assert f"'hardware' is False in {simulated}, True in {real}" in str(caught.value)


def test_a_remap_of_nothing_is_said(graph) -> None:
    rules = ("state:=left/state", "/tf:=tf", "stop:=halt", "stat:=x", "gripper:=hand", "a:=a")
    words = [word for rule in (*rules, "/clock:=clock", "b:c:=d") for word in ("-r", rule)]
    node = graph.node("ctl", "-r", "__ns:=/lbr", *words)
    node.create_publisher(Bool, "state", 1)
    node.create_subscription(Bool, "/tf", lambda message: None, 1)
    node.create_service(Trigger, "stop", lambda request, response: response)
    server = ActionServer(node, ParallelGripperCommand, "gripper", lambda handle: None)
    said = useless_remaps(node, ["node", "--ros-args", "-r", "__node:=ctl", *words])
    names = {name for name, _ in node.get_service_names_and_types_by_node("ctl", "/lbr")}
    server.destroy()
    useless = [
        "the remap stat:=x changes nothing so far: the node has no topic and no service /lbr/stat",
        "the remap gripper:=hand changes nothing so far: /lbr/gripper is an action, and ROS remaps "
        "only topics and services",
    ]
    # From Kilted on it is remapped.
    assert said == useless[: 1 if "/lbr/hand/_action/send_goal" in names else 2]
