"""Errors list what is valid, and the word that may have been meant first."""

from __future__ import annotations

from contact_core.base.errors import choices

DRIVERS = ("lbr_fri", "kuka_drivers", "ros2_control")


def test_the_valid_choices_are_listed() -> None:
    assert choices(DRIVERS) == "valid: lbr_fri, kuka_drivers, ros2_control"
    assert choices(DRIVERS, "moveit") == choices(DRIVERS, 7) == choices(DRIVERS)


def test_a_word_that_is_like_a_valid_one_is_answered_by_it() -> None:
    assert choices(DRIVERS, "lbr_fry").startswith("did you mean lbr_fri? valid: lbr_fri, ")
