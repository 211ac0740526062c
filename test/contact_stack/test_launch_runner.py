"""The runner starts nodes, passes on what they say, and guarantees their end."""

from __future__ import annotations

import io
import signal
import time
from pathlib import Path

import pytest
import yaml
from command import WITHOUT_LAUNCH_ROS, signal_another_thread

from contact_core.base.errors import LaunchError
from contact_stack.launch import NodeGraph, parse, runner
from contact_stack.launch.runner import RESTARTS

SLEEP = "unblock()\nline('up')\ntime.sleep(60)\n"
STUBBORN = "signal.signal(signal.SIGTERM, lambda *_: line('no'))\nline('up')\n" + (
    "while True: time.sleep(1)\n"
)


def node(executable: str, *, name: str = "", body: str = "", more: str = "") -> str:
    attributes = f'pkg="throw_away" exec="{executable}" name="{name or executable}"'
    return f"<node {attributes} {more}>{body}</node>"


def until(condition, patience: float = 20.0) -> None:
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def test_output_is_prefixed_and_a_clean_end_of_all_nodes_ends_the_launch(
    make_executable, launch_file
) -> None:
    make_executable("talker", "line('out')\nprint('err', file=sys.stderr)\n")
    output = io.StringIO()
    plan = parse(launch_file(node("talker", name="a") + node("talker", name="b")), {})
    with NodeGraph(plan, output) as graph:
        graph.wait()
        graph.check()
    assert graph.exit_code == 0
    assert sorted(output.getvalue().splitlines()) == ["[a] err", "[a] out", "[b] err", "[b] out"]


def test_nodes_get_name_namespace_parameters_and_remappings(
    make_executable, launch_file, tmp_path: Path
) -> None:
    make_executable(
        "show",
        "import yaml\nfor word in sys.argv[1:]:\n"
        "    file = word.endswith('.yaml')\n"
        "    line(repr(yaml.safe_load(open(word).read()) if file else word))\n",
    )
    file = tmp_path / "values.yaml"
    file.write_text("/**: {ros__parameters: {a: 1}}")
    body = (
        f'<param from="{file}"/><param name="b.c" value="1.5"/>'
        '<param name="text" value="\'true\'"/><remap from="x" to="y"/>'
    )
    output = io.StringIO()
    plan = parse(launch_file(node("show", body=body, more='namespace="lbr" args="-v"')), {})
    with NodeGraph(plan, output) as graph:
        graph.wait()
    words = [yaml.safe_load(line.split(" ", 1)[1]) for line in output.getvalue().splitlines()]
    assert words == [
        "-v", "--ros-args", "-r", "__node:=show", "-r", "__ns:=/lbr",
        "--params-file", {"/**": {"ros__parameters": {"a": 1}}},
        "--params-file", {"/lbr/show": {"ros__parameters": {"b.c": 1.5}}},
        "--params-file", {"/lbr/show": {"ros__parameters": {"text": "true"}}},
        "-r", "x:=y",
    ]  # fmt: skip


def test_a_node_gets_its_environment(make_executable, launch_file) -> None:
    make_executable("show", "line(os.environ['A'])\n")
    output = io.StringIO()
    body = '<set_env name="A" value="b c"/>' + node("show")
    with NodeGraph(parse(launch_file(body), {}), output) as graph:
        graph.wait()
    assert output.getvalue() == "[show] b c\n"


def test_a_node_that_fails_ends_the_launch_and_is_reported_with_its_output(
    alive, make_executable, launch_file
) -> None:
    make_executable("steady", SLEEP)
    make_executable("broken", "line('cannot find the robot')\nsys.exit(7)\n")
    plan = parse(launch_file(node("steady") + node("broken")), {})
    with NodeGraph(plan, io.StringIO()) as graph:
        graph.wait()
        with pytest.raises(LaunchError, match=r"'broken' ended with exit code 7(.|\n)*the robot"):
            graph.check()
    assert graph.exit_code == 7
    assert not any(alive(pid) for pid in graph.pids)


