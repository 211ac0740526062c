"""Conversions of times: exact, also beyond the precision of a float."""

import pytest

from contact_ros.stamps import to_duration, to_nanoseconds, to_time


@pytest.mark.parametrize("time", [0, 1, 999_999_999, 1_000_000_000, 1_700_000_000_123_456_789])
def test_a_time_survives_the_round_trip_to_the_nanosecond(time: int) -> None:
    assert to_nanoseconds(to_time(time)) == time


@pytest.mark.parametrize("duration", [-1, -1_500_000_000, 2_000_000_001])
def test_a_duration_of_either_sign_survives_the_round_trip(duration: int) -> None:
    message = to_duration(duration)
    assert 0 <= message.nanosec < 1_000_000_000
    assert to_nanoseconds(message) == duration
