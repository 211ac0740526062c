"""The WSG 50 in the graph: the actions and joint states of the simulator's gripper."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from contact_core.base.config import parameter
from contact_core.base.errors import ConfigError
from contact_core.robot.gripper import GripperCommand
from contact_ros.diagnostics import Diagnostics, Health, Level
from contact_ros.entry_point import freeze_garbage_collector, run
from contact_ros.gripper import REACHED, Ending, GripperMotion, gripper_servers, gripper_state
from contact_ros.guarded_node import GuardedNode, waking_future
from contact_ros.identity import RobotNodeConfig, announce_robot
from contact_ros.loop import ErrorRelay, FixedRateLoop
from contact_ros.parameters import read
from contact_ros.qos import signal_publisher
from contact_ros.stamps import to_time
from contact_stack.wsg50 import gcl
from contact_stack.wsg50.device import (
    CommandOutcome,
    GripperConnection,
    GripperReading,
    GripperStatus,
    Wsg50,
)
from contact_stack.wsg50.gcl import GripState

NAME = "wsg50"

LEVELS = {GripperStatus.READY: Level.OK, GripperStatus.PART_LOST: Level.WARN}
"""How bad a status is; the others are errors."""


@dataclass(frozen=True)
class Wsg50Config(RobotNodeConfig):
    """The gripper WSG 50 over its text protocol."""

    host: str = parameter("192.168.1.20", "address of the gripper")
    port: int = parameter(1000, "TCP port of the gripper's text protocol", low=1, high=65535)
    rate: float = parameter(
        50.0, "how often the gripper is asked for its state", unit="Hz", low=1.0, high=200.0
    )
    effort: float = parameter(
        20.0,
        "force of a finger for goals that state none",
        unit="N",
        low=gcl.WEAKEST,
        high=gcl.STRONGEST,
    )
    speed: float = parameter(
        0.05,
        "speed of a finger for goals that state none",
        unit="m/s",
        low=gcl.SLOWEST,
        high=gcl.FASTEST,
    )
    timeout: float = parameter(
        0.5,
        "an answer that takes longer ends a motion; ten in a row, the connection",
        unit="s",
        low=0.05,
        high=10.0,
    )
    retry: float = parameter(
        1.0, "time between two attempts to connect", unit="s", low=0.1, high=60.0
    )


class Wsg50Node(GuardedNode):
    """Give the gripper the goals that arrive, and publish what it says of itself."""

    def __init__(self) -> None:
        """Offer everything; the loop's thread connects.

        Raises:
            ContactStackError: If a parameter or the robot is wrong.
        """
        super().__init__(NAME)
        config = read(self, Wsg50Config)
        description = config.description()
        self._joint = description.gripper_joint
        if not self._joint:
            raise ConfigError(f"the robot {description.name} has no gripper (see robot)")
        self._address = f"{config.host}:{config.port}"
        self._device = Wsg50(
            GripperConnection(config.host, config.port),
            self._reject,
            config.timeout,
            config.retry,
            config.speed,
        )
        self._status: GripperStatus | None = None
        self._announcement = announce_robot(self, description)
        self._states = self.create_publisher(
            JointState, "gripper/joint_states", signal_publisher(lockstep=False)
        )
        self._motion = GripperMotion(
            min(description.open_position, gcl.STROKE),
            gripper_state(self._joint, 0.0, 0.0, 0.0, to_time(self._now())),
            self._judge,
            self._device.refusal,
        )
        self._servers = gripper_servers(self, self._motion, self._joint, config.effort, self._now)
        self.create_service(Trigger, f"{NAME}/home", self._home)
        self.create_service(Trigger, f"{NAME}/acknowledge", self._acknowledge)
        self._diagnostics = Diagnostics(self, self._health, f"{NAME} {self._address}")
        freeze_garbage_collector()
        self._loop = FixedRateLoop(1.0 / config.rate, self._tick, ErrorRelay(self))
        self._loop.start()

    def close(self) -> None:
        """Take leave of the gripper; it keeps what it holds."""
        self._loop.stop()
        self._device.leave()
        for server in self._servers:
            server.close()

    def _now(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _reject(self, reason: str) -> None:
        self.rejections.add(f"from the gripper: {reason}")

    def _tick(self) -> None:
        stamp = self._now()
        reading = self._device.tick(time.monotonic(), self._motion.command(stamp))
        if reading is not None:
            state = gripper_state(
                self._joint, reading.position, reading.velocity, reading.effort, to_time(stamp)
            )
            self._states.publish(state)
            self._motion.update(stamp, state)
        elif self._device.reading is None:
            self._motion.fail()
        self._say_change()

    def _judge(self, command: GripperCommand, state: JointState) -> Ending | None:
        outcome, reading = self._device.outcome(command), self._device.reading
        if outcome is None or reading is None:
            return None
        # Where it failed or stopped by itself, neither its position nor its grip means anything.
        if outcome is CommandOutcome.FAILED or reading.state is GripState.ERROR:
            return Ending.FAILED
        if abs(state.position[0] - command.position) < REACHED:
            return Ending.REACHED
        held = reading.state is GripState.HOLDING
        return Ending.STALLED if held or outcome is CommandOutcome.BLOCKED else Ending.FAILED

    def _say_change(self) -> None:
        status = self._device.status
        tried = self._device.connections or self._device.problem
        if status is self._status or not tried:
            return
        self._status = status
        text = f"the gripper at {self._address} is {self._device.remedy}"
        # The logger takes one severity for each line of code.
        if LEVELS.get(status) is Level.OK:
            self.get_logger().info(text)
        else:
            self.get_logger().warning(text)

    async def _home(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return await self._ask("HOME", response)

    async def _acknowledge(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        return await self._ask("FSACK", response)

    async def _ask(self, word: str, response: Trigger.Response) -> Trigger.Response:
        answer = waking_future(self)
        self._device.ask(word, answer.set_result)
        response.message = await answer
        response.success = not response.message
        return response

    def _health(self) -> Health:
        status = self._device.status
        values: dict[str, object] = {
            "address": self._address,
            "connections": self._device.connections,
        }
        if self._device.problem:
            values["last_problem"] = self._device.problem
        reading = self._device.reading
        if reading is not None:
            values |= _values(reading)
        return Health(LEVELS.get(status, Level.ERROR), self._device.remedy, values)


def main() -> int:
    """Run the gripper's node.

    Returns:
        The exit code.
    """
    return run(Wsg50Node)


def _values(reading: GripperReading) -> dict[str, object]:
    return {
        "grip": reading.state.name.lower(),
        "opening_mm": f"{gcl.MILLIMETRES * reading.position:.1f}",
        "effort_n": f"{reading.effort:.1f}",
    }
