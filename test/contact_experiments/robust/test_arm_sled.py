"""The arm leads the sled under contact-aware control, whatever the friction."""

from __future__ import annotations

import numpy as np
import pytest

from contact_experiments.robust.arm_runs import ArmCase
from contact_experiments.robust.arm_sled import TRACKED_SLIDE

TIME = np.linspace(0.0, 1.0, 51)
WAY = 0.2 * (3.0 - 2.0 * TIME) * TIME**2


def test_friction_costs_time_and_force_but_no_way() -> None:
    slides = {}
    for friction in (0.1, 0.7):
        case = ArmCase("nominal", tuple(TIME.tolist()), tuple(WAY.tolist()), friction)
        slides[friction] = TRACKED_SLIDE.execution.run(case)
    end = {friction: ways[-1] for friction, ways in slides.items()}
    assert all(ways[0] == 0.0 and len(ways) == 600 for ways in slides.values())
    assert end[0.1] == pytest.approx(WAY[-1], abs=0.01)
    assert end[0.7] == pytest.approx(WAY[-1], abs=0.02)
    halfway = round(0.5 / 0.005)
    assert slides[0.7][halfway] < slides[0.1][halfway]
