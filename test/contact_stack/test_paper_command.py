"""``contact-stack paper``: pages, pictures, numbers, and one clear line on bad input."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from contact_core.base.figures import new_figure
from contact_core.base.sweep import Sweep
from contact_experiments.papers import command
from contact_experiments.papers.command import PAPERS
from contact_experiments.papers.figure import Claim, spread
from contact_experiments.papers.page import shown
from contact_experiments.papers.pictures import MovingFigure
from contact_stack import cli


def files(folder: Path) -> dict[str, str]:
    """Return a hash of every file of a paper."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_figure_its_numbers_and_its_page_are_written_and_come_out_the_same(tmp_path, capsys):
    words = ["paper", "tamsi", "4", "--out", str(tmp_path), "--workers", "1"]
    assert cli.main([*words, "--json", str(tmp_path / "4.json")]) == 0
    folder = tmp_path / "tamsi"
    assert (folder / "figure_4.png").stat().st_size > 10000
    assert "<svg" in (folder / "figure_4.svg").read_text()
    numbers = json.loads((tmp_path / "4.json").read_text())["4"]
    assert numbers["ie_fn_tals"]["converged"]
    assert not numbers["ie_fn"]["converged"]
    assert "start of that step [s]: 0.160 (paper: 0.160)" in capsys.readouterr().out
    page = (folder / "index.html").read_text()
    assert '<img alt="Newton' in page
    assert "<td>0.160</td>" in page
    assert "Not made yet: <code>contact-stack paper tamsi 5</code>" in page
    before = files(folder)
    assert cli.main(words) == 0
    assert files(folder) == before


def moving_dot(sweep: Sweep) -> MovingFigure:
    """A film of a dot that goes to the right."""
    figure, ((axes,),) = new_figure(1, 1, (2.0, 2.0))
    (dot,) = axes.plot([0.0, 1.0], [0.0, 0.0], "o")
    return MovingFigure(figure, lambda time: dot.set_xdata([time, 1.0]), 0.5)


def test_a_film_is_on_the_page_for_who_opens_it(tmp_path, monkeypatch):
    paper = PAPERS["bundled_gradients"]
    filmed = replace(paper.figures["2"], film=moving_dot)
    monkeypatch.setattr(command, "PAPERS", {"moving": replace(paper, figures={"2": filmed})})
    words = ["paper", "moving", "2", "--out", str(tmp_path), "--workers", "1"]
    assert cli.main(words) == 0
    folder = tmp_path / "moving"
    assert (folder / "figure_2.gif").read_bytes()[:6] == b"GIF89a"
    for page in ("index.md", "index.html"):
        text = (folder / page).read_text()
        assert re.search(
            r'<details class="film">\n.*\n<img src="figure_2.gif" alt="Film: a fun', text
        )


def test_numbers_of_other_sources_are_not_shown(tmp_path):
    words = ["paper", "tamsi", "4", "--out", str(tmp_path), "--workers", "1"]
    assert cli.main(words) == 0
    path = tmp_path / "tamsi" / "figure_4.json"
    content = json.loads(path.read_text())
    (tmp_path / "tamsi" / "figure_5.json").write_text(json.dumps({**content, "sources": "older"}))
    assert cli.main(words) == 0
    assert "Not made yet: `contact-stack paper tamsi 5`" in (path.parent / "index.md").read_text()


@pytest.mark.verify
def test_json_without_a_file_is_all_that_is_printed(tmp_path, capsys):
    assert cli.main(["paper", "tamsi", "4", "--out", str(tmp_path), "--json"]) == 0
    assert "4" in json.loads(capsys.readouterr().out)


def test_every_figure_is_listed_with_its_cost(capsys):
    assert cli.main(["paper", "--list"]) == 0
    listed = capsys.readouterr().out
    for key, paper in PAPERS.items():
        assert f"{key}: {paper.title}" in listed
        for figure in paper.figures.values():
            assert figure.title in listed
            assert figure.minutes > 0.0


def test_unknown_figures_and_papers_are_answered_with_the_valid_ones(tmp_path, capsys):
    assert cli.main(["paper", "tamsi", "3", "--out", str(tmp_path)]) == 2
    assert "no figure '3' (valid: 4, 5" in capsys.readouterr().err
    assert cli.main(["paper", "tamzi"]) == 2
    assert "tamsi)" in capsys.readouterr().err
    assert cli.main(["paper", "all", "4"]) == 2
    assert "of one paper" in capsys.readouterr().err
    assert cli.main(["paper", "tamsi", "4", "--workers", "0"]) == 2
    assert "--workers is 0" in capsys.readouterr().err
    assert cli.main(["paper", "tamsi", "4", "--with", str(tmp_path / "none.py")]) == 2
    assert "cannot read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "form", "expected"),
    [
        (0.16, ".3f", "0.160"),
        (None, ".3f", "-"),
        ("3 of 5", "", "3 of 5"),
        (True, "", "yes"),
        (spread([3.0, 1.0, 2.0, 10.0]), ".1f", "2.5 (1.0 to 10.0)"),
    ],
)
def test_ours_is_shown_with_its_spread(value, form, expected):
    assert (
        shown(Claim("of anything", "", "here.value", form), {"here": {"value": value}}) == expected
    )
