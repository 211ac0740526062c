"""The command ``contact-stack completion``: a script that completes our commands in a shell."""

from __future__ import annotations

import argparse

import shtab

from contact_core.base.waiting import waiting_for
from contact_stack import commands

EPILOG = """examples:
  contact-stack completion bash > ~/.local/share/bash-completion/completions/contact-stack
  contact-stack completion zsh > ~/.zfunc/_contact-stack

The shell then completes commands, options and their values without starting us. Print it again
after an update. Of commands whose libraries are not installed it knows the name only."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=shtab.SUPPORTED_SHELLS, help="the shell")


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0.
    """
    with waiting_for("load all commands"):
        parser = commands.build_parser((), full=True)
    print(shtab.complete(parser, args.shell))
    return 0
