"""What the page asks, on the topics, services and actions that everybody else uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import numpy as np
import pinocchio as pin
from contact_stack_msgs.action import MoveObjects
from contact_stack_msgs.msg import Pull
from contact_stack_msgs.srv import Pause, Reset, Step
from control_msgs.action import ParallelGripperCommand
from geometry_msgs.msg import Point, PoseStamped
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.publisher import Publisher
from rclpy.qos import qos_profile_parameter_events
from rclpy.task import Future
from std_srvs.srv import Trigger

from contact_ros.geometry import to_pose
from contact_ros.identity import CONTROLLER
from contact_ros.stamps import steady_timer
from contact_stack.viewer.controls import ARM, ArmSettings, Grip
from contact_stack.viewer.objects import Place

SIMULATOR = "tamsi_sim"
SETTINGS = ("controller", "force.limit", "collaborative")
"""Parameters of the controller that are chosen on the page, or told there."""
ASKING = 1.0
"""Between two questions for them, while nobody answers [s]."""
RATE = 30.0
"""How often pulls and goals of the tool are sent [Hz]."""
GRIP_EFFORT = 20.0
"""Of a finger that closes [N]."""
P = ParamSpec("P")


def by_the_node(
    command: Callable[Concatenate[GraphCommands, P], None],
) -> Callable[Concatenate[GraphCommands, P], None]:
    """Leave a command to the executor of the node, for the page's server has threads of its own."""

    @wraps(command)
    def hand_over(self: GraphCommands, *args: P.args, **kwargs: P.kwargs) -> None:
        executor = self._node.executor
        if executor is not None:  # none is left at the end
            executor.create_task(command, self, *args, **kwargs)

    return hand_over


