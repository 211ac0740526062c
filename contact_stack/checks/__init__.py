"""Checks of this machine, which ``contact-stack doctor`` runs, and what a check is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

SET_UP = "run `make setup`"
"""The remedy of most of them."""


class CheckStatus(Enum):
    """How a check ended."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What.
        status: FAIL if the stack cannot run without it, WARN if something will be missing.
        detail: What was found.
        remedy: What to do about it; empty if nothing is to be done.
    """

    name: str
    status: CheckStatus
    detail: str
    remedy: str = ""

    @staticmethod
    def ok(name: str, detail: str) -> Check:
        """Return one that found nothing wrong."""
        return Check(name, CheckStatus.OK, detail)

    @staticmethod
    def warn(name: str, detail: str, remedy: str) -> Check:
        """Return one that found what somebody will miss."""
        return Check(name, CheckStatus.WARN, detail, remedy)

    @staticmethod
    def fail(name: str, detail: str, remedy: str) -> Check:
        """Return one that found what keeps the stack from running."""
        return Check(name, CheckStatus.FAIL, detail, remedy)

    def __str__(self) -> str:
        """Show it to a person: one line, and a second one if there is a remedy."""
        line = f"{self.status.value:4}  {self.name}: {self.detail}"
        return f"{line}\n      -> {self.remedy}" if self.remedy else line
