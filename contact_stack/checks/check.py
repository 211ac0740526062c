"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
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
    status: Status
    detail: str
    remedy: str = ""


SET_UP = "run `make setup`"
