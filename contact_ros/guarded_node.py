"""A node that nothing that enters can end.

The rule has one place. A node derives from :class:`GuardedNode`, and every subscription, service,
action, timer and parameter callback it makes, itself or through a class of ours, is guarded:

- A message that is too large is rejected before it is taken apart.
- A :class:`ContactStackError` from a callback is a *rejection*: counted, logged now and then, and
  in the node's report; a client gets its text as the answer.
- Anything else that a callback raises is a mistake of ours, not of the sender. It is an *internal
  error*: logged with its traceback once, counted, and the node's report is an ERROR from then on.
- A callback that means to end its node says so: ``raise ending(error)``.

Services and actions are taken apart by rclpy before anybody can look; they are measured right
after. A goal that is rejected has no words for the reason, so one that is refused is accepted,
and aborted at once with the reason in its result, if that has words. Guard conditions are not
guarded: our own threads wake them, nothing comes in there, and
:class:`~contact_ros.loop.ErrorRelay` ends a node by them.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import wraps
from typing import Any

from rcl_interfaces.msg import ParameterType, SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup
from rclpy.executors import await_or_execute
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.service import Service
from rclpy.task import Future

from contact_core.base.errors import ContactStackError
from contact_ros.diagnostics import Health
from contact_ros.stamps import steady_timer
from contact_ros.validation import (
    REJECTED,
    InternalErrors,
    MessageError,
    Rejections,
    check_sizes,
    number,
)

MAX_MESSAGE = 65_536
"""Size above which a message is not taken apart [bytes], unless its reader says otherwise."""

WORDS = frozenset({"message", "error_string", "remedy"})
"""Fields of an answer for the reason of a refusal."""

MAX_ANSWERS = 10
"""Requests of one service that are answered at a time: as many as wait in most queues."""


class _Unattended(CallbackGroup):
    """Subscriptions and services that wake nobody: they are emptied by who polls them."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        pass


