"""Contact forces as arrows that start at the contact point."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import viser

METRES_PER_NEWTON = 0.02
RADIUS = 0.008
HIDDEN = np.zeros((0, 2, 3))


class ForceArrows:
    """All the contact forces of one kind."""

    def __init__(
        self, server: viser.ViserServer, name: str, color: tuple[int, int, int], offset: float
    ) -> None:
        """Prepare the arrows; none is drawn yet.

        Args:
            server: Where to draw.
            name: Path of the scene's node.
            color: Red, green, blue in 0..255.
            offset: How far the arrows are moved sideways, so that those of another kind
                are not hidden behind them [m].
        """
        self._server = server
        self._name = name
        self._color = color
        self._offset = offset
        self.draw([], [])

    def draw(self, points: Iterable[np.ndarray], forces: Iterable[np.ndarray]) -> None:
        """Replace the arrows.

        Args:
            points: (3) contact points [m], world frame.
            forces: (3) forces on the robot [N], world frame, one per point.
        """
        arrows = np.array(
            [_arrow(p + self._offset * _across(f), f) for p, f in zip(points, forces, strict=True)]
        )
        self._server.scene.add_arrows(
            self._name,
            arrows if len(arrows) else HIDDEN,
            self._color,
            shaft_radius=RADIUS,
            head_radius=2.5 * RADIUS,
            head_length=5 * RADIUS,
            visible=len(arrows) > 0,
        )


def _arrow(start: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return start, start + METRES_PER_NEWTON * force


def _across(force: np.ndarray) -> np.ndarray:
    """Return a horizontal unit vector across a force."""
    across = np.array([-force[1], force[0], 0.0])
    length = np.linalg.norm(across)
    return across / length if length > 0.0 else np.array([1.0, 0.0, 0.0])
