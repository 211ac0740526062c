"""How the command yields where nothing is followed, or where the controller fails."""

from __future__ import annotations

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers import Controller
from contact_aware_control.controllers.qp_controller import RELEASE_TIME
from contact_aware_control.limiters import FloatLimiter, yielding_bounds
from contact_aware_control.loop_state import Purpose, TickContext
from contact_aware_control.receiver import force_ratio
from contact_aware_control.safety.command_gate import CommandGate
from contact_aware_control.safety.status import Status
from contact_core.base.low_pass import followed_share
from contact_core.robot.robot import Robot


class Yielding:
    """Gives way; it remembers nothing."""

    def __init__(
        self, robot: Robot, config: ControllerConfig, controller: Controller, gate: CommandGate
    ) -> None:
        """Take what a command is made of.

        Args:
            robot: The arm; it is updated.
            config: Every parameter.
            controller: Knows the contacts.
            gate: Knows how fast a command may give way.
        """
        self._force = config.force
        self._controller = controller
        self._gate = gate
        self._floats = FloatLimiter(robot, config, gate)
        self._release_share = followed_share(config.period, RELEASE_TIME)
        self._most_torque = config.reflex.torque_share * robot.effort_limits

    def give_way(self, context: TickContext) -> tuple[Purpose, np.ndarray]:
        """Follow nothing; yield where a contact force is above its limit.

        Args:
            context: Of the tick.

        Returns:
            (what the command is for; the command (n) [rad]): STAY, and the present one, where
            nothing presses.
        """
        command, after = context.command, context.after
        doubted = context.guidance is not None and context.doubted
        if doubted or (np.abs(context.arm.external_torque) > self._most_torque).any():
            # A phantom must not lead the arm: what presses shows in the springs, too.
            wanted, _ = self._floats.limit(command, context)
            return Purpose.STAY if wanted is command else Purpose.FLOAT, wanted
        after.controller, output = self._controller.give_way(after.controller, context)
        if output.status is not Status.QP_FAILED and (output.command != command).any():
            return Purpose.YIELD, output.command
        wanted = self.relax(context) if output.status is Status.QP_FAILED else command
        if wanted is command and self._floats.limit(command, context)[0] is command:
            return Purpose.STAY, command
        return Purpose.RELAX, wanted

    def relax(self, context: TickContext) -> np.ndarray:
        """Hold without the controller; above a force limit let the springs follow the arm.

        They give up what is above the limit, with the time constant of a force that is
        followed: an arm that is pushed goes along, one that is not stays where it is.

        Args:
            context: Of the tick.

        Returns:
            (n) the command [rad]; the present one where nothing presses.
        """
        command, after = context.command, context.after
        contacts = () if after.report is None else after.report.contacts
        ratio = 0.0
        if self._controller.limits_force:
            ratio = force_ratio(contacts, after.goal, self._force)
        if context.unexplained_force > 0.0:
            ratio = max(ratio, context.unexplained_force / self._force.limit)
        if ratio <= 1.0:
            return command
        share = (1.0 - 1.0 / ratio) * self._release_share
        bounds = yielding_bounds(context, self._gate)
        relaxed: np.ndarray = command + np.clip(share * (context.position - command), *bounds)
        return relaxed
