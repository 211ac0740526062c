"""What is to be planned: examples and scenes by name, or files."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest
import yaml

from contact_core.base.errors import ConfigError
from contact_core.base.files import share
from contact_stack import cli
from contact_stack.plan.request import config_of, read_budget


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


def test_a_refused_start_is_no_plan_even_at_the_goal(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    words = ["push_box", "--local", "--goal", "box/x=0.56", "--start", "box/x=0.56", "box/z=0.15"]
    assert cli.main(["plan", *words, "--json", str(file)]) == 1
    plan = json.loads(file.read_text())
    assert (plan["status"], plan["goal_reached"]) == ("INITIAL_PENETRATION", False)
    assert plan["state_names"][:3] == ["box/x", "box/y", "box/z"]
    assert plan["time_step"] == 0.1
    assert len(plan["input_names"]) == 7


def test_a_file_may_end_in_yml(tmp_path: Path) -> None:
    scene = tmp_path / "mine.yml"
    scene.write_text(share("config", "scenes", "push_box.yaml").read_text())
    assert config_of(str(scene), {"box/x": 0.6}).scene == str(scene)
    scene.write_text(share("config", "irs", "scenes", "push_t.yaml").read_text())
    start = {"tee/y": 0.0, "tee/z": 0.0, "tee/angle": 0.0, "finger_y": 0.0, "finger_z": 0.2}
    assert config_of(str(scene), {"tee/y": 0.1}, start).scene == str(scene)


def test_the_scene_of_a_problem_may_lie_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = share("config", "irs", "scenes", "push_t.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(scene)
    example = yaml.safe_load(share("config", "irs", "examples", "push_t.yaml").read_text())
    problem = tmp_path / "problem.yaml"
    problem.write_text(yaml.safe_dump({**example, "scene": "mine.yaml"}))
    monkeypatch.chdir(tmp_path.parent)
    assert config_of(str(problem)).scene == str(tmp_path / "mine.yaml")


def test_full_turns_are_none_in_the_plane_either() -> None:
    scene = str(share("config", "irs", "scenes", "push_t.yaml").resolve())
    start = {"tee/y": 0.0, "tee/z": 0.0, "tee/angle": 3.1, "finger_y": 0.0, "finger_z": 0.2}
    config = config_of(scene, {"tee/angle": -3.1}, start)
    assert config.goal_state[2] == pytest.approx(2.0 * math.pi - 3.1)


@pytest.mark.parametrize(
    ("option", "value", "valid"),
    [
        ("--samples", "4294967346", "valid: 1 to 4294967295"),
        ("--iterations", "4294967298", "valid: 1 to 4294967295"),
        ("--seed", "99999999999999999999999", "valid: 0 to 18446744073709551615"),
        ("--budget", "1e12", "valid: 0 for no limit, or 1e-09 to 2147483647 s"),
        ("--budget", "1e-10", "valid: 0 for no limit, or 1e-09 to 2147483647 s"),
        ("--budget", "soon", "valid: 0 for no limit, or 1e-09 to 2147483647 s"),
    ],
)
def test_what_a_goal_has_no_room_for_is_refused(
    capsys: pytest.CaptureFixture[str], option: str, value: str, valid: str
) -> None:
    """Rather than wrapped round to another number."""
    for name in ["plan"] if valid.startswith("valid: 1 ") else ["plan", "move"]:
        with pytest.raises(SystemExit):
            cli.main([name, "push_box", "--goal", "box/x=0.6", option, value])
        said = " ".join(capsys.readouterr().err.split())
        assert f"argument {option}: {value}" in said
        assert valid in said


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0.0), ("1e-9", 1e-9), ("2147483647", 2**31 - 1)]
)
def test_budgets_that_a_goal_has_room_for_are_taken(text: str, seconds: float) -> None:
    assert read_budget(text) == seconds
