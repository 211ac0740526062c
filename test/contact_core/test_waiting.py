"""What is said of a wait: nothing of a short one, what and how long of a long one."""

from __future__ import annotations

import time

import pytest

from contact_core import waiting
from contact_core.waiting import waiting_for


def test_a_short_wait_is_not_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting_for("look"):
        pass
    assert capsys.readouterr().err.strip() == ""


def test_a_long_wait_says_what_and_how_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LONG", 0.0)
    with waiting_for("look for it"):
        time.sleep(2.5)
    assert "look for it: 00:0" in capsys.readouterr().err


def test_what_goes_wrong_meanwhile_is_passed_on() -> None:
    with pytest.raises(ValueError, match="so"), waiting_for("look"):
        raise ValueError("so")
