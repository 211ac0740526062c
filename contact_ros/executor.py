"""The executor that runs a guarded node: it contains errors, and costs little for each message.

rclpy gathers all that a node has before each wait, and makes a task of each callback, which takes
longer than to handle most messages. Here what is waited for is gathered when it changes, and
messages go straight to their callbacks. All else that comes is rclpy's to handle: services,
actions, timers, guard conditions and coroutines.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from rclpy.event_handler import EventHandler
from rclpy.executors import (
    ConditionReachedException,
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
    TimeoutException,
)
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.waitable import NumberOfEntities

from contact_ros.guarded_node import GuardedNode

EVENTS_PERIOD = 1.0
"""Between two looks at the middleware's events [s]."""

ADDITIONS = {
    "subscriptions": "add_subscription",
    "guards": "add_guard_condition",
    "timers": "add_timer",
    "clients": "add_client",
    "services": "add_service",
}
"""Kinds of entities of a node, in the order of a wait set's constructor -> what adds one to it."""


class GuardedExecutor(SingleThreadedExecutor):
    """Runs a guarded node: contains what rclpy raises around its callbacks.

    That is what is malformed already when it is taken from the middleware, answers that cannot be
    sent, and callbacks of futures.

    What the middleware says of partners that do not fit is heard once a second: to wait for all of
    these events, two an entity, would take a fifth of what a node does in a tick.
    """

    _tasks: list[Any]  # rclpy's own, of no type that is told

    def __init__(self, *, context: Any = None) -> None:
        """Create the executor, see :class:`rclpy.executors.SingleThreadedExecutor`."""
        super().__init__(context=context)
        self._next_events = 0.0
        self._takes_events = False
        self._kept: _KeptWaitSet | None = None
        # Whether rclpy has something to handle.
        self._rest = False

    def can_execute(self, entity: Any) -> bool:
        """Tell whether to wait for something."""
        if isinstance(entity, EventHandler) and not self._takes_events:
            return False
        waits: bool = super().can_execute(entity)
        return waits

    def remove_node(self, node: Any) -> None:
        """Take a node away, see :class:`rclpy.executors.Executor`."""
        self._let_go()
        super().remove_node(node)

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """End, see :class:`rclpy.executors.Executor`."""
        self._let_go()
        return bool(super().shutdown(timeout_sec))

    def _wait_for_ready_callbacks(self, *args: Any, **kwargs: Any) -> Any:
        now = time.monotonic()
        self._takes_events = now >= self._next_events
        if self._takes_events:
            self._next_events = now + EVENTS_PERIOD
        yield from super()._wait_for_ready_callbacks(*args, **kwargs)

    def _spin_once_impl(
        self, timeout_sec: Any = None, wait_condition: Callable[[], bool] = lambda: False
    ) -> None:
        if not self._rest:
            self._resume_coroutines()
            timeout = getattr(timeout_sec, "timeout", timeout_sec)
            due = time.monotonic() >= self._next_events
            self._rest = due or self._hear(timeout)
        if self._rest:
            self._rest = self._handle_rest(wait_condition)

    def _resume_coroutines(self) -> None:
        """Let callbacks that await something look whether it has come, as rclpy does."""
        if self._tasks:
            with self._tasks_lock:
                self._tasks = [item for item in self._tasks if not item[0].done()]
                unfinished = list(self._tasks)
            for task, entity, _ in unfinished:
                self._run(task, entity)

    def _hear(self, timeout: float | None) -> bool:
        """Wait, and hand out the messages that have come; return whether anything else is ready."""
        if self._kept is None:
            self._kept = _KeptWaitSet(self)
        messages, changed, rest = self._kept.wait(timeout)
        if changed:
            self._let_go()
        for subscription in messages:
            self._receive(subscription)
        return rest

    def _receive(self, subscription: Any) -> None:
        if not self.can_execute(subscription):
            return
        execute = self._take_subscription(subscription)
        if execute is not None:
            try:
                with suppress(StopIteration):
                    execute().send(None)
            except Exception as error:
                self._contain(error)

    def _handle_rest(self, condition: Callable[[], bool]) -> bool:
        """Let rclpy handle one thing that is ready; return whether there was any."""
        try:
            handler, entity, _ = self.wait_for_ready_callbacks(0.0, None, condition)
        except (ShutdownException, TimeoutException, ConditionReachedException):
            return False
        self._run(handler, entity)
        return True

    def _run(self, task: Any, entity: Any) -> None:
        task()
        error = task.exception()
        if error is None:
            return
        if isinstance(entity, GuardCondition):
            raise error
        self._contain(error)

    def _let_go(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _contain(self, error: Exception) -> None:
        guarded = [node for node in self.get_nodes() if isinstance(node, GuardedNode)]
        if not guarded or not isinstance(error, Exception):
            raise error
        guarded[0].contain("executor", error)

    def _taken(self, take: Callable[[Any], Any], entity: Any) -> Any:
        # An error in here would leave the entity, and all others of its group, out for ever.
        try:
            return take(entity)
        except Exception as error:
            self._contain(error)
            return None

    def _take_subscription(self, sub: Any) -> Any:
        return self._taken(super()._take_subscription, sub)

    def _take_service(self, srv: Any) -> Any:
        return self._taken(super()._take_service, srv)

    def _take_client(self, client: Any) -> Any:
        return self._taken(super()._take_client, client)

    def _take_waitable(self, waitable: Any) -> Any:
        return self._taken(super()._take_waitable, waitable)


class _KeptWaitSet:
    """What an executor waits for, gathered once; rclpy wakes the executor where it changes."""

    def __init__(self, executor: GuardedExecutor) -> None:
        # A handle that is in use outlives the destruction of its entity.
        self._used = ExitStack()
        self._context, self._wake = executor.context, executor._guard
        executor._takes_events = False
        self._entities: dict[str, list[Any]] = {
            kind: [
                entity
                for node in executor.get_nodes()
                for entity in getattr(node, kind)
                if executor.can_execute(entity) and self._use(entity.handle)
            ]
            for kind in ADDITIONS
        }
        self._heard = {each.handle.pointer: each for each in self._entities["subscriptions"]}
        self._entities["guards"] += [executor._guard, executor._sigint_gc]
        self._waitables = [
            waitable
            for node in executor.get_nodes()
            for waitable in node.waitables
            if executor.can_execute(waitable) and self._use(waitable)
        ]
        count = NumberOfEntities(*(len(self._entities[kind]) for kind in ADDITIONS))
        for waitable in self._waitables:
            count += waitable.get_num_entities()
        self._used.enter_context(self._context.handle)
        self._set = rclpy_implementation.WaitSet(
            count.num_subscriptions,
            count.num_guard_conditions,
            count.num_timers,
            count.num_clients,
            count.num_services,
            count.num_events,
            self._context.handle,
        )
        self._additions = [
            (getattr(self._set, add), entity.handle)
            for kind, add in ADDITIONS.items()
            for entity in self._entities[kind]
        ]

    def _use(self, handle: Any) -> bool:
        with suppress(rclpy_implementation.InvalidHandle):
            self._used.enter_context(handle)
            return True
        return False

    def wait(self, timeout: float | None) -> tuple[list[Any], bool, bool]:
        """Wait for something.

        Args:
            timeout: At most [s]; None for ever.

        Returns:
            The subscriptions with messages, whether what is waited for has changed, and whether
            anything else is ready.

        Raises:
            ExternalShutdownException: If the context was shut down meanwhile.
        """
        self._set.clear_entities()
        for add, handle in self._additions:
            add(handle)
        for waitable in self._waitables:
            waitable.add_to_wait_set(self._set)
        self._set.wait(-1 if timeout is None or timeout < 0.0 else round(1e9 * timeout))
        if not self._context.ok():
            raise ExternalShutdownException
        ready = self._set.get_ready_entities
        heard, woken = ready("subscription"), set(ready("guard_condition"))
        messages = [self._heard[pointer] for pointer in heard if pointer in self._heard]
        for guard in self._entities["guards"] if woken else ():
            # A wait resets it; rclpy handles it later.
            if guard.handle.pointer in woken:
                guard._executor_triggered = True
        changed = self._wake.handle.pointer in woken
        rest = bool(woken) or len(messages) < len(heard)
        rest = rest or any(ready(kind) for kind in ("timer", "client", "service"))
        return messages, changed, rest

    def close(self) -> None:
        """Let go of the handles."""
        self._used.close()
