"""The command ``contact-stack fake``: the fake robot as a node, in real time."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import Vector3
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from contact_core.base.config import from_mapping
from contact_core.base.errors import ConfigError, choices
from contact_core.robot.description import RobotDescription
from contact_core.robot.scene import Scene
from contact_experiments.fake.arm import FakeArm, Wall
from contact_experiments.fake.cabinet import (
    CABINET_FAULTS,
    Body,
    FakeCabinet,
    SceneBody,
    SpringBody,
    run_cabinet,
)
from contact_experiments.fake.drivers import DRIVERS, KukaSunriseDriver
from contact_experiments.fake.gripper import FAULTS as GRIPPER_FAULTS
from contact_experiments.fake.gripper import FakeGripper, serve
from contact_experiments.fake.robot import FAULTS, FakeConfig, FakeRobot
from contact_experiments.fake.robot_manager import DRIVES, DriverSettings, RobotManager
from contact_ros.entry_point import freeze_garbage_collector, run
from contact_ros.guarded_node import GuardedNode
from contact_ros.loop import ErrorRelay, FixedRateLoop
from contact_ros.network import LOCALHOST
from contact_ros.qos import LATCHED
from contact_ros.stamps import NANOSECONDS
from contact_ros.validation import vector
from tamsi_sim.cabinet import VERSIONS, CabinetConfig, ClientConnection
from tamsi_sim.cabinet.cabinet import CONTROL_MODES, OPERATION_MODES

NAME = "fake_robot"
GRIPPER = "wsg50"
CABINET = "cabinet"
DEVICES = (*DRIVERS, GRIPPER, CABINET)
PORTS = {GRIPPER: 10000, CABINET: 30200}
STRONGEST_PUSH = 200.0
"""Strongest push that is taken [N]."""

EPILOG = """examples:
  contact-stack fake lbr_fri
  contact-stack fake lbr_fri --fault degrees --at 5 --for 1
  contact-stack fake kuka_drivers --surface 0.2
  contact-stack fake kuka_drivers --by-hand     (then: ros2 lifecycle set /lbr/robot_manager ...)
  contact-stack fake wsg50 --port 10000 --part 0.04 --fault loses_part
  contact-stack fake cabinet --fri 2.7 --period 2 --fault cable_out --at 10
  contact-stack fake cabinet --client 172.31.1.148 --scene mug_placement
  contact-stack fake --list-faults