def test_a_crash_is_reported_as_a_shell_does(make_executable, launch_file) -> None:
    make_executable("crash", "os.kill(os.getpid(), signal.SIGSEGV)\n")
    with NodeGraph(parse(launch_file(node("crash")), {}), io.StringIO()) as graph:
        graph.wait()
    assert graph.exit_code == 128 + signal.SIGSEGV


def test_a_node_may_end_the_launch_without_an_error(alive, make_executable, launch_file) -> None:
    make_executable("steady", SLEEP)
    make_executable("client", "")
    body = node("steady") + node("client", more='on_exit="shutdown"')
    with NodeGraph(parse(launch_file(body), {}), io.StringIO()) as graph:
        graph.wait()
        assert graph.over
    assert graph.exit_code == 0
    assert not any(alive(pid) for pid in graph.pids)


def test_an_exception_in_the_block_ends_everything(alive, make_executable, launch_file) -> None:
    make_executable("steady", SLEEP)
    plan = parse(launch_file(node("steady", name="a") + node("steady", name="b")), {})
    with pytest.raises(ZeroDivisionError), NodeGraph(plan, io.StringIO()) as graph:
        assert all(alive(pid) for pid in graph.pids)
        raise ZeroDivisionError
    assert not any(alive(pid) for pid in graph.pids)


def test_a_node_that_ignores_signals_is_killed_and_counts_as_failed(
    alive, make_executable, launch_file, monkeypatch
) -> None:
    stages = ((signal.SIGINT, 0.2), (signal.SIGTERM, 1.0), (signal.SIGKILL, 10.0))
    monkeypatch.setattr(runner, "STAGES", stages)
    make_executable("stubborn", STUBBORN)
    output = io.StringIO()
    with NodeGraph(parse(launch_file(node("stubborn")), {}), output) as graph:
        until(lambda: "up" in output.getvalue())
    assert graph.exit_code == 128 + signal.SIGKILL
    assert "[stubborn] no" in output.getvalue()
    assert not any(alive(pid) for pid in graph.pids)


def test_what_a_node_has_started_does_not_outlive_it(alive, make_executable, launch_file) -> None:
    make_executable(
        "parent",
        "import subprocess\nsubprocess.Popen(['sleep', '60'])\nline('started')\n",
    )
    with NodeGraph(parse(launch_file(node("parent")), {}), io.StringIO()) as graph:
        graph.wait()
        # It is killed at once; the system takes a moment to remove it.
        until(lambda: not any(alive(pid) for pid in graph.pids))
    assert graph.exit_code == 0


def test_nothing_starts_if_an_executable_is_missing(make_executable, launch_file) -> None:
    make_executable("steady", SLEEP)
    graph = NodeGraph(parse(launch_file(node("steady") + node("missing")), {}), io.StringIO())
    with pytest.raises(LaunchError, match="'throw_away' has no executable 'missing'"), graph:
        pass
    assert graph.pids == ()


def test_nobody_reading_the_output_does_not_stop_a_node(make_executable, launch_file) -> None:
    make_executable("talker", "for _ in range(100000): print('x' * 50)\n")
    output = io.StringIO()
    output.close()
    with NodeGraph(parse(launch_file(node("talker")), {}), output) as graph:
        graph.wait()
    assert graph.exit_code == 0


@pytest.mark.graph
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.verify),
        signal.SIGTERM,
        pytest.param(signal.SIGHUP, marks=pytest.mark.verify),
    ],
)
def test_a_signal_to_the_launcher_ends_every_node_without_a_traceback(
    alive, make_executable, launch_file, start_process, number: signal.Signals
) -> None:
    """A real node, one that is still importing, and one that ignores SIGINT."""
    make_executable(
        "real",
        "from rclpy.node import Node\nfrom contact_ros.entry_point import run\n"
        "def build():\n    node = Node('real')\n    line('up')\n    return node\n"
        "sys.exit(run(build))\n",
    )
    make_executable("importing", "line('up')\ntime.sleep(60)\n")
    make_executable(
        "deaf", "signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + SLEEP.replace("unblock()\n", "")
    )
    file = launch_file(node("real") + node("importing") + node("deaf"))
    launcher = start_process(*WITHOUT_LAUNCH_ROS, "launch", file)
    lines = [launcher.stdout.readline() for _ in range(3)]
    assert sorted(lines) == ["[deaf] up\n", "[importing] up\n", "[real] up\n"]
    groups = children(launcher.pid)
    assert len(groups) == 4  # with the guard
    launcher.send_signal(number)
    out, err = launcher.communicate(timeout=20)
    assert launcher.returncode == 0
    assert "Traceback" not in out + err
    assert not any(alive(pid) for pid in groups)


