"""The life of a node's process: clean ends, one-line errors."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from contact_ros.entry_point import AGAIN, LAUNCHED

pytestmark = pytest.mark.graph

Start = Callable[..., "subprocess.Popen[str]"]

NODE = """
import signal
import threading
from rclpy.node import Node
from std_msgs.msg import String
from contact_core.base.errors import CommunicationError, ConfigError
from contact_ros.entry_point import run

class Talker(Node):
    def __init__(self):
        super().__init__("talker")
        {set_up}
        self.publisher = self.create_publisher(String, "chatter", 1)
        self.create_timer(0.01, self.tick)

    def tick(self):
        self.publisher.publish(String(data="hello"))
        print("ticking", flush=True)
        {tick}

    def close(self):
        self.publisher.publish(String(data="bye"))
        print("closed", flush=True)

{before}
raise SystemExit(run(Talker))
"""


@pytest.fixture
def start_node(start_process: Start, tmp_path: Path) -> Start:
    def start(
        *args: str,
        set_up: str = "pass",
        tick: str = "pass",
        before: str = "",
        command: tuple[str, ...] = (sys.executable,),
    ) -> subprocess.Popen[str]:
        script = tmp_path / "talker.py"
        script.write_text(NODE.format(set_up=set_up, tick=tick, before=before))
        return start_process(*command, script, *args)

    return start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_node_cleanly_and_it_can_still_publish(start_node, number) -> None:
    process = start_node()
    assert process.stdout.readline() == "ticking\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert out.splitlines()[-1] == "closed"
    assert err == ""


def test_a_node_that_was_launched_ends_cleanly_with_a_launch_that_leaves_it(start_node) -> None:
    launch = start_node(command=("sh", "-c", f"{LAUNCHED}=true {sys.executable} $0 & wait"))
    assert launch.stdout.readline() == "ticking\n"
    launch.kill()
    out, err = launch.communicate(timeout=20)  # the node's as well
    assert out.splitlines()[-1] == "closed"
    assert err == ""


# Python does not see a signal that comes just before it begins to wait, until the wait is over.
WAIT = "any(threading.Event().wait(0.02) for _ in range(3000))"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts_a_long_set_up(start_node, number) -> None:
    process = start_node(set_up=f"print('setting up', flush=True); {WAIT}")
    assert process.stdout.readline() == "setting up\n"
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "")


HALF_MADE = f"""
class HalfMade:
    def __init__(self):
        print("setting up", flush=True)
        {WAIT}
        self.handle = 1

    def __del__(self):
        del self.handle
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_a_signal_leaves_half_made_does_not_complain(start_node, number) -> None:
    process = start_node(set_up="HalfMade()", before=HALF_MADE)
    assert process.stdout.readline() == "setting up\n"
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_came_during_the_imports_ends_the_process(start_node, number) -> None:
    """The launcher blocks signals until then."""
    block = f"signal.pthread_sigmask(signal.SIG_BLOCK, [{int(number)}])"
    process = start_node(before=f"{block}; signal.raise_signal({int(number)})")
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_signal_within_compiled_code_ends_the_process(start_node) -> None:
    """Which raises an error of its own, caused by the interruption."""
    process = start_node(set_up="raise SystemError('exception set') from KeyboardInterrupt()")
    assert (process.wait(20), process.stderr.read()) == (0, "")
    process = start_node(set_up="raise SystemError('a mistake')")
    assert process.wait(20) == 1
    assert "a mistake" in process.stderr.read()


LOSES_THE_FIRST = """
import time
def lose_the_first():
    for word in ("setting up", "lost it"):
        try:
            print(word, flush=True)
            time.sleep(15.0)
        except KeyboardInterrupt:
            if word == "lost it":
                raise
"""


def test_a_signal_that_a_library_has_lost_can_be_sent_again(start_node) -> None:
    process = start_node(set_up="lose_the_first()", before=LOSES_THE_FIRST)
    assert process.stdout.readline() == "setting up\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "lost it\n"
    time.sleep(AGAIN + 0.1)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (0, "")


def test_many_signals_at_once_are_one(start_node) -> None:
    process = start_node()
    assert process.stdout.readline() == "ticking\n"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGINT):
        process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "")


def test_what_the_threads_do_can_be_asked(start_node) -> None:
    process = start_node()
    assert process.stdout.readline() == "ticking\n"
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "ticking\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "spin_once" in err


AGAIN_WITHIN = """
import sys

def again(frame, event, arg):
    names = []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    if names.count("_handle") == 1:
        signal.raise_signal(signal.SIGTERM)

sys.setprofile(again)
"""


def test_a_signal_while_another_one_is_handled_is_not_waited_for(start_node) -> None:
    process = start_node(before=AGAIN_WITHIN)
    assert process.stdout.readline() == "ticking\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "")


def test_what_a_node_makes_at_its_start_is_not_looked_through_for_garbage(start_node) -> None:
    process = start_node(
        before="import gc", set_up="assert not gc.isenabled()", tick="assert gc.isenabled()"
    )
    assert process.stdout.readline() == "ticking\n", process.stderr.read()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "")


LAST_TO_GO = """
class LastToGo:
    def __del__(self, raise_signal=signal.raise_signal):
        print("going", flush=True)
        raise_signal({number})

last_to_go = LastToGo()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_python_ends_changes_nothing(start_node, number) -> None:
    """A launch sends another one to what takes long."""
    process = start_node(before=LAST_TO_GO.format(number=int(number)))
    assert process.stdout.readline() == "ticking\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert out.splitlines()[-1] == "going"
    assert (process.returncode, err) == (0, "")


def test_an_error_of_ours_at_set_up_is_one_line_and_exit_code_2(start_node) -> None:
    process = start_node(set_up='raise ConfigError("unknown driver\\nx (valid: y)")')
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert err == "talker: unknown driver x (valid: y)\n"


def test_an_error_of_ours_while_running_closes_the_node_and_is_one_line(start_node) -> None:
    process = start_node(tick="raise CommunicationError('estimator is missing')")
    out, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert err == "talker: estimator is missing\n"
    assert out.splitlines()[-1] == "closed"


def test_a_bug_keeps_its_traceback_and_still_closes_the_node(start_node) -> None:
    process = start_node(tick="1 / 0")
    out, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "ZeroDivisionError" in err
    assert out.splitlines()[-1] == "closed"


def test_arguments_ros_does_not_understand_are_one_line(start_node) -> None:
    process = start_node("--ros-args", "--params-file", "/no/such/file.yaml")
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert err == "talker: cannot read /no/such/file.yaml: No such file or directory\n"


def test_an_environment_that_ros_cannot_use_is_one_line(
    start_node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "-1")
    process = start_node()
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert err == "talker: ROS_DOMAIN_ID is '-1' (valid: a whole number from 0 to 232)\n"


def test_a_remap_that_changes_nothing_is_a_warning(start_node) -> None:
    process = start_node("--ros-args", "-r", "chater:=news", "-r", "chatter:=gossip")
    assert process.stdout.readline() == "ticking\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    (said,) = [line for line in err.splitlines() if "remap" in line]
    assert "WARN" in said
    assert "the remap chater:=news changes nothing so far" in said
