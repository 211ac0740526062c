"""Results as JSON, as tables, and numbers of options."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from contact_core.base.results import at_least, lines, look_up, table, write_json


def test_json_goes_to_files_and_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json({"a": 1}, tmp_path / "new" / "file.json", None, "-")
    assert json.loads((tmp_path / "new" / "file.json").read_text()) == {"a": 1}
    assert json.loads(capsys.readouterr().out) == {"a": 1}


def test_cells_of_a_table() -> None:
    column = {"a": {"b": None}, "yes": True, "text": "PLACED", "count": 12, "tiny": 1e-9}
    rows = [(key, key, 1.0, "") for key in ("a.b", "yes", "text", "count", "tiny")]
    cells = [line.split()[-1] for line in table({"run": column}, rows, head="demo")]
    assert cells == ["run", "-", "yes", "PLACED", "12", "0"]
    (_, line) = table({"run": column}, rows[-1:], smallest=0.0)
    assert line.split()[-1] == "1e-09"


def test_lines_have_columns_as_wide_as_they_need() -> None:
    rows = [{"name": "a", "far": {"away": 0.5}}, {"name": "long name", "far": None}]
    columns = (("name", "name", 1.0, ""), ("at [cm]", "far.away", 100.0, ".1f"))
    assert lines(rows, columns) == [
        "     name  at [cm]",
        "        a     50.0",
        "long name        -",
    ]


def test_infinity_becomes_null(tmp_path: Path) -> None:
    write_json({"a": [float("inf"), 1.5, (float("nan"),)]}, tmp_path / "file.json")
    assert json.loads((tmp_path / "file.json").read_text()) == {"a": [None, 1.5, [None]]}


def test_a_path_ends_where_nothing_applies() -> None:
    assert look_up({"a": None}, "a.b") is None
    with pytest.raises(KeyError):
        look_up({"a": {}}, "a.b")


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "-inf"])
def test_a_number_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=rf"{text} \(valid: finite, 0\.0 or more"):
        at_least(0.0)(text)


def test_numbers_are_of_the_limits_type() -> None:
    assert at_least(1)("3") == 3
    with pytest.raises(ValueError, match="invalid literal"):
        at_least(1)("3.5")
