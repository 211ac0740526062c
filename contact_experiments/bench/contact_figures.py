"""What many trials of one setting of the contact estimator amount to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contact_experiments.bench.contact_trials import Outcome, PairOutcome, Setting


@dataclass(frozen=True)
class Row:
    """Figures of many trials of one setting.

    Attributes:
        setting: What was varied.
        trials: Number of trials.
        location_p50: Median location error [m].
        location_p90: 90th percentile [m].
        force_p50: Median force error [N].
        settling_p90: 90th percentile of the settling time [s].
        right_link: Share of estimates on the right link.
        identifiable: Share of estimates called identifiable.
        misleading: Share called identifiable that are more than 10 cm wrong.
        modes: Mean number of places considered possible.
    """

    setting: Setting
    trials: int
    location_p50: float
    location_p90: float
    force_p50: float
    settling_p90: float
    right_link: float
    identifiable: float
    misleading: float
    modes: float

    @classmethod
    def of(cls, setting: Setting, outcomes: Sequence[Outcome]) -> Row:
        """Summarise the trials of a setting.

        Args:
            setting: The setting.
            outcomes: Its trials, at least one.

        Returns:
            Their figures.
        """
        location = [outcome.location_error for outcome in outcomes]
        return cls(
            setting=setting,
            trials=len(outcomes),
            location_p50=float(np.median(location)),
            location_p90=float(np.percentile(location, 90, method="higher")),
            force_p50=float(np.median([outcome.force_error for outcome in outcomes])),
            settling_p90=float(
                np.percentile([o.settling_time for o in outcomes], 90, method="higher")
            ),
            right_link=float(np.mean([outcome.right_link for outcome in outcomes])),
            identifiable=float(np.mean([outcome.identifiable for outcome in outcomes])),
            misleading=float(np.mean([outcome.misleading for outcome in outcomes])),
            modes=float(np.mean([outcome.modes for outcome in outcomes])),
        )


@dataclass(frozen=True)
class PairRow:
    """Figures of a second contact.

    Attributes:
        first: Link touched first.
        second: Link touched second.
        first_p50: Median location error of the first [m].
        second_p50: Median location error of the second [m].
        found: Share of second contacts found within 5 cm.
        two: Share of trials in which two contacts are reported.
        ended: Share in which the first alone is left when the second has ended.
    """

    first: str
    second: str
    first_p50: float
    second_p50: float
    found: float
    two: float
    ended: float

    @classmethod
    def of(cls, first: str, second: str, outcomes: Sequence[PairOutcome]) -> PairRow:
        """Summarise the trials of a pair of links."""
        return cls(
            first=first,
            second=second,
            first_p50=float(np.median([outcome.first_error for outcome in outcomes])),
            second_p50=float(np.median([outcome.second_error for outcome in outcomes])),
            found=float(np.mean([outcome.second_error <= 0.05 for outcome in outcomes])),
            two=float(np.mean([outcome.contacts == 2 for outcome in outcomes])),
            ended=float(np.mean([outcome.ended for outcome in outcomes])),
        )


@dataclass(frozen=True)
class SpeedRow:
    """Duration of an update of the whole estimator, one contact.

    Attributes:
        particles: Number of particles.
        p50_ms: Median [ms].
        p99_ms: 99th percentile [ms].
        particles_per_second: Number of particles / median.
    """

    particles: int
    p50_ms: float
    p99_ms: float
    particles_per_second: float
