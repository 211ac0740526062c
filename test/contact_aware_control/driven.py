"""A controller together with what it remembers, to be driven by hand."""

from contact_aware_control.controllers import make_controller


class Driven:
    """``follow`` a reference, then ``step`` after step."""

    def __init__(self, robot, config):
        self.controller = make_controller(robot, config)
        self.state = None

    def follow(self, reference, posture, force_limits):
        self.state = self.controller.follow(reference, posture, force_limits)

    def step(self, inputs):
        self.state, output = self.controller.step(self.state, inputs)
        return output
