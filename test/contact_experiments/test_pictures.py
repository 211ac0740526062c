"""Films of figures: as many pictures as the motion takes, the same file every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from contact_experiments.papers.pictures import FILM_RATE, LAST_PICTURE, MovingFigure, save_film


def moving_dot(duration: float) -> MovingFigure:
    """A dot that goes to the right, at a unit per second."""
    figure = Figure(figsize=(2.0, 2.0), layout="constrained")
    axes = figure.add_subplot(xlim=(0.0, duration), ylim=(-1.0, 1.0))
    (dot,) = axes.plot([0.0], [0.0], "ko", markersize=12)
    return MovingFigure(figure, lambda time: dot.set_xdata([time]), duration)


def test_a_film_shows_the_motion_in_real_time_and_stays_at_its_end(tmp_path: Path) -> None:
    path = save_film(moving_dot(2.0), tmp_path / "new" / "dot.gif")
    with Image.open(path) as film:
        assert film.info["loop"] == 0
        times, places = [0.0], []
        for k in range(film.n_frames):
            film.seek(k)
            times.append(times[-1] + 1e-3 * film.info["duration"])
            dark = np.asarray(film.convert("L"))[20:-30, 30:] < 80
            places.append(np.nonzero(dark)[1].mean())
    assert film.n_frames == round(2.0 * FILM_RATE) + 1
    assert times[-1] == pytest.approx(2.0 + LAST_PICTURE)
    assert (np.diff(places[1:-1]) > 0.0).all()


def test_the_same_film_is_the_same_file(tmp_path: Path) -> None:
    first, second = (
        save_film(moving_dot(0.5), tmp_path / f"{name}.gif").read_bytes() for name in "ab"
    )
    assert first == second
