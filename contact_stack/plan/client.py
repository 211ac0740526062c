"""Planning by the action ``plan_through_contact``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import rclpy
from contact_stack_msgs.action import PlanThroughContact
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from contact_core.errors import CommunicationError, ConfigError
from contact_ros.stamps import NANOSECONDS, to_duration
from contact_stack.plan.request import OnIteration, PlanOutcome, PlanRequest

ACTION = "plan_through_contact"
WAIT_FOR_SERVER = 10.0
WAIT_FOR_ANSWER = 10.0
"""How long the server may take to appear, and to react to a message [s]."""


def plan_remotely(
    request: PlanRequest, state_size: int, namespace: str, on_iteration: OnIteration
) -> PlanOutcome:
    """Send a goal to the planner's node and wait for its end; Ctrl-C cancels it.

    Args:
        request: What to plan.
        state_size: Number of states of the example.
        namespace: Namespace of the robot.
        on_iteration: Called after every iteration.

    Returns:
        How it went.

    Raises:
        CommunicationError: If there is no server, or it stops answering.
        ConfigError: If the server refuses the goal.
    """
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        client = _Client(namespace)
        try:
            result = client.plan(to_goal(request), on_iteration)
        finally:
            client.close()
    finally:
        rclpy.try_shutdown()
    if result.status == result.INVALID_GOAL:
        raise ConfigError(f"the planner refused the goal: {result.remedy}")
    states = np.array(result.states).reshape(-1, state_size)
    return PlanOutcome(
        result.status_name,
        result.remedy,
        result.status <= result.ITERATIONS_REACHED,
        states,
        np.array(result.inputs).reshape(max(len(states) - 1, 0), -1 if len(states) > 1 else 0),
        tuple(result.cost_history),
        result.best_cost,
        result.iterations_done,
        result.elapsed,
    )


def to_goal(request: PlanRequest) -> Any:
    """Return the goal of a request.

    Args:
        request: The request.
    """
    return PlanThroughContact.Goal(
        example=request.example,
        goal_state=request.goal_state,
        mode=request.mode,
        samples=request.samples,
        iterations=request.iterations,
        seed=request.seed,
        time_budget=to_duration(round(request.time_budget * NANOSECONDS)),
    )


class _Client:
    """A node with one action client."""

    def __init__(self, namespace: str) -> None:
        self._node = rclpy.create_node("plan", namespace=namespace)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._client = ActionClient(self._node, PlanThroughContact, ACTION)

    def plan(self, goal: Any, on_iteration: OnIteration) -> Any:
        """Send a goal and return its result."""
        if not self._wait(self._client.server_is_ready, WAIT_FOR_SERVER):
            raise CommunicationError(
                f"nobody serves {self._node.resolve_service_name(ACTION)}: start it with "
                "'contact-stack launch planners', or plan in this process with --local"
            )

        def feedback(message: Any) -> None:
            step = message.feedback
            on_iteration(step.iteration, step.cost, step.best_cost)

        handle = self._answer(self._client.send_goal_async(goal, feedback))
        if not handle.accepted:
            raise CommunicationError("the planner does not take goals now: try again")
        future = handle.get_result_async()
        try:
            while not self._wait(future.done, WAIT_FOR_ANSWER):
                if not self._client.server_is_ready():
                    raise CommunicationError("the planner has ended before the plan was ready")
        except KeyboardInterrupt:
            self._answer(handle.cancel_goal_async())
            return self._answer(future).result
        return future.result().result

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._client.destroy()
        self._node.destroy_node()

    def _answer(self, future: Future) -> Any:
        if not self._wait(future.done, WAIT_FOR_ANSWER):
            raise CommunicationError(
                f"the planner has not answered within {WAIT_FOR_ANSWER:g} s: is it still alive?"
            )
        return future.result()

    def _wait(self, condition: Callable[[], bool], timeout: float) -> bool:
        end = time.monotonic() + timeout
        while not condition() and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.1)
        return condition()
