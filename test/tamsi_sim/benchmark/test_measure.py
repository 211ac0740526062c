"""Ours and the peers on the same scene, and what is reported."""

import dataclasses
import math

import numpy as np
import pytest

from contact_stack.core.errors import ConfigError
from tamsi_sim.benchmark import measure as measuring
from tamsi_sim.benchmark.measure import AgreementError, measure
from tamsi_sim.benchmark.plot import plot_cost
from tamsi_sim.benchmark.report import details_json, missing_lines, row, scene_json
from tamsi_sim.benchmark.runners import (
    DRAKE_TAMSI,
    MUJOCO,
    OURS,
    PARITY_RUN,
    RUNNERS,
    PeerError,
    table_cost,
)
from tamsi_sim.benchmark.scenes import GROWTH, SCENES, make_scene
from tamsi_sim.peers.parity import PARITY

KEYS = {
    "ours_us", "drake_ktamsi_us", "drake_ksap_us", "mujoco_us", "ratio_drake_ktamsi",
    "ratio_drake_ksap", "ratio_mujoco", "contacts", "nv",
}  # fmt: skip
TWINS = (OURS, PARITY_RUN, DRAKE_TAMSI)


def short(name, steps):
    scene = make_scene(name)
    return dataclasses.replace(scene, forces=scene.forces[:steps])


@pytest.mark.parametrize(
    ("name", "steps", "nv"),
    [
        ("gripper_soft", 300, 8),
        ("gripper_stiff", 300, 8),
        ("arm_mug", 300, 15),
        ("allegro", 2500, 22),
        ("towers_8", 60, 48),
        ("islands_32", 4, 192),
    ],
)
def test_velocities_are_those_of_drakes_tamsi(name, steps, nv):
    """Parity settings: to rounding, contacts included, whatever drives the joints."""
    result = measure(short(name, steps), 1, TWINS)
    assert result.nv == nv
    assert result.velocity_error < 1e-9
    assert result.contacts[PARITY_RUN] > 1.0


@pytest.mark.verify
@pytest.mark.parametrize("name", [*SCENES, *GROWTH])
def test_velocities_are_those_of_drakes_tamsi_to_the_end(name):
    assert measure(make_scene(name), 1, TWINS).velocity_error < 1e-9


def test_a_different_motion_is_not_timed():
    scene = short("gripper_stiff", 50)

    class Off(type(RUNNERS[PARITY_RUN](scene))):
        def state(self):
            q, v = super().state()
            return q, v + 1e-5

    runners = {DRAKE_TAMSI: RUNNERS[DRAKE_TAMSI](scene), OURS: RUNNERS[OURS](scene)}
    runners[PARITY_RUN] = Off(scene, PARITY)
    for runner in runners.values():
        runner.restart()
        runner.run()
    with pytest.raises(AgreementError, match="gripper_stiff"):
        measuring._check_agreement(scene.name, runners)


def test_a_missing_peer_is_said_and_not_fatal(monkeypatch):
    def absent(scene):
        raise PeerError("MuJoCo is not installed")

    monkeypatch.setitem(RUNNERS, MUJOCO, absent)
    result = measure(short("gripper_stiff", 20), 2)
    assert missing_lines([result]) == ["gripper_stiff: MuJoCo: MuJoCo is not installed"]
    figures = scene_json(result)
    assert set(figures) == KEYS
    assert figures["mujoco_us"] is None
    assert figures["ratio_mujoco"] is None
    assert figures["ratio_drake_ktamsi"] > 0.0
    assert "-" in row(result)


def test_figures_and_plot(tmp_path):
    pytest.importorskip("mujoco")
    result = measure(short("gripper_stiff", 50), 3)
    figures, details = scene_json(result), details_json(result)
    assert set(figures) == KEYS
    assert (figures["nv"], figures["contacts"]) == (8, 4.0)
    low, high = details["ratio_spread"]["mujoco"]
    assert low <= figures["ratio_mujoco"] <= high
    assert details["contacts"]["mujoco"] > 1.0
    assert details["contacts"]["drake_ksap"] is None
    assert math.isfinite(details["velocity_error_parity"])
    assert plot_cost([result], [result], tmp_path / "cost.png").stat().st_size > 10_000


def test_reading_the_table_of_forces_is_part_of_drakes_cost():
    assert table_cost(short("gripper_stiff", 100)) > 0.0


def test_scenes_of_the_benchmark():
    assert list(SCENES) == [
        "gripper_soft", "gripper_stiff", "arm_mug", "allegro", "towers_8", "towers_32",
        "islands_32", "pile_32",
    ]  # fmt: skip
    with pytest.raises(ConfigError, match="towers_8"):
        make_scene("castle")


def test_blocks_of_the_pile_are_one_cluster():
    """And those of the islands are apart."""
    for name, clusters in (("pile_32", 1), ("islands_32", 32), ("towers_32", 8)):
        engine = make_scene(name).engine(PARITY)
        engine.step(20)
        parent = {f"block_{k}": f"block_{k}" for k in range(32)}

        def root(block, parent=parent):
            while parent[block] != block:
                block = parent[block]
            return block

        for contact in engine.contacts():
            blocks = [i for i in (contact.instance_a, contact.instance_b) if i != "floor"]
            if len(blocks) == 2:
                parent[root(blocks[0])] = root(blocks[1])
        assert len({root(block) for block in parent}) == clusters
        assert np.isfinite(engine.q).all()
