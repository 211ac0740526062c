"""Parameters: the dataclass is the schema, and nothing else is accepted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from rclpy.parameter import Parameter

from contact_core.base.config import nested, parameter
from contact_core.base.errors import ConfigError
from contact_ros.parameters import read

pytestmark = pytest.mark.graph


@dataclass(frozen=True)
class _Gains:
    stiffness: tuple[float, ...] = parameter(
        (100.0, 200.0), "Joint stiffness.", unit="Nm/rad", above=0.0, size=2
    )
    damping: float = parameter(0.7, "Damping ratio.", low=0.0, high=1.0)


@dataclass(frozen=True)
class _Config:
    seed: int = parameter(0, "Seed of the run.", low=0)
    driver: str = parameter("lbr_fri", "Driver.", options=("lbr_fri", "ros2_control"))
    lockstep: bool = parameter(True, "Run in lock-step.")
    gains: _Gains = nested(_Gains)


@dataclass(frozen=True)
class _Mandatory:
    scene: str = parameter(description="Name of the scene.")


def test_defaults_are_declared_with_description_and_range(graph) -> None:
    node = graph.node("plain")
    assert read(node, _Config) == _Config()
    assert node.get_parameter("gains.stiffness").value == [100.0, 200.0]
    damping = node.describe_parameter("gains.damping")
    assert damping.description == "Damping ratio."
    assert damping.read_only
    assert damping.floating_point_range[0].to_value == 1.0
    assert node.describe_parameter("gains.stiffness").description == "Joint stiffness. [Nm/rad]"
    assert "> 0 Nm/rad" in node.describe_parameter("gains.stiffness").additional_constraints
    assert node.describe_parameter("seed").integer_range[0].from_value == 0


def test_overrides_reach_the_configuration_and_the_parameter(graph) -> None:
    node = graph.node("over", "-p", "seed:=3", "-p", "gains.damping:=1", "-p", "lockstep:=false")
    config = read(node, _Config)
    assert (config.seed, config.gains.damping, config.lockstep) == (3, 1.0, False)
    assert isinstance(config.gains.damping, float)
    assert node.get_parameter("gains.damping").value == 1.0


def test_a_parameter_file_is_read_and_ros_parameters_are_left_alone(graph, tmp_path: Path) -> None:
    file = tmp_path / "node.yaml"
    file.write_text(
        "/**:\n  ros__parameters:\n    use_sim_time: true\n    gains: {stiffness: [1, 2]}\n"
    )
    config = read(graph.node("file", "--params-file", str(file)), _Config)
    assert config.gains.stiffness == (1.0, 2.0)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("stifness:=3", ["'stifness'", "seed, driver, lockstep, gains"]),
        ("gains.stifness:=3", ["'gains.stifness'", "stiffness, damping"]),
        ("seed.value:=3", ["'seed'", "int"]),
        ("seed:=-1", ["'seed'", ">= 0"]),
        ("seed:=1.5", ["'seed'", "int"]),
        ("driver:=kuka", ["'driver'", "lbr_fri, ros2_control"]),
        ("gains.stiffness:=[0.0, 1.0]", ["'gains.stiffness[0]'", "> 0 Nm/rad"]),
        ("gains.damping:=.nan", ["'gains.damping'", "nan"]),
    ],
)
def test_a_bad_override_is_named_with_what_is_valid(graph, override: str, words) -> None:
    with pytest.raises(ConfigError) as caught:
        read(graph.node("bad", "-p", override), _Config)
    for word in words:
        assert word in str(caught.value)


def test_a_value_and_values_below_it_contradict(graph) -> None:
    node = graph.node("contradiction", "-p", "seed:=1", "-p", "seed.value:=3")
    with pytest.raises(ConfigError, match="'seed"):
        read(node, _Config)


def test_a_missing_mandatory_parameter_is_named(graph) -> None:
    with pytest.raises(ConfigError, match="'scene' is missing: Name of the scene"):
        read(graph.node("mandatory"), _Mandatory)


def test_parameters_cannot_change_while_the_node_runs(graph) -> None:
    from rclpy.parameter import Parameter

    node = graph.node("frozen")
    read(node, _Config)
    result = node.set_parameters([Parameter("seed", value=5)])[0]
    assert not result.successful
    assert node.get_parameter("seed").value == 0


@dataclass(frozen=True)
class _Live:
    gain: float = parameter(1.0, "May change.", above=0.0, high=5.0, live=True)
    least: float = parameter(0.5, "May change, too.", low=0.0, live=True)
    seed: int = parameter(0, "May not.")

    def __post_init__(self) -> None:
        if self.least > self.gain:
            raise ConfigError("least is above gain")


def test_a_live_parameter_changes_only_to_what_the_whole_configuration_allows(graph) -> None:
    node = graph.node("live")
    heard: list[_Live] = []
    read(node, _Live, heard.append)
    assert not node.describe_parameter("gain").read_only
    assert node.set_parameters([Parameter("gain", value=2.0)])[0].successful
    assert heard == [_Live(gain=2.0)]
    for bad in (
        Parameter("gain", value=9.0),
        Parameter("gain", value="high"),
        Parameter("least", value=3.0),  # valid by itself
        Parameter("seed", value=1),
    ):
        answer = node.set_parameters([bad])[0]
        assert not answer.successful
        assert answer.reason
    assert len(heard) == 1
    assert node.get_parameter("gain").value == 2.0
    assert node.set_parameters([Parameter("least", value=1.5)])[0].successful
    assert heard[-1] == _Live(gain=2.0, least=1.5)


def test_without_anyone_who_follows_changes_nothing_is_live(graph) -> None:
    node = graph.node("still")
    read(node, _Live)
    assert node.describe_parameter("gain").read_only


def test_who_takes_a_change_may_refuse_it(graph) -> None:
    def refuse(config: _Live) -> None:
        raise ConfigError("not now")

    node = graph.node("refusing")
    read(node, _Live, refuse)
    answer = node.set_parameters([Parameter("gain", value=2.0)])[0]
    assert (answer.successful, answer.reason) == (False, "not now")
    assert node.get_parameter("gain").value == 1.0


def test_the_clock_stays_what_it_was_at_the_start(graph) -> None:
    node = graph.node("clocked")
    read(node, _Config)
    (refused,) = node.set_parameters([Parameter("use_sim_time", value=True)])
    assert not refused.successful
    assert "cannot change while the node runs" in refused.reason
    (same,) = node.set_parameters([Parameter("use_sim_time", value=False)])
    assert same.successful
