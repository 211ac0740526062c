"""The arm leads the sled under contact-aware control, whatever the friction."""

from __future__ import annotations

import numpy as np
import pytest

from contact_experiments.robust.arm_runs import ArmCase
from contact_experiments.robust.arm_sled import TRACKED_SLIDE

TIME = np.linspace(0.0, 1.0, 51)
WAY = 0.2 * (3.0 - 2.0 * TIME) * TIME**2


@pytest.mark.verify
def test_friction_costs_time_but_hardly_any_way() -> None:
    slides = {}
    for friction in (0.1, 0.7):
        case = ArmCase("nominal", tuple(TIME.tolist()), tuple(WAY.tolist()), friction)
        slides[friction] = TRACKED_SLIDE.execution.run(case)
    assert all(ways[0] == 0.0 and len(ways) == 900 for ways in slides.values())
    assert slides[0.1][-1] == pytest.approx(WAY[-1], abs=0.01)
    assert slides[0.7][-1] == pytest.approx(WAY[-1], abs=0.015)
    assert slides[0.7][400] < slides[0.1][400]
