"""The simulator in the graph, in lock-step or in real time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

import numpy as np
from contact_stack_msgs.srv import Pause, Reset, Step
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.task import Future
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from contact_core.base.config import nested, parameter
from contact_core.base.errors import ConfigError, ContactStackError
from contact_core.robot.arm_state import ArmState, CommandMode, RobotCondition
from contact_core.robot.description import RobotDescription
from contact_core.robot.gripper import GripperCommand
from contact_core.robot.robot import GRAVITY, Robot
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ENGINES
from contact_ros.diagnostics import Diagnostics, Health, Level
from contact_ros.driver_profile import (
    DriverConfig,
    DriverProfile,
    OverlayReader,
    RobotSide,
    driver_profile,
)
from contact_ros.entry_point import freeze_garbage_collector, run
from contact_ros.gripper import GripperMotion, gripper_servers, gripper_state
from contact_ros.guarded_node import waking_future
from contact_ros.identity import (
    CONTROLLER,
    PAUSED_TOPIC,
    SIMULATED_TOPIC,
    announce_robot,
    announce_simulator,
)
from contact_ros.lifecycle import ManagedNode
from contact_ros.lockstep import ANNOUNCEMENT, Barrier
from contact_ros.loop import ErrorRelay, FixedRateLoop
from contact_ros.network import LOCALHOST
from contact_ros.parameters import read
from contact_ros.qos import LATCHED, signal_publisher
from contact_ros.real_time import RealTimeConfig, enter_real_time
from contact_ros.rivals import SolePublisher
from contact_ros.stamps import NANOSECONDS, steady_timer, to_time
from contact_ros.validation import ending, ending_errors, numbers
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.cabinet import CabinetConfig
from tamsi_sim.node.cabinet import CabinetSide
from tamsi_sim.node.driver_faults import (
    DriverFaults,
    DriverFaultsConfig,
    FaultServices,
    GuardLimits,
)
from tamsi_sim.node.gripper import Standstill
from tamsi_sim.node.hand import HandForces
from tamsi_sim.node.truth_topics import CameraTopic, TruthTopics
from tamsi_sim.robot.plant import Plant
from tamsi_sim.robot.report import DriverReport
from tamsi_sim.robot.surroundings import SurroundingsConfig

NAME = "tamsi_sim"
COMMAND = "a command"
CLOCK_TOPIC = "/clock"
NOT_ACTIVE = "the simulator is not active: activate it first"

MAX_COMMAND = 100.0
"""Farthest commanded position that is believed [rad]; the driver's guard has its own limits."""
NEAR = 0.03
"""How far a command may be from the present one just after a new start [rad]."""

MAX_WAIT = 3600.0
"""So long a timer waits at most before it looks whether the next tick is due [s]."""


