"""The command ``contact-stack fake``: something in a robot's place, in real time."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from functools import partial

from contact_core.base.config import from_mapping
from contact_core.base.errors import ConfigError, choices
from contact_core.base.lazy import needs
from contact_core.base.results import at_least
from contact_core.robot.description import RobotDescription
from contact_core.robot.scene import Scene
from contact_experiments.fake.arm import FakeArm, Wall, check_lbr
from contact_experiments.fake.cabinet import (
    CabinetBody,
    FakeCabinet,
    SceneBody,
    SpringBody,
    run_cabinet,
)
from contact_experiments.fake.cabinet_faults import CABINET_FAULTS
from contact_experiments.fake.gripper import FAULTS as GRIPPER_FAULTS
from contact_experiments.fake.gripper import STROKE, FakeGripper, serve
from tamsi_sim.cabinet import VERSIONS, CabinetConfig, ClientConnection
from tamsi_sim.cabinet.cabinet import CONTROL_MODES, OPERATION_MODES

DRIVERS = ("lbr_fri", "lbr_fri2", "kuka_drivers", "ros2_control")
"""Those of :mod:`.drivers`, which needs the messages of ROS."""

GRIPPER = "wsg50"
CABINET = "cabinet"
PORTS = {GRIPPER: 10000, CABINET: 30200}
LAST_PORT = 65535
DEVICES = (*DRIVERS, *PORTS)
ROBOT = "iiwa14_wsg50"

OF_ALL = {"fault", "at", "for", "list-faults"}
OF_ARMS = {"robot", "surface", "seed"}
OF_DRIVERS = OF_ARMS | {"namespace", "rate", "no-guard"}
OF_CABINET = OF_ARMS | {
    "port", "fri", "period", "multiplier", "client", "source", "control", "operation", "monitor",
    "scene",
}  # fmt: skip
OPTIONS = {
    **dict.fromkeys(DRIVERS, OF_DRIVERS),
    "kuka_drivers": OF_DRIVERS | {"by-hand"},
    GRIPPER: {"port", "part"},
    CABINET: OF_CABINET,
}
"""Device -> its options, besides those of all."""

EPILOG = """examples:
  contact-stack fake lbr_fri
  contact-stack fake lbr_fri --fault degrees --at 5 --for 1
  contact-stack fake kuka_drivers --surface 0.2
  contact-stack fake kuka_drivers --by-hand     (then: ros2 lifecycle set /lbr/robot_manager ...)
  contact-stack fake ros2_control --robot ur5e_wsg50
  contact-stack fake wsg50 --port 10000 --part 0.04 --fault loses_part
  contact-stack fake cabinet --fri 2.7 --period 2 --fault cable_out --at 10
  contact-stack fake cabinet --client 172.31.1.148 --scene mug_placement
  contact-stack fake --list-faults

