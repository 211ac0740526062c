"""Parameters of the limits around the arm, of its start, and of what is recorded."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.config import parameter
from contact_core.errors import ConfigError


@dataclass(frozen=True)
class WorkspaceConfig:
    """Box in the world frame that the tool's origin does not leave."""

    lowest: tuple[float, ...] = parameter(
        (-2.0, -2.0, -2.0), "its corner of smallest x, y, z", unit="m", low=-10.0, high=10.0, size=3
    )
    highest: tuple[float, ...] = parameter(
        (2.0, 2.0, 2.0), "its corner of largest x, y, z", unit="m", low=-10.0, high=10.0, size=3
    )

    def __post_init__(self) -> None:
        """Check that the box has an inside.

        Raises:
            ConfigError: If it has none.
        """
        for axis, low, high in zip("xyz", self.lowest, self.highest, strict=True):
            if low >= high:
                raise ConfigError(f"workspace: lowest {axis} {low} m is not below highest {high} m")


@dataclass(frozen=True)
class SelfCollisionConfig:
    """Distance that is kept between links of the arm."""

    enabled: bool = parameter(True, "whether the distance is kept")
    distance: float = parameter(
        0.015, "smallest distance between two links", unit="m", low=0.0, high=0.2
    )
    joints_between: int = parameter(
        3,
        "links with fewer joints between them are not checked: the joint limits keep those apart",
        low=2,
        high=7,
    )
    pairs: str = parameter(
        "",
        "links that are checked instead, as `link:link` with blanks between the pairs; empty: "
        "by the number of joints",
    )

    def __post_init__(self) -> None:
        """Check how the pairs are written.

        Raises:
            ConfigError: If a pair is not two different names.
        """
        for pair in self.pairs.split():
            names = pair.split(":")
            if len(names) != 2 or not all(names) or names[0] == names[1]:
                raise ConfigError(
                    f"self_collision.pairs: '{pair}' is not `link:link` with two different links"
                )

    @property
    def named_pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of :attr:`pairs`, split."""
        return tuple((a, b) for a, b in (pair.split(":") for pair in self.pairs.split()))


@dataclass(frozen=True)
class SlowStartConfig:
    """Ramp of the step bound after activation and after a fault was reset."""

    duration: float = parameter(
        1.0, "time until the whole step bound is used", unit="s", low=0.0, high=60.0
    )
    fraction: float = parameter(
        0.1, "share of the step bound that is used at first", above=0.0, high=1.0
    )


@dataclass(frozen=True)
class ExternalStopConfig:
    """The topic external_stop: true stops the arm until it is false and reset is called."""

    timeout: float = parameter(
        0.0,
        "the arm is stopped when no message came for this long, so that a cut line counts as a "
        "stop; 0: the topic may be silent",
        unit="s",
        low=0.0,
        high=10.0,
    )


@dataclass(frozen=True)
class RecorderConfig:
    """The flight recorder."""

    duration: float = parameter(
        10.0, "how far back a record goes at least", unit="s", above=0.0, high=600.0
    )
    folder: str = parameter(
        "", "where records are written; empty: the folder `flight` beside the ROS logs"
    )
    files: int = parameter(
        10, "at most this many records are written by one process on its own", low=0, high=1000
    )
