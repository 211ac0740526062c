"""Goals between their acceptance and their start: checked one after the other, beside the loop.

To check a long goal takes many periods. Meanwhile the executor goes on, and whatever makes the arm
stop ends the goal as well: nothing that was asked for before a stop begins after it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future

from contact_aware_control.node.trajectory_goals import ActionGoal
from contact_aware_control.reference.base import LetTickRun
from contact_core.base.errors import TrajectoryError
from contact_ros.real_time import keep_up_with_main_thread

MAX_WAITING = 10
"""Goals that are checked or wait for it at a time; more are refused."""

Work = Callable[[LetTickRun], ActionGoal]
"""Translates and checks a goal; it calls its argument often."""


class CanceledError(TrajectoryError):
    """A goal was canceled before it began.

    Send it again if it is wanted after all.
    """


class WaitingGoal:
    """A goal that has not begun.

    Attributes:
        handle: The action's.
        checked: Done when it may begin, or has to be refused.
    """

    def __init__(self, handle: ServerGoalHandle, ready: bool) -> None:
        """Begin.

        Args:
            handle: The action's.
            ready: Whether the arm would move now.
        """
        self.handle = handle
        self.checked = Future()
        self._ready = ready
        self._refusal: TrajectoryError | None = None
        self._lock = threading.Lock()

    def update(self, obstacle: str) -> None:
        """Refuse the goal if it was canceled, or the arm would not move any more.

        Args:
            obstacle: Why it would not; empty if it would.
        """
        if self.handle.is_cancel_requested:
            self._refuse(CanceledError("canceled before it began"))
        elif obstacle and self._ready:
            self._refuse(TrajectoryError(f"the arm would not move: {obstacle}"))

    def demand(self) -> None:
        """Raise why it was refused, if it was.

        Raises:
            TrajectoryError: If it was.
        """
        if self._refusal is not None:
            raise self._refusal

    def run(self, work: Work, let_tick_run: LetTickRun) -> None:
        """Check it.

        Args:
            work: What to do.
            let_tick_run: Lets a tick of the loop go first.
        """

        def pause() -> None:
            self.demand()
            let_tick_run()

        try:
            self.demand()
            goal = work(pause)
        except Exception as error:
            self._end(self.checked.set_exception, error)
        else:
            self._end(self.checked.set_result, goal)

    def _refuse(self, error: TrajectoryError) -> None:
        if self._refusal is None:
            self._refusal = error
            self._end(self.checked.set_exception, error)

    def _end(self, end: Callable[[Any], None], how: Any) -> None:
        with self._lock:
            if not self.checked.done():
                end(how)


class GoalChecks:
    """Knows the goals that have not begun, and checks them one after the other."""

    def __init__(self, node: Node, let_tick_run: LetTickRun, beside: bool) -> None:
        """Begin with none.

        Args:
            node: Its executor is woken when a goal has been checked.
            let_tick_run: Lets a tick of the loop go first.
            beside: Whether in a thread of its own; False where a run has to be reproducible.
        """
        self._let_tick_run = let_tick_run
        self._waiting: tuple[WaitingGoal, ...] = ()
        self._wake = node.create_guard_condition(lambda: None)
        self._work: SimpleQueue[tuple[WaitingGoal, Work] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        if beside:
            self._thread = threading.Thread(target=self._run, name="goal checks", daemon=True)
            self._thread.start()

    def begin(self, handle: ServerGoalHandle, work: Work, ready: bool) -> WaitingGoal:
        """Check a goal, at once or when its turn has come; in the executor's thread.

        Args:
            handle: The action's.
            work: Translates and checks it.
            ready: Whether the arm would move now.

        Returns:
            The goal; :meth:`end` has to follow.

        Raises:
            TrajectoryError: If too many are waiting.
        """
        if len(self._waiting) >= MAX_WAITING:
            raise TrajectoryError(
                f"{len(self._waiting)} goals are being checked (valid: at most {MAX_WAITING}); "
                "wait for their results"
            )
        goal = WaitingGoal(handle, ready)
        self._waiting = (*self._waiting, goal)
        if self._thread is None:
            goal.run(work, self._let_tick_run)
        else:
            self._work.put((goal, work))
        return goal

    def end(self, goal: WaitingGoal) -> None:
        """Forget a goal that has begun or was refused; in the executor's thread.

        Args:
            goal: The goal.
        """
        self._waiting = tuple(other for other in self._waiting if other is not goal)

    @property
    def canceled(self) -> bool:
        """Whether one of them is to be canceled."""
        return any(goal.handle.is_cancel_requested for goal in self._waiting)

    def update(self, obstacle: Callable[[], str]) -> None:
        """Refuse what was canceled, or all if the arm would not move any more; every tick.

        Args:
            obstacle: Says why it would not; empty if it would.
        """
        if not self._waiting:
            return
        reason = obstacle()
        for goal in self._waiting:
            goal.update(reason)
            if goal.checked.done():
                self._wake.trigger()

    def close(self) -> None:
        """End the thread, after the check it is at."""
        if self._thread is not None:
            for goal in self._waiting:
                goal.update("the controller ends")
            self._work.put(None)
            self._thread.join()

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            keep_up_with_main_thread()
            goal, work = item
            goal.run(work, self._let_tick_run)
            self._wake.trigger()
