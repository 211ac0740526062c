"""Messages are filled from texts by the types of their fields, and written as YAML."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseWithCovariance
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive

from contact_core.base.errors import ConfigError
from contact_ros.messages import as_values, as_yaml, fill


def test_texts_become_what_the_fields_are_and_back() -> None:
    values = {"name": ["on", "1"], "position": ["1e-3", "-.inf"], "header": {"frame_id": "null"}}
    state = fill(JointState(), values)
    assert (state.name, state.header.frame_id) == (["on", "1"], "null")
    assert list(state.position) == [1e-3, -math.inf]
    assert yaml.safe_load(as_yaml(as_values(state))) == as_values(state)
    status = fill(DiagnosticStatus(), {"level": "2", "values": [{"key": "k"}]})
    assert status.level == DiagnosticStatus.ERROR
    line = as_yaml(as_values(DiagnosticArray(status=[status])), one_line=True)
    assert line.endswith("level: 2, name: '', message: '', hardware_id: '', "
                         "values: [{key: k, value: ''}]}]}\n")  # fmt: skip
    assert as_values(PoseWithCovariance())["covariance"] == [0.0] * 36


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        (SolidPrimitive, {"type": "256"}, "type is '256' (valid: uint8)"),
        (SolidPrimitive, {"dimensions": ["1"] * 4}, "dimensions has 4 entries (valid: at most 3)"),
        (PoseWithCovariance, {"covariance": ["1"]}, "1 entries (valid: exactly 36)"),
        (PoseWithCovariance, {"pose": "here"}, "pose is 'here' (valid: a mapping of position,"),
        (JointState, {"position": "1"}, "position is '1' (valid: a list)"),
        (JointState, {"name": [{"a": "1"}]}, "name[0] is {'a': '1'} (valid: a text)"),
        (JointState, {"velocity": [["1"]]}, "velocity[0] is ['1'] (valid: double)"),
        (JointState, {"positions": []}, "'positions' (did you mean position?"),
    ],
)
def test_what_does_not_fit_is_told(kind: Any, values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        fill(kind(), values)
    assert said in str(error.value)
