"""What is said of a wait: nothing of a short one, what and how long of a long one."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from tqdm import tqdm

from contact_core.base import waiting
from contact_core.base.waiting import until_interrupted, waiting_for


def test_a_short_wait_is_not_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting_for("look"):
        pass
    assert capsys.readouterr().err.strip() == ""


def test_a_long_wait_says_what_and_how_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LONG", 0.0)
    with waiting_for("look for it"):
        time.sleep(2.5)
    assert "look for it: 00:0" in capsys.readouterr().err


def test_what_goes_wrong_meanwhile_is_passed_on() -> None:
    with pytest.raises(ValueError, match="so"), waiting_for("look"):
        raise ValueError("so")


@pytest.fixture
def signals_interrupt() -> Iterator[None]:
    """Make signals raise, whatever tests before have left of them."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt(number)

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _work(signals: list[int]) -> Callable[[Callable[[], bool]], int]:
    """Return what sends itself signals, each once it was told of the one before."""

    def work(cancelled: Callable[[], bool]) -> int:
        time.sleep(0.2)  # until somebody waits
        for number in signals:
            signal.raise_signal(number)
            while not cancelled():
                time.sleep(0.01)
        return len(signals)

    return work


@pytest.mark.usefixtures("signals_interrupt")
def test_who_is_interrupted_ends_with_what_it_has() -> None:
    assert until_interrupted(_work([])) == (0, None)
    result, interrupt = until_interrupted(_work([signal.SIGINT]))
    assert result == 1
    assert isinstance(interrupt, KeyboardInterrupt)


@pytest.mark.usefixtures("signals_interrupt")
@pytest.mark.parametrize("signals", [[signal.SIGINT, signal.SIGINT], [signal.SIGTERM]])
def test_who_is_interrupted_twice_or_terminated_has_no_result(signals: list[int]) -> None:
    with pytest.raises(KeyboardInterrupt):
        until_interrupted(_work(signals))


def test_it_ends_where_somebody_was_interrupted_while_drawing_a_bar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "LONG", 0.0)

    def tidy() -> None:
        tqdm.get_lock().acquire()  # as the interrupted bar has left it
        try:
            with waiting_for("tidy"):
                time.sleep(1.5)
        finally:
            tqdm.get_lock().release()

    tidying = threading.Thread(target=tidy, daemon=True)
    tidying.start()
    tidying.join(5.0)
    assert not tidying.is_alive()
