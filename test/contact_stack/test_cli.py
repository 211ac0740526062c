"""The command line: help, errors in one line, signals without a traceback."""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import subprocess
import sys
import types
from contextlib import redirect_stdout, suppress
from importlib.metadata import version
from pathlib import Path

import pytest
from command import WITHOUT_LAUNCH_ROS
from tqdm import tqdm

from contact_core.base.errors import ConfigError
from contact_core.base.files import share
from contact_core.base.results import add_json_option
from contact_stack import cli, commands, help_texts


@pytest.fixture
def wait_command(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A command whose ``main`` each test sets."""
    module = types.ModuleType("wait_command")
    module.add_arguments = lambda parser: parser.add_argument("--number", type=int)
    monkeypatch.setitem(sys.modules, "wait_command", module)
    monkeypatch.setitem(commands.COMMANDS, "wait", commands.Command("wait_command", "wait"))
    return module


def raising(error: BaseException):
    def main(args) -> int:
        raise error

    return main


def test_the_exit_code_is_that_of_the_command(wait_command) -> None:
    wait_command.main = lambda args: args.number
    assert cli.main(["wait", "--number", "3"]) == 3


def test_an_error_of_ours_is_one_line_and_exit_code_2(wait_command, capsys) -> None:
    wait_command.main = raising(ConfigError("unknown driver"))
    assert cli.main(["wait"]) == 2
    assert capsys.readouterr().err == "contact-stack: unknown driver\n"


def test_a_file_that_cannot_be_is_one_line_and_exit_code_2(wait_command, capsys, tmp_path) -> None:
    missing = tmp_path / "missing" / "file"
    wait_command.main = lambda args: len(missing.read_text())
    assert cli.main(["wait"]) == 2
    assert capsys.readouterr().err == f"contact-stack: {missing}: No such file or directory\n"


@pytest.mark.parametrize("out", ["results", "results/arm.yaml"])
def test_a_folder_that_cannot_be_is_told_before_anything_runs(
    wait_command, capsys, tmp_path, out
) -> None:
    wait_command.add_arguments = lambda parser: parser.add_argument("--out", type=Path)
    wait_command.main = lambda args: 0
    assert cli.main(["wait", "--out", str(tmp_path / out)]) == 0
    assert not (tmp_path / "results").exists()  # it is made by what has results
    (tmp_path / "taken").touch()
    wait_command.main = raising(AssertionError())
    # Not even the administrator makes a folder in /proc.
    for place, told in ((tmp_path / "taken", "taken"), (Path("/proc/results"), "/proc/results")):
        assert cli.main(["wait", "--out", str(place / out)]) == 2
        assert told in capsys.readouterr().err


def test_json_that_cannot_be_written_is_told_before_anything_runs(
    wait_command, capsys, tmp_path
) -> None:
    wait_command.add_arguments = add_json_option
    wait_command.main = raising(AssertionError())
    (tmp_path / "taken").touch()
    for file, told in (
        (tmp_path / "taken" / "j.json", f"{tmp_path}/taken: Not a directory"),
        (tmp_path, f"{tmp_path}: Is a directory"),
        ("/proc/results/j.json", "/proc/results: No such file or directory"),
    ):
        assert cli.main(["wait", "--json", str(file)]) == 2
        assert capsys.readouterr().err == f"contact-stack: {told}\n"
    wait_command.main = lambda args: 0
    reader, writer = os.pipe()
    for file in ("-", "/dev/null", f"/dev/fd/{writer}", str(tmp_path / "new" / "j.json")):
        assert cli.main(["wait", "--json", file]) == 0
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize(
    ("goal", "told"),
    [
        (["box/x=abc"], "'abc' is no number"),
        (["angle=nan"], "goal_state: angle is nan (valid: finite)"),
        (["0", "inf"], "goal_state: rate is inf (valid: finite)"),
        (["angle=1", "angle=2"], "--goal: angle is given twice (valid: once)"),
        (["1"], "goal_state: 1 values for 2 states: angle, rate"),
    ],
)
def test_a_goal_that_cannot_be_is_told_in_a_line(capsys, goal: list[str], told: str) -> None:
    with suppress(SystemExit):
        assert cli.main(["plan", "pendulum", "--local", "--goal", *goal]) == 2
    assert told in capsys.readouterr().err.splitlines()[-1]


def test_a_bug_is_not_hidden(wait_command) -> None:
    wait_command.main = raising(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        cli.main(["wait"])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_with_the_usual_code(wait_command, number, code: int) -> None:
    ended = []

    def main(args) -> int:
        try:
            signal.raise_signal(number)
        finally:
            ended.append(True)
        return 0

    wait_command.main = main
    assert cli.main(["wait"]) == code
    assert ended


@pytest.mark.parametrize("words", [(), ("launch",), ("doctor",)])
def test_every_help_says_how_with_examples(words: tuple[str, ...], capsys) -> None:
    try:
        code = cli.main([*words, "--help"])
    except SystemExit as end:
        code = end.code
    assert code == 0
    text = capsys.readouterr().out
    assert "examples:" in text
    if not words:
        assert all(name in text for name in commands.COMMANDS)


def test_the_help_that_is_kept_is_what_the_commands_say() -> None:
    said = help_texts.all_helps(commands.build_parser((), full=True))
    kept = help_texts.kept_helps()
    assert kept.keys() == said.keys()
    for words, text in said.items():
        # Terminals and Pythons differ in where lines break.
        assert "".join(kept[words].split()) == "".join(text.split()), (
            "run: python -m contact_stack.help_texts"
        )


@pytest.mark.parametrize("words", [(), ("bench",), ("plan",), ("bench", "push")])
def test_help_imports_no_heavy_library(words: tuple[str, ...]) -> None:
    program = (
        "import sys\nfrom contact_stack import cli\n"
        f"try: cli.main([*{words}, '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'rclpy', 'pinocchio'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    root = Path(cli.__file__).parents[1]
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=root
    )
    assert result.returncode == 0, result.stderr


def test_a_demo_starts_its_graph_before_it_loads_what_draws() -> None:
    program = (
        "import sys\nimport contact_stack.demo.command\n"
        "sys.exit(str({'matplotlib', 'viser', 'scipy.special'} & set(sys.modules) or '') or 0)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_a_reader_that_has_seen_enough_ends_a_command_quietly() -> None:
    command = [sys.executable, "-m", "contact_stack.cli", "launch", "sim", "--show-args"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == 128 + signal.SIGPIPE
    assert process.stderr is not None
    assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("shell", "code", "said"),
    [
        ("{command} >&-", 0, ""),
        ("{command} 2>&-", 0, ""),
        ("{command} <&- >&- 2>&-", 0, ""),
        ("{command} > /dev/full", 2, "contact-stack: the output: No space left on device\n"),
        (
            'mkdir gone && cd gone && rmdir "$PWD" && {command}',
            2,
            "contact-stack: the current folder is gone: change to another one\n",
        ),
    ],
)
def test_closed_and_full_streams_and_a_folder_that_is_gone(
    shell: str, code: int, said: str, tmp_path: Path
) -> None:
    command = f"{sys.executable} -m contact_stack.cli launch sim --show-args"
    ended = subprocess.run(
        ["bash", "-c", shell.format(command=command)],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1])},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (code, said)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["--help", "bench --help", "doctor --help", "--version"])
def test_help_that_cannot_be_written_is_told(words: str, unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "contact_stack.cli", *words.split()],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    said = "contact-stack: the output: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (2, said)


def test_it_can_be_interrupted_before_it_is_loaded() -> None:
    program = (
        "import os, signal, sys\nfrom contact_stack import entry\n"
        "class Loading:\n"
        "    def find_spec(self, name, *where):\n"
        "        if name == 'contact_stack.cli':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Loading())\nentry.main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_a_signal_that_a_module_took_for_an_error_of_its_own_ends_a_command(wait_command) -> None:
    def main(args: object) -> int:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt as end:
            raise RuntimeError("Error calling __set_name__") from end
        return 0

    wait_command.main = main
    assert cli.main(["wait"]) == 143


def test_bars_are_lines_in_a_log() -> None:
    log = io.StringIO()
    stream = cli._Forgiving(log)
    with tqdm(total=2, file=stream, mininterval=0.0, ncols=40, ascii=True) as bar:
        bar.update()
        bar.write("found", file=stream)
        bar.update()
    lines = log.getvalue().splitlines()
    assert "found" in lines
    assert all(line.strip() for line in lines)
    assert "\r" not in log.getvalue()
    assert "2/2" in lines[-1]


@pytest.mark.parametrize("words", [[], ["no_such_command"]])
def test_a_wrong_command_is_refused_with_the_valid_ones(words: list[str], capsys) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["dmeo"], "demo"),
        (["launch", "sim", "--dry-rum"], "--dry-run"),
        (["bench", "contrl"], "control"),
        (["driver-config", "lbr_frii"], "lbr_fri"),
        (["zzz"], ""),
        (["wait", "--number", "many"], ""),
    ],
)
def test_a_word_that_is_nearly_right_is_suggested(wait_command, words, meant: str, capsys) -> None:
    wait_command.main = lambda args: 0
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2
    _, asked, suggestion = capsys.readouterr().err.rstrip().partition("; did you mean ")
    assert suggestion == (f"{meant}?" if meant else "")
    assert bool(asked) == bool(meant)


def test_the_version_is_that_of_the_package(capsys) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"contact-stack {version('contact_stack')}\n"


@pytest.mark.parametrize(
    ("line", "completed"),
    [("contact-stack dem", "demo"), ("contact-stack demo mug_p", "mug_placement"),
     ("contact-stack view --ht", "--html")],
)  # fmt: skip
def test_bash_completes_what_was_begun(completion, line: str, completed: str) -> None:
    words = line.split()
    program = (
        f"source {completion}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        '$(complete -p contact-stack | sed "s/.*-F \\(\\S*\\).*/\\1/"); echo "${COMPREPLY[@]}"'
    )
    result = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.split() == [completed]


@pytest.fixture(scope="module")
def completion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script of ``contact-stack completion bash``."""
    path = tmp_path_factory.mktemp("completion") / "contact-stack"
    with path.open("w") as file, redirect_stdout(file):
        assert cli.main(["completion", "bash"]) == 0
    return path


def test_json_goes_to_a_file_or_is_all_that_is_printed(launch_file, tmp_path, capsys) -> None:
    words = ["launch", "sim", "--show-args", "--json"]
    assert cli.main(words) == 0
    printed = capsys.readouterr()
    assert "driver profile" in printed.err.lower()
    file = tmp_path / "new" / "arguments.json"
    assert cli.main([*words, str(file)]) == 0
    assert json.loads(file.read_text()) == json.loads(printed.out)
    assert capsys.readouterr().out == printed.err


def test_json_is_the_same_option_everywhere() -> None:
    parsers = [commands.build_parser((), full=True)]
    for parser in parsers:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
            if "--json" in action.option_strings:
                assert (action.nargs, action.const) == ("?", "-"), parser.prog


@pytest.fixture
def our_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let launch files be run by ourselves, also where launch_ros is installed."""
    monkeypatch.setitem(sys.modules, "launch_ros", None)


@pytest.mark.usefixtures("our_runner")
def test_launch_a_bad_file_is_one_line(launch_file, capsys) -> None:
    assert cli.main(["launch", str(launch_file("<executable/>"))]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "unknown element <executable>" in error


def test_launch_an_unknown_name_is_refused_with_ours(capsys) -> None:
    assert cli.main(["launch", "simulation"]) == 2
    ours = sorted(f.name.split(".")[0] for f in share("launch").glob("*.launch.xml"))
    assert f"'simulation' (valid: {', '.join(ours)})" in capsys.readouterr().err


@pytest.mark.usefixtures("our_runner")
def test_launch_a_scene_that_cannot_be_is_told_once_before_any_node(tmp_path, capfd) -> None:
    scene = tmp_path / "mine.yaml"
    scene.write_text("extends: push_box\nobjcts: {}\n")
    assert cli.main(["launch", "sim", f"scene:={scene}"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("contact-stack: mine.yaml: unknown parameter 'objcts' (did you mean ob")


def test_launch_an_argument_of_another_form_is_refused(capsys) -> None:
    assert cli.main(["launch", "sim", "seed=3"]) == 2
    assert "'seed=3' is no argument" in capsys.readouterr().err


def test_launch_the_arguments_of_ours_are_listed(capsys) -> None:
    assert cli.main(["launch", "sim", "--show-args", "--json"]) == 0
    arguments = {a["name"]: a for a in json.loads(capsys.readouterr().out)}
    assert arguments["driver"]["choices"] == ["lbr_fri", "fri", "kuka_drivers", "ros2_control"]
    assert arguments["robot_name"]["default"] == "lbr"
    assert {"scene", "lockstep", "seed", "controller", "view"} <= set(arguments)
    assert cli.main(["launch", "sim", "--show-args"]) == 0
    assert "valid: lbr_fri, fri, kuka_drivers, ros2_control" in capsys.readouterr().out


def test_launch_a_dry_run_shows_commands_and_starts_nothing(
    launch_file, make_executable, capsys
) -> None:
    path = make_executable("bomb", "raise SystemExit('started')\n")
    file = launch_file(
        '<node pkg="throw_away" exec="bomb" name="n"><param name="a" value="[1, 2]"/></node>'
    )
    assert cli.main(["launch", str(file), "--dry-run"]) == 0
    expected = f"[n] {path} --ros-args -r __node:=n -p 'a:=[1, 2]'\n"
    assert capsys.readouterr().out == expected
    assert cli.main(["launch", str(file), "--dry-run", "--json"]) == 0
    (command,) = json.loads(capsys.readouterr().out)
    assert command["command"][0] == str(path)


def test_launch_takes_arguments_before_and_after_options(capsys) -> None:
    assert cli.main(["launch", "sim", "seed:=3", "--dry-run"]) == 0
    before = capsys.readouterr().out
    assert "seed:=3" in before
    assert cli.main(["launch", "sim", "--dry-run", "seed:=3"]) == 0
    assert capsys.readouterr().out == before


@pytest.mark.usefixtures("our_runner")
def test_launch_the_exit_code_is_that_of_the_node_that_failed(
    launch_file, make_executable, capfd
) -> None:
    make_executable("broken", "sys.exit('no robot')\n")
    file = launch_file('<node pkg="throw_away" exec="broken"/>')
    assert cli.main(["launch", str(file)]) == 1
    assert "[broken] no robot" in capfd.readouterr().out


@pytest.mark.graph
def test_ctrl_c_on_a_command_shows_no_traceback(start_process, make_executable, launch_file):
    make_executable("steady", "unblock()\nline('up')\ntime.sleep(60)\n")
    file = launch_file('<node pkg="throw_away" exec="steady"/>')
    process = start_process(*WITHOUT_LAUNCH_ROS, "launch", file)
    assert process.stdout.readline() == "[steady] up\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert "Traceback" not in err
    assert process.returncode == 0


def test_a_log_gets_a_line_of_a_progress_bar_in_ten_seconds():
    """Bars read the environment once, when they are imported: it has to be set by then."""
    program = "import sys, contact_stack.cli; sys.exit('tqdm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "value"), [("ROS_DOMAIN_ID", "abc"), ("ROS_LOG_DIR", "/proc/none")]
)
def test_a_launch_in_an_environment_that_ros_cannot_use_is_refused(
    name: str, value: str, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, name: value})
    assert cli.main(["launch", "sim"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"contact-stack: {name} is '{value}'")
    assert "valid: " in said
    assert said.count("\n") == 1


def test_only_what_plans_robustly_needs_the_extra_robust() -> None:
    """Its libraries are half a gigabyte."""
    program = (
        "import sys; sys.modules |= dict.fromkeys(('casadi', 'pydrake'))\n"
        "import contact_stack.cli as cli, contact_stack.demo.command\n"
        "sys.exit(cli.main(['robust', 'block']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == (
        "contact-stack: 'casadi' is not installed: pip install 'contact_stack[robust]'\n"
    )
    assert done.returncode == 2
