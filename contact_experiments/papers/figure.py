"""What the papers have in common: figures, the numbers they claim, and what stands beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from contact_core.base.sweep import Sweep
from contact_experiments.papers.pictures import FigureResult, MovingFigure


@dataclass(frozen=True)
class Claim:
    """A number of a paper, and where ours is found.

    Attributes:
        quantity: What it is, with its unit.
        published: The number as the paper prints it; empty if the paper has none, and ours is
            shown for who compares with us.
        key: Ours, in the figure's numbers, with dots between levels. A mapping with ``median``,
            ``lowest`` and ``highest`` is shown with its spread.
        form: Format of ours.
        reason: Why they differ, if they do, in one sentence.
    """

    quantity: str
    published: str
    key: str
    form: str = ".3g"
    reason: str = ""


@dataclass(frozen=True)
class PaperFigure:
    """A figure or table of a paper, or a number in its text.

    Attributes:
        title: What it shows.
        make: Runs what it needs and draws it.
        minutes: How long that takes on two cores [min].
        claims: Its numbers.
        note: What else is to be said, e.g. what stands in for the paper's hardware.
        film: Makes a film of what is drawn, from what :attr:`make` has computed; None for none.
    """

    title: str
    make: Callable[[Sweep], FigureResult]
    minutes: float
    claims: tuple[Claim, ...] = ()
    note: str = ""
    film: Callable[[Sweep], MovingFigure] | None = None


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes:
        title: Its title.
        figures: What of it is made again, by the names the paper gives.
        absent: What is not, and why or what stands in for it.
    """

    title: str
    figures: Mapping[str, PaperFigure]
    absent: Mapping[str, str] = field(default_factory=dict)


def spread(values: ArrayLike) -> dict[str, float]:
    """Sum up a number over seeds or rounds for a :class:`Claim`.

    Args:
        values: (n) at least one.

    Returns:
        ``median``, ``lowest`` and ``highest``.
    """
    found = np.asarray(values, dtype=float)
    return {
        "median": float(np.median(found)),
        "lowest": float(found.min()),
        "highest": float(found.max()),
    }
