"""No status and no error is missing on the page that says what to do about it."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from contact_aware_control.safety.status import LinkState, Mode, Status

REPOSITORY = Path(__file__).resolve().parents[2]
STATUS_NAME = re.compile(r"(Status|WarningKind|Verdict|Ending|Mode|LinkState)$")
NOT_SAID = {
    "CommandMode": "what a robot is commanded by",
    "CheckStatus": "every check of the doctor prints its own remedy",
    "contact_aware_control/estimation/load.py:Verdict": "said by the estimator's status",
}
"""Enumeration -> why no table of the page is about it."""


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    path = REPOSITORY / "docs/status_tables.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(hook: ModuleType) -> str:
    text = (REPOSITORY / "docs/troubleshooting.md").read_text()
    return str(hook.on_page_markdown(text, None, None, None))


def enums() -> dict[str, list[str]]:
    """Return "file:class" -> members of every enumeration that says how something is."""
    found = {}
    for package in ("contact_*", "tamsi_sim", "irs_planner", "robust_planner"):
        for file in REPOSITORY.glob(f"{package}/**/*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if not isinstance(node, ast.ClassDef) or not STATUS_NAME.search(node.name):
                    continue
                if any("Enum" in ast.unparse(base) for base in node.bases):
                    members = [item for item in node.body if isinstance(item, ast.Assign)]
                    name = f"{file.relative_to(REPOSITORY)}:{node.name}"
                    found[name] = [ast.unparse(item.targets[0]) for item in members]
    return found


def test_every_status_is_on_the_page(page: str) -> None:
    assert "<!--" not in page
    said = {
        name: members
        for name, members in enums().items()
        if name not in NOT_SAID and name.partition(":")[2] not in NOT_SAID
    }
    assert len(said) >= 13
    for name, members in said.items():
        for member in members:
            assert f"| `{member}` |" in page, f"{name}.{member}"


def test_every_result_of_an_action_is_on_the_page(page: str, hook: ModuleType) -> None:
    actions = [path.stem for path in (REPOSITORY / "msgs/action").iterdir()]
    assert set(actions) == {*hook.MOTIONS, *hook.PLANNERS}
    for action in actions:
        for name in hook.constants(f"action/{action}.action"):
            assert f"| `{name}` |" in page


def test_what_is_wrong_has_a_meaning_and_a_remedy(page: str) -> None:
    """In the table of the controller, whose three columns come from two files."""
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+ \| .+) \|$", page, re.MULTILINE))
    for status in set(Status) - {Status.OK}:
        meaning, remedy = rows[status.name].split(" | ")
        assert meaning
        assert remedy == status.remedy
    assert {*Mode.__members__, *LinkState.__members__} < set(re.findall(r"\| `(\w+)` \|", page))


def test_every_error_says_what_it_means_and_what_to_do(page: str, hook: ModuleType) -> None:
    names = set()
    for package in hook.PACKAGES:
        for file in REPOSITORY.glob(f"{package}/**/*.py"):
            names |= set(re.findall(r"^class ([A-Z]\w+Error)\(", file.read_text(), re.MULTILINE))
    names.discard("ContactStackError")  # their base
    assert names == {error.__name__ for error in hook.errors()} - {"ModelWarning"}
    for error in hook.errors():
        meaning, remedy = hook.told(error)
        assert f"| `{error.__name__}` | {meaning} | {remedy} |" in page
        assert remedy.endswith("."), f"{error.__name__} does not say what to do"
