"""The benchmark of the skills: each arm does each of them, and is judged by what is true."""

from __future__ import annotations

import dataclasses
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from contact_aware_control.insert import Insert
from contact_aware_control.led_tool import PRESSING_SPEED, LedTool, axes_towards
from contact_aware_control.reference import Goal
from contact_core.robot.scene import Scene
from contact_experiments.bench import skills
from contact_experiments.bench.skills import (
    ENTERED,
    PATH,
    PRESS_LIMIT,
    PUSH_LIMIT,
    ROBOTS,
    SKILLS,
    SkillCase,
    run_case,
    summarize,
)
from contact_experiments.control.touch_rig import TouchRig

PLUG = """
<robot name="plug"><link name="plug"><collision><origin xyz="0 0 -0.014"/>
  <geometry><cylinder radius="0.0099" length="0.02"/></geometry></collision></link></robot>
"""


@pytest.mark.parametrize(
    ("skill", "arm", "seed", "corners"),
    [
        ("wipe", "iiwa14", 1, 2),
        *(
            pytest.param(skill, arm, seed, 3, marks=pytest.mark.verify)
            for skill, arm, seed in [
                ("wipe", "iiwa14", 1),
                ("wipe", "fr3", 90027),  # knocked off, it came back with 130 N
                ("insert", "iiwa14", 1),  # the graph inserts a dowel in the quick tests
                *product(SKILLS, ROBOTS, (2, 3)),
            ]
        ),
    ],
)
def test_a_skill_is_done_within_its_limit(
    skill: str, arm: str, seed: int, corners: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skills, "PATH", PATH[:corners])
    row = run_case(SkillCase(skill, arm, seed))
    assert row["outcome"] == "done", row["text"]
    assert row["force_p99_N"] <= (PUSH_LIMIT if skill == "insert" else PRESS_LIMIT)
    assert row["achieved"] >= (ENTERED * 20.0 if skill == "insert" else 0.95)


@pytest.mark.verify
def test_joints_that_stick_do_not_meet_the_hole_again_faster(tmp_path: Path) -> None:
    """After backing off they turn back: they stick, and slip faster than the command."""
    plug = tmp_path / "plug.urdf"
    plug.write_text(PLUG)
    scene = Scene.load("insert_dowel")
    socket = scene.objects["socket"]
    stopped_up = {"socket": socket, "plug": dataclasses.replace(socket, urdf=str(plug))}
    rig = TouchRig(dataclasses.replace(scene, objects=stopped_up))
    axes = axes_towards(np.array([0.0, 0.0, -1.0]))
    tool = LedTool(rig.arm, rig.command, axes, rig.bounds, rig.config.period)
    skill = Insert(tool, 0.0195, 0.012, 0.02, 15.0, 0.05, 0.05, rig.config.period, 0.0)
    goal, places, phases = Goal(tool.reference, skill.force_limits), [], []
    while "back off" not in phases or not (phases[-1] == "search" and rig.truly_pressing().any()):
        position, found, status = rig.tick(goal)
        ahead = skill.step(
            status.reference_time, position, rig.command, found.torque, found.contacts
        )
        assert not skill.ended, skill.text
        goal = Goal(ahead, skill.force_limits, refreshed=rig.report.time_ns)
        places.append(rig.tool())
        phases.append(skill.phase)
    speeds = np.linalg.norm(np.diff(places[-20:], axis=0), axis=1) / rig.config.period
    assert speeds.max() == pytest.approx(PRESSING_SPEED, rel=0.2)


def test_failures_and_forces_are_counted() -> None:
    row = {
        "skill": "wipe", "arm": "fr3", "outcome": "done", "seconds": 5.0, "force_p99_N": 12.0,
        "forces": np.array([1.0, 12.0]),
    }  # fmt: skip
    missed = {**row, "outcome": "FORCE_NOT_HELD", "seconds": 2.0, "forces": np.array([30.0])}
    other = {**row, "skill": "insert"}
    wipe, insert = summarize([row, other, missed])
    assert (wipe["cases"], wipe["done"], insert["done"]) == (2, 1, 1)
    assert wipe["low"] < 0.5 < wipe["high"]
    assert (wipe["force_peak_N"], wipe["limit_N"], wipe["time_max_s"]) == (30.0, PRESS_LIMIT, 5.0)