@dataclass(frozen=True)
class SimulatorConfig:
    """The simulator in the graph."""

    scene: str = parameter("mug_placement", "what to simulate, a file of config/scenes")
    robot: str = parameter(
        "", "another robot in this scene, a file of config/robots or a path; empty: the scene's"
    )
    engine: str = parameter(
        "scene",
        "simulation engine: ours, Drake's SAP, or what the scene says",
        options=("scene", *ENGINES),
    )
    driver: str = parameter("lbr_fri", "driver profile to speak")
    fri_port: int = parameter(
        0, "UDP port of a client of FRI; with it the arm is a robot on the wire, and has no topics "
        "of a driver; 0: it has", low=0, high=65535,
    )  # fmt: skip
    fri: CabinetConfig = nested(CabinetConfig)
    arm: DriverConfig = nested(DriverConfig)
    driver_faults: DriverFaultsConfig = nested(DriverFaultsConfig)
    surroundings: SurroundingsConfig = nested(SurroundingsConfig)
    real_time: RealTimeConfig = nested(RealTimeConfig)
    seed: int = parameter(0, "seed of the sensor noise", low=0)
    lockstep: bool = parameter(False, "wait for the participants instead of real time")
    pace: float = parameter(
        0.0, "largest number of simulated seconds per real second in lock-step; 0 for no bound",
        low=0.0, high=10.0, live=True,
    )  # fmt: skip
    autostart: bool = parameter(
        True, "activate at the start; otherwise a life-cycle transition does it"
    )
    participants: tuple[str, ...] = parameter(
        ("contact_estimator", CONTROLLER), "nodes that take part in lock-step"
    )
    client: str = parameter("", "a further participant in lock-step, e.g. demo; empty for none")
    lockstep_timeout: float = parameter(
        10.0, "longest time participants may take for a tick", unit="s", above=0.0, high=3600.0
    )
    start_timeout: float = parameter(
        60.0, "longest time until all participants have started", unit="s", above=0.0, high=3600.0
    )

    def __post_init__(self) -> None:
        """Check that the parameters go together.

        Raises:
            ConfigError: If states shall be left out in lock-step, where every tick needs one, or
                time should pass slower without it.
        """
        if self.lockstep and self.driver_faults.state_every > 1:
            raise ConfigError("driver_faults.state_every must be 1 in lock-step")
        if self.pace and not self.lockstep:
            raise ConfigError("pace needs lock-step, for otherwise all nodes go by the clock")
        if self.fri_port and self.lockstep:
            raise ConfigError("fri_port needs real time: launch with lockstep:=false")
        if self.fri_port and self.driver_faults.state_every > 1:
            raise ConfigError("driver_faults.state_every must be 1 with fri_port, see fri.period")

    @property
    def faults(self) -> DriverFaultsConfig:
        """How the driver misbehaves; behind FRI its guard is the client's."""
        guard = self.driver_faults.command_guard and not self.fri_port
        return replace(self.driver_faults, command_guard=guard)


@dataclass
class _Steps:
    """Ticks of a paused simulation that a client has asked for.

    Attributes:
        wanted: How many.
        left: How many of them are still to be made.
        ended: Gets why they ended early, empty if they did not, and the simulated time then.
    """

    wanted: int
    left: int
    ended: Future


