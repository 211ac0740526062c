"""Configurations reject what they do not know and keep what they are given."""

import dataclasses
from pathlib import Path

import pytest

from contact_core.base.config import (
    config_file,
    flatten,
    for_joints,
    from_mapping,
    load,
    merged,
    nested,
    parameter,
    read_mapping,
    unflatten,
)
from contact_core.base.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class Spring:
    stiffness: tuple[float, ...] = parameter((1.0, 2.0), "Stiffness", unit="N/m", above=0.0, size=2)


@dataclasses.dataclass(frozen=True)
class Plant:
    mode: str = parameter("slow", "Mode", options=("slow", "fast"))
    steps: int = parameter(3, "Steps", low=1, high=10)
    noise: float = parameter(0.0, "Noise", low=0.0)
    loud: bool = parameter(False, "Loud")
    spring: Spring = nested(Spring)


@dataclasses.dataclass(frozen=True)
class Named:
    name: str = parameter(description="A name")


def test_round_trip():
    values = {"mode": "fast", "noise": 1, "spring": {"stiffness": [3.0, 4]}}
    plant = from_mapping(Plant, values)
    assert plant == Plant(mode="fast", noise=1.0, spring=Spring((3.0, 4.0)))
    flat = {name: value for name, (value, _) in flatten(plant).items()}
    assert flat["spring.stiffness"] == (3.0, 4.0)
    assert from_mapping(Plant, unflatten(flat)) == plant


def test_a_nested_configuration_may_have_defaults_of_its_own():
    @dataclasses.dataclass(frozen=True)
    class Car:
        wheel: Plant = nested(Plant, mode="fast", steps=5)

    assert Car().wheel == Plant(mode="fast", steps=5)
    assert from_mapping(Car, {"wheel": {"steps": 7}}).wheel == Plant(mode="fast", steps=7)
    with pytest.raises(ConfigError, match="wheel must be a mapping"):
        from_mapping(Car, {"wheel": 3})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"speed": 1}, "unknown parameter 'speed'.*mode, steps"),
        ({"spring": {"rate": 1}}, "unknown parameter 'spring.rate'"),
        ({"mode": "warp"}, "valid: slow, fast"),
        ({"steps": 0}, "'steps' is 0 .*>= 1"),
        ({"steps": 1.5}, "'steps' must be int"),
        ({"steps": True}, "'steps' must be int"),
        ({"noise": float("nan")}, "'noise' is nan"),
        ({"noise": "big"}, "'noise' must be float"),
        ({"spring": {"stiffness": [1.0, 0.0]}}, r"'spring.stiffness\[1\]' is 0.0 .*> 0 N/m"),
        ({"spring": {"stiffness": [1.0]}}, "needs 2 values, got 1"),
        ({"spring": 3}, "spring must be a mapping"),
    ],
)
def test_bad_value_is_named(values, message):
    with pytest.raises(ConfigError, match=message):
        from_mapping(Plant, values)


def test_missing_mandatory_parameter_is_named():
    with pytest.raises(ConfigError, match="'name' is missing"):
        from_mapping(Named, {})


def test_load_names_the_file(tmp_path):
    path = tmp_path / "plant.yaml"
    path.write_text("steps: 99\n")
    with pytest.raises(ConfigError, match=r"plant\.yaml: parameter 'steps' is 99"):
        load(Plant, path)
    with pytest.raises(ConfigError, match="cannot read"):
        load(Plant, tmp_path / "none.yaml")


@dataclasses.dataclass(frozen=True)
class Arm:
    noise: tuple[float, ...] = parameter((0.1,), "Noise", unit="Nm", low=0.0, per_joint=True)
    spring: Spring = nested(Spring)


@dataclasses.dataclass(frozen=True)
class Robot:
    arm: Arm = nested(Arm)


def test_a_value_of_all_joints_is_that_of_each():
    assert for_joints(Robot(), 6).arm.noise == (0.1,) * 6
    written = from_mapping(Robot, {"arm": {"noise": 0.2}})
    assert for_joints(written, 3).arm.noise == (0.2,) * 3
    each = from_mapping(Robot, {"arm": {"noise": [0.1, 0.2, 0.3]}})
    assert for_joints(each, 3) == each
    assert for_joints(Robot(), 3).arm.spring == Spring()


def test_another_number_of_joints_is_named():
    with pytest.raises(ConfigError, match=r"'arm.noise' .*each of 6 joints, got 7"):
        for_joints(Robot(Arm(noise=(0.1,) * 7)), 6)


def test_what_is_on_top_wins_and_the_rest_stays():
    basis = {"a": 1, "b": {"c": 2, "d": 3}}
    assert merged(basis, {"b": {"c": 4}, "e": 5}) == {"a": 1, "b": {"c": 4, "d": 3}, "e": 5}
    assert merged(basis, {"b": 7}) == {"a": 1, "b": 7}
    assert basis == {"a": 1, "b": {"c": 2, "d": 3}}


def test_a_name_that_nobody_has_shipped_is_answered_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"no 'mug' in config/scenes \(valid: .*mug_placement"):
        config_file("scenes", "mug")
    assert config_file("scenes", "my.yaml", Path("/tmp")) == Path("/tmp/my.yaml")
    assert config_file("scenes", "free_space").is_file()


def test_a_file_that_has_to_be_imported_first_is_not_called_missing(tmp_path):
    (tmp_path / "arm.urdf").touch()
    with pytest.raises(ConfigError, match=r"'arm\.urdf' is no \.yaml file .* contact-stack import"):
        config_file("robots", "arm.urdf", tmp_path)
    with pytest.raises(ConfigError, match=r"there is no .leg\.urdf. in config/robots"):
        config_file("robots", "leg.urdf", tmp_path)


def test_names_in_files_are_what_is_written(tmp_path):
    """YAML reads no and 1 as values; who writes them as names means names."""
    path = tmp_path / "own.yaml"
    path.write_text("no: {yes: no}\n1: &base {a: 1, b: 2}\nown: {<<: *base, b: 3}\n")
    assert read_mapping(path) == {
        "no": {"yes": False}, "1": {"a": 1, "b": 2}, "own": {"a": 1, "b": 3},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "'a' is there twice"),
        ("objects:\n  no: 1\n  no: 2\n", "'no' is there twice"),
        ("[a, b]: 1\n", "a name has to be text"),
    ],
)
def test_names_are_told_apart(tmp_path, text, message):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=rf"own\.yaml is not valid YAML: {message}\n.*line \d"):
        read_mapping(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [("7e-1", 0.7), ("1.e3", 1000.0), (".5E+2", 50.0), ("-2e3", -2000.0), ("7e", "7e")],
)
def test_numbers_in_files_are_what_ros_takes_for_numbers(tmp_path, text, value):
    path = tmp_path / "own.yaml"
    path.write_text(f"a: {text}\n")
    assert read_mapping(path) == {"a": value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("noise: 1" + 400 * "0", r"'noise' is inf \(valid: >= 0\)"),
        ("noise: 1" + 5000 * "0", r"own\.yaml is not valid YAML: .*5001 digits"),
        ("noise: " + 3000 * "[" + 3000 * "]", r"own\.yaml is nested too deeply"),
        ("noise: 2001-13-45", r"own\.yaml is not valid YAML: month must be in 1\.\.12"),
    ],
)
def test_values_that_no_reader_can_hold(tmp_path, text, message):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load(Plant, path)
