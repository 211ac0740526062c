"""The controller node's parameters: a node that is told nothing has a real arm before it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml

from contact_aware_control.config import ControllerConfig
from contact_aware_control.node.config import ControllerNodeConfig, controller_defaults
from contact_aware_control.node.controller import ControllerNode
from contact_core.base.config import flatten, from_mapping, merged, unflatten
from contact_core.base.errors import ConfigError
from contact_core.base.files import share
from contact_ros.identity import CONTROLLER

HARDWARE = "contact_aware_controller_hardware.yaml"
OF_THE_LIBRARY = flatten(ControllerConfig())


def node_config(values: Mapping[str, Any]) -> ControllerNodeConfig:
    return from_mapping(ControllerNodeConfig, merged(controller_defaults(values), values))


def shipped(name: str) -> dict[str, Any]:
    file = yaml.safe_load(share("config", name).read_text())
    values: dict[str, Any] = file["/**/contact_aware_controller"]["ros__parameters"]
    return values


def test_the_defaults_are_those_of_the_file_for_hardware() -> None:
    config = node_config({})
    assert config == ControllerNodeConfig() == node_config(shipped(HARDWARE))
    assert (config.hardware, config.autostart, config.limits.step) == (True, False, 0.0005)


def test_the_file_for_hardware_has_every_default_that_differs_from_a_simulation() -> None:
    simulated = flatten(node_config({"hardware": False}))
    differ = {
        name: value
        for name, (value, _) in flatten(ControllerNodeConfig()).items()
        if value != simulated[name][0]
    }
    assert unflatten(differ) == shipped(HARDWARE)


@pytest.mark.parametrize("values", [{"hardware": False}, shipped("contact_aware_controller.yaml")])
def test_a_simulated_arm_has_the_values_of_the_library(values: dict[str, Any]) -> None:
    config = node_config(values)
    assert config.autostart
    for name, (value, _) in OF_THE_LIBRARY.items():
        assert flatten(config)[name][0] == value


@pytest.mark.parametrize("hardware", [True, False])
def test_an_arm_beside_people_is_slow_and_stops(hardware: bool) -> None:
    config = node_config({"hardware": hardware, "collaborative": True})
    assert (config.limits.point_speed, config.safety.stop_force) == (0.25, 50.0)
    assert config.limits.step == node_config({"hardware": hardware}).limits.step
    values = {"hardware": hardware, "collaborative": True, "safety": {"stop_force": 30.0}}
    assert node_config(values).safety.stop_force == 30.0
    assert node_config({"hardware": hardware}).limits.point_speed == 0.0


@pytest.mark.parametrize("hardware", [True, False])
def test_a_file_may_leave_out_what_stays(hardware: bool) -> None:
    config = node_config({"hardware": hardware, "limits": {"step": 0.001}})
    others = node_config({"hardware": hardware})
    assert config.limits.step == 0.001
    assert config.limits.tool_speed == others.limits.tool_speed == (0.25 if hardware else 0.5)


def test_no_limit_of_the_defaults_is_wider_than_in_a_simulation() -> None:
    simulated = flatten(node_config({"hardware": False}))
    for name, (value, _) in flatten(ControllerNodeConfig()).items():
        if isinstance(value, float):
            assert value <= simulated[name][0], name


def test_live_parameters_stay_live() -> None:
    live = {name for name, (_, valid) in OF_THE_LIBRARY.items() if valid.live}
    of_the_node = {
        name for name, (_, valid) in flatten(ControllerNodeConfig()).items() if valid.live
    }
    assert live | {"clock_offset_limit"} == of_the_node


@pytest.mark.graph
@pytest.mark.parametrize("name", ["contact_aware_controller.yaml", HARDWARE])
def test_a_launch_is_not_overruled_about_whether_the_arm_is_real(
    name: str, ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = not shipped(name)["hardware"]
    launch = tmp_path / "launch.yaml"
    launch.write_text(
        f"/lbr/{CONTROLLER}:\n  ros__parameters:\n    hardware: {str(said).lower()}\n"
    )
    files = str(share("config", name)), str(launch)
    words = [word for file in files for word in ("--params-file", file)]
    monkeypatch.setattr(sys, "argv", [CONTROLLER, "--ros-args", "-r", "__ns:=/lbr", *words])
    rclpy.init()
    try:
        with pytest.raises(
            ConfigError, match=f"'hardware' is {not said} in .*, {said} in {launch}"
        ):
            ControllerNode()
    finally:
        rclpy.shutdown()