It stands where a driver stands: start estimator and controller beside it. A hand pushes its tool
with what is published on fake_robot/push (geometry_msgs/Vector3, newton). No physics of the
simulator and no code of the driver profiles is in it. It talks on this machine only, and a
hardware launch refuses it as it refuses the simulator. wsg50 is the gripper behind its TCP port,
for gripper.launch.xml, and no node. cabinet is the robot's cabinet for a client of FRI, without
a graph: it sends first, at its period, whether or not the client answers."""


class FakeRobotNode(GuardedNode):
    """Publishes what the fake robot does, and gives it the commands that arrive."""

    def __init__(
        self,
        config: FakeConfig,
        namespace: str,
        fault: str,
        at: float,
        lasts: float | None,
        by_hand: bool,
    ) -> None:
        """Connect the robot and let time pass.

        Args:
            config: What the robot is.
            namespace: Of its topics.
            fault: What goes wrong; empty for nothing.
            at: When [s].
            lasts: For how long [s]; None for the fault's own time.
            by_hand: Whether it does nothing before its ``robot_manager`` is active.

        Raises:
            ConfigError: If driver or fault are unknown.
        """
        super().__init__(NAME, namespace=namespace)
        self._robot = FakeRobot(config)
        self._fault, self._at, self._lasts = fault, at, lasts
        self._lock = threading.Lock()
        self._other: Node | None = None
        driver = self._robot.driver
        # It is no robot, and whoever wants one has to see that before the first state.
        self._identity = self.create_publisher(String, "simulated_robot", LATCHED)
        self._identity.publish(String(data=f"{NAME}: {config.driver}"))
        self._qos = QoSProfile(depth=driver.depth)
        self._topics = {0: self._publishers_of(self)}
        self._intruder: Any = None
        self.create_subscription(driver.command_type, driver.command_topic, self._take, self._qos)
        self.create_subscription(Vector3, f"{NAME}/push", self._push, 1)
        freeze_garbage_collector()
        self._stopped = ""
        self._relay = ErrorRelay(self)
        self._loop = self._new_loop()
        self._manager: RobotManager | None = None
        if by_hand:
            self._manager = RobotManager(namespace, self._start_as_told, lambda: self._loop.stop())
            # What will run this node runs that one too.
            self._adoption = self.create_timer(0.0, self._adopt)
        else:
            self._loop.start()

    def close(self) -> None:
        """Let time stop."""
        self._loop.stop()
        self._let_in(False, False)
        if self._manager is not None:
            self._manager.destroy_node()

    def _adopt(self) -> None:
        self._adoption.cancel()
        assert self.executor is not None and self._manager is not None
        self.executor.add_node(self._manager)

    def _start_as_told(self, settings: DriverSettings) -> None:
        """Be a robot with these settings, at rest where it was."""
        old = self._robot
        config = replace(
            old.config,
            position=tuple(old.arm.q),
            period=1e-3 * settings.cycle_time,
            stiffness=settings.joint_stiffness,
        )
        with self._lock:
            self._robot = FakeRobot(config)
            self._robot.arm.drive = DRIVES[settings.control_mode]
        self._loop = self._new_loop()
        self._loop.start()

    def _new_loop(self) -> FixedRateLoop:
        period = self._robot.config.period
        return FixedRateLoop(period, self._step, self._relay, on_start=self._begin)

    def _publishers_of(self, node: Node) -> dict[str, Any]:
        topics = self._robot.driver.state_topics.items()
        return {topic: node.create_publisher(kind, topic, self._qos) for topic, kind in topics}

    def _let_in(self, states: bool, commands: bool) -> None:
        """Put somebody else on the wire while states or commands are theirs, and only then."""
        if self._other is None and (states or commands):
            self._other = Node(
                "somebody_else", namespace=self.get_namespace(), context=self.context
            )
            if states:
                self._topics[1] = self._publishers_of(self._other)
            if commands:
                driver = self._robot.driver
                self._intruder = self._other.create_publisher(
                    driver.command_type, driver.command_topic, self._qos
                )
        elif self._other is not None and not (states or commands):
            self._other.destroy_node()
            self._other = self._intruder = None

    def _take(self, message: Any) -> None:
        with self._lock:
            self._robot.take(message)

    def _push(self, force: Vector3) -> None:
        push = vector(force, "push", STRONGEST_PUSH)
        with self._lock:
            self._robot.arm.push = push

    def _begin(self) -> None:
        # The first period ends with the first tick, which is now.
        self._robot.epoch = time.time_ns() - round(NANOSECONDS * self._robot.config.period)

    def _step(self) -> None:
        robot = self._robot
        now = time.time_ns() - self._loop.delay
        with self._lock:
            if self._fault and robot.time >= self._at:
                self.get_logger().warning(f"{self._fault}: {FAULTS[self._fault].summary()}")
                robot.inject(self._fault, self._lasts)
                self._fault = ""
            sent = robot.step_until(now)
            intruder = robot.intruder
        if sent:
            self._let_in(any(item.publisher for item in sent), intruder is not None)
        for item in sent:
            self._topics[item.publisher][item.topic].publish(item.message)
        if self._intruder is not None and intruder is not None:
            self._intruder.publish(robot.driver.encode_command(intruder))
        if robot.stopped != self._stopped:
            self._stopped = robot.stopped
            self.get_logger().error(f"the robot stopped: {robot.stopped}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    default = FakeConfig()
    parser.epilog = EPILOG
    parser.add_argument("driver", nargs="?", choices=DEVICES, help="the driver or device to be")
    parser.add_argument("--fault", default="", metavar="NAME", help="what goes wrong")
    parser.add_argument("--at", type=float, default=5.0, metavar="SECONDS", help="when (5)")
    parser.add_argument(
        "--for", dest="lasts", type=float, metavar="SECONDS", help="for how long; then it is cured"
    )
    parser.add_argument("--list-faults", action="store_true", help="say what each fault does")
    parser.add_argument("--namespace", default="/lbr", help="of the topics (/lbr)")
    parser.add_argument("--robot", default=default.robot, help=f"description ({default.robot})")
    parser.add_argument("--rate", type=float, default=200.0, help="states per second (200)")
    parser.add_argument(
        "--surface", type=float, metavar="HEIGHT", help="a floor at this height [m], for the tool"
    )
    parser.add_argument(
        "--no-guard", action="store_true", help="follow commands that a real robot refuses"
    )
    parser.add_argument(
        "--by-hand", action="store_true", help="kuka_drivers: wait for its robot_manager"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sensors' noise (0)")
    parser.add_argument(
        "--port", type=int, help="TCP port of wsg50 (10000), UDP port of a cabinet's client (30200)"
    )
    parser.add_argument(
        "--part", type=float, default=0.0, metavar="WIDTH", help="what wsg50 can grip [m]"
    )
    _add_cabinet(parser.add_argument_group("cabinet"))


def _add_cabinet(group: argparse._ArgumentGroup) -> None:
    """Declare the options of the cabinet: fields of its configuration, and its arm."""
    default = CabinetConfig()
    group.add_argument(
        "--fri", type=float, choices=VERSIONS, default=default.version, help="version (1.15)"
    )
    group.add_argument(
        "--period", type=int, default=default.period, metavar="MS", help="between messages [ms] (5)"
    )
    group.add_argument(
        "--multiplier", type=int, default=default.multiplier, help="every so many are answered (1)"
    )
    group.add_argument("--client", default=default.client, help=f"address ({default.client})")
    group.add_argument(
        "--source", default="", metavar="ADDRESS:PORT", help="where it sends from (any port, or "
        "the client's if that is on another machine)",
    )  # fmt: skip
    for name, modes in (("control", CONTROL_MODES), ("operation", OPERATION_MODES)):
        value = getattr(default, name)
        text = f"{name} mode that is reported ({value})"
        group.add_argument(f"--{name}", choices=modes, default=value, help=text)
    group.add_argument("--monitor", action="store_true", help="start no motion")
    group.add_argument(
        "--scene", default="", help="the simulator's arm in this scene, not one on springs"
    )


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        The exit code.

    Raises:
        ConfigError: If no driver is named, it has no such fault or manager, or its port is taken.
    """
    if args.list_faults:
        listed = {name: FAULTS[name].summary() for name in FAULTS}
        listed |= {f"{GRIPPER}: {name}": text for name, text in GRIPPER_FAULTS.items()}
        listed |= {f"{CABINET}: {name}": CABINET_FAULTS[name].summary() for name in CABINET_FAULTS}
        width = max(map(len, listed))
        print("\n".join(f"{name:{width}}  {text}" for name, text in listed.items()))
        return 0
    if args.driver is None:
        raise ConfigError(f"name the driver to be: {', '.join(DEVICES)}")
    named: dict[str, Collection[str]] = {GRIPPER: GRIPPER_FAULTS, CABINET: CABINET_FAULTS}
    faults = named.get(args.driver, FAULTS)
    if args.fault and args.fault not in faults:
        raise ConfigError(
            f"unknown fault '{args.fault}' of {args.driver} ({choices(faults, args.fault)})"
        )
    if args.port is None:
        args.port = PORTS.get(args.driver)
    if args.driver == GRIPPER:
        return _be_gripper(args)
    if args.driver == CABINET:
        return _be_cabinet(args)
    if args.by_hand and args.driver != KukaSunriseDriver.name:
        raise ConfigError(f"{args.driver} has no robot_manager: --by-hand is for kuka_drivers")
    config = FakeConfig(
        driver=args.driver,
        namespace=args.namespace,
        robot=args.robot,
        surface=None if args.surface is None else floor(args.surface),
        period=1.0 / args.rate,
        guard=not args.no_guard,
        seed=args.seed,
        intruder_sends=True,
    )
    node = partial(
        FakeRobotNode, config, args.namespace, args.fault, args.at, args.lasts, args.by_hand
    )
    return run(node, [], reach=LOCALHOST)


