"""What came of encounters: what was felt, told and how hard it pressed, touch by touch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.estimation import EstimatorConfig
from contact_aware_control.estimation.calibration import Calibration
from contact_aware_control.estimation.identifiability import ContactProspect
from contact_aware_control.estimation.measurement import squared_norm
from contact_aware_control.estimation.tracker import FORCE_CHANGE
from contact_aware_control.safety.status import Mode
from contact_core.robot.robot import Robot
from contact_experiments.control.encounter import EncounterRun, Episode
from contact_experiments.control.moving_ball import effective_mass, yield_speed
from contact_stack.demo.contact_tracking.statistics import ExperimentData

PROMPT = 0.3
"""Within this time a contact is to be felt and announced, and its force back at the limit [s]."""
NEAR = 0.02
"""A place, or a line of force, is told rightly if it is no farther from the truth [m]."""
FAR = 0.1
"""An estimate that is farther misleads [m]."""
GAP = 0.2
"""A touch that is lost for less goes on [s]."""
AT_ONCE = 0.2
"""Contacts that begin within this time begin at once: together nobody can locate them [s]."""
FORGOTTEN = 0.3
"""Time after a touch in which an estimate of it may linger [s]."""
CLEAR = 1.5
"""A contact is to be felt if its torques are so much more than those that just show."""
AROUND = 0.1
"""How long before and after a contact has to be clear to count as unchanged [s]."""
FREE, UNSURE, REGION, LINE, PLACE = "free", "unsure", "region", "line of force", "place"
"""What is said of a touch: nothing; that it is there, or may be a load; where or on which line it
is, but not to within NEAR; to within NEAR on which line it presses; or where it is."""
ANNOUNCED, TOLD = (LINE, PLACE), (REGION, LINE, PLACE)


@dataclass(frozen=True)
class TouchFigures:
    """What came of one touch.

    Attributes:
        link: The link that was touched.
        moved: Whether what touched it moved.
        stiffness: Of the contact [N/m].
        duration: [s].
        felt_force: Force from which on the torques show it [N].
        force: Mean of the true force when it should have been announced [N].
        located: Whether the torques tell its place to within NEAR then.
        wrench_known: Whether they tell at least its line of force.
        alone: Whether it did not begin at once with another.
        felt_after: When something was felt [s]; inf: never.
        announced_after: When its place or line was told to within NEAR [s]; inf: never.
        announced: For how long it was [s].
        right: For how long rightly [s].
        told: For how long anything was told of where it is [s].
        in_region: For how long no farther from the truth than was told, or than NEAR [s].
        misleading: For how long FAR from the truth [s].
        right_link: For how long with the link's name right [s].
        unsure: For how long it was felt, and said to be not identifiable [s].
        errors: Distance of what was told from the truth, in its 50 % and 90 % quantile [m].
        changes: How often the verdict changed while its torques were clear and no contact came or
            went.
        unchanged: For how long none did [s].
        yields: Whether the link can give way faster than what touched it came.
        peak: Largest force [N].
        impact: v sqrt(k m) [N].
        p99: Of the force from PROMPT after the touch [N]; NaN where it was shorter.
    """

    link: str
    moved: bool
    stiffness: float
    duration: float
    felt_force: float
    force: float
    located: bool
    wrench_known: bool
    alone: bool
    felt_after: float
    announced_after: float
    announced: float
    right: float
    told: float
    in_region: float
    misleading: float
    right_link: float
    unsure: float
    errors: tuple[float, float]
    changes: int
    unchanged: float
    yields: bool
    peak: float
    impact: float
    p99: float

    @property
    def locatable(self) -> bool:
        """Whether an estimator could announce it: felt, known to act on one line, and alone."""
        return self.alone and self.wrench_known and self.duration >= PROMPT


@dataclass(frozen=True)
class EpisodeFigures:
    """What came of an episode.

    Attributes:
        robot: Its file.
        seed: Of the episode.
        controller: Its name.
        tool: Mass of the undeclared tool [kg].
        free: For how long nothing touched the arm [s].
        phantoms: How often a contact was reported then.
        phantom: For how long [s].
        touches: What touched it.
        tracking: Distance of the tool from its path before anything touched it, in its 50 %
            and 99 % quantile [m].
        faults: Details of the faults that ended it.
    """

    robot: str
    seed: int
    controller: str
    tool: float
    free: float
    phantoms: int
    phantom: float
    touches: tuple[TouchFigures, ...]
    tracking: tuple[float, float]
    faults: tuple[str, ...]


def run_episode(
    episode: Episode, calibration: Calibration | None, controller: str
) -> EpisodeFigures:
    """Run an episode.

    Args:
        episode: What happens.
        calibration: What the estimator knows of the arm; None: nothing.
        controller: One of VARIANTS.

    Returns:
        What came of it; the same on every machine.
    """
    run = EncounterRun(episode, calibration, controller)
    return judge_episode(run, run.execute(), controller)


def judge_episode(run: EncounterRun, data: ExperimentData, controller: str) -> EpisodeFigures:
    """Judge a run by the simulator's truth.

    Args:
        run: An episode that is over.
        data: Its ticks.
        controller: Its name.
    """
    period = data.period
    judge = _Judge(run, period)
    touched, found = judge.touched, np.array([bool(f.contacts) for f in run.run.found])
    lingers = round(FORGOTTEN / period)
    near = np.convolve(touched, np.ones(lingers + 1))[: touched.size] > 0.0
    phantom = found & ~near
    rises = phantom & ~np.concatenate(([False], found[:-1]))
    before = data.position_error[: int(np.argmax(touched)) or None]
    ended = [s.detail for s in run.run.status if s.mode is Mode.FAULT]
    return EpisodeFigures(
        robot=run.episode.robot,
        seed=run.episode.seed,
        controller=controller,
        tool=run.episode.tool,
        free=float(period * (~near).sum()),
        phantoms=int(rises.sum()),
        phantom=float(period * phantom.sum()),
        touches=tuple(judge.touches()),
        tracking=(float(np.median(before)), float(np.percentile(before, 99))),
        faults=tuple(dict.fromkeys(ended)),
    )


class _Said(NamedTuple):
    """What is said of a touch.

    Attributes:
        verdict: In words above.
        known: What the estimate's flags say is known: PLACE, LINE, UNSURE or FREE.
        error: How far from the truth it is [m].
        within: How far it may be, as told [m].
    """

    verdict: str
    known: str
    error: float
    within: float


class _Judge:
    """Compares what was said with the truth, tick by tick."""

    def __init__(self, run: EncounterRun, period: float) -> None:
        """Assign estimates to what touches."""
        self._run, self._period = run, period
        self._robot = Robot.from_description(run.run.plant.scene.robot)
        self._force = np.array(
            [
                [0.0 if p is None else float(np.linalg.norm(p.force)) for p in tick]
                for tick in run.pressed
            ]
        ).reshape(len(run.pressed), -1)
        self.touched = (self._force > 0.0).any(axis=1)
        self._assigned = [self._assign(k) for k in range(len(run.pressed))]
        self._noise = np.array(run.run.plant.scene.config.torque_sensor.noise)
        self._prospect = ContactProspect(self._robot, noise=self._noise, apart=NEAR)
        spans = [
            (begin, end, i)
            for i in range(self._force.shape[1])
            for begin, end in _spans(self._force[:, i] > 0.0, round(GAP / period))
        ]
        self._spans = sorted(spans)

    def touches(self) -> list[TouchFigures]:
        """Judge every touch."""
        return [self._touch(*span) for span in self._spans]

    def _assign(self, k: int) -> Mapping[int, ContactEstimate]:
        """Return which estimate is nearest to each obstacle that touches, one to one."""
        free = list(self._run.run.found[k].contacts)
        pressed = self._run.pressed[k]
        pairs = sorted(
            (float(np.linalg.norm(c.point_world - p.point)), i, j)
            for i, p in enumerate(pressed)
            if p is not None
            for j, c in enumerate(free)
        )
        assigned: dict[int, int] = {}
        for _, i, j in pairs:
            if i not in assigned and j not in assigned.values():
                assigned[i] = j
        return {i: free[j] for i, j in assigned.items()}

    def _touch(self, begin: int, end: int, i: int) -> TouchFigures:
        run, period, obstacle = self._run, self._period, self._run.episode.obstacles[i]
        force, later = self._force[begin:end, i], begin + round(PROMPT / period)
        at = min(later, end - 1)
        pressing = [k for k in range(max(begin, at - 20), end) if run.pressed[k][i] is not None]
        first, judged = (
            run.pressed[begin][i],
            run.pressed[min(pressing, key=lambda k: abs(k - at))][i],
        )
        assert first is not None and judged is not None
        others = [s for s in self._spans if s[2] != i]
        alone = all(abs(s[0] - begin) * period > AT_ONCE for s in others)
        prospect = self._prospect.of(
            run.positions[at], obstacle.link, judged.point, judged.force, self._doubt(at, i)
        )
        row = self._row(run.positions[begin], obstacle.link, first.point, first.force)
        armature = np.array(run.run.plant.scene.config.robot.effective_armature)
        mass = effective_mass(self._robot, armature, run.positions[begin], row)
        speed = obstacle.speed or float(abs(row @ self._velocity(begin)))
        said = [self._said(k, i) for k in range(begin, end)]
        felt = [k for k in range(begin, end) if run.run.found[k].contacts]
        announced = [k for k, what in enumerate(said) if what.verdict in ANNOUNCED]
        told = [k for k, what in enumerate(said) if what.verdict in TOLD]
        errors = np.array([said[k].error for k in told])
        estimates = [self._assigned[begin + k][i] for k in told]
        clear = np.array([self._is_clear(k, i) for k in range(begin, end)])
        changes, unchanged = self._changes(begin, end, clear, [what.known for what in said])
        steady = force[later - begin :]
        return TouchFigures(
            link=obstacle.link,
            moved=obstacle.speed > 0.0,
            stiffness=obstacle.stiffness,
            duration=period * (end - begin),
            felt_force=float(prospect.felt[0]),
            force=float(np.linalg.norm(judged.force)),
            located=bool(prospect.located[0]),
            wrench_known=bool(prospect.wrench_known[0]),
            alone=alone,
            felt_after=period * (felt[0] - begin) if felt else math.inf,
            announced_after=period * announced[0] if announced else math.inf,
            announced=period * len(announced),
            right=period * sum(said[k].error <= NEAR for k in announced),
            told=period * len(told),
            in_region=period * sum(said[k].error <= max(said[k].within, NEAR) for k in told),
            misleading=period * int((errors > FAR).sum()) if told else 0.0,
            right_link=period * sum(self._same_body(e.link, obstacle.link) for e in estimates),
            unsure=period * sum(what.verdict == UNSURE for what in said),
            errors=tuple(np.percentile(errors, (50, 90)).tolist()) if told else (math.nan,) * 2,
            changes=changes,
            unchanged=unchanged,
            yields=yield_speed(self._robot, run.run.loop.config, row) > speed,
            peak=float(force.max()),
            impact=speed * math.sqrt(obstacle.stiffness * mass),
            p99=float(np.percentile(steady, 99)) if steady.size else math.nan,
        )

    def _said(self, k: int, i: int) -> _Said:
        """Return what is said of an obstacle that touches."""
        contact, pressed = self._assigned[k].get(i), self._run.pressed[k][i]
        if contact is None or pressed is None:
            return _Said(FREE, FREE, math.inf, 0.0)
        if contact.ambiguous or not contact.wrench_known:
            return _Said(UNSURE, UNSURE, math.inf, 0.0)
        known = PLACE if contact.identifiable else LINE
        offset = contact.point_world - pressed.point
        along = contact.force_world / max(contact.force, 1e-9)
        place = float(np.linalg.norm(offset)), contact.place_within
        line = float(np.linalg.norm(np.cross(offset, along))), contact.line_within
        if known == PLACE and place[1] <= NEAR:
            return _Said(PLACE, known, *place)
        if line[1] <= NEAR:
            return _Said(LINE, known, *line)
        return _Said(REGION, known, *(place if known == PLACE else line))

    def _changes(
        self, begin: int, end: int, clear: np.ndarray, verdicts: Sequence[str]
    ) -> tuple[int, float]:
        """Count changes of the verdict while a clear contact stays and no other comes or goes."""
        settled = np.zeros(end, dtype=bool)
        around = np.ones(2 * round(AROUND / self._period) + 1)
        settled[begin:end] = np.convolve(~clear, around)[around.size // 2 :][: clear.size] == 0.0
        wait = round(PROMPT / self._period)
        for first, last, _ in self._spans:
            settled[first : first + wait] = False
            settled[last : last + wait] = False
        steady = settled[begin:end]
        same = np.array([a == b for a, b in pairwise(verdicts)])
        changes = int((~same & steady[1:] & steady[:-1]).sum()) if same.size else 0
        return changes, self._period * float(steady.sum())

    def _is_clear(self, k: int, i: int) -> bool:
        """Tell whether the torques of an obstacle show clearly that it touches."""
        pressed = self._run.pressed[k][i]
        if pressed is None:
            return False
        self._robot.update(self._run.positions[k])
        link = self._run.episode.obstacles[i].link
        torque = self._robot.torque_of_force(link, pressed.point, pressed.force)
        evidence = squared_norm(self._run.errors[k] + np.diag(self._noise**2), torque)
        return bool(evidence >= CLEAR**2 * EstimatorConfig().detection.threshold)

    def _doubt(self, k: int, i: int) -> np.ndarray:
        """Return what is not known of the torques (n, n) beside noise and this obstacle [Nm^2]."""
        doubt = self._run.errors[k].copy()
        self._robot.update(self._run.positions[k])
        for j, (other, obstacle) in enumerate(
            zip(self._run.pressed[k], self._run.episode.obstacles, strict=True)
        ):
            if j != i and other is not None:
                jacobian = self._robot.point_jacobian(obstacle.link, other.point)
                doubt += FORCE_CHANGE**2 * jacobian.T @ jacobian
        return doubt

    def _row(self, q: np.ndarray, link: str, point: np.ndarray, force: np.ndarray) -> np.ndarray:
        self._robot.update(q)
        return self._robot.torque_of_force(link, point, force / np.linalg.norm(force))

    def _velocity(self, k: int) -> np.ndarray:
        positions = self._run.positions
        return (positions[k] - positions[max(k - 1, 0)]) / self._period

    def _same_body(self, a: str, b: str) -> bool:
        fingers = self._robot.finger_links
        return a == b or (a in fingers and b in fingers)


def _spans(touching: np.ndarray, gap: int) -> list[tuple[int, int]]:
    """Return (begin, end) of every touch, in ticks; shorter gaps are none."""
    found: list[tuple[int, int]] = []
    for k in np.flatnonzero(touching).tolist():
        if found and k - found[-1][1] < gap:
            found[-1] = found[-1][0], k + 1
        else:
            found.append((k, k + 1))
    return found


def summarize(episodes: Sequence[EpisodeFigures], limit: float) -> dict[str, Any]:
    """Sum episodes up.

    Args:
        episodes: At least one.
        limit: Of the force [N].

    Returns:
        ``phantoms_h`` without and ``tool_phantoms_h`` with an undeclared tool, per hour of nothing
        touching the arm; ``touches`` of PROMPT or more and shares of those: ``locatable``, ``felt``
        among what the torques show, and of the locatable ones ``announced``, both within PROMPT;
        of the time that a place or line is announced to within NEAR, share ``right``; of the
        touches' time, share ``told`` where it is at all; of that, shares ``in_region`` that is told
        and ``misleading``; number of touches that were ``wrong`` for more than PROMPT;
        ``flicker``, changes of what is known a second; quantiles of the force over its limit
        ``p99`` [1] where the link can yield and ``p99_fast`` where it cannot; ``peak`` over
        v sqrt(k m); ``tracking`` [m].
    """
    plain = [e for e in episodes if not e.tool]
    tooled = [e for e in episodes if e.tool]
    touches = [t for e in plain for t in e.touches if t.duration >= PROMPT]
    shown = [t for t in touches if t.force >= CLEAR * t.felt_force]
    locatable = [t for t in touches if t.locatable]
    announced, told = sum(t.announced for t in touches), sum(t.told for t in touches)
    wrong = [t for t in touches if t.announced - t.right > PROMPT]
    yields = [t.p99 / limit for t in touches if t.yields and math.isfinite(t.p99)]
    fast = [t.p99 / limit for t in touches if not t.yields and math.isfinite(t.p99)]
    errors = [t.errors for t in touches if t.told > 0.0]
    return {
        "episodes": len(episodes),
        "free_h": sum(e.free for e in plain) / 3600.0,
        "phantoms_h": _rate(sum(e.phantoms for e in plain), sum(e.free for e in plain) / 3600.0),
        "phantom": _rate(sum(e.phantom for e in plain), sum(e.free for e in plain)),
        "tool_phantoms_h": _rate(
            sum(e.phantoms for e in tooled), sum(e.free for e in tooled) / 3600.0
        ),
        "tool_phantom": _rate(sum(e.phantom for e in tooled), sum(e.free for e in tooled)),
        "touches": len(touches),
        "shown": len(shown),
        "felt": _share([t.felt_after <= PROMPT for t in shown]),
        "felt_p90": _quantile([t.felt_after for t in shown], 90),
        "locatable": len(locatable),
        "announced": _share([t.announced_after <= PROMPT for t in locatable]),
        "announced_ever": _share([t.announced > 0.0 for t in locatable]),
        "announced_time": _rate(
            sum(t.announced for t in locatable), sum(t.duration for t in locatable)
        ),
        "announced_others": _rate(
            sum(t.announced for t in touches if not t.locatable),
            sum(t.duration for t in touches if not t.locatable),
        ),
        "right": _rate(sum(t.right for t in touches), announced),
        "right_locatable": _rate(
            sum(t.right for t in locatable), sum(t.announced for t in locatable)
        ),
        "told": _rate(told, sum(t.duration for t in touches)),
        "in_region": _rate(sum(t.in_region for t in touches), told),
        "misleading": _rate(sum(t.misleading for t in touches), told),
        "right_link": _rate(sum(t.right_link for t in touches), told),
        "error_p50": _quantile([e[0] for e in errors], 50),
        "error_p90": _quantile([e[1] for e in errors], 90),
        "wrong": len(wrong),
        "unsure": _rate(sum(t.unsure for t in touches), sum(t.duration for t in touches)),
        "flicker": _rate(sum(t.changes for t in touches), sum(t.unchanged for t in touches)),
        "yielding": len(yields),
        "p99_p50": _quantile(yields, 50),
        "p99_p90": _quantile(yields, 90),
        "p99_kept": _share([value <= 1.2 for value in yields]),
        "fast_p50": _quantile(fast, 50),
        "fast_p90": _quantile(fast, 90),
        "peak_p50": _quantile([t.peak / max(t.impact, limit) for t in touches], 50),
        "peak_p90": _quantile([t.peak / max(t.impact, limit) for t in touches], 90),
        "tracking_p50": _quantile([e.tracking[0] for e in plain], 50),
        "tracking_p99": _quantile([e.tracking[1] for e in plain], 90),
        "faults": sum(bool(e.faults) for e in episodes),
    }


def _share(values: Sequence[bool]) -> float | None:
    return float(np.mean(values)) if values else None


def _rate(amount: float, whole: float) -> float | None:
    return amount / whole if whole > 0.0 else None


def _quantile(values: Sequence[float], percent: float) -> float | None:
    """Return a quantile; None of nothing."""
    if not values:
        return None
    return float(np.percentile(values, percent, method="higher"))
