"""A rejected message is counted, logged now and then, and reported until none comes any more."""

from __future__ import annotations

import pytest

from contact_ros.diagnostics import Health, Level
from contact_ros.validation import LOG_PERIOD, Rejections


def test_the_first_is_logged_at_once_and_the_others_now_and_then() -> None:
    """200 a second for the time of two lines and a bit."""
    lines: list[str] = []
    now = 0
    rejections = Rejections(lines.append, lambda: now)
    rejections.add("state: joints are missing")
    assert lines == ["message rejected: state: joints are missing"]
    for tick in range(1, round(2.5 * 200 * LOG_PERIOD)):
        now = tick * 5_000_000
        rejections.add(f"state: number {tick}")
    per_line = round(200 * LOG_PERIOD)
    assert lines[1:] == [
        f"{count + 1} messages rejected, the last: state: number {count}"
        for count in (per_line, 2 * per_line)
    ]


@pytest.mark.parametrize(
    ("level", "worse"),
    [
        (Level.OK, Level.WARN),
        (Level.STALE, Level.ERROR),
        (Level.WARN, Level.WARN),
        (Level.ERROR, Level.ERROR),
    ],
)
def test_a_report_is_worse_while_messages_are_rejected(level: Level, worse: Level) -> None:
    """A node that has something worse to say keeps its own words."""
    health = Health(level, "its own words", {"rate_Hz": 200})
    rejections = Rejections(lambda line: None)
    clean = rejections.report(health)
    assert (clean.level, clean.message) == (level, "its own words")
    assert clean.values == {"rate_Hz": 200, "rejected_messages": 0}

    for reason in ("too short", "not finite"):
        rejections.add(reason)
    report = rejections.report(health)
    assert report.level is worse
    own = level is worse
    assert report.message == (
        "its own words" if own else "2 messages rejected, the last: not finite"
    )
    expected = {"rate_Hz": 200, "rejected_messages": 2, "last_rejection": "not finite"}
    assert report.values == expected

    later = rejections.report(health)
    assert (later.level, later.message) == (level, "its own words")
    assert later.values == expected


def test_a_count_of_the_nodes_own_stands() -> None:
    rejections = Rejections(lambda line: None)
    rejections.add("not finite")
    report = rejections.report(Health(Level.OK, "", {"rejected_messages": 5}))
    assert report.values["rejected_messages"] == 5


def test_of_two_who_reject_the_later_is_told() -> None:
    """A node counts what is no state, its driver's endpoint the states."""
    endpoint, node = Rejections(lambda line: None), Rejections(lambda line: None)

    def told() -> object:
        health = node.report(endpoint.report(Health(Level.OK, "")))
        return health.values.get("last_rejection")

    assert told() is None
    for rejections, reason in (
        (node, "a parameter"),
        (endpoint, "a state"),
        (node, "a goal"),
        (endpoint, "a state"),
    ):
        rejections.add(reason)
        assert told() == reason
        assert told() == reason  # as long as there is no other
