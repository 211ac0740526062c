"""What is written over the scene: the force beside its limit and the baseline's, plots, a legend.

It is the same on a live page, of a recording and in an exported page: a script and what it shows
are sent among the messages that make the scene.
"""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import viser
from viser._messages import RunJavascriptMessage

from contact_aware_control.controllers import CONTROLLERS
from contact_stack.viewer.snapshot import WAITING, PageState

TITLE = "contact stack"
"""Of the page."""
SCRIPT = Path(__file__).with_name("card.js")
TRUE_COLOR, ESTIMATE_COLOR = (217, 115, 13), (11, 110, 153)
BESIDE_COLOR = (217, 77, 64)
PLAIN, FAINT, LIMIT_COLOR = "#222222", "#666666", "#777777"
STATE_COLORS = {
    WAITING: "#777777",
    "INACTIVE": "#777777",
    "HOLD": "#1c6fb8",
    "TRACKING": "#2b8a3e",
    "CONSERVATIVE": "#b35c00",
    "FAULT": "#c0392b",
}
MAX_POINTS = 500
"""In a plot of a whole recording; of those that share a point the largest is drawn."""
RATE = 10.0
"""Points of a rolling plot that are kept for those who come later [Hz]."""
HIGHEST = 10.0
"""How many limits high the plot of forces is at most: what may be elsewhere may be any force."""
TRUE, ESTIMATED, LIMIT, BESIDE, POSITION, ROTATION = range(1, 7)
"""Columns of a point, after its time."""

Sign = tuple[str, str, str]
"""A line of the legend: a sign, its colour as CSS has it, and what it stands for."""


@dataclass
class PageScript(RunJavascriptMessage, include_in_scene_serialization=True):
    """A script that is run by whoever looks; of those in one slot the latest is kept.

    Attributes:
        slot: Its name.
    """

    slot: str = ""

    def redundancy_key(self) -> str:
        """Return what the slot is kept by."""
        return f"card {self.slot}"

    def as_serializable_dict(self, binary_buffers: Any = None) -> dict[str, Any]:
        """Return it as the browser knows it, see :class:`viser.infra.Message`."""
        return {"type": RunJavascriptMessage.__name__, "source": self.source}


