"""What shows a result of a paper: a figure with its numbers, or a film."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from tqdm import tqdm

from contact_core.base.files import replacement

FigureResult = tuple[Figure, dict[str, Any]]
"""A figure of a paper, and its numbers for JSON."""

FILM_RATE, FILM_DOTS_PER_INCH, FILM_COLORS = 10, 80, 64
"""Of films: pictures per second, and what keeps their files small."""
LAST_PICTURE = 1.5
"""How long the end of a film is seen before it begins anew [s]."""


@dataclass(frozen=True)
class MovingFigure:
    """A figure that is drawn anew for each picture of a film.

    Attributes:
        figure: The figure.
        draw: Draws how it looks at a time since the start [s].
        duration: Of the film [s].
    """

    figure: Figure
    draw: Callable[[float], None]
    duration: float


def save_film(film: MovingFigure, path: Path, label: str = "") -> Path:
    """Write a film, in real time and again and again, and return its path.

    Args:
        film: The film.
        path: A GIF file, whose folder is made; the same film is the same file.
        label: What a progress bar calls it; empty for no bar.
    """
    canvas = FigureCanvasAgg(film.figure)
    film.figure.set_dpi(FILM_DOTS_PER_INCH)
    film.draw(0.0)
    film.figure.draw_without_rendering()
    film.figure.set_layout_engine("none")  # or axes would move with what is in them
    pictures = []
    count = round(film.duration * FILM_RATE) + 1
    for k in tqdm(range(count), label, unit=" pictures", leave=False, disable=not label):
        film.draw(min(k / FILM_RATE, film.duration))
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy()))
    some = [np.asarray(pictures[k]) for k in (0, count // 2, count - 1)]
    palette = Image.fromarray(np.vstack(some)).quantize(FILM_COLORS)
    first, *others = (
        picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures
    )
    durations = [1000 // FILM_RATE] * (count - 1) + [round(1e3 * LAST_PICTURE)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacement(path) as file:
        first.save(
            file, format="GIF", save_all=True, append_images=others, duration=durations, loop=0,
            optimize=True,
        )  # fmt: skip
    return path
