"""``contact-stack paper``: files, numbers, and one clear line on bad input."""

from __future__ import annotations

import json

from contact_stack import cli


def test_a_figure_and_its_numbers_are_written(tmp_path, capsys):
    code = cli.main(
        [
            "paper",
            "tamsi",
            "--figure",
            "4",
            "--out",
            str(tmp_path),
            "--json",
            str(tmp_path / "4.json"),
        ]
    )
    assert code == 0
    assert (tmp_path / "figure_4.png").stat().st_size > 10000
    numbers = json.loads((tmp_path / "4.json").read_text())
    assert numbers == json.loads((tmp_path / "figures.json").read_text())
    assert numbers["4"]["ie_fn_tals"]["converged"]
    assert not numbers["4"]["ie_fn"]["converged"]
    assert "figure 4" in capsys.readouterr().out


def test_json_without_a_file_is_all_that_is_printed(tmp_path, capsys):
    assert cli.main(["paper", "tamsi", "--figure", "4", "--out", str(tmp_path), "--json"]) == 0
    assert "4" in json.loads(capsys.readouterr().out)


def test_unknown_figures_and_papers_are_answered_with_the_valid_ones(tmp_path, capsys):
    assert cli.main(["paper", "tamsi", "--figure", "3", "--out", str(tmp_path)]) == 2
    assert "no figure '3' (valid: 4, 5" in capsys.readouterr().err
    assert cli.main(["paper", "tamzi"]) == 2
    assert "(valid: tamsi)" in capsys.readouterr().err