class Card:
    """A card over the scene.

    Attributes:
        kind: What is shown: a robot, a simulation, or a recording.
    """

    def __init__(
        self, server: viser.ViserServer, title: str, history: float, pictures: Sequence[PageState]
    ) -> None:
        """Add it to the page.

        Args:
            server: The page.
            title: What is shown.
            history: Time in the plots of a robot that runs [s].
            pictures: Those of a recording, which plots show as a whole.
        """
        self.kind = "recording" if pictures else "robot"
        self._title, self._history, self._live = title or TITLE, history, not pictures
        self._connection = server._websock_server
        self._points: deque[list[float | None]] = deque()
        forces = [picture.largest_force for picture in pictures]
        self._peak = max(filter(math.isfinite, forces), default=math.nan)
        self._send(SCRIPT.read_text(), "script")
        if pictures:
            points = np.array([_point(picture) for picture in pictures], dtype=float)
            starts = np.arange(0, len(points), 1 + len(points) // MAX_POINTS)
            largest = np.fmax.reduceat(points, starts)
            self._call("curves", [[_known(value) for value in point] for point in largest])
        server.on_client_connect(self._welcome)

    def note(self, now: PageState) -> None:
        """Remember a point for the plots of those who come later.

        Args:
            now: What would be shown; a time before the last one starts the plots anew.
        """
        points = self._points
        if points and now.time < points[-1][0]:  # type: ignore[operator]
            points.clear()
        if not points or now.time >= points[-1][0] + 1.0 / RATE:  # type: ignore[operator]
            points.append(_point(now))
        while points[0][0] < now.time - self._history:  # type: ignore[operator]
            points.popleft()

    def show(self, now: PageState, live: PageState, legend: Sequence[Sign], tracking: bool) -> None:
        """Bring it up to date.

        Args:
            now: What to show.
            live: What plots go on with, where ``now`` lies in the past.
            legend: What is drawn in the scene.
            tracking: Whether to plot the tracking error as well.
        """
        if self._live:
            self.note(live)
        what = f"controller {now.name}" if now.name in CONTROLLERS else now.name
        words = {
            "title": self._title,
            "kind": ", ".join(filter(None, [self.kind, what])),
            "purpose": _purpose(now),
            "forces": _forces(now, self._peak),
            "state": _state(now, live),
            "remedy": [(now.remedy, STATE_COLORS[now.state])] if now.remedy else [],
            "felt": [(text, css(ESTIMATE_COLOR)) for text in now.felt],
            "legend": legend,
            "plots": _plots(now)[: 1 + tracking],
            "time": now.time,
            "point": _point(live),
            "history": self._history,
            "sent": 1e3 * time.time() if self._live else None,
        }
        self._call("show", words)

    def _welcome(self, client: viser.ClientHandle) -> None:
        """Send what was before somebody came."""
        if self._live:
            source = _source("history", list(self._points))
            client._websock_connection.queue_message(PageScript(source, "history"))

    def _call(self, function: str, argument: object) -> None:
        self._send(_source(function, argument), function)

    def _send(self, source: str, slot: str) -> None:
        self._connection.queue_message(PageScript(source, slot))


def css(color: tuple[int, int, int]) -> str:
    """Return a colour as CSS has it."""
    return "#{:02x}{:02x}{:02x}".format(*color)


def _source(function: str, argument: object) -> str:
    return f"window.contactStack?.{function}({json.dumps(argument, allow_nan=False)})"


def _known(value: float) -> float | None:
    """Return a number as it is sent, None where there is none."""
    return round(float(value), 3) if math.isfinite(value) else None


def _point(now: PageState) -> list[float | None]:
    true, felt = now.true_force, now.estimated_force
    if math.isnan(true):
        felt = now.largest_force
    else:
        true = now.largest_force
    values = (
        now.time, true, felt, now.force_limit, now.beside_force,
        1e3 * now.position_error, math.degrees(now.rotation_error),
    )  # fmt: skip
    return [_known(value) for value in values]


def _ignores_limit(name: str) -> bool:
    """Tell whether a run is that of a controller that does not bound forces."""
    return name in CONTROLLERS and not getattr(CONTROLLERS[name], "limits_force", True)


def _purpose(now: PageState) -> str:
    limit = f"{now.force_limit:g} N"
    if now.state == WAITING:
        return "No contact-aware controller runs here: nothing keeps the force to a limit."
    if _ignores_limit(now.name):
        return f"A baseline: the arm follows its path, and does not heed the limit of {limit}."
    return f"The arm may touch what is in its way: it feels how hard, and keeps it to {limit}."


def _forces(now: PageState, peak: float) -> list[list[tuple[str, str, str]]]:
    """Return the large numbers, each with what it is: of this run, and of the one beside it.

    Of a recording the largest force is known, its peak [N].
    """
    known = not math.isnan(now.true_force)
    color = TRUE_COLOR if known else ESTIMATE_COLOR
    number = "- N" if math.isnan(now.force) else f"{now.force:.1f} N"
    what = "contact force" if known else "contact force, as it feels"
    limit = [] if now.state == WAITING else [f"limit {now.force_limit:g} N"]
    most = [f"peak {peak:.0f} N"] if math.isfinite(peak) else []
    bounds = [(", ".join(limit + most), FAINT, "")] if limit + most else []
    forces = [[(number, css(color), "number"), (what, PLAIN, ""), *bounds]]
    if now.beside:
        role = "baseline" if _ignores_limit(now.beside_name) else "beside"
        forces.append([
            (f"{now.beside_force:.1f} N", css(BESIDE_COLOR), "number"),
            (f"{role}: {now.beside_name}", PLAIN, ""),
            (f"peak {now.beside_peak:.0f} N", FAINT, ""),
        ])  # fmt: skip
    return forces


def _state(now: PageState, live: PageState) -> tuple[str, str]:
    why = f": {now.status}" if now.status else ""
    pace = "" if math.isnan(now.pace) else f", {now.pace:.2f} of real time"
    past = f", {live.time - now.time:.1f} s ago" if live.time > now.time else ""
    return f"{now.state}{why} at {now.time:.2f} s{past}{pace}", STATE_COLORS[now.state]


def _plots(now: PageState) -> list[dict[str, Any]]:
    def curve(column: int, name: str, color: str, dash: Sequence[int] = ()) -> dict[str, Any]:
        return {"column": column, "name": name, "color": color, "dash": dash}

    true, estimated = css(TRUE_COLOR), css(ESTIMATE_COLOR)
    beside = [curve(BESIDE, now.beside_name, css(BESIDE_COLOR))] if now.beside else []
    forces = [
        *beside,
        curve(TRUE, "true", true),
        curve(ESTIMATED, "felt", estimated),
    ]
    if now.state != WAITING:
        forces.append(curve(LIMIT, "limit", LIMIT_COLOR, (6, 4)))
    errors = [curve(POSITION, "[mm]", true), curve(ROTATION, "[deg]", estimated)]
    return [
        {"title": "contact force [N]", "curves": forces, "most": HIGHEST * now.force_limit},
        {"title": "tracking error", "curves": errors, "most": None},
    ]