class GraphCommands:
    """Commands of the page, sent by its node in the order they come.

    Attributes:
        progress: How far the object is that is brought to its place, see :class:`ObjectCommands`.
        settings: As the graph has them, see :class:`Commands`.
        actual: The same with what was set here, which the controls show by themselves.
    """

    def __init__(
        self, node: Node, scene: str, base: str, widest: float, say: Callable[[str], None]
    ) -> None:
        """Connect to the graph; whoever is asked may come later.

        Args:
            node: The page's node.
            scene: What is simulated.
            base: Name of the arm's base.
            widest: Where a finger is when the gripper is open [m].
            say: Tells the person at the page what was refused.
        """
        self._node, self._scene, self._base = node, scene, base
        self._widest, self._say = widest, say
        self.progress = ""
        self.settings: ArmSettings | None = None
        self.actual: ArmSettings | None = None
        self._sent: Future | None = None
        self._brought: ClientGoalHandle | None = None
        self._grip: Grip | None = None
        self._goal: pin.SE3 | None = None
        self._pulls = node.create_publisher(Pull, f"{SIMULATOR}/pull", 1)
        # Only while a person leads the tool: the controller tells who streams targets.
        self._targets: Publisher | None = None
        self._arm = {
            name: node.create_client(Trigger, f"{CONTROLLER}/{name}")
            for pair in ARM.values()
            for name in pair
        }
        self._parameters = {
            name: node.create_client(SetParameters, f"{name}/set_parameters")
            for name in (CONTROLLER, SIMULATOR)
        }
        self._pause = node.create_client(Pause, f"{SIMULATOR}/pause")
        self._step = node.create_client(Step, f"{SIMULATOR}/step")
        self._reset = node.create_client(Reset, f"{SIMULATOR}/reset")
        self._gripper = ActionClient(node, ParallelGripperCommand, "gripper")
        self._mover = ActionClient(node, MoveObjects, "move_objects")
        self._timer = steady_timer(node, 1.0 / RATE, self._send, autostart=False)
        self._controller = f"{node.get_namespace().rstrip('/')}/{CONTROLLER}"
        self._asked: list[tuple[str, float | str]] = []
        self._reader = node.create_client(GetParameters, f"{CONTROLLER}/get_parameters")
        self._asking = steady_timer(node, ASKING, self._ask_settings)
        node.create_subscription(
            ParameterEvent, "/parameter_events", self._hear, qos_profile_parameter_events
        )

    @by_the_node
    def pull(self, grip: Grip | None) -> None:
        """Hold a link from now on, or none, see :class:`Commands`."""
        if grip is None and self._grip is not None:
            self._pulls.publish(Pull(link=self._grip.link))
        self._grip = grip
        self._timer.reset()

    @by_the_node
    def drive(self, pose: pin.SE3 | None) -> None:
        """Lead the tool to a pose from now on, or nowhere, see :class:`Commands`."""
        self._goal = pose
        if pose is not None and self._targets is None:
            self._targets = self._node.create_publisher(PoseStamped, "target_pose", 1)
        elif pose is None and self._targets is not None:
            self._node.destroy_publisher(self._targets)
            self._targets = None
        self._timer.reset()

    @by_the_node
    def ask_arm(self, request: str) -> None:
        """Make a request of the controller, see :class:`Commands`."""
        self._ask(request, self._arm[request], Trigger.Request())

    @by_the_node
    def ask_simulation(self, request: str) -> None:
        """Make a request of the simulator, see :class:`Commands`."""
        match request:
            case "step":
                self._ask(request, self._step, Step.Request(ticks=1))
            case "restart":
                self._ask(request, self._reset, Reset.Request())
            case _:
                self._ask(request, self._pause, Pause.Request(pause=request == "pause"))

    @by_the_node
    def choose_controller(self, name: str) -> None:
        """Let another controller take over, see :class:`Commands`."""
        self._set(CONTROLLER, {"controller": name})

    @by_the_node
    def limit_force(self, newtons: float) -> None:
        """Set the force limit, see :class:`Commands`."""
        self._set(CONTROLLER, {"force.limit": newtons})

    @by_the_node
    def slow_down(self, pace: float) -> None:
        """Let simulated time pass slower, see :class:`Commands`."""
        self._set(SIMULATOR, {"pace": pace})

    @by_the_node
    def surround(self, values: Mapping[str, float | str]) -> None:
        """Change the surroundings, see :class:`ObjectCommands`."""
        self._set(SIMULATOR, {f"surroundings.{name}": value for name, value in values.items()})

    @by_the_node
    def bring(self, place: Place | None) -> None:
        """Have an object pushed to a place, or pushed no longer, see :class:`ObjectCommands`."""
        if place is None:
            if self._sent is not None and not self._sent.done():
                self.progress = "is canceled"
            elif self._brought is not None:
                self._brought.cancel_goal_async()
            self._sent = None
            return
        if not self._mover.server_is_ready():
            self._say("nobody moves objects: start contact-stack launch planners")
            return
        self.progress = "is asked for"
        names = [f"{place.name}/{state}" for state in ("x", "y", "yaw")]
        goal = MoveObjects.Goal(scene=self._scene, names=names, goal=[place.x, place.y, place.yaw])

        def hear(message: Any) -> None:
            if self._sent is not sent:  # of a goal that was canceled, or followed by another one
                return
            feedback = message.feedback
            errors = dict(zip(feedback.names, feedback.error, strict=True))
            x, y, yaw = (errors[name] for name in names)
            millimetres, degrees = 1e3 * np.hypot(x, y), np.degrees(abs(yaw))
            self.progress = f"{feedback.phase}: {millimetres:.0f} mm and {degrees:.0f}° to go"

        sent = self._sent = self._mover.send_goal_async(goal, feedback_callback=hear)
        sent.add_done_callback(self._accepted)

    @by_the_node
    def grip(self, opened: bool) -> None:
        """Open or close the gripper, see :class:`Commands`."""
        if not self._gripper.server_is_ready():
            self._say("there is no gripper")
            return
        goal = ParallelGripperCommand.Goal()
        goal.command.position = [self._widest if opened else 0.0]
        goal.command.effort = [GRIP_EFFORT]
        self._gripper.send_goal_async(goal)

    def _send(self) -> None:
        self._timer.cancel()
        grip, goal = self._grip, self._goal
        if grip is not None or goal is not None:
            self._timer.reset()
        if grip is not None:
            point, hand = _point(grip.point), _point(grip.hand)
            self._pulls.publish(
                Pull(link=grip.link, point=point, hand=hand, stiffness=grip.stiffness)
            )
        if goal is not None and self._targets is not None:
            target = PoseStamped(pose=to_pose(goal))
            target.header.frame_id = self._base
            target.header.stamp = self._node.get_clock().now().to_msg()
            self._targets.publish(target)

    def _accepted(self, future: Future) -> None:
        handle = future.result()
        if future is not self._sent:  # it was canceled before anybody had answered
            handle.cancel_goal_async()
            return
        self._brought = handle
        if not handle.accepted:
            self.progress = "is refused: too many goals wait"
            return
        handle.get_result_async().add_done_callback(lambda done: self._ended(handle, done.result()))

    def _ended(self, handle: ClientGoalHandle, answer: Any) -> None:
        if handle is self._brought:
            result = answer.result
            done = result.status == MoveObjects.Result.SUCCEEDED
            self.progress = "is there" if done else f"{result.status_name}: {result.remedy}"

    def _ask_settings(self) -> None:
        if self._reader.service_is_ready():
            future = self._reader.call_async(GetParameters.Request(names=SETTINGS))
            future.add_done_callback(self._read_settings)

    def _read_settings(self, future: Future) -> None:
        match [parameter_value_to_python(value) for value in future.result().values]:
            case [str(name), float(limit), beside_people] if math.isfinite(limit):
                self._asking.cancel()
                self.settings = self.actual = ArmSettings(name, limit, beside_people is True)

    def _hear(self, event: ParameterEvent) -> None:
        """Take over what somebody else has set; one's own echo would pull a slider back."""
        if event.node != self._controller or self.settings is None or self.actual is None:
            return
        new: dict[str, Any]
        for item in event.changed_parameters:
            match change := (item.name, parameter_value_to_python(item.value)):
                case ("controller", str(name)):
                    new = {"controller": name}
                case ("force.limit", float(limit)) if math.isfinite(limit):
                    new = {"limit": limit}
                case _:
                    continue
            self.actual = self.actual._replace(**new)
            if change in self._asked:
                self._asked.remove(change)
            else:
                self.settings = self.settings._replace(**new)

    def _set(self, node: str, values: Mapping[str, float | str]) -> None:
        parameters = [Parameter(name, value=value) for name, value in values.items()]
        request = SetParameters.Request(parameters=[item.to_parameter_msg() for item in parameters])
        if node == CONTROLLER:
            self._asked += values.items()
        self._ask(f"set {', '.join(values)}", self._parameters[node], request)

    def _ask(self, what: str, client: Any, request: Any) -> None:
        if not client.service_is_ready():
            self._say(f"{what}: nobody answers")
            return
        client.call_async(request).add_done_callback(lambda future: self._tell(what, future))

    def _tell(self, what: str, future: Future) -> None:
        """Say what was refused."""
        answer = future.result()
        for one in getattr(answer, "results", [answer]):
            done = getattr(one, "successful", getattr(one, "success", True))
            if not done:
                reason = getattr(one, "reason", "") or getattr(one, "message", "")
                self._say(f"{what}: {reason}")


def _point(place: np.ndarray) -> Point:
    x, y, z = (float(value) for value in place)
    return Point(x=x, y=y, z=z)
