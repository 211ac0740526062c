"""Recordings on the page: what is read of them, and how they are played."""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
import zstandard
from films import DURATION, FORCE, PUSHED, angle, write_recording
from mcap.writer import Writer as RawWriter
from mcap_ros2.writer import Writer
from page import visit

from contact_core.base.errors import ConfigError
from contact_stack import cli
from contact_stack.recording import recover
from contact_stack.viewer.command import RecordingPlayer, film_page
from contact_stack.viewer.recording import RATE, OtherRun, Recording, beside, load_recording
from contact_stack.viewer.scene_model import scene_model_of
from contact_stack.viewer.snapshot import PageState

JOINT_STATE = "string[] name\nfloat64[] position"
JOINT = "lbr_A2"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    write_recording(tmp_path / "run.mcap")
    return tmp_path / "run.mcap"


def test_a_picture_has_what_was_known_then(recording):
    film = load_recording(recording)
    assert film.duration == pytest.approx(DURATION, abs=2.0 / RATE)
    for time in (0.0, 1.0, 2.5, 3.5):
        picture = film.at(time)
        assert picture.time == pytest.approx(time, abs=0.51 / RATE)
        assert picture.joints[JOINT] == pytest.approx(angle(time), abs=0.3 / RATE)
        pushed = PUSHED[0] <= time < PUSHED[1]
        assert picture.true_force == pytest.approx(np.linalg.norm(FORCE) if pushed else 0.0)
        assert picture.state == "TRACKING"
    # A knock between two pictures is not lost.
    assert max(picture.force for picture in film.pictures) == pytest.approx(12.0)
    assert max(picture.largest_force for picture in film.pictures) == pytest.approx(36.0)
    assert film.at(-1.0) is film.pictures[0]
    assert film.at(99.0) is film.pictures[-1]


def foreign(
    path: Path, names: list[str], topic: str = "/left/joint_states", jump: float = 0.0
) -> Path:
    """Write a recording as others do, of a second in which the third name of a joint turns.

    Halfway the clock may jump [s].
    """
    with path.open("wb") as file:
        writer = Writer(file)
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
        for time in np.linspace(0.0, 1.0, 51):
            position = [time if k == 2 else 0.0 for k in range(len(names))]
            stamp = round(1e9 * (time + 2e9 + (jump if time > 0.5 else 0.0)))
            writer.write_message(
                topic, schema, {"name": names, "position": position}, log_time=stamp
            )
        writer.finish()
    return path


def test_a_recording_of_others_is_shown_with_the_robot_that_is_named(tmp_path):
    names = [f"left_joint_{k}" for k in (1, 3, 2, 4, 5, 6, 7)]
    path = foreign(tmp_path / "bag.mcap", names)
    with pytest.raises(ConfigError, match="does not say which robot"):
        load_recording(path)
    film = load_recording(path, scene_model_of("", "iiwa14"))
    assert film.pictures[-1].joints[JOINT] == pytest.approx(1.0)


@pytest.mark.parametrize("jump", [1e9, -1e9])
def test_a_clock_that_is_set_is_no_year_of_pictures(tmp_path, capsys, jump: float):
    names = [f"left_joint_{k}" for k in range(1, 8)]
    path = foreign(tmp_path / "set.mcap", names, jump=jump)
    page = tmp_path / "page.html"
    command = ["view", str(path), "--robot", "iiwa14", "--html", str(page)]
    assert cli.main(command) == 0
    assert "gaps of more than 60 s are left out (1)" in capsys.readouterr().err
    film = load_recording(path, scene_model_of("", "iiwa14"))
    assert film.duration == pytest.approx(1.0, abs=2.0 / RATE)
    assert film.pictures[-1].joints["lbr_A3"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kind", "definition", "content", "said"),
    [
        ("std_msgs/msg/String", "string data", b"\0\1\0\0\5\0\0\0abcd\0", "no attribute 'name'"),
        ("sensor_msgs/msg/JointState", JOINT_STATE, b"\0\1\0\0\5\0\0\0abcd\0", "as their def"),
        ("sensor_msgs/msg/JointState", "module x { };", b"\0\1\0\0", "as their definition says"),
        ("sensor_msgs/msg/JointState", "x", b"\0\1\0\0", "as their definition says"),
    ],
)
def test_messages_of_another_kind_are_told_in_a_line(
    tmp_path, capsys, kind: str, definition: str, content: bytes, said: str
):
    path = tmp_path / "other.mcap"
    with path.open("wb") as file:
        writer = RawWriter(file)
        writer.start(profile="ros2")
        schema = writer.register_schema(kind, "ros2msg", definition.encode())
        channel = writer.register_channel("/lbr/joint_states", "cdr", schema)
        for stamp in range(3):
            writer.add_message(channel, stamp, content, stamp)
        writer.finish()
    assert cli.main(["view", str(path), "--robot", "iiwa14", "--html", str(tmp_path / "x")]) == 2
    error = capsys.readouterr().err
    assert "/lbr/joint_states is unusable" in error
    assert said in error


def test_another_arm_is_not_shown_as_one_at_rest(tmp_path):
    path = foreign(tmp_path / "ur.mcap", ["shoulder_pan_joint", "elbow_joint"])
    with pytest.raises(
        ConfigError, match=r"tells of shoulder_pan_joint, elbow_joint \(valid: lbr_"
    ):
        load_recording(path, scene_model_of("", "iiwa14"))