def _be_gripper(args: argparse.Namespace) -> int:
    try:
        gripper = FakeGripper(args.port, 1e3 * args.part)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"port {args.port} cannot be had: {error}") from error
    print(f"a WSG 50 on port {gripper.port} of this machine", flush=True)
    faults = [(args.at, args.fault)] if args.fault else []
    if args.fault and args.lasts is not None:
        faults.append((args.at + args.lasts, ""))
    serve(gripper, faults)
    return 0


def _be_cabinet(args: argparse.Namespace) -> int:
    config = from_mapping(
        CabinetConfig,
        {
            "version": args.fri,
            "period": args.period,
            "multiplier": args.multiplier,
            "client": args.client,
            "source": args.source,
            "control": args.control,
            "operation": args.operation,
            "command": not args.monitor,
        },
    )
    body: Body
    if args.scene:
        body = SceneBody(Scene.load(args.scene).every(1e-3 * args.period), args.seed)
    else:
        description = RobotDescription.load(args.robot)
        arm = FakeArm(description, np.array(FakeConfig.position))
        arm.surface = None if args.surface is None else floor(args.surface)
        body = SpringBody(arm, 1e-3 * args.period)
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - began:9.3f} s  {line}", flush=True)

    fake = FakeCabinet(config, body, say, args.seed)
    connection = ClientConnection(config.client, args.port, config.source)
    say(f"FRI {config.version} from {connection.address} to {config.client}:{args.port}")
    run_cabinet(fake, connection, args.fault, args.at, args.lasts)
    return 0


def floor(height: float) -> Wall:
    """Return a horizontal surface for the tool.

    Args:
        height: Where it is [m].

    Returns:
        The surface.
    """
    return Wall("tool", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), height)
