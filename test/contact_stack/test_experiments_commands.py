"""Commands whose modules live in contact_experiments: imported alone, and honest about extras."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from contact_experiments.commands import EXPERIMENTS
from contact_stack import cli, commands

WORKS = "def add_arguments(parser): pass\ndef main(args): return 3\n"


@pytest.fixture
def write_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return a function: name, text -> a module that can be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    return lambda name, text: (tmp_path / f"{name}.py").write_text(text)


def test_a_missing_library_is_named_with_what_installs_it(write_module, monkeypatch, capsys):
    write_module("peer_command", "import no_such_peer\n" + WORKS)
    command = commands.Command("peer_command", "compare", EXPERIMENTS)
    monkeypatch.setitem(commands.COMMANDS, "compare", command)
    assert cli.main(["compare"]) == 2
    assert capsys.readouterr().err == (
        "contact-stack: 'no_such_peer' is not installed: pip install 'contact_stack[experiments]'\n"
    )


def test_a_module_of_ours_that_is_missing_is_a_bug(write_module, monkeypatch):
    write_module("broken_command", "import contact_core.no_such_module\n" + WORKS)
    command = commands.Command("broken_command", "compare", EXPERIMENTS)
    monkeypatch.setitem(commands.COMMANDS, "compare", command)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        cli.main(["compare"])


def test_of_a_group_only_the_command_that_is_asked_for_is_imported(
    write_module, monkeypatch, capsys
):
    write_module("first_of_group", WORKS)
    both = {
        "first": commands.Command("first_of_group", "the first"),
        "second": commands.Command("no_such_command", "the second"),
    }
    monkeypatch.setitem(
        commands.COMMANDS, "many", commands.Group("both", both, "WHICH", "examples:")
    )
    assert cli.main(["many", "first"]) == 3
    with pytest.raises(SystemExit):
        cli.main(["many", "--help"])
    output = capsys.readouterr().out
    assert "the first" in output
    assert "the second" in output


def test_the_extra_of_the_commands_exists_under_both_names():
    setup = (Path(cli.__file__).parents[1] / "setup.py").read_text()
    assert f'"{EXPERIMENTS}": EXPERIMENTS' in setup
    assert '"bench": EXPERIMENTS' in setup


def test_a_broken_command_of_another_package_breaks_no_others(monkeypatch, capsys):
    module = "contact_experiments.commands"
    points = [
        EntryPoint("text", f"{module}:EXPERIMENTS", commands.ELSEWHERE),
        EntryPoint("gone", "no_such_package:COMMAND", commands.ELSEWHERE),
        EntryPoint("paper", f"{module}:PAPER", commands.ELSEWHERE),
        EntryPoint("doctor", f"{module}:PAPER", commands.ELSEWHERE),
    ]
    monkeypatch.setattr(commands, "entry_points", lambda group: points)
    assert list(commands.all_commands()) == [*commands.COMMANDS, "gone", "paper", "text"]
    assert commands.all_commands()["doctor"] is commands.COMMANDS["doctor"]
    for name, reason in (("text", "is a str"), ("gone", "No module named 'no_such_package'")):
        assert cli.main([name]) == 2
        assert reason in capsys.readouterr().err