def test_what_cannot_be_shown_is_refused_with_what_can(tmp_path, recording):
    unknown = foreign(tmp_path / "no.mcap", ["a"], "/camera/info")
    with pytest.raises(ConfigError, match=r"none of our topics .*joint_states"):
        load_recording(unknown)
    with pytest.raises(ConfigError, match=r"no robot 'right' \(valid: lbr\)"):
        load_recording(recording, robot_name="right")


def test_the_copy_of_a_recording_that_was_cut_shows_the_same_robot(tmp_path, recording):
    cut, copy = tmp_path / "cut.mcap", tmp_path / "copy.mcap"
    cut.write_bytes(recording.read_bytes()[:-100])
    recover(cut, copy)
    whole = load_recording(recording)
    assert load_recording(copy).model == whole.model
    assert whole.whole and load_recording(copy).whole


def test_a_recording_that_was_cut_is_not_shown_as_if_it_were_whole(tmp_path, recording, capsys):
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(recording.read_bytes()[:-100])
    assert not load_recording(cut).whole
    assert cli.main(["view", str(cut), "--html", str(tmp_path / "x.html")]) == 0
    assert "has no end" in capsys.readouterr().err
    cut.write_bytes(recording.read_bytes()[:100])
    with pytest.raises(ConfigError, match="is damaged, or was cut before"):
        load_recording(cut)


def shown(page) -> float:
    """Return where the second joint is on the page [rad]."""
    rotation = visit(page.address).poses[f"/robot/{JOINT}"].rotation
    return float(np.arccos(np.clip(0.5 * (np.trace(rotation) - 1.0), -1.0, 1.0)))


def test_the_timeline_leads_both_ways(recording):
    film = load_recording(recording)
    page = film_page(film, 8450)
    try:
        start = shown(page)
        player = RecordingPlayer(page, film)
        player.advance(1.5)
        assert player.time == 1.5
        forth = shown(page)
        by_hand = SimpleNamespace(client=object(), target=SimpleNamespace(value=0.0))
        player._scrub(by_hand)
        player.advance(1.0)  # a person who leads the timeline has stopped it
        assert shown(page) == pytest.approx(start, abs=1e-6)
        assert forth != pytest.approx(start, abs=0.1)
        player.play(True)
        player.advance(100.0)
        assert (player.time, player.playing) == (film.duration, False)
    finally:
        page.close()


def embedded(page: str) -> list[str]:
    """Return the scripts that an exported page runs as it plays."""
    found = re.search(r'__VISER_EMBED_DATA__="([^"]*)"', page)
    assert found is not None
    data = zstandard.ZstdDecompressor().decompressobj().decompress(b64decode(found[1])[8:])
    size = int.from_bytes(data[:8], "little")
    messages = msgspec.msgpack.decode(data[8 : 8 + size])["messages"]
    return [message["source"] for _, message in messages if "source" in message]


def test_an_export_is_one_file_that_needs_nobody(recording, tmp_path, capsys):
    page = tmp_path / "new" / "run.html"
    assert cli.main(["view", str(recording), "--html", str(page)]) == 0
    text = page.read_text()
    assert "__VISER_EMBED_DATA__" in text
    assert 'location.replace("?initialCameraPosition=1.925,-2.025,1.275&' in text  # on telephones
    shown = [words for words in embedded(text) if "contactStack" in words]
    assert len(shown) > 100  # the script, all curves, and a picture's words for each of them
    assert sum('"12.0 N"' in words for words in shown) == pytest.approx(30, abs=2)
    assert 'src="http' not in text
    assert re.fullmatch(rf"{page}: \d\.\d s\n", capsys.readouterr().out)
    assert cli.main(["view", str(recording), "--html", str(tmp_path)]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_another_run_is_shown_as_far_as_it_was_when_it_moved_that_long():
    cast = scene_model_of("", "iiwa14_wsg50")

    def run(begins: int, count: int) -> list[PageState]:
        return [
            PageState(time=k / RATE, joints={JOINT: max(k - begins, 0.0)},
                     state="TRACKING" if k >= begins else "HOLD")
            for k in range(count)
        ]  # fmt: skip

    other = OtherRun(Recording(cast, run(begins=10, count=60), "greedy"))
    for now in (*run(begins=30, count=70), *run(begins=5, count=70)):  # and it starts anew
        other.accompany(now)
        assert now.beside_name == "greedy"
        assert now.beside[JOINT] == pytest.approx(min(now.joints[JOINT], 49.0))


def test_another_run_is_shown_beside_at_the_same_time(recording):
    film = load_recording(recording)
    both = beside(film, load_recording(recording))
    assert both.at(1.0).beside[JOINT] == pytest.approx(angle(1.0), abs=0.3 / RATE)
    assert not film.at(1.0).beside
    page = film_page(both)
    try:
        page.draw(both.at(3.0))
        shown = visit(page.address)
        assert "outline: arm of run at the same time" in [
            text for *_, text in shown.words["legend"]
        ]
        assert shown.words["forces"][1][2][0] == "peak 36 N"
        assert ", peak 36 N" in shown.words["forces"][0][2][0]
        own, other = shown.poses[f"/robot/{JOINT}"], shown.poses[f"/beside/{JOINT}"]
        assert own.isApprox(other, 1e-4)
    finally:
        page.close()
