"""Series bring samples with different stamps to common ticks."""

from contact_stack.demo.client_node import Series


def test_latest_sample_that_is_not_newer():
    series: Series[str] = Series()
    assert series.at(10) is None
    for stamp, sample in ((10, "a"), (20, "b"), (20, "again"), (5, "old"), (30, "c")):
        series.append(stamp, sample)
    assert [series.at(stamp) for stamp in (9, 10, 19, 20, 99)] == [None, "a", "a", "b", "c"]
    assert series.between(10, 20) == ["a", "b"]
    assert series.between(11, 29) == ["b"]
