"""A control loop to be driven by hand, tick by tick."""

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.loop_state import LoopInputs
from contact_aware_control.reference import Goal, JointTrajectory
from contact_core.base.config import from_mapping

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
TICK = 5_000_000
UP = np.array([0.0, 0.0, 1.0])
WRIST = "lbr_link_6"


class Bench:
    """Drives a control loop against an arm that follows every command exactly."""

    def __init__(self, robot, arm_state, **values):
        """Activate a loop with some parameters."""
        self.loop = ControlLoop(robot, from_mapping(ControllerConfig, values))
        self.loop_state = self.loop.start()
        self.make_state = arm_state
        self.fastest = robot.velocity_limits
        self.now = 0
        self.q = Q.copy()
        self.state = None
        self.report = None

    def ask(self, request):
        """Ask something between two ticks; return whether it is done."""
        self.loop_state, done = self.loop.handle(self.loop_state, request)
        return done

    def tick(self, goal=None, *, contacts=(), state=True, report=True, period=TICK):
        """One tick; without ``state`` or ``report`` no new message arrives."""
        self.now += period
        if state is True:
            self.state = self.make_state(self.now, self.q)
        elif state is not False:
            self.state = state
        if report:
            self.report = ContactReport(self.now, contacts, calibrated=True)
        inputs = LoopInputs(self.now, self.state, self.report, goal)
        self.loop_state, passed, status = self.loop.tick(self.loop_state, inputs)
        if passed is not None:
            self.q = passed.position
        return None if passed is None else passed.position, status


def line(target, duration=1.0):
    return Goal(JointTrajectory([0.0, duration], np.array([Q, target])))
