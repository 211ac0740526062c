"""The films of the papers' figures: what is seen in them moves."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from contact_core.base.sweep import Sweep
from contact_experiments.control.films import film_5
from contact_experiments.irs.paper.films import film_1
from contact_experiments.papers.command import PAPERS
from contact_experiments.papers.pictures import MovingFigure
from contact_experiments.robust.films import film_4d, film_6a
from contact_experiments.tamsi.paper.films import film_9

QUIET = Sweep(show=False)
FILMS: dict[str, Callable[[], MovingFigure]] = {
    "push": lambda: film_1(QUIET, ("pushing",)),
    "arm": lambda: film_5(QUIET, until=2.0),
    "hand": lambda: film_9(QUIET, duration=3.5),
    "block": lambda: film_4d(QUIET),
    "hopper": lambda: film_6a(QUIET),
}
SLOW = {
    "block": [pytest.mark.verify],
    "hopper": [pytest.mark.verify, pytest.mark.timeout(3600)],
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, [])) for name in FILMS])
def test_what_is_filmed_moves(name: str) -> None:
    film = FILMS[name]()
    canvas = FigureCanvasAgg(film.figure)
    pictures = []
    for time in np.linspace(0.0, film.duration, 3):
        film.draw(time)
        canvas.draw()
        pictures.append(np.asarray(canvas.buffer_rgba()).astype(int))
    changes = [(np.abs(b - a).max(axis=2) > 40).mean() for a, b in pairwise(pictures)]
    assert max(changes) > 0.01


def test_every_paper_has_a_film() -> None:
    for paper in PAPERS.values():
        assert any(figure.film is not None for figure in paper.figures.values())
