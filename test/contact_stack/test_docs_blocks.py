"""Every command and every piece of code of the documentation is one that exists.

What can be run in a moment is run; the tutorial is in test/graph/test_tutorial.py.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import docs_blocks
import pytest
import yaml
from docs_blocks import REPOSITORY, Block
from lifecycle_msgs.srv import ChangeState

from contact_core.base.config import flatten, read_texts
from contact_core.robot.description import RobotDescription
from contact_core.robot.scene import Scene
from contact_ros.messages import fill, type_named
from contact_stack import cli
from contact_stack.call import read_fields
from contact_stack.launch import declared_arguments, find_launch_file, parse

BLOCKS = [block for page in docs_blocks.pages() for block in docs_blocks.blocks(page)]
OTHERS = {
    "bash", "cd", "colcon", "dask", "docker", "do", "done", "eval", "export", "mkdir", "pre-commit",
    "python3", "rosdep", "sed", "sleep", "source", "srun", "touch", "true", "until",
    ".venv/bin/mkdocs",
}  # fmt: skip
"""Programs that are not ours: of these only the shell's grammar is checked."""

FOREIGN = ("/lbr/robot_manager",)
"""Nodes of drivers, whose parameters we do not know."""

ROS2 = {
    "action list", "action send_goal", "launch", "lifecycle set", "param describe", "param set",
    "run", "security create_enclave", "security create_keystore", "security create_permission",
    "service call", "topic echo", "topic hz", "topic pub",
}  # fmt: skip

PRELUDE = """# mypy: allow-redefinition, disable-error-code=no-redef
from itertools import pairwise
from pathlib import Path
from typing import Any
import numpy as np
from contact_ros import GraphClient
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ContactArray
from std_srvs.srv import Trigger
from tamsi_sim import Engine, World

world = World()
engine = world.build()
trajectory = engine.simulate(0.1)
commands = np.zeros((1, 1))
goal: Any = None

def my_function(seed: int) -> int:
    return seed

"""
"""What fragments take for granted. As options of mypy its first line would make that read all of
our libraries again, for other options than those of `make lint`."""


def of(*languages: str) -> list[Any]:
    """Return the blocks in some languages as parameters of a test."""
    found = [block for block in BLOCKS if block.language in languages]
    return [pytest.param(block, id=f"{block.page}-{k}") for k, block in enumerate(found)]


def test_every_block_has_a_language_that_is_checked() -> None:
    checked = {"bash", "bibtex", "python", "yaml", "xml", "text", "mermaid"}
    assert [(b.page, b.text) for b in BLOCKS if b.language not in checked] == []
    assert len(BLOCKS) > 90


@pytest.mark.parametrize("block", of("bash"))
def test_commands_exist_and_take_these_arguments(block: Block) -> None:
    done = subprocess.run(["bash", "-n"], input=block.text, text=True, check=False)
    assert done.returncode == 0
    for words in docs_blocks.commands(block):
        program, *rest = words
        while "=" in program:  # variables before a command
            program, *rest = rest
        if program not in OTHERS:
            CHECKS[program](rest, block)


def ours(words: Sequence[str], block: Block) -> None:
    """Check a command line of contact-stack without running it."""
    end = next((i for i, word in enumerate(words) if word in (">", "|")), len(words))
    # Where a whole program stands for the value.
    words = [word for word in words[:end] if "$(" not in word]
    if "--cluster" in words and words[-1] == "--cluster":
        words.append("tcp://host:1")
    _, unknown = cli.build_parser(words).parse_known_args(words)
    assert not unknown, unknown
    if words[0] == "launch":
        launch_file(words[1], words[2:])
    elif words[0] == "call" and words[2:]:
        called(words[1], words[2:])


def called(name: str, words: Sequence[str]) -> None:
    """Check fields of a goal of ours, or what is sent to the services that every node has."""
    *node, last = name.split("/")
    if last == "set_parameters":
        assert parameters_of(node[0]).issuperset(word.partition("=")[0] for word in words)
    elif last == "change_state":
        fill(ChangeState.Request(), read_fields(words))
    else:
        actions = importlib.import_module("contact_stack_msgs.action")
        goal = getattr(actions, last.title().replace("_", "")).Goal()
        fill(goal, read_fields(words))


