"""An environment variable that ROS cannot use is one line with its name and what is valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from contact_core.base.errors import ConfigError
from contact_ros import environment, network


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *(
            ("ROS_DOMAIN_ID", value, f"is '{value}' (valid: a whole number from 0 to 232)")
            for value in ("abc", "-1", "233", "99999999999999999999", "5x", " 5", "1.0", "0x5")
        ),
        (
            "ROS_AUTOMATIC_DISCOVERY_RANGE",
            "LOCALHOS",
            "is 'LOCALHOS' (did you mean LOCALHOST? valid: SUBNET, LOCALHOST, OFF, SYSTEM_DEFAULT)",
        ),
        *(
            (name, value, f"is '{value}' (valid: an XML file that can be read)")
            for name in ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
            for value in ("/no/such.xml", "/")
        ),
        ("ROS_LOG_DIR", "/proc/none", "no logs can be written to /proc/none, No such file"),
        ("ROS_LOG_DIR", __file__, f"no logs can be written to {__file__}, File exists"),
        ("ROS_HOME", "/proc", "no logs can be written to /proc/log, No such file"),
        ("HOME", "/proc", "no logs can be written to /proc/.ros/log, No such file"),
    ],
)
def test_a_value_that_ros_cannot_use_is_refused(
    name: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(network.NETWORK, network.ENVIRONMENT)
    monkeypatch.delenv("ROS_LOG_DIR", raising=False)
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        network.enter(network.ENVIRONMENT)
    assert str(caught.value).startswith(f"{name} is '{value}'")
    assert message in str(caught.value)


def test_what_ros_can_use_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profiles = tmp_path / "profiles.xml"
    profiles.touch()
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "new" / "logs"))
    monkeypatch.setenv("FASTRTPS_DEFAULT_PROFILES_FILE", str(profiles))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")
    for domain in ("", "0", "232"):
        monkeypatch.setenv("ROS_DOMAIN_ID", domain)
        environment.check()
    assert list((tmp_path / "new" / "logs").iterdir()) == []


def test_what_is_set_aside_need_not_be_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that keeps to its machine does not use it."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "foo")
    monkeypatch.setenv("FASTRTPS_DEFAULT_PROFILES_FILE", "/no/such.xml")
    monkeypatch.setenv(network.NETWORK, network.LOCALHOST)
    network.enter(network.LOCALHOST)
