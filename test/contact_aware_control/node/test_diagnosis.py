"""/diagnostics tells predicted against measured force, and what holds the command back."""

import numpy as np

from contact_aware_control.controllers import ControllerOutput
from contact_aware_control.node.controller import diagnosis


def test_contact_is_told_with_units():
    output = ControllerOutput(
        command=np.zeros(7),
        contact_links=("lbr_link_6", "lbr_link_5"),
        measured_force=np.array([14.96, 3.0]),
        predicted_force=np.array([15.0, 3.21]),
        force_limit=np.array([15.0, 30.0]),
        active_constraints=("force lbr_link_6", "step 2"),
        slack=0.5,
    )
    assert diagnosis(output) == {
        "contacts": "lbr_link_6 lbr_link_5",
        "measured_force_N": "15.0 3.0",
        "predicted_force_N": "15.0 3.2",
        "force_limit_N": "15.0 30.0",
        "force_slack_N": "0.50",
        "active_constraints": "force lbr_link_6, step 2",
    }


def test_free_space_says_nothing():
    assert diagnosis(ControllerOutput(command=np.zeros(7))) == {}
