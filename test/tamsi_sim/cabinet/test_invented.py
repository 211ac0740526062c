"""What is invented is in one table, which code and documentation share."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tamsi_sim.cabinet import INVENTED, invented

REPOSITORY = Path(__file__).resolve().parents[3]
FOLDER = REPOSITORY / "tamsi_sim/cabinet"


def imported() -> set[str]:
    """Return the names that the modules of the cabinet take from the table."""
    names: set[str] = set()
    for file in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and str(node.module).endswith("cabinet.invented"):
                names |= {alias.name for alias in node.names}
    return names - {"INVENTED"}


def test_every_value_of_the_table_is_used_and_none_is_beside_it() -> None:
    values = {name for name in INVENTED if name.isupper()}
    assert values == imported()
    public = {name for name in vars(invented) if name.isupper() and name != "INVENTED"}
    assert values == public


def test_every_row_says_what_and_why() -> None:
    assert len(INVENTED) > 20
    for name, row in INVENTED.items():
        assert len(row.meaning) > 20 and len(row.reason) > 15, name
        if name.isupper():
            value = getattr(invented, name)
            shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            assert row.value.startswith(f"{shown} ")


def test_no_other_number_of_the_cabinet_is_hidden_in_its_code() -> None:
    """Beside counters, sizes and the protocol's own numbers there are no literals."""
    for name in ("overlay", "cabinet"):
        text = (FOLDER / f"{name}.py").read_text()
        constants = {
            float(node.value)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Constant) and type(node.value) in (int, float)
        }
        protocol = {-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0}
        settings = {1.15, 5.0, 10.0, 100.0, 1e-3, 1e-6}
        assert constants <= protocol | settings, name


def test_the_page_shows_the_table() -> None:
    page = (REPOSITORY / "docs/howto/fri.md").read_text()
    assert re.search(r"^## What is invented$.*^<!-- statuses: invented -->$", page, re.M | re.S)