def launch_file(name: str, words: Sequence[str]) -> None:
    """Check a launch file and its arguments."""
    arguments = dict(word.partition(":=")[::2] for word in words)
    # A parameter file is the reader's own; one of ours stands in for it.
    arguments |= {n: f"{REPOSITORY}/config/arm.yaml" for n in arguments if n.endswith("_config")}
    file = find_launch_file(name.removesuffix(".launch.xml"))
    if any(argument.name == "bringup" for argument in declared_arguments(file)):
        arguments["bringup"] = "false"  # the driver is not installed here
    parse(file, arguments)


def make(words: Sequence[str], block: Block) -> None:
    """Check a target of the Makefile."""
    targets = re.findall(r"^(\w+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert words[0] in targets


def python(words: Sequence[str], block: Block) -> None:
    """Check a script: one of ours, or one that the page shows."""
    if words[0] in ("-m", "-c"):
        return
    page = (REPOSITORY / block.page).read_text()
    assert (REPOSITORY / words[0]).is_file() or f"`{words[0]}`" in page


def pip(words: Sequence[str], block: Block) -> None:
    """Check the extras of an installation."""
    setup = (REPOSITORY / "setup.py").read_text()
    for extra in re.findall(r"\[(\w+)\]", " ".join(words)):
        assert re.search(rf'"{extra}": [\[\w]', setup)


def ros2(words: Sequence[str], block: Block) -> None:
    """Check the command, the types and values of messages, and names of parameters."""
    verb, *rest = words
    if verb in ("launch", "run"):
        assert rest[0] == "contact_stack"
        if verb == "launch":
            launch_file(rest[1], rest[2:])
        else:
            assert f'"{rest[1]} = ' in (REPOSITORY / "setup.py").read_text()
        return
    assert f"{verb} {rest[0]}" in ROS2
    names = [word for word in rest[1:] if not word.startswith("-") and not word.isdigit()]
    if verb in ("action", "service") or rest[0] == "pub":
        if len(names) > 1:
            fill(message_type(names[1], verb)(), read_texts((names[2:] or ["{}"])[0]))
    elif verb == "param" and names[0] not in FOREIGN:
        assert names[1] in parameters_of(names[0].rpartition("/")[2])


def node(name: str) -> Callable[[Sequence[str], Block], None]:
    """Return the check of a node that is started alone: names of its parameters."""

    def check(words: Sequence[str], block: Block) -> None:
        given = {word.partition(":=")[0] for flag, word in pairwise(words) if flag == "-p"}
        assert given <= parameters_of(name)

    return check


CHECKS: Mapping[str, Callable[[Sequence[str], Block], None]] = {
    "contact-stack": ours,
    "make": make,
    "python": python,
    "pip": pip,
    "ros2": ros2,
    **{name: node(name) for name in ("preflight", "tamsi_sim")},
    "uvx": lambda words, block: ours(words[words.index("contact-stack") + 1 :], block),
}


def message_type(name: str, verb: str) -> type:
    """Return the type of what is sent, e.g. the goal of an action."""
    found = type_named(name)
    sent: type = {"action": "Goal", "service": "Request"}.get(verb, "")
    return getattr(found, sent) if sent else found


def parameters_of(node: str) -> set[str]:
    """Return the names of a node's parameters."""
    sys.path.insert(0, str(REPOSITORY / "docs"))
    try:
        tables = importlib.import_module("parameter_tables")
    finally:
        sys.path.pop(0)
    module, _, name = tables.NODES[node].rpartition(".")
    return set(flatten(tables.blank(getattr(importlib.import_module(module), name))))


def test_wrong_commands_are_found() -> None:
    """The checks can fail."""
    for line in (
        "contact-stack plan pushing --locl",
        "contact-stack launch sim scenes:=free_space",
        "contact-stack call wipe direction.w=1",
        "contact-stack call contact_aware_controller/set_parameters force.limmit=25.0",
        "tamsi_sim --ros-args -p fri_prt:=30200",
        "ros2 launch contact_stack sym.launch.xml",
        "ros2 param set /lbr/contact_aware_controller force.limmit 25.0",
        "ros2 topic pub /lbr/x geometry_msgs/msg/Twist '{liner: {z: 1.0}}'",
        "make demmo",
        "python nowhere.py",
        "pip install '.[experimants]'",
        "contakt-stack doctor",
    ):
        with pytest.raises((Exception, SystemExit)):
            test_commands_exist_and_take_these_arguments(Block("README.md", "bash", line))


def test_python_has_the_types_of_our_libraries(tmp_path: Path) -> None:
    """Names, arguments and types, also of fragments; a page's blocks belong together."""
    pytest.importorskip("mypy")
    files = {}
    for block in BLOCKS:
        if block.language == "python":
            name = re.sub(r"\W", "_", block.page)
            files.setdefault(name, PRELUDE)
            files[name] += block.text
    for name, text in files.items():
        ast.parse(text)
        (tmp_path / f"{name}.py").write_text(text)
    config = ("--config-file", "pyproject.toml", "--no-error-summary")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *config, tmp_path],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/integrators.md"])
