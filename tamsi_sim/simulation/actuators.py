"""The actuators of an engine, commanded by their names."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from contact_core.base.errors import ConfigError, ModelError, ModelWarning, choices, real_number
from contact_core.model.actuator import Actuator
from tamsi_sim.arrays.data import Drives
from tamsi_sim.simulation.model import BuiltModel
from tamsi_sim.simulation.rollouts import number_array


class Actuators(Mapping[str, Actuator]):
    """Actuators by name: those of the files, and those that were added.

    One exerts nothing until it is first commanded. From then on the commanded actuators of a joint
    are its drive: their gains, summed, replace those in ``Engine.drives``, and what their commands
    exert is the drive's feedforward. Stiffness and damping are implicit, so that no gain limits the
    step. Every actuator keeps its own limit, but of several that have stiffness or damping the sum
    is limited, by what they reach together, which is not bounded if one has no limit (a
    ModelWarning says so). The limit of the joint bounds what all exert.
    """

    def __init__(self, built: BuiltModel, drives: Drives, tendon_drives: Drives) -> None:
        """Take those of the files.

        Args:
            built: The model.
            drives: The engine's drives of the joints.
            tendon_drives: And of the tendons.
        """
        self._built, self._drives, self._tendon_drives = built, drives, tendon_drives
        nv = len(built.efforts)
        self._places = {name: nv + t for name, t in built.tendons.items()} | built.joints
        self._all = dict(built.actuators)
        self._commands: dict[str, float] = {}
        for place in {place for place, _ in self._all.values()}:
            self._name_shared_limits(place)

    def __getitem__(self, name: str) -> Actuator:
        """Return an actuator."""
        return self._all[name][1]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._all)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._all)

    @property
    def commands(self) -> dict[str, float]:
        """The last commands, within their ranges, of the actuators that have been commanded."""
        return dict(self._commands)

    def add(self, name: str, actuator: Actuator) -> None:
        """Add an actuator.

        Args:
            name: A name of its own.
            actuator: What it exerts; ``joint`` is a key of ``BuiltModel.joints`` or ``tendons``.

        Raises:
            ModelError: If the name is taken, or there is no such joint or tendon.
        """
        if name in self._all:
            raise ModelError(f"actuator '{name}' exists already ({choices(self)})")
        if actuator.joint not in self._places:
            raise ModelError(
                f"actuator '{name}': no joint '{actuator.joint}' ({choices(self._places)})"
            )
        self._all[name] = self._places[actuator.joint], actuator
        self._name_shared_limits(self._places[actuator.joint])

    def command(self, commands: Mapping[str, float]) -> None:
        """Command actuators; they hold their commands until the next.

        Args:
            commands: Actuator -> command: effort [Nm or N], position [rad or m] or velocity [rad/s
                or m/s], or what its gain multiplies. Beyond its range it counts as the end of it.

        Raises:
            ConfigError: If a command is not finite; nothing is commanded then.
            ModelError: If there is no such actuator; likewise.
        """
        self._check_names(commands)
        values = {
            name: real_number(value, f"the command of actuator '{name}'")
            for name, value in commands.items()
        }
        for name, value in values.items():
            self._commands[name] = float(self._clipped(name, value))
        places = {self._all[name][0] for name in values}
        self._write(self._drives, self._tendon_drives, self._commands, places)

    def recall(self, commands: Mapping[str, float]) -> None:
        """Take over commands that belong to the joints' drives as they are.

        Args:
            commands: From :attr:`commands`; those of actuators that do not exist are left out.
        """
        self._commands = {name: value for name, value in commands.items() if name in self}
        nv, places = len(self._built.efforts), {place for place, _ in self._all.values()}
        tendons = {place for place in places if place >= nv}
        self._write(self._drives, self._tendon_drives, self._commands, tendons)

    def over_time(self, commands: Mapping[str, np.ndarray]) -> tuple[Drives, Drives, np.ndarray]:
        """Return the drives under commands that change, and their feedforward in every step.

        Args:
            commands: Actuator -> (n, T) commands of n samples.

        Returns:
            Drives of joints and of tendons with the gains of these actuators and of those commanded
            before, which hold their commands; (n, T, nv + nd) feedforward of both [Nm or N].

        Raises:
            ConfigError: If commands are no finite numbers, differ in shape, or change an effort
                beside an actuator of the same joint that has stiffness and a limit.
            ModelError: If there is no such actuator.
        """
        self._check_names(commands)
        arrays = {name: number_array(given, f"'{name}'") for name, given in commands.items()}
        shapes = {array.shape for array in arrays.values()}
        finite = all(np.isfinite(array).all() for array in arrays.values())
        if len(shapes) != 1 or len(shape := shapes.pop()) != 2 or not finite:
            found = {name: array.shape for name, array in arrays.items()}
            raise ConfigError(f"commands must be finite and all (n, T), got {found}")
        drives, tendon_drives = (
            Drives(*(array.copy() for array in given))
            for given in (self._drives, self._tendon_drives)
        )
        places = {self._all[name][0] for name in arrays}
        known = self._commands | dict.fromkeys(arrays, 0.0)
        self._write(drives, tendon_drives, known, places)
        held = np.concatenate([drives.feedforward, tendon_drives.feedforward])
        efforts = np.tile(held, (*shape, 1))
        for name, array in arrays.items():
            place, actuator = self._all[name]
            others = [a for where, a in self._all.values() if where == place and _moves(a)]
            if not _moves(actuator) and any(np.isfinite(a.limit) for a in others):
                raise ConfigError(
                    f"actuator '{name}' cannot change over time beside another one of "
                    f"'{actuator.joint}' that has stiffness or damping, and a limit: command it "
                    "step by step"
                )
            change = _effort(actuator, self._clipped(name, array)) - _effort(actuator, 0.0)
            efforts[..., place] += change
        return drives, tendon_drives, efforts

    def _check_names(self, names: Mapping[str, object]) -> None:
        for name in names:
            if name not in self._all:
                raise ModelError(f"no actuator '{name}' ({choices(self) if self else 'none yet'})")

    def _clipped(self, name: str, value: np.ndarray | float) -> np.ndarray | float:
        return np.clip(value, self[name].lower, self[name].upper)

    def _write(
        self,
        joint_drives: Drives,
        tendon_drives: Drives,
        commands: Mapping[str, float],
        places: Collection[int],
    ) -> None:
        """Make the commanded actuators of some degrees of freedom, and tendons, their drives."""
        nv = len(self._built.efforts)
        limits = np.concatenate([self._built.efforts, self._built.tendon_efforts])
        for place in places:
            drives, k = (joint_drives, place) if place < nv else (tendon_drives, place - nv)
            own = {name: a for name, (where, a) in self._all.items() if where == place}
            acting = {name: own[name] for name in own if name in commands}
            for array in (drives.target, drives.target_rate, drives.damping_ratio):
                array[k] = 0.0
            drives.stiffness[k] = sum(a.stiffness for a in acting.values())
            drives.damping[k] = sum(a.damping for a in acting.values())
            drives.feedforward[k] = sum(_effort(a, commands[name]) for name, a in acting.items())
            # What is no spring or damper is within its own limit already.
            given = sum(_effort(a, commands[n]) for n, a in acting.items() if not _moves(a))
            reach = sum(a.limit for a in acting.values() if _moves(a)) or np.inf
            lowest, highest = (
                np.clip(given + side * reach, -limits[place], limits[place]) for side in (-1.0, 1.0)
            )
            endless = np.isinf(highest - lowest)
            drives.effort_center[k] = 0.0 if endless else 0.5 * (lowest + highest)
            drives.effort_limit[k] = np.inf if endless else 0.5 * (highest - lowest)

    def _name_shared_limits(self, place: int) -> None:
        """Warn of several springs and dampers on one joint of which one has a limit."""
        own = {name: a for name, (where, a) in self._all.items() if where == place and _moves(a)}
        if len(own) > 1 and any(np.isfinite(a.limit) for a in own.values()):
            endless = [name for name, a in own.items() if np.isinf(a.limit)]
            said = "the sum is limited, not each"
            if endless:
                said = f"none holds while {', '.join(endless)} acts without one"
            warnings.warn(
                f"actuators {', '.join(own)} drive one joint by stiffness or damping, and have "
                f"limits: {said}",
                ModelWarning,
                stacklevel=3,
            )


def _moves(actuator: Actuator) -> bool:
    """Whether what an actuator exerts depends on the motion of its joint."""
    return actuator.stiffness > 0.0 or actuator.damping > 0.0


def _effort(actuator: Actuator, command: Any) -> Any:
    """What an actuator exerts at rest, within its limit where nothing else adds to it."""
    effort = actuator.offset + actuator.gain * command
    return effort if _moves(actuator) else np.clip(effort, -actuator.limit, actuator.limit)
