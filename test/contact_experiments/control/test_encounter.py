"""Encounters are drawn and run the same every time, and judged by the simulator's truth."""

import dataclasses

import numpy as np
import pytest

from contact_aware_control.contact import ContactEstimate
from contact_core.base.results import lines
from contact_experiments.bench.encounters import PRESSED, TOLD, table
from contact_experiments.control.encounter import (
    ROBOTS,
    UNDECLARED,
    EncounterRun,
    arm_of,
    calibrated,
    draw_episode,
    tool_mass,
)
from contact_experiments.control.encounter_figures import judge_episode, run_episode, summarize

LIMIT = 15.0


@pytest.fixture(scope="module")
def pushed():
    """An arm at rest that a hand pushes on its last link, cut off after that."""
    for seed in range(100):
        episode = draw_episode("iiwa14_wsg50", seed)
        if len(episode.points) != 2 or len(episode.obstacles) != 1:
            continue
        (obstacle,) = episode.obstacles
        if obstacle.speed > 0.1 and arm_of(episode.robot).joints_moving(obstacle.link) == 7:
            return dataclasses.replace(episode, duration=obstacle.begins + 0.8)
    raise AssertionError


@pytest.fixture(scope="module")
def run(pushed):
    """What the arm and its estimator did, and the data of it."""
    run = EncounterRun(pushed, None)
    return run, run.execute()


def test_the_same_seed_draws_the_same_episode():
    for robot in ROBOTS:
        assert draw_episode(robot, 3) == draw_episode(robot, 3)
        assert draw_episode(robot, 3) != draw_episode(robot, 4)


def test_episodes_are_what_they_are_said_to_be():
    episodes = [draw_episode("iiwa14_wsg50", seed) for seed in range(60)]
    obstacles = [o for e in episodes for o in e.obstacles]
    assert {len(e.obstacles) for e in episodes} >= {0, 1, 2}
    assert {o.shape for o in obstacles} == {"hand", "edge"}
    assert any(o.speed == 0.0 for o in obstacles)
    assert all(o.speed <= 0.5 and 1e3 <= o.stiffness <= 1e5 for o in obstacles)
    links = {o.link for o in obstacles}
    assert "lbr_link_1" not in links
    assert len(links) >= 7
    assert {e.tool for e in episodes} == {0.0, UNDECLARED}


def test_the_undeclared_tool_weighs_what_it_is_said_to():
    episode = next(e for e in (draw_episode("fr3_wsg50", s) for s in range(99)) if e.tool)
    bare = dataclasses.replace(episode, tool=0.0)
    ratios = [e.scene().config.robot.errors.tool_mass_ratio for e in (episode, bare)]
    assert (ratios[0] - ratios[1]) * tool_mass("fr3_wsg50") == pytest.approx(UNDECLARED)


def test_a_hand_is_felt_and_judged_the_same_every_time(pushed, run):
    first = run_episode(pushed, None, "qp")
    assert repr(first) == repr(judge_episode(*run, "qp"))
    touch = first.touches[0]
    assert touch.felt_after <= 0.1
    assert touch.peak > LIMIT
    assert first.free == pytest.approx(pushed.duration - 0.8, abs=0.1)
    # Seven torques of an arm that nobody has calibrated do not place it to within 2 cm.
    assert not touch.located


def test_truth_is_judged_right_and_what_is_elsewhere_is_not(pushed, run, monkeypatch):
    """The estimator's contacts are replaced by the true ones, and by some 5 cm away."""
    run, data = run
    monkeypatch.setattr(run.run, "found", list(run.run.found))
    for shift in (0.0, 0.05):
        for k, (output, (pressed,)) in enumerate(zip(run.run.found, run.pressed, strict=True)):
            known = ()
            if pressed is not None:
                arm = arm_of(pushed.robot)
                arm.update(run.positions[k])
                moved = pressed.point + np.array([shift, 0.0, 0.0])
                link = pushed.obstacles[0].link
                known = (ContactEstimate.known(arm, link, moved, pressed.force),)
            run.run.found[k] = dataclasses.replace(output, contacts=known)
        figures = judge_episode(run, data, "qp")
        assert figures.phantoms == 0
        touch = figures.touches[0]
        assert touch.announced_after == 0.0
        assert touch.right == (touch.announced if shift == 0.0 else 0.0)
        assert touch.changes == 0
    assert len(lines(table([figures]), TOLD)) == 2


@pytest.mark.verify
def test_calibrated_arms_feel_what_they_can(verify_seeds=range(6)):
    """A few episodes of every arm: contacts are felt, and hardly a phantom."""
    found = []
    for robot in ROBOTS[:3]:
        for seed in verify_seeds:
            episode = draw_episode(robot, seed)
            found.append(run_episode(episode, calibrated(robot, episode.arm), "qp"))
    figures = summarize(found, LIMIT)
    assert figures["felt"] >= 0.9
    assert figures["p99_kept"] >= 0.5
    assert len(lines(table(found), PRESSED)) == 5
