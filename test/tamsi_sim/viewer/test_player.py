"""A player shows a trajectory's states when they are due, and so does its recording."""

import base64
import re
from time import sleep

import msgspec
import numpy as np
import pytest
import zstandard
from page import visit

from contact_core.base.errors import ConfigError, ModelError
from tamsi_sim import World
from tamsi_sim.viewer.page import PERIOD
from tamsi_sim.viewer.player import Player

MUG = "/mug/mug"


@pytest.fixture(scope="module")
def thrown():
    """An engine, and the trajectory of its mug that slides to rest."""
    world = World().add_ground().add("mug", "urdf/mug.urdf", (0.0, 0.0, 0.05), free=True)
    engine = world.build()
    engine.set_velocity("mug", (0.5, 0.0, 0.0))
    return engine, engine.simulate(0.5)


def test_it_goes_where_it_is_sent(thrown):
    engine, run = thrown
    before = engine.q.copy()
    with engine.play(run) as player:
        for moment in (0.0, 0.1, 0.25, 0.5, 7.0):
            player.time = moment
            step = min(round(moment / engine.time_step), len(run.time) - 1)
            assert player.time == run.time[step]
            shown = visit(player.address)
            np.testing.assert_allclose(shown.poses[MUG].translation, run.q[step, :3], atol=1e-6)
            if step:
                ((start, end),) = shown.arrows["/forces"]
                np.testing.assert_allclose(start, run.q[step, :3], atol=1e-6)
                force = 1e-3 * player._scale.value * run.contact_force[step - 1, :3]
                np.testing.assert_allclose(end - start, force, atol=1e-6)
    np.testing.assert_array_equal(engine.q, before)


def test_playing_moves_the_bodies_to_the_end(thrown):
    engine, run = thrown
    with engine.play(run) as player:
        start = visit(player.address).poses[MUG].translation
        player.speed = 2
        player.play()
        assert player._button.label == "pause"
        while player._playing:
            sleep(PERIOD)
        assert player._button.label == "play"
        assert player.time == player._slider.value == run.time[-1]
        end = visit(player.address).poses[MUG].translation
        np.testing.assert_allclose(end, run.q[-1, :3], atol=1e-6)
        assert end[0] > start[0] + 0.01
        player.play()
        player.pause()
        assert player.time < run.time[-1]
        with pytest.raises(ConfigError, match=r"no speed 3 \(valid: 0.1, 0.25"):
            player.speed = 3


def test_a_recording_holds_the_whole_trajectory(thrown, tmp_path):
    engine, run = thrown
    with engine.play(run) as player:
        path = player.recording().save(tmp_path / "new" / "run.html")
        np.testing.assert_allclose(visit(player.address).poses[MUG].translation, run.q[0, :3])
    (data,) = re.findall('__VISER_EMBED_DATA__="([^"]+)"', path.read_text())
    raw = base64.b64decode(data)
    inner = zstandard.ZstdDecompressor().decompress(raw[8:])
    size = int.from_bytes(inner[:8], "little")
    content = msgspec.msgpack.decode(inner[8 : 8 + size])
    frames = int(np.ceil(run.time[-1] / PERIOD)) + 1
    assert content["durationSeconds"] == pytest.approx(frames * PERIOD)
    moves = {
        round(moment / PERIOD): message["position"]
        for moment, message in content["messages"]
        if message["type"] == "SetPositionMessage" and message["name"] == MUG
    }
    # What rests is not sent again.
    assert len(moves) > 5
    np.testing.assert_allclose(moves[max(moves)], run.q[-1, :3], atol=1e-5)
    for frame, position in moves.items():
        step = min(int(frame * PERIOD / engine.time_step + 1e-6), len(run.time) - 1)
        np.testing.assert_allclose(position, run.q[step, :3], atol=1e-6)


def test_it_ends_before_a_step_that_failed(thrown):
    engine, run = thrown
    q = run.q.copy()
    q[200:] = np.nan
    broken = type(run)(run.status, run.time, q, run.v, run.contact_force, run.joint_force)
    with Player(engine, broken) as player:
        player.time = 1.0
        assert player.time == run.time[199]
        shown = visit(player.address)
        np.testing.assert_allclose(shown.poses[MUG].translation, q[199, :3], atol=1e-6)


def test_a_trajectory_of_another_model_is_refused(thrown):
    with pytest.raises(ModelError, match="the trajectory has 7 positions, the engine 0"):
        World().add_ground().build().play(thrown[1])
