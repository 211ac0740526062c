"""Errors of other threads are raised where the callbacks run."""

from __future__ import annotations

import threading

import pytest

from contact_ros.error_relay import ErrorRelay

pytestmark = pytest.mark.graph


@pytest.mark.parametrize("spinning", [True, False])
def test_an_error_of_another_thread_is_raised_in_the_executor(graph, spinning: bool) -> None:
    """Also if the thread fails before the executor runs."""
    relay = ErrorRelay(graph.node("node"))
    error = ZeroDivisionError("in the loop")
    thread = threading.Timer(0.2 if spinning else 0.0, relay, [error])
    thread.start()
    if not spinning:
        thread.join()
    with pytest.raises(ZeroDivisionError, match="in the loop"):
        graph.spin_until(lambda: False)
    thread.join()