class GuardedNode(Node):
    """A node that nothing that enters can end; see the module for the rule.

    Attributes:
        rejections: What was refused, but for what a driver's endpoint counts itself.
        internal_errors: What went wrong in here.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create the node.

        Args:
            args: Of :class:`rclpy.node.Node`.
            kwargs: Of :class:`rclpy.node.Node`.
        """
        # The constructor of rclpy's node makes the first services.
        self.rejections = Rejections(lambda text: self.get_logger().warning(text))
        self.internal_errors = InternalErrors(lambda text: self.get_logger().error(text))
        self._unattended = _Unattended()
        super().__init__(*args, **kwargs)
        # Some services rclpy makes without asking the node.
        for service in self.services:
            if not getattr(service.callback, "guarded", False):
                self.guard(service, service.callback)

    def report(self, health: Health) -> Health:
        """Add rejections and internal errors to this node's report.

        Args:
            health: How the node is otherwise.
        """
        count = health.values.get(REJECTED, 0)
        total = self.rejections.count + (count if isinstance(count, int) else 0)
        health = dataclasses.replace(health, values={**health.values, REJECTED: total})
        return self.internal_errors.report(self.rejections.report(health))

    def contain(self, where: str, error: Exception) -> str:
        """Make a rejection or an internal error of what a callback raised.

        Args:
            where: Topic, service or action whose callback it was.
            error: What it raised.

        Returns:
            The reason, for a client.

        Raises:
            Exception: The error, if it is meant to end the node.
        """
        if "ends_node" in error.__dict__:
            raise error
        if isinstance(error, ContactStackError):
            self.rejections.add(f"{where}: {error}")
            return str(error)
        self.internal_errors.add(where, error)
        return f"internal error, please report it: {self.internal_errors.latest}"

    def create_subscription(
        self,
        msg_type: Any,
        topic: str,
        callback: Callable[[Any], None],
        *args: Any,
        raw: bool = False,
        largest: int = MAX_MESSAGE,
        **kwargs: Any,
    ) -> Any:
        """Subscribe; see :class:`rclpy.node.Node`.

        Args:
            msg_type: Type of the messages.
            topic: The topic.
            callback: Takes a message.
            args: Of :class:`rclpy.node.Node`.
            raw: Whether the callback takes the serialised message.
            largest: Larger messages are rejected [bytes].
            kwargs: Of :class:`rclpy.node.Node`.
        """

        def receive(data: bytes) -> None:
            try:
                if len(data) > largest:
                    raise MessageError(f"{len(data)} bytes (valid: at most {largest})")
                callback(data if raw else _deserialized(data, msg_type))
            except Exception as error:
                self.contain(topic, error)

        return super().create_subscription(
            msg_type, topic, _marked(receive), *args, raw=True, **kwargs
        )

    def leave_waiting(self, *entities: Any) -> None:
        """Let messages wait until :meth:`take`, and requests until :meth:`answer`.

        They wake the node no more, and may be handled in another thread than the executor's.

        Args:
            entities: Subscriptions and services of this node.
        """
        for each in entities:
            # Events share a condition with messages: they would wake the node for nothing.
            for entity in (each, *getattr(each, "event_handlers", ())):
                entity.callback_group = self._unattended
        if self.executor is not None:
            self.executor.wake()

    def wait_for(self, seconds: float, *subscriptions: Any) -> None:
        """Wait until one of them has a message; may be called from any thread.

        An executor looks at everything a node has before each message, which takes longer than to
        handle most of them.

        Args:
            seconds: At most.
            subscriptions: That were left waiting.
        """
        with ExitStack() as stack:
            handles = [subscription.handle for subscription in subscriptions]
            for handle in handles:
                stack.enter_context(handle)
            context: Any = self.context.handle
            stack.enter_context(context)
            wait_set = rclpy_implementation.WaitSet(len(handles), 0, 0, 0, 0, 0, context)
            wait_set.clear_entities()
            for handle in handles:
                wait_set.add_subscription(handle)
            wait_set.wait(round(seconds * 1e9))

    def take(self, *subscriptions: Any) -> int:
        """Handle the messages that wait; may be called from any thread.

        Args:
            subscriptions: That were left waiting.

        Returns:
            When the last of them was sent, by the system clock of its sender [ns]; 0 for none.
        """
        sent = 0
        for subscription in subscriptions:
            with subscription.handle:
                while taken := subscription.handle.take_message(
                    subscription.msg_type, subscription.raw
                ):
                    message, information = taken
                    subscription.callback(message)
                    sent = information["source_timestamp"]
        return sent

    def answer(self, *services: Any) -> None:
        """Answer the requests that wait; may be called from any thread.

        Args:
            services: That were left waiting; their callbacks are no coroutines.
        """
        for service in services:
            try:
                with service.handle:
                    for _ in range(MAX_ANSWERS):
                        request, header = service.handle.service_take_request(
                            service.srv_type.Request
                        )
                        if header is None:
                            break
                        response = service.callback(request, service.srv_type.Response())
                        service.send_response(response, header)
            except Exception as error:
                self.contain(service.srv_name, error)

    def poll(
        self, rate: float, *subscriptions: Any, then: Callable[[], None] = lambda: None
    ) -> None:
        """Look at subscriptions at a rate of the node's own.

        A listener that shows 30 pictures a second has no use for 200 messages.

        Args:
            rate: How often [Hz].
            subscriptions: Of this node; what is still in their queues is handled then.
            then: Called after each look.
        """

        def look() -> None:
            self.take(*subscriptions)
            then()

        self.leave_waiting(*subscriptions)
        steady_timer(self, 1.0 / rate, look)

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Offer a service; see :class:`rclpy.node.Node`.

        A callback that is a coroutine answers later. Meanwhile the node does everything else; in
        the node's own group it would keep all other callbacks waiting, also those that it waits
        for. Only further requests of the same service wait, unless ``callback_group`` says
        otherwise.
        """
        if inspect.iscoroutinefunction(callback):
            kwargs.setdefault("callback_group", MutuallyExclusiveCallbackGroup())
        return super().create_service(
            srv_type, srv_name, self._guarded_service(srv_name, callback), *args, **kwargs
        )

    def guard(self, service: Service, callback: Callable[..., Any]) -> None:
        """Give a service another callback, guarded.

        Args:
            service: The service; it looks its callback up at every call.
            callback: The callback.
        """
        service.callback = self._guarded_service(service.srv_name, callback)

    def create_timer(
        self, timer_period_sec: float, callback: Callable[[], None], *args: Any, **kwargs: Any
    ) -> Any:
        """Create a timer; see :class:`rclpy.node.Node`."""

        def tick() -> None:
            try:
                callback()
            except Exception as error:
                self.contain("timer", error)

        return super().create_timer(timer_period_sec, _marked(tick), *args, **kwargs)

    def add_on_set_parameters_callback(self, callback: Callable[..., SetParametersResult]) -> None:
        """Add a callback that judges new values; see :class:`rclpy.node.Node`."""

        @wraps(callback)
        def judge(parameters: list[Any]) -> SetParametersResult:
            try:
                return callback(parameters)
            except Exception as error:
                reason = self.contain("parameters", error)
                return SetParametersResult(successful=False, reason=reason)

        super().add_on_set_parameters_callback(_marked(judge))

    def add_waitable(self, waitable: Any) -> None:
        """Add a waitable; the callbacks of an action server are guarded."""
        if isinstance(waitable, ActionServer):
            self._guard_action(waitable)
        super().add_waitable(waitable)

    def _guarded_service(self, name: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(callback):

            @wraps(callback)
            async def serve_later(request: Any, response: Any) -> Any:
                try:
                    _check_request(request)
                    return await callback(request, response)
                except Exception as error:
                    return _refusal(request, type(response)(), self.contain(name, error))

            return _marked(serve_later)

        @wraps(callback)
        def serve(request: Any, response: Any) -> Any:
            try:
                _check_request(request)
                return callback(request, response)
            except Exception as error:
                return _refusal(request, type(response)(), self.contain(name, error))

        return _marked(serve)

    def _guard_action(self, server: ActionServer) -> None:
        name = server.action_type.__name__
        goal_callback, cancel_callback = server._goal_callback, server._cancel_callback
        accepted_callback, execute_callback = (
            server._handle_accepted_callback,
            server._execute_callback,
        )

        explains = not WORDS.isdisjoint(server.action_type.Result.get_fields_and_field_types())
        # Reasons to refuse goals that are accepted to be aborted, by identity.
        refused: dict[int, str] = {}

        async def take(goal: Any) -> GoalResponse:
            refused.pop(id(goal), None)
            try:
                check_sizes(goal)
                return await await_or_execute(goal_callback, goal)
            except Exception as error:
                reason = self.contain(name, error)
                if not explains:
                    return GoalResponse.REJECT
                refused[id(goal)] = reason
                return GoalResponse.ACCEPT

        async def cancel(handle: ServerGoalHandle) -> CancelResponse:
            try:
                return await await_or_execute(cancel_callback, handle)
            except Exception as error:
                self.contain(name, error)
                return CancelResponse.REJECT

        async def accept(handle: ServerGoalHandle) -> None:
            if id(handle.request) in refused:
                handle.execute()
                return
            try:
                await await_or_execute(accepted_callback, handle)
            except Exception as error:
                self.contain(name, error)

        async def execute(handle: ServerGoalHandle) -> Any:
            try:
                reason = refused.pop(id(handle.request), "")
                if not reason:
                    return await await_or_execute(execute_callback, handle)
            except Exception as error:
                reason = self.contain(name, error)
            finally:
                # rclpy keeps it as long as the result, which is for minutes.
                handle._goal_request = server.action_type.Goal()
            if handle.is_active:
                handle.abort()
            return _refusal(handle.request, server.action_type.Result(), reason)

        server.register_goal_callback(_marked(take))
        server.register_cancel_callback(_marked(cancel))
        server.register_handle_accepted_callback(_marked(accept))
        server.register_execute_callback(_marked(execute))


def waking_future(node: Node) -> Future:
    """Return a future for a coroutine to await whose result wakes the node's executor.

    rclpy resumes coroutines when something wakes the executor, and a result does not.

    Args:
        node: The node whose callback awaits it; the result may come from any thread.
    """

    def wake(future: Future) -> None:
        if node.executor is not None:
            node.executor.wake()

    future = Future()
    future.add_done_callback(wake)
    return future


class PolledActionServer(ActionServer):
    """An action server whose cancel requests wait until they are taken, past the executor."""

    _is_goal_request_ready: bool  # rclpy's own, of no type that is told

    def is_ready(self, wait_set: Any) -> bool:
        """Say whether anything else has come; see :class:`rclpy.waitable.Waitable`."""
        super().is_ready(wait_set)
        self._is_cancel_request_ready = False
        ready = self._is_goal_request_ready, self._is_result_request_ready, self._is_goal_expired
        return any(ready)

    def take_data(self) -> dict[str, Any]:
        """Take what has come; see :class:`rclpy.waitable.Waitable`.

        To take a large goal apart takes many periods, in which rclpy would hold the lock that
        cancels need. Goals come by a service of their own, and the interpreter's lock guards the
        rest.
        """
        data: dict[str, Any] = {}
        if self._is_goal_request_ready:
            self._is_goal_request_ready = False
            taken = self._handle.take_goal_request(self._action_type.Impl.SendGoalService.Request)
            if all(taken):
                data["goal"] = taken
        return {**data, **super().take_data()}

    def take_cancels(self) -> None:
        """Handle the cancel requests that wait; may be called from any thread.

        The cancel callback must not wait for anything.
        """
        for _ in range(MAX_ANSWERS):
            with self._lock:
                taken = self._handle.take_cancel_request(
                    self._action_type.Impl.CancelGoalService.Request
                )
            if not all(taken):
                return
            with suppress(StopIteration):
                self._execute_cancel_request(taken).send(None)


def _marked(callback: Callable[..., Any]) -> Any:
    """Mark a callback as guarded, which a test looks for."""
    callback.__dict__["guarded"] = True
    return callback


def _deserialized(data: bytes, message_type: Any) -> Any:
    try:
        return deserialize_message(data, message_type)
    except rclpy_implementation.RMWError as error:
        raise MessageError(f"{len(data)} bytes that are no {message_type.__name__}") from error


def _check_request(request: Any) -> None:
    check_sizes(request)
    if isinstance(request, SetParameters.Request | SetParametersAtomically.Request):
        for item in request.parameters:
            if not item.name:
                # rclpy takes them for declared, and publishes what they are set to.
                raise MessageError("a parameter without a name")
            # rclpy raises in the midst of setting them.
            number(
                item.value.type,
                f"type of parameter '{item.name}'",
                ParameterType.PARAMETER_NOT_SET,
                ParameterType.PARAMETER_STRING_ARRAY,
            )


def _refusal(request: Any, answer: Any, reason: str) -> Any:
    """Fill a response or a result that says no, as far as its type has words for it."""
    fields = answer.get_fields_and_field_types()
    said: dict[str, Any] = {"success": False, "status_name": "INVALID_GOAL"}
    said |= dict.fromkeys(WORDS, reason)
    for name, value in said.items():
        if name in fields:
            setattr(answer, name, value)
    for name in ("error_code", "status"):
        if name in fields and hasattr(answer, "INVALID_GOAL"):
            setattr(answer, name, answer.INVALID_GOAL)
    result = SetParametersResult(successful=False, reason=reason)
    if isinstance(answer, SetParameters.Response):
        answer.results = [result for _ in request.parameters]
    elif isinstance(answer, SetParametersAtomically.Response):
        answer.result = result
    return answer
