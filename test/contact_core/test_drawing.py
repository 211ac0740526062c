"""Viser neither greets nor takes leave, in a terminal as in a notebook."""

from __future__ import annotations

import rich
import viser

from contact_core.drawing import silence


def test_viser_is_silent_and_others_are_heard_again(capsys):
    with silence():
        server = viser.ViserServer("127.0.0.1", 8470, verbose=True)
    with silence():
        server.stop()
    assert capsys.readouterr().out == ""
    rich.print("heard")
    assert capsys.readouterr().out == "heard\n"