def children(pid: int) -> list[int]:
    """Return the direct children of a process."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def test_a_killed_launcher_leaves_nothing_behind(
    alive, make_executable, launch_file, start_process
) -> None:
    """Not what a node has started in a session of its own, nor who ignores every other signal."""
    make_executable(
        "parent",
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "line(child.pid)\n" + SLEEP,
    )
    make_executable("stubborn", STUBBORN)
    launcher = start_process(
        *WITHOUT_LAUNCH_ROS, "launch", launch_file(node("parent") + node("stubborn"))
    )
    lines = [launcher.stdout.readline() for _ in range(3)]
    (grandchild,) = [int(line.split()[1]) for line in lines if line.split()[1].isdigit()]
    groups = [*children(launcher.pid), grandchild]
    launcher.kill()
    until(lambda: not any(alive(pid) for pid in groups), 10.0)


def test_a_launcher_that_is_to_survive_its_terminal_does(
    make_executable, launch_file, start_process
) -> None:
    make_executable("steady", SLEEP)
    launcher = start_process("nohup", *WITHOUT_LAUNCH_ROS, "launch", launch_file(node("steady")))
    assert launcher.stdout.readline() == "[steady] up\n"
    launcher.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert launcher.poll() is None
    launcher.terminate()
    assert launcher.wait(5.0) == 0


def test_it_is_said_which_node_was_killed(make_executable, launch_file) -> None:
    make_executable("steady", SLEEP)
    make_executable("killed", "import os\nos.kill(os.getpid(), 9)\n")
    output = io.StringIO()
    with NodeGraph(parse(launch_file(node("steady") + node("killed")), {}), output) as graph:
        graph.wait()
    assert "[launch] killed was ended by SIGKILL\n" in output.getvalue()


OPTIONAL = 'respawn="true" respawn_delay="0.01"'


def test_a_node_that_may_be_restarted_is_and_the_launch_goes_on(
    alive, make_executable, launch_file, tmp_path: Path
) -> None:
    make_executable("steady", SLEEP)
    make_executable(
        "twice", f"import pathlib\nflag = pathlib.Path({str(tmp_path / 'flag')!r})\n"
        "if flag.exists():\n    line('again')\n    time.sleep(60)\n"
        "flag.touch()\nsys.exit(3)\n",
    )  # fmt: skip
    output = io.StringIO()
    plan = parse(launch_file(node("steady") + node("twice", more=OPTIONAL)), {})
    with NodeGraph(plan, output) as graph:
        until(lambda: graph.check() or "[twice] again" in output.getvalue())
        assert not graph.over
        assert len(graph.pids) == 3
    assert "[launch] twice ended with exit code 3: restarted in 0.01 s\n" in output.getvalue()
    assert graph.exit_code == 0
    assert not any(alive(pid) for pid in graph.pids)


def test_a_node_that_dies_of_its_start_again_and_again_is_given_up(
    make_executable, launch_file
) -> None:
    make_executable("steady", SLEEP)
    make_executable("broken", "sys.exit(3)\n")
    output = io.StringIO()
    broken = node("broken", more=OPTIONAL)
    with NodeGraph(parse(launch_file(node("steady") + broken), {}), output) as graph:
        until(lambda: graph.check() or "not restarted any more" in output.getvalue())
        assert not graph.over
    assert output.getvalue().count("broken ended") == RESTARTS + 1
    assert [f"in {0.01 * 2**k:g} s" in output.getvalue() for k in range(RESTARTS)] == [True] * 5
    assert graph.exit_code == 0


def test_a_node_that_refuses_what_it_was_given_ends_the_launch(
    make_executable, launch_file
) -> None:
    """It is not restarted to refuse it again; one that ran before is."""
    make_executable("steady", SLEEP)
    make_executable("strict", "line('held_mass is -1 (valid: from 0)')\nsys.exit(2)\n")
    plan = parse(launch_file(node("steady") + node("strict", more=OPTIONAL)), {})
    output = io.StringIO()
    with NodeGraph(plan, output) as graph:
        graph.wait()
        assert len(graph.pids) == 2
        with pytest.raises(LaunchError, match=r"'strict' ended with exit code 2.*\n.*held_mass"):
            graph.check()
    assert graph.exit_code == 2


def test_a_node_that_died_of_something_else_before_may_refuse_and_the_launch_goes_on(
    make_executable, launch_file, tmp_path: Path
) -> None:
    make_executable("steady", SLEEP)
    make_executable(
        "twice", f"import pathlib\nflag = pathlib.Path({str(tmp_path / 'flag')!r})\n"
        "code = 2 if flag.exists() else 3\nflag.touch()\nsys.exit(code)\n",
    )  # fmt: skip
    output = io.StringIO()
    plan = parse(launch_file(node("steady") + node("twice", more=OPTIONAL)), {})
    with NodeGraph(plan, output) as graph:
        until(lambda: graph.check() or "not restarted any more" in output.getvalue())
        assert not graph.over


def test_a_launch_whose_every_node_was_given_up_has_failed(make_executable, launch_file) -> None:
    make_executable("broken", "sys.exit(3)\n")
    plan = parse(launch_file(node("broken", more=OPTIONAL)), {})
    with NodeGraph(plan, io.StringIO()) as graph:
        graph.wait()
    assert graph.exit_code == 3


@pytest.mark.graph
def test_a_signal_that_another_thread_takes_ends_every_node(
    alive, make_executable, launch_file, start_process
) -> None:
    """The main thread, which alone answers signals, is not woken by it."""
    make_executable("steady", SLEEP)
    launcher = start_process(*WITHOUT_LAUNCH_ROS, "launch", launch_file(node("steady")))
    assert launcher.stdout.readline() == "[steady] up\n"
    groups = children(launcher.pid)
    signal_another_thread(launcher.pid, signal.SIGINT)
    launcher.communicate(timeout=6)
    assert not any(alive(pid) for pid in groups)


@pytest.mark.graph
def test_two_signals_at_once_end_every_node(alive, make_executable, launch_file, start_process):
    """As where a wrapper passes on what the terminal has sent to everybody already."""
    make_executable("steady", SLEEP)
    launcher = start_process(*WITHOUT_LAUNCH_ROS, "launch", launch_file(node("steady")))
    assert launcher.stdout.readline() == "[steady] up\n"
    groups = children(launcher.pid)
    for number in (signal.SIGINT, signal.SIGTERM):
        launcher.send_signal(number)
    _, err = launcher.communicate(timeout=6)
    assert "Traceback" not in err
    assert not any(alive(pid) for pid in groups)


@pytest.mark.graph
def test_a_second_signal_does_not_break_the_end(alive, make_executable, launch_file, start_process):
    make_executable("stubborn", STUBBORN)
    launcher = start_process(*WITHOUT_LAUNCH_ROS, "launch", launch_file(node("stubborn")))
    assert launcher.stdout.readline() == "[stubborn] up\n"
    groups = children(launcher.pid)
    for _ in range(3):
        launcher.send_signal(signal.SIGINT)
        time.sleep(0.2)
    _, err = launcher.communicate(timeout=6)
    assert "Traceback" not in err
    assert launcher.returncode == 128 + signal.SIGKILL
    assert not any(alive(pid) for pid in groups)