def test_complete_programs_run(page: str) -> None:
    text = "".join(b.text for b in BLOCKS if b.page == page and b.language == "python")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NUMBA_DISABLE_JIT": "0"}
    subprocess.run([sys.executable, "-c", text], cwd=REPOSITORY, env=environment, check=True)


def test_who_cites_us_finds_the_same_everywhere() -> None:
    """CITATION.cff, BibTeX and the package agree; authors are who the project says they are."""
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert citation["authors"] == [{"name": "contact_stack developers"}]
    assert f'version="{citation["version"]}"' in (REPOSITORY / "setup.py").read_text()
    (block,) = [block for block in BLOCKS if block.language == "bibtex"]
    assert block.text.count("{") == block.text.count("}")
    keys = re.findall(r"^@\w+\{(\w+),$", block.text, re.MULTILINE)
    assert keys[0] == "contact_stack"
    assert f"version = {{{citation['version']}}}" in block.text
    page = " ".join((REPOSITORY / block.page).read_text().split())
    for key, paper in zip(keys[1:], citation["references"], strict=True):
        assert f"**{key}**" in page
        assert page.count(paper["title"]) == 2
        assert f"{{{paper['year']}}}" in block.text


@pytest.mark.parametrize("block", of("xml"))
def test_xml_is_well_formed(block: Block) -> None:
    ElementTree.fromstring(block.text)


@pytest.mark.parametrize("page", sorted({b.page for b in BLOCKS if b.language == "yaml"}))
def test_yaml_is_a_robot_or_a_scene(page: str, tmp_path: Path) -> None:
    """With the files beside it that the page shows, or a stand-in where the reader has one."""
    shown = [block for block in BLOCKS if block.page == page]
    for block in shown:
        if block.language == "xml" and (name := ElementTree.fromstring(block.text).get("name")):
            (tmp_path / f"{name}.urdf").write_text(block.text)
    text = (REPOSITORY / "description/urdf/ur5e.urdf").read_text()
    for k in range(6):
        text = text.replace(UR5E[k], f"joint_{k + 1}")
    (tmp_path / "my_arm.urdf").write_text(text.replace('"tool0"', '"flange"'))
    for block in shown:
        if block.language != "yaml":
            continue
        values = yaml.safe_load(block.text)
        if "robot" in values:
            path = tmp_path / "scene.yaml"
            path.write_text(yaml.safe_dump({"name": "scene", **values}))
            Scene.load(str(path))
        else:
            own = "arm" in values and "extends" not in values
            path = tmp_path / ("my_arm.yaml" if own else "other.yaml")
            path.write_text(block.text)
            RobotDescription.load(str(path))


UR5E = (
    "shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint",
    "wrist_1_joint", "wrist_2_joint", "wrist_3_joint",
)  # fmt: skip
