"""What goes wrong with a fake device: one thing at a time, for a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from contact_core.base.errors import ConfigError, choices

Device = TypeVar("Device")


class Fault(Generic[Device]):
    """One thing that goes wrong. Its first line of documentation is what the command line says.

    Attributes:
        family: Faults of the same kind of device by their names; each counts itself among them.
        name: What it is called; a kind of faults has no name.
        lasts: How long it does unless told otherwise [s].
        device: Whose fault it is.
    """

    family: ClassVar[dict[str, Any]]
    name: ClassVar[str] = ""
    lasts: ClassVar[float] = math.inf

    def __init_subclass__(cls) -> None:
        """Count it among its family."""
        if cls.name:
            cls.family[cls.name] = cls

    def __init__(self, device: Device) -> None:
        """Prepare.

        Args:
            device: Whose fault it is.
        """
        self.device = device

    def begin(self) -> None:
        """Change the device."""

    def end(self) -> None:
        """Change it back."""

    @classmethod
    def summary(cls) -> str:
        """Say in one sentence what goes wrong."""
        return (cls.__doc__ or "").partition("\n")[0]


AnyFault = TypeVar("AnyFault", bound=Fault[Any])


class FaultSlot(Generic[AnyFault]):
    """What is wrong with one device, if anything is.

    Attributes:
        fault: What is wrong now; None if nothing is.
    """

    def __init__(
        self,
        device: object,
        family: Mapping[str, type[AnyFault]],
        period: float,
        say: Callable[[str], object] = lambda line: None,
    ) -> None:
        """Let nothing be wrong.

        Args:
            device: Whose faults they are.
            family: What can go wrong, by name.
            period: Of the device [s].
            say: Called with a line about what begins or ends.
        """
        self._device, self._family, self._period, self._say = device, family, period, say
        self.fault: AnyFault | None = None
        self._until = math.inf

    @property
    def name(self) -> str:
        """Of what is wrong now; empty if nothing is."""
        return "" if self.fault is None else self.fault.name

    def inject(self, name: str, now: float, lasts: float | None = None) -> None:
        """Let something go wrong from the next period on.

        Args:
            name: Of the family.
            now: The device's time [s].
            lasts: For how long [s]; None for the fault's own time.

        Raises:
            ConfigError: If there is no such fault.
        """
        if name not in self._family:
            raise ConfigError(f"unknown fault '{name}' ({choices(self._family, name)})")
        self.cure()
        self.fault = fault = self._family[name](self._device)
        # Half a period, so that rounding does not decide.
        self._until = now + (fault.lasts if lasts is None else lasts) + 0.5 * self._period
        self._say(f"{name}: {fault.summary()}")
        fault.begin()

    def cure(self) -> None:
        """Let everything be right again."""
        if self.fault is not None:
            self._say(f"{self.fault.name} has ended")
            self.fault.end()
        self.fault = None

    def cure_in_time(self, now: float) -> None:
        """Let everything be right again once the fault has lasted long enough.

        Args:
            now: The device's time [s].
        """
        if now >= self._until:
            self.cure()
