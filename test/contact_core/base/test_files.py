"""A file is there as a whole or not at all."""

from __future__ import annotations

import os
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


def test_a_pipe_is_written_to_and_a_link_stays(tmp_path: Path) -> None:
    named, file, link = (tmp_path / name for name in ("pipe", "file", "link"))
    os.mkfifo(named)
    file.write_text("old")
    link.symlink_to("file")
    reader = os.open(named, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(named, os.O_WRONLY)
    for path in (named, Path(f"/dev/fd/{writer}")):
        with replacement(path) as place:
            place.write_text("new")
        assert os.read(reader, 9) == b"new"
    os.close(reader)
    os.close(writer)
    assert named.is_fifo()
    with replacement(link) as place:
        place.write_text("new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 3