class SimulatorNode(ManagedNode):
    """Advance the plant by one tick for every command."""

    def __init__(self) -> None:
        """Build the scene and connect it.

        Raises:
            ContactStackError: If a parameter, the scene or the driver profile is wrong.
        """
        super().__init__(NAME)
        self._config = config = read(self, SimulatorConfig, self._change)
        scene = Scene.load(config.scene, config.robot)
        if config.engine in ENGINES:
            scene = scene.on(config.engine)
        if config.fri_port:
            scene = scene.every(1e-3 * config.fri.period)
        if not np.allclose(scene.config.gravity, (0.0, 0.0, -GRAVITY), atol=0.1):
            self.get_logger().warning(
                f"gravity is {scene.config.gravity} m/s^2, but controller and estimator take it to "
                f"be (0, 0, {-GRAVITY}): they take weights for contacts; an arm that hangs has "
                "rpy in its robot file"
            )
        self._build_plant(scene)
        profile = driver_profile(
            config.driver,
            config.arm,
            1e-9 * self._plant.period_ns * config.driver_faults.state_every,
            scene.robot.arm_joints,
            self.get_namespace(),
            self._arm.gravity_torque,
        )
        self._misbehave(scene.robot)
        self._speak_as_driver(profile, scene.robot)
        self._show_truth(scene)
        self._move_gripper(scene)
        self._take_requests()
        self._rivals = SolePublisher(self, _remedies(profile, config.lockstep))
        self._diagnostics = Diagnostics(
            self,
            lambda: self._rivals.report(self._rejections.report(self._health())),
            "simulated",
        )
        freeze_garbage_collector()
        self._begin_to_tick()

    def _build_plant(self, scene: Scene) -> None:
        """Put the arm into the scene; nothing has passed yet."""
        config = self._config
        self._plant = Plant(scene, config.seed)
        self._plant.surroundings.change(config.surroundings)
        self._measurement = self._plant.reset(config.seed)
        self._arm = Robot.from_description(scene.robot)
        self._command = self._measurement.commanded_position
        self._overlay: np.ndarray | None = None
        self._mode = scene.config.robot.command_mode
        # Zero would mean "now" in goals, so simulated time begins later.
        self._origin = NANOSECONDS if config.lockstep else self.get_clock().now().nanoseconds
        self._seed = config.seed
        self._active = False
        self._paused = False
        self._passed = False
        self._starts_again = False
        self._steps: _Steps | None = None
        self._due = 0.0
        self._lock = threading.Lock()

    def _misbehave(self, robot: RobotDescription) -> None:
        """Let the driver fail and hands push on the arm when somebody asks for it."""
        config = self._config
        self._hands = HandForces(self, NAME, self._arm, self._lock, lambda: self._stamp)
        lowest, highest = self._arm.position_limits
        self._faults = DriverFaults(
            config.faults,
            GuardLimits(lowest, highest, self._arm.velocity_limits, robot.arm_joints),
            lambda text: self.get_logger().error(text),
        )
        self._fault_services = FaultServices(
            self, f"{NAME}/driver", self._faults, config.lockstep, lambda: self._stamp
        )

    def _speak_as_driver(self, profile: DriverProfile, robot: RobotDescription) -> None:
        """Send joint states and take commands, on the driver's topics or on the wire."""
        config = self._config
        self._announcements = (
            announce_simulator(self, profile, f"{NAME}: {config.scene}"),
            announce_robot(self, robot),
        )
        self._pauses = self.create_publisher(Bool, profile.topic(PAUSED_TOPIC), LATCHED)
        self._pauses.publish(Bool(data=False))
        self._robot: RobotSide | None = None
        self._cabinet: CabinetSide | None = None
        if config.fri_port:
            self._cabinet = CabinetSide(
                self, config.fri, config.fri_port, self._arm, self._command, self._mode
            )
            self._rejections = self._cabinet.rejections
            return
        self._robot = RobotSide(self, profile, config.lockstep, self._command_arrived)
        self._rejections = self._robot.rejections
        if self._mode is not CommandMode.POSITION:
            self._overlays = OverlayReader(
                self, config.driver, self._mode, config.lockstep, self._take, self._rejections
            )

    def _show_truth(self, scene: Scene) -> None:
        """Publish what nobody measures on a real arm, a camera's poses and simulated time."""
        config = self._config
        self._truth = TruthTopics(self, scene.robot.base_link, config.lockstep)
        self._camera = CameraTopic(self, scene, config.lockstep, config.seed)
        self._clock_publisher = (
            self.create_publisher(ClockMessage, CLOCK_TOPIC, 1) if config.lockstep else None
        )

    def _move_gripper(self, scene: Scene) -> None:
        """Publish the gripper's state and serve its actions, if there is one."""
        signal = signal_publisher(self._config.lockstep)
        self._gripper_states = self.create_publisher(JointState, "gripper/joint_states", signal)
        self._gripper_joint = scene.robot.gripper_joint
        self._gripper = GripperMotion(
            scene.robot.open_position,
            self._gripper_state(),
            Standstill(),
            self._gripper_refusal,
            scene.robot.gripper_turns,
        )
        effort = scene.config.robot.gripper.initial_effort
        self._gripper_servers = (
            gripper_servers(self, self._gripper, self._gripper_joint, effort, lambda: self._stamp)
            if self._gripper_joint
            else []
        )

    def _take_requests(self) -> None:
        """Pause, make steps and start again when somebody asks for it."""
        self.create_service(Pause, f"{NAME}/pause", self._pause)
        # A second request is refused while the ticks of the first are made: it does not wait.
        self.create_service(
            Step, f"{NAME}/step", self._step, callback_group=ReentrantCallbackGroup()
        )
        self.create_service(Reset, f"{NAME}/reset", self._reset)

    def _begin_to_tick(self) -> None:
        """Tick once all participants are done with a tick, or by the clock."""
        config = self._config
        self._pace_timer = steady_timer(self, MAX_WAIT, self._go_on_when_due, autostart=False)
        self._barrier: Barrier | None = None
        self._loop: FixedRateLoop | None = None
        self.start(active=config.autostart)
        if config.lockstep:
            participants = [*config.participants, *filter(None, [config.client])]
            self._barrier = Barrier(
                self,
                participants,
                config.lockstep_timeout,
                self._barrier_passed,
                own=[COMMAND],
                start_timeout=config.start_timeout,
            )
            return
        if self._robot is not None:
            self.leave_waiting(self._robot.subscription)
        self._loop = FixedRateLoop(
            1e-9 * self._plant.period_ns,
            self._real_time_tick,
            ErrorRelay(self),
            on_start=lambda: enter_real_time(config.real_time),
        )
        self._loop.start()

    def _change(self, config: SimulatorConfig) -> None:
        """Take over the parameters that may change while the simulation runs."""
        with self._lock:
            self._plant.surroundings.change(config.surroundings)
        self._config = config
        self._faults.config = config.faults
        if not self._pace_timer.is_canceled():
            # It waits at the old pace.
            self._due = time.monotonic()
            self._go_on_when_due()

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run."""
        with self._lock:
            self._active = True
            self._proceed()
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stand still and say nothing, as a driver that was stopped."""
        with self._lock:
            self._active = False
            self._end_steps("deactivated")
            self._gripper.fail()
        return TransitionCallbackReturn.SUCCESS

    def close(self) -> None:
        """Stop the simulation."""
        if self._loop is not None:
            self._loop.stop()
        for server in self._gripper_servers:
            server.close()
        if self._cabinet is not None:
            self._cabinet.close()

    @property
    def _stamp(self) -> int:
        """Time of the present measurement on the clock of the graph [ns]."""
        return self._origin + self._measurement.time_ns

    def _command_arrived(self, position: np.ndarray) -> None:
        if self._mode is not CommandMode.POSITION:
            self._rejections.add(f"positions alone (valid: {self._mode.value})")
            return
        self._take(position, None)

    def _take(self, position: np.ndarray, overlay: np.ndarray | None) -> None:
        """Take over a command, unless a fault of the driver keeps it from the arm."""
        numbers(position.tolist(), "commanded position", MAX_COMMAND)
        with self._lock:
            if not self._is_old(position) and (
                self._barrier is not None or self._faults.accepts(position)
            ):
                self._command, self._overlay = position, overlay
        if self._barrier is not None:
            self._barrier.mark(COMMAND)

    def _is_old(self, position: np.ndarray) -> bool:
        """Tell whether a command was under way at a new start: it would throw the arm back."""
        if self._starts_again:
            far = np.abs(position - self._command).max() > NEAR
            self._starts_again = bool(far) and self._measurement.time_ns < NANOSECONDS
        return self._starts_again

    def _barrier_passed(self, k: int) -> None:
        """Everyone is done with tick k."""
        if k == ANNOUNCEMENT:
            self._open_tick(k + 1)
        else:
            self._keep_pace()

    def _keep_pace(self) -> None:
        """Go on, where simulated time should pass no faster by a timer; nobody else waits."""
        if self._config.pace:
            self._due += 1e-9 * self._plant.period_ns / self._config.pace
        self._go_on_when_due()

    def _go_on_when_due(self) -> None:
        wait = self._due - time.monotonic()
        if wait > 0.0:
            self._pace_timer.timer_period_ns = round(min(wait, MAX_WAIT) * NANOSECONDS)
            self._pace_timer.reset()
            return
        self._pace_timer.cancel()
        # What was late is not caught up.
        self._due = time.monotonic()
        self._passed = True
        with ending_errors():
            self._proceed()

    def _proceed(self) -> None:
        """In lock-step: go on if all are done and the simulation is not paused."""
        if self._barrier is not None and self._passed and self._may_advance():
            self._passed = False
            self._advance()
            self._open_tick(self._barrier.k + 1)

    def _open_tick(self, k: int) -> None:
        assert self._barrier is not None
        self._publish()
        self._conclude_tick()
        self._barrier.open(k, self._stamp)

    def _real_time_tick(self) -> None:
        assert self._loop is not None
        deadline = self.get_clock().now().nanoseconds - self._loop.delay
        if self._robot is not None:
            self.take(self._robot.subscription)
        with self._lock:
            advances = self._may_advance()
            if advances:
                if not self._paused:
                    self._keep_to_clock(deadline)
                self._advance()
            if self._active:
                self._publish()
            if advances:
                self._conclude_tick()

    def _keep_to_clock(self, deadline: int) -> None:
        """Let stamps skip the periods in which the loop could not keep up, or stood still.

        Args:
            deadline: When this tick was due, on the clock of the graph [ns].
        """
        late = deadline - (self._stamp + self._plant.period_ns)
        if late > self._plant.period_ns // 2:
            self._origin += late

    def _may_advance(self) -> bool:
        return self._active and (not self._paused or self._steps is not None)

    def _advance(self) -> None:
        """Simulate one tick."""
        gripper = self._gripper.command(self._stamp)
        measured = self._measurement
        self._plant.push(self._hands.torque(measured.position, measured.velocity))
        if self._cabinet is not None:
            self._command, self._overlay = self._cabinet.command(
                1e-9 * self._stamp, measured.position, not self._faults.commanding
            )
        self._measurement = self._plant.tick(self._command, gripper, self._overlay)
        if self._measurement.status is not StepStatus.OK:
            remedy = self._measurement.status.remedy + self._plant.engine.trouble()
            raise ending(SimulationError(f"at {1e-9 * self._stamp:.3f} s: {remedy}"))
        if self._cabinet is not None:
            self._cabinet.connected = self._faults.publishes(self._stamp, np.zeros(self._plant.n))
            self._cabinet.send(self._measurement, self._stamp)
        if self._steps is not None:
            self._steps.left -= 1

    def _conclude_tick(self) -> None:
        """Answer those whose motion or steps have ended; the state has been published."""
        self._gripper.update(self._stamp, self._gripper_state())
        if self._steps is not None and self._steps.left == 0:
            self._end_steps("")

    def _end_steps(self, interruption: str) -> None:
        """End the steps that are being made, if there are any; the lock is held.

        Args:
            interruption: What was done to the simulation meanwhile; empty if they are all made.
        """
        steps, self._steps = self._steps, None
        if steps is None:
            return
        reason = (
            f"{interruption} after {steps.wanted - steps.left} of {steps.wanted} ticks"
            if interruption
            else ""
        )
        steps.ended.set_result((reason, to_time(self._stamp)))

    def _publish(self) -> None:
        """Publish everything about the present state."""
        stamp, time = self._stamp, to_time(self._stamp)
        if self._clock_publisher is not None:
            self._clock_publisher.publish(ClockMessage(clock=time))
        self._truth.publish(self._plant, time)
        self._camera.publish(self._plant, stamp)
        self._gripper_states.publish(self._gripper_state())
        if self._robot is not None and (
            self._barrier is not None or self._faults.publishes(stamp, self._measurement.velocity)
        ):
            state = _arm_state(self._measurement, stamp, self._faults.commanding, self._mode)
            self._robot.publish_state(state)

    def _gripper_state(self) -> JointState:
        measured = self._measurement
        return gripper_state(
            self._gripper_joint,
            measured.gripper_position,
            measured.gripper_velocity,
            measured.gripper_effort,
            to_time(self._stamp),
        )

    def _gripper_refusal(self, command: GripperCommand) -> str:
        return "" if self._active else NOT_ACTIVE

    def _pause(self, request: Pause.Request, response: Pause.Response) -> Pause.Response:
        with self._lock:
            self._paused = request.pause
            self._pauses.publish(Bool(data=request.pause))
            self._end_steps("paused" if request.pause else "resumed")
            self._proceed()
        response.success = True
        return response

    async def _step(self, request: Step.Request, response: Step.Response) -> Step.Response:
        with self._lock:
            response.message = self._step_refusal(request)
            if response.message:
                return response
            steps = _Steps(request.ticks, request.ticks, waking_future(self))
            self._steps = steps
            self._proceed()
        response.message, response.stamp = await steps.ended
        response.success = not response.message
        return response

    def _step_refusal(self, request: Step.Request) -> str:
        if not self._active:
            return NOT_ACTIVE
        if not self._paused or request.ticks == 0:
            return "pause first, then step one or more ticks at a time"
        if self._steps is not None:
            return f"{self._steps.left} ticks of another request are still being made"
        return ""

    def _reset(self, request: Reset.Request, response: Reset.Response) -> Reset.Response:
        with self._lock:
            # Stamps go on: a clock that jumps back would confuse the other nodes.
            self._origin = self._stamp + self._plant.period_ns
            self._measurement = self._plant.reset(request.seed)
            self._camera.reset(request.seed)
            self._hands.let_go()
            self._command, self._overlay = self._measurement.commanded_position, None
            self._starts_again = True
            if self._cabinet is not None:
                self._cabinet.restart(1e-9 * self._stamp, self._command)
            self._end_steps("reset")
        response.success = True
        return response

    def _health(self) -> Health:
        values: dict[str, object] = {
            "simulated_time_s": f"{1e-9 * self._measurement.time_ns:.3f}",
            "paused": self._paused,
        }
        if self._cabinet is not None:
            values |= self._cabinet.values()
        if self._loop is not None:
            timing = self._loop.statistics()
            values["tick_p50_us"] = f"{timing.tick_p50_us:.0f}"
            values["tick_p99_us"] = f"{timing.tick_p99_us:.0f}"
            values["deadline_misses"] = timing.deadline_misses
        elif self._barrier is not None and self._barrier.missing:
            values["waiting_for"] = ", ".join(self._barrier.missing)
        if self._faults.name:
            return Health(Level.ERROR, self._faults.name, values)
        if not self._active:
            return Health(Level.WARN, "inactive", values)
        return Health(Level.OK, "paused" if self._paused else "running", values)


