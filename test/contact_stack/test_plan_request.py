"""What is to be planned: examples and scenes by name, or files."""

from __future__ import annotations

import dataclasses

import pytest

from contact_core.base.errors import ConfigError
from contact_core.base.files import share
from contact_stack.plan.request import config_of


def test_a_scene_of_the_simulator_is_known_by_name() -> None:
    named = config_of("push_box", {"box/x": 0.6})
    path = str(share("config", "scenes", "push_box.yaml").resolve())
    by_path = config_of(path, {"box/x": 0.6})
    assert named == dataclasses.replace(by_path, title="push_box", scene="push_box")


def test_of_a_name_that_both_have_the_example_is_meant() -> None:
    assert config_of("push_t").scene == "push_t"
    assert config_of("push_t").title != "push_t"


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"example or scene 'push_bx'.*push_t.*push_box"):
        config_of("push_bx")
