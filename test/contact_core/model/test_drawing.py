"""Viser is silent, and whoever draws is not disturbed by those who leave."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest
import rich
import viser

from contact_core.model.drawing import silence


class Leaving:
    """What a client waits by; to another thread it seems to wait, and then is gone."""

    def done(self) -> bool:
        return asyncio._get_running_loop() is not None

    def set_result(self, _: bool) -> None:
        raise asyncio.InvalidStateError


@pytest.fixture
def server():
    with silence():
        server = viser.ViserServer("127.0.0.1", 8470, verbose=False)
    yield server
    with silence():
        server.stop()


def test_viser_is_silent_and_others_are_heard_again(capsys):
    with silence():
        server = viser.ViserServer("127.0.0.1", 8470, verbose=True)
    with silence():
        server.stop()
    assert capsys.readouterr().out == ""
    rich.print("heard")
    assert capsys.readouterr().out == "heard\n"


def test_a_client_that_leaves_does_not_disturb_who_draws(server, capfd):
    slider = server.gui.add_slider("time", 0.0, 1.0, 0.1, 0.0)
    event = server._websock_server._broadcast_buffer.message_event
    event.clear()
    event._waiters.append(Leaving())
    slider.value = 0.5
    end = monotonic() + 30.0
    while not event.is_set():
        assert monotonic() < end
