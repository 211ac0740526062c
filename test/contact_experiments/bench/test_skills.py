"""The benchmark of the skills: each arm does each of them, and is judged by what is true."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ("skill", "arm", "seed", "corners"),
    [
        ("wipe", "iiwa14", 1, 2),
        *(
            pytest.param(skill, arm, seed, 3, marks=pytest.mark.verify)
            for skill, arm, seed in [
                ("wipe", "iiwa14", 1),
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