class SimulationError(ContactStackError):
    """A step of the simulation failed.

    Do what the message says; it ends with the remedy of the step's status.
    """


def main() -> int:
    """Run the simulator.

    Returns:
        The exit code.
    """
    # It pretends to be a robot: nobody on another machine shall believe it by chance.
    return run(SimulatorNode, reach=LOCALHOST)


def _remedies(profile: DriverProfile, lockstep: bool) -> dict[str, str]:
    """Return what to do about a second publisher of each topic that must have one only."""
    # A gripper or another arm may share a topic of joint states.
    states = [t for t in profile.needed_topics if profile.state_topics[t] is not JointState]
    other = "end one of them, or give it another robot_name"
    remedies = {profile.topic(topic): other for topic in (SIMULATED_TOPIC, *states)}
    if lockstep:
        remedies[CLOCK_TOPIC] = (
            "launch with clock:=clock for a clock in the robot's namespace, or use another "
            "ROS_DOMAIN_ID"
        )
    return remedies


def _arm_state(
    measurement: DriverReport, stamp: int, commanding: bool, command_mode: CommandMode
) -> ArmState:
    """Return what the driver reports about the arm; the stamp [ns] is on the graph's clock."""
    return ArmState(
        stamp=stamp,
        position=measurement.position,
        velocity=measurement.velocity,
        commanded_position=measurement.commanded_position,
        external_torque=measurement.external_torque,
        condition=RobotCondition(commanding=commanding),
        joint_torque=measurement.joint_torque,
        command_mode=command_mode,
    )