It stands where a driver stands: start estimator and controller beside it. A hand pushes its tool
with what is published on fake_robot/push (geometry_msgs/Vector3, newton). No physics of the
simulator and no code of the driver profiles is in it. ros2_control is any arm, the others are an
LBR of KUKA's; joints, home and stiffness are those of the robot's file. It talks on this machine
only, and a hardware launch refuses it as it refuses the simulator. wsg50 is the gripper behind
its TCP port, for gripper.launch.xml, and no node. cabinet is the robot's cabinet for a client of
FRI, without a graph: it sends first, at its period, whether or not the client answers."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("driver", nargs="?", choices=DEVICES, help="the driver or device to be")
    parser.add_argument("--fault", default="", metavar="NAME", help="what goes wrong")
    parser.add_argument("--at", type=at_least(0.0), default=5.0, metavar="SECONDS", help="when (5)")
    parser.add_argument(
        "--for", dest="lasts", type=at_least(0.0), metavar="SECONDS",
        help="for how long; then it is cured",
    )  # fmt: skip
    parser.add_argument("--list-faults", action="store_true", help="say what each fault does")
    parser.add_argument("--namespace", default="/lbr", help="of the topics (/lbr)")
    parser.add_argument("--robot", default=ROBOT, help=f"description ({ROBOT})")
    parser.add_argument(
        "--rate", type=at_least(1.0, 1000.0), default=200.0, help="states per second (200)"
    )
    parser.add_argument(
        "--surface",
        type=at_least(-10.0, 10.0),
        metavar="HEIGHT",
        help="a floor at this height [m], for the tool",
    )
    parser.add_argument(
        "--no-guard", action="store_true", help="follow commands that a real robot refuses"
    )
    parser.add_argument(
        "--by-hand", action="store_true", help="kuka_drivers: wait for its robot_manager"
    )
    parser.add_argument("--seed", type=at_least(0), default=0, help="of the sensors' noise (0)")
    parser.add_argument(
        "--port", type=int, help="TCP port of wsg50 (10000), UDP port of a cabinet's client (30200)"
    )
    parser.add_argument(
        "--part", type=at_least(0.0, 1e-3 * STROKE), default=0.0, metavar="WIDTH",
        help="what wsg50 can grip [m]",
    )  # fmt: skip
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
        "--multiplier", type=int, default=default.multiplier, help="answer every N-th message (1)"
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
        ConfigError: If no driver is named, it has no such fault or option, does not move such an
            arm, or its port is taken.
        ContactStackError: If a driver is named and ROS is not installed.
    """
    if args.list_faults:
        listed = {} if args.driver in PORTS else dict(_faults(DRIVERS[0]))
        for device in PORTS if args.driver not in PORTS else (args.driver,):
            listed |= {f"{device}: {name}": text for name, text in _faults(device).items()}
        width = max(map(len, listed))
        print("\n".join(f"{name:{width}}  {text}" for name, text in listed.items()))
        return 0
    if args.driver is None:
        raise ConfigError(f"name the driver to be: {', '.join(DEVICES)}")
    faults = _faults(args.driver)
    if args.fault and args.fault not in faults:
        raise ConfigError(
            f"unknown fault '{args.fault}' of {args.driver} ({choices(faults, args.fault)})"
        )
    _refuse_options_of_others(args)
    if args.port is None:
        args.port = PORTS.get(args.driver)
    if args.driver == GRIPPER:
        return _be_gripper(args)
    if args.driver == CABINET:
        return _be_cabinet(args)
    return _be_driver(args)


def _refuse_options_of_others(args: argparse.Namespace) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    valid = OPTIONS[args.driver] | OF_ALL
    for action in parser._actions:
        name = action.option_strings[-1].removeprefix("--") if action.option_strings else ""
        given = name and getattr(args, action.dest, action.default) != action.default
        if given and name not in valid:
            others = [device for device, own in OPTIONS.items() if name in own]
            raise ConfigError(f"{args.driver} takes no --{name}: it is for {' and '.join(others)}")


def _faults(device: str) -> Mapping[str, str]:
    """Return what can go wrong with a device: name -> sentence."""
    if device == GRIPPER:
        return GRIPPER_FAULTS
    if device == CABINET:
        return {name: fault.summary() for name, fault in CABINET_FAULTS.items()}
    with needs("ros"):
        from contact_experiments.fake.faults import FAULTS
    return {name: fault.summary() for name, fault in FAULTS.items()}


def _be_driver(args: argparse.Namespace) -> int:
    from contact_experiments.fake.node import FakeRobotNode
    from contact_experiments.fake.robot import FakeConfig
    from contact_ros.entry_point import run
    from contact_ros.environment import check_name
    from contact_ros.network import LOCALHOST

    if args.namespace.strip("/"):
        check_name(args.namespace, "--namespace")
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
    if not 1 <= args.port <= LAST_PORT:
        raise ConfigError(f"port {args.port} of a cabinet's client (valid: 1 to {LAST_PORT})")
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
    body: CabinetBody
    if args.scene:
        scene = Scene.load(args.scene).every(1e-3 * args.period)
        check_lbr(CABINET, scene.robot)
        body = SceneBody(scene, args.seed)
    else:
        description = RobotDescription.load(args.robot)
        check_lbr(CABINET, description)
        arm = FakeArm(description)
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
    return Wall("", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), height)
