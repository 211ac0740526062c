"""The command ``contact-stack bench tamsi``."""

import json

import pytest

from contact_experiments.tamsi.benchmark import robots
from contact_stack import cli


def test_figures_of_one_scene(tmp_path, monkeypatch, capsys):
    """Machine, scenes by name, and a picture."""
    monkeypatch.setattr(robots, "GRIPPER_STEPS", 40)
    file = tmp_path / "figures.json"
    words = ["bench", "tamsi", "--scene", "gripper_stiff", "--rounds", "1"]
    assert cli.main([*words, "--json", str(file), "--out", str(tmp_path)]) == 0
    figures = json.loads(file.read_text())
    assert figures["machine"]["versions"]["drake"]
    assert list(figures["scenes"]) == ["gripper_stiff"]
    assert figures["scenes"]["gripper_stiff"]["nv"] == 8
    assert (tmp_path / "cost.png").exists()
    output = capsys.readouterr().out
    assert "Drake kTamsi" in output
    assert "drake 1" in output


def test_unknown_scene_lists_the_valid_ones(capsys):
    with pytest.raises(SystemExit) as exit_info:
        cli.main(["bench", "tamsi", "--scene", "castle"])
    assert exit_info.value.code == 2
    assert "towers_32" in capsys.readouterr().err
