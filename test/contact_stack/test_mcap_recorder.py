"""A recording reads back as what was written, with its own message definitions, also in part."""

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from geometry_msgs.msg import WrenchStamped
from mcap_ros2.reader import read_ros2_messages
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from contact_core.base.errors import CommunicationError, ConfigError
from contact_stack import cli
from contact_stack.recording import CHUNK_SIZE, McapRecorder, message_definition, recover


def test_round_trip(tmp_path):
    path = tmp_path / "run.mcap"
    with McapRecorder(path) as recorder:
        for k in range(3):
            state = JointState(name=["A1"], position=[0.1 * k])
            recorder.write("/lbr/joint_states", JointState, serialize_message(state), 5_000_000 * k)
        wrench = WrenchStamped()
        wrench.wrench.force.z = 15.0
        recorder.write("/lbr/wrench", WrenchStamped, serialize_message(wrench), 20_000_000)
    messages = list(read_ros2_messages(str(path)))
    assert [m.channel.topic for m in messages] == 3 * ["/lbr/joint_states"] + ["/lbr/wrench"]
    assert [m.ros_msg.position[0] for m in messages[:3]] == [0.0, 0.1, 0.2]
    assert messages[3].ros_msg.wrench.force.z == 15.0
    assert messages[2].log_time_ns == 10_000_000


def test_definition_contains_every_nested_type_once():
    text = message_definition("geometry_msgs/msg/WrenchStamped")
    for name in ("std_msgs/Header", "builtin_interfaces/Time", "geometry_msgs/Vector3"):
        assert text.count(f"MSG: {name}") == 1


def test_unknown_type_is_named():
    with pytest.raises(CommunicationError, match="nowhere_msgs/Nothing"):
        message_definition("nowhere_msgs/msg/Nothing")


def fill(recorder: McapRecorder, count: int, start: int = 0) -> None:
    """Write messages of a kilobyte."""
    for k in range(start, start + count):
        state = JointState(name=["A1"], position=[float(k)], effort=list(os.urandom(128)))
        recorder.write("/lbr/joint_states", JointState, serialize_message(state), k)


def positions(path: Path) -> list[float]:
    return [m.ros_msg.position[0] for m in read_ros2_messages(str(path))]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """A file of this process cannot grow beyond a size [bytes], as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_stops_the_recording_and_nothing_else(tmp_path: Path) -> None:
    said: list[str] = []
    path = tmp_path / "run.mcap"
    with McapRecorder(path) as recorder:
        recorder.warn = said.append
        with largest_file(150_000):
            fill(recorder, 2000)
            assert recorder.failure == f"the recording {path} stops: File too large"
        fill(recorder, 10, start=2000)  # there would be room again, but with a gap
    assert said == [recorder.failure]
    read = positions(path)
    assert read == list(range(len(read)))
    assert len(read) > 100
    assert recover(path, tmp_path / "copy.mcap") == len(read)
    assert positions(tmp_path / "copy.mcap") == read


def test_a_disk_without_any_room_is_no_error_of_the_run() -> None:
    with McapRecorder(Path("/dev/full")) as recorder:
        fill(recorder, 10)
    assert "No space left on device" in recorder.failure


def test_a_killed_recorder_leaves_what_can_be_recovered(tmp_path: Path, start_process) -> None:
    path = tmp_path / "run.mcap"
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\nfrom test_mcap_recorder import McapRecorder, fill\n"
        f"recorder = McapRecorder(Path({str(path)!r}))\n"
        "fill(recorder, 1500)\nprint('written', flush=True)\ninput()\n"
    )
    process = start_process(sys.executable, "-c", script)
    assert process.stdout.readline() == "written\n"
    process.kill()
    process.wait()
    count = recover(path, tmp_path / "copy.mcap")
    assert count is not None
    # What is lost is less than a chunk.
    assert 1500 - CHUNK_SIZE / 1024 <= count < 1500
    assert positions(tmp_path / "copy.mcap") == list(range(count))


def test_a_recording_cut_anywhere_is_read_up_to_its_last_whole_chunk(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with McapRecorder(path) as recorder:
        fill(recorder, 1000)
    whole = path.read_bytes()
    counts = []
    for size in (10, 1000, len(whole) // 2, len(whole) - 9000, len(whole) - 1):
        path.write_bytes(whole[:size])
        copy = tmp_path / f"{size}.mcap"
        counts.append(recover(path, copy))
        assert positions(copy) == list(range(counts[-1]))
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[2] > 200
    assert counts[-1] == 1000
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    path.write_bytes(damaged)
    assert 200 < recover(path, tmp_path / "damaged.mcap") < 1000


def test_the_command_recovers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.mcap"
    with McapRecorder(path) as recorder:
        fill(recorder, 300)
    assert cli.main(["recover", str(path)]) == 0
    assert capsys.readouterr().out == f"{path} is whole\n"
    path.write_bytes(path.read_bytes()[:-1])
    copy = tmp_path / "run_recovered.mcap"
    assert cli.main(["recover", str(path)]) == 0
    assert capsys.readouterr().out == f"{path} is not whole; its 300 messages are in {copy}\n"
    assert positions(copy) == list(range(300))
    assert cli.main(["recover", str(path)]) == 2
    assert f"cannot write {copy}: File exists" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, b"", b"summary", b"no recording, but longer than that"])
def test_what_is_no_recording_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "run.mcap"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match="cannot read" if content is None else "is no MCAP"):
        recover(path, tmp_path / "copy.mcap")
    assert not (tmp_path / "copy.mcap").exists()
