"""One accepted goal: planned in a thread of its own, ended in the executor's."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable

from rclpy.action.server import ServerGoalHandle
from rclpy.task import Future

from irs_planner.node.messages import feedback_message
from irs_planner.node.task import PlanningTask, TaskResult, run_task
from irs_planner.result import IterationReport


class Job:
    """A goal between its acceptance and its end.

    Attributes:
        handle: The goal.
        task: What it asks for.
        planned: Done when the planning thread has ended: its result, or the text of an
            unexpected error.
        ended: Done when the goal has got its result.
        preempted: Whether a newer goal took over.
    """

    def __init__(
        self, handle: ServerGoalHandle, task: PlanningTask, wake: Callable[[], None]
    ) -> None:
        """Start the clock of the time budget.

        Args:
            handle: The goal.
            task: What it asks for.
            wake: Wakes the executor; called from the planning thread.
        """
        self.handle = handle
        self.task = task
        self.planned = Future()
        self.ended = Future()
        self.preempted = False
        self._wake = wake
        self._cancel = threading.Event()
        self._accepted = time.perf_counter()
        self._thread = threading.Thread(target=self._run, name="planning")

    def start(self) -> None:
        """Begin planning."""
        self._thread.start()

    def cancel(self) -> None:
        """Make planning end within an iteration."""
        self._cancel.set()

    def preempt(self) -> None:
        """Make place for a newer goal."""
        self.preempted = True
        self.cancel()

    def join(self) -> None:
        """Wait until the planning thread has ended, if it was ever started."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        outcome: TaskResult | str
        try:
            waited = time.perf_counter() - self._accepted
            outcome = run_task(self.task, self._report, self._cancel, waited)
        except Exception as error:  # whatever it is, the client gets an answer
            traceback.print_exc()
            outcome = f"{type(error).__name__}: {error}"
        self.planned.set_result(outcome)
        self._wake()

    def _report(self, report: IterationReport) -> None:
        self.handle.publish_feedback(feedback_message(report, self.task.problem))
