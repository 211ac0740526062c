"""How soon the driver fri answers, and what counts as late."""

from __future__ import annotations

import numpy as np
import pytest

from contact_core.base.results import lines
from contact_experiments.bench.fri import COLUMNS, AnswerPart, measure, summary


def test_an_answer_is_late_after_half_a_period_or_if_it_never_comes() -> None:
    times = np.full(1000, 2e-4)
    times[:3] = 2.6e-3, np.inf, 2.4e-3
    stalls = np.arange(1000) == 2
    parts = [AnswerPart(5, True, times, n, stalls, load) for n, load in ((1, 2.0), (0, 4.0))]
    row = summary(parts)
    assert (row["messages"], row["late"], row["missing"], row["repeats"]) == (2000, 4, 2, 1)
    assert row["p50"] == pytest.approx(2e-4) and row["max"] == pytest.approx(2.6e-3)
    assert (
        row["load"] == 3.0
        and (row["stalls"], row["own"]) == (2, 2)
        and row["scheduling"] == "real time"
    )
    assert "0.20" in "\n".join(lines([row], COLUMNS))


@pytest.mark.verify
@pytest.mark.graph
def test_the_driver_is_commanded_and_answers(ros_domain: int) -> None:
    part = measure(10, False, 0, 200)
    assert np.isfinite(part.times).mean() > 0.5 and part.times.min() < 5e-3
    assert part.repeats < 150
