"""The layouts for RViz and Foxglove can be read, and show topics that are documented."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from contact_core.base.files import share
from contact_core.robot.description import RobotDescription

DOCUMENTED = Path(__file__).resolve().parents[2] / "docs" / "graph.md"


def topics_of(text: str) -> set[str]:
    return set(re.findall(r"/lbr/([a-z_/]+)", text)) | set(re.findall(r"\"(/diagnostics)\"", text))


@pytest.mark.parametrize(
    ("name", "read"),
    [("rviz/contact_stack.rviz", yaml.safe_load), ("foxglove/contact_stack.json", json.loads)],
)
def test_a_layout_shows_documented_topics_in_the_base_frame(name: str, read) -> None:
    text = share("config", name).read_text()
    assert read(text)
    assert RobotDescription.load("iiwa14_wsg50").base_link in text
    documented = DOCUMENTED.read_text()
    topics = topics_of(text)
    assert "contact_markers" in topics
    assert all(f"`{topic}`" in documented for topic in topics)
