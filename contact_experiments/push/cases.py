"""Many pushes: drawn cases, and how they went."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest

from contact_experiments.push.run import PushRun
from contact_stack.demo.push_anything.pusher import PushCase
from contact_stack.demo.push_anything.shapes import SHAPES


def draw_cases(
    count: int,
    seed: int = 0,
    kicked: bool = False,
    engine: str = "tamsi",
    whole_arm: bool = False,
) -> list[PushCase]:
    """Return cases, one shape after the other.

    Args:
        count: How many.
        seed: Of everything that is drawn.
        kicked: Whether the things are kicked away in the middle.
        engine: What simulates them.
        whole_arm: Whether the planner knows the whole arm.
    """
    names = list(SHAPES)
    return [
        PushCase(names[i % len(names)], 1000 * seed + i // len(names), kicked, engine, whole_arm)
        for i in range(count)
    ]


def run_case(case: PushCase) -> dict[str, Any]:
    """Run a case.

    Args:
        case: The case.

    Returns:
        Its figures, and the ``path`` of :class:`PushResult`.
    """
    task, conditions = case.draw()
    result = PushRun(task, conditions, case.seed).run()
    start, start_angle = task.miss(np.array(task.start))
    median, high, peak = result.force
    return {
        "shape": case.shape,
        "seed": case.seed,
        "reached": result.reached,
        "seconds": result.seconds,
        "from_mm": 1e3 * start,
        "from_deg": math.degrees(start_angle),
        "left_mm": 1e3 * result.distance,
        "left_deg": math.degrees(result.angle),
        "searches": result.searches,
        "searching_s": result.searching,
        "force_p50_N": median,
        "force_p99_N": high,
        "force_peak_N": peak,
        "mass": conditions.mass,
        "friction": conditions.friction,
        "look_ms": [1e3 * t for t in result.look],
        "search_ms": [1e3 * t for t in result.search],
        "path": result.path,
    }


def summarize(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how often the goal was reached, with a Wilson interval of 95 %, and how fast.

    Args:
        rows: What :func:`run_case` returned.
    """
    reached = [row for row in rows if row["reached"]]
    interval = binomtest(len(reached), len(rows)).proportion_ci(0.95, "wilson")
    return {
        "cases": len(rows),
        "reached": len(reached),
        "share": len(reached) / len(rows),
        "low": float(interval.low),
        "high": float(interval.high),
        # What never gets there takes for ever.
        "median_s": float(np.median([r["seconds"] if r["reached"] else math.inf for r in rows])),
        "force_p99_N": float(np.max([row["force_p99_N"] for row in rows])),
        "force_peak_N": float(np.max([row["force_peak_N"] for row in rows])),
        "look_ms": np.median([row["look_ms"] for row in rows], axis=0).tolist(),
        "search_ms": np.median([row["search_ms"] for row in rows], axis=0).tolist(),
    }
