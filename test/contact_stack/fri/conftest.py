"""Fixtures of the tests of FRI."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import pytest


@pytest.fixture
def damaged() -> Callable[[bytes, random.Random], bytes]:
    """Return what damages a datagram."""
    return _damaged


def _damaged(data: bytes, chance: random.Random) -> bytes:
    """Return a datagram as something on the way might leave it."""
    kind = chance.randrange(6)
    changed = bytearray(data)
    if kind == 0:
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    elif kind == 1:
        del changed[chance.randrange(len(changed)) :]
    elif kind == 2:
        start = chance.randrange(len(changed))
        changed[start : start + chance.randrange(20)] = chance.randbytes(chance.randrange(20))
    elif kind == 3:
        changed = bytearray(chance.randbytes(chance.randrange(600)))
    elif kind == 4:
        start = chance.randrange(len(changed))
        changed += changed[start : start + 100]
    else:
        place = chance.randrange(max(1, len(changed) - 8))
        wild = chance.choice([float("nan"), float("inf"), -1e308, 1e-320, 100.0])
        changed[place : place + 8] = struct.pack("<d", wild)
    return bytes(changed)
