"""Signals that wait for the end of a block."""

from __future__ import annotations

import signal

import pytest

from contact_core.base.signals import deferred


def test_signal_is_seen_in_the_block_and_delivered_after_it() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), deferred() as arrived:
        assert arrived == []
        signal.raise_signal(signal.SIGINT)
        reached = arrived == [signal.SIGINT]
    assert reached


def test_handlers_are_restored() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with deferred():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
