"""A file is there as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from contact_core.base.files import replacement


def test_what_was_there_stays_until_the_new_file_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_text("old")
    with replacement(path) as unfinished:
        unfinished.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    with pytest.raises(ZeroDivisionError), replacement(path) as unfinished:
        unfinished.write_text("ne")
        raise ZeroDivisionError
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["summary.json"]
