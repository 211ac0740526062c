"""A controller of your own beside those of the paper: it tracks greedily, and yields to contact.

Run ``contact-stack paper contact_aware_control 5 --with examples/papers/04_own_controller.py``.
"""

import numpy as np

from contact_aware_control import CONTROLLERS, Controller, ControllerOutput
from contact_aware_control.controllers.baselines import GreedyController

GAIN = 0.2  # share of the excess force that is taken back in a tick


class YieldingController(Controller):
    """Takes the springs back along the contact, dq = K^-1 J^T u (|f| - f_max)."""

    limits_force = False  # it may press harder: for simulation only

    def __init__(self, robot, config):
        """Set up."""
        self._robot, self._limit = robot, config.force.limit
        self._stiffness = robot.stiffness
        self._greedy = GreedyController(robot, config)

    def step(self, state, inputs):
        """Compute the next command."""
        state, output = self._greedy.step(state, inputs)
        self._robot.update(inputs.position)
        change = output.command - inputs.command
        for contact in inputs.contacts or ():
            force = contact.force_world
            excess = force * max(0.0, 1.0 - self._limit / np.linalg.norm(force))
            torque = self._robot.torque_of_force(contact.link, contact.point_world, excess)
            change += GAIN * torque / self._stiffness
        command = inputs.command + np.clip(change, inputs.lower, inputs.upper)
        return state, ControllerOutput(command)


CONTROLLERS.register("yielding", YieldingController)
