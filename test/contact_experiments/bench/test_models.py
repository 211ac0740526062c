"""The tables of public models count every file once."""

import argparse
import re
from pathlib import Path

import pytest

from contact_experiments.bench.models import add_arguments, kind, main, tables
from contact_experiments.models.check import Fate, Outcome

BOX = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="{0}" iyy="1"
  izz="1" ixy="0" ixz="0" iyz="0"/></inertial><sensor/></link></robot>"""


def test_tables_count_fates_and_kinds():
    outcomes = {
        Path("a.urdf"): Outcome(
            Fate.LOADED, warnings=("/it: x/y (line 3), x/@z (line 4): not read",)
        ),
        Path("b.urdf"): Outcome(Fate.LOADED, differences={"effort": "1"}, silent=("effort",)),
        Path("c.urdf"): Outcome(Fate.REPAIRED, "body 'b' has mass 3 kg"),
        Path("d.urdf"): Outcome(Fate.REFUSED, "link 'l' is a cone (valid: box)"),
        Path("e.urdf"): Outcome(Fate.REFUSED, "link 'm' is a cone (valid: box)"),
        Path("f.urdf"): Outcome(Fate.NO_MODEL, "wrong"),
    }
    lines = list(tables({"robots 1.0": outcomes}))
    assert lines[2] == "| robots 1.0 | 6 | 5 | 2 | 1 | 60.0 % | 1 | 2 | 1 |"
    rows = [line for line in lines if ": " in line]
    assert rows == [
        "| silent difference: effort | 1 | `b.urdf` |",
        "| refused: link '…' is a cone | 2 | `d.urdf`, `e.urdf` |",
        "| loaded with repair=True: body '…' has mass n kg | 1 | `c.urdf` |",
        "| warned: x/y: not read | 1 | `a.urdf` |",
        "| warned: x/@z: not read | 1 | `a.urdf` |",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a/b.urdf: link/@x (line 3, line 5 and 2 more): new", "/c.urdf: link/@x (line 1): new"),
        ("body 'a' has inertias [1 2 3] kg m^2; all", "body 'b' has inertias [4 5 6] kg m^2; all"),
        ("zero taken as none: effort of 'a', effort of 'b'", "zero taken as none: effort of 'c'"),
    ],
)  # fmt: skip
def test_messages_of_one_kind_are_told_by_what_they_say(one, other):
    assert kind(one) == kind(other)
    assert kind("link 'a' is a cone") != kind("link 'a' is a ball")


def test_the_command_goes_on_where_it_was(tmp_path, capsys, monkeypatch):
    pytest.importorskip("mujoco")
    for name, inertia in (("good", "1"), ("bad", "9")):
        (tmp_path / "robots" / f"{name}.urdf").parent.mkdir(exist_ok=True)
        (tmp_path / "robots" / f"{name}.urdf").write_text(BOX.format(inertia))
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = ["--packages", str(tmp_path / "robots"), "--workers", "1", "--out", str(tmp_path)]
    assert main(parser.parse_args([*options, "--write", str(tmp_path / "it.md")])) == 0
    assert "| robots | 2 | 2 | 1 | 1 | 100.0 % | 1 | 0 | 0 |" in (tmp_path / "it.md").read_text()
    kept = list(tmp_path.rglob("*.pkl"))
    assert len(kept) == 2
    assert main(parser.parse_args(options)) == 0
    assert re.search(r"^\| all \| 2 \| 2", capsys.readouterr().out, re.MULTILINE)
    assert kept == list(tmp_path.rglob("*.pkl"))
