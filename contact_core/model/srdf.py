"""SRDF: which links of a robot never collide, and its named configurations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from contact_core.base.errors import ConfigError, ModelError
from contact_core.model.elements import parse, read_text


@dataclass(frozen=True)
class Srdf:
    """What the simulator reads of an SRDF.

    Attributes:
        apart: Pairs of links whose collisions are left out.
        states: Name -> joint -> position [rad or m]; joints of several coordinates are left out.
    """

    apart: tuple[tuple[str, str], ...]
    states: dict[str, dict[str, float]]

    @staticmethod
    def load(path: str | Path) -> Srdf:
        """Read a file.

        Args:
            path: The file.

        Raises:
            ConfigError: If it cannot be read.
            ModelError: If it is not well-formed, or a position is no number.
        """
        try:
            root = parse(read_text(Path(path)), str(path))
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}") from error
        disabled = root.iter("disable_collisions")
        apart = tuple((pair.get("link1", ""), pair.get("link2", "")) for pair in disabled)
        states: dict[str, dict[str, float]] = {}
        for state in root.iter("group_state"):
            # States of several groups may share a name; together they are the robot's.
            positions = states.setdefault(state.get("name", ""), {})
            for joint in state.iter("joint"):
                name, values = joint.get("name", ""), joint.get("value", "").split()
                try:
                    numbers = [float(value) for value in values]
                except ValueError as error:
                    raise ModelError(f"{path}: joint '{name}' has position {values}") from error
                if len(numbers) == 1:
                    positions[name] = numbers[0]
        return Srdf(apart, states)
