"""Controllers behind one interface: contact-aware ones and their baselines."""

from contact_aware_control.controllers.base import Controller, ControllerInput, ControllerOutput
from contact_aware_control.controllers.registry import CONTROLLERS, make_controller

__all__ = ["CONTROLLERS", "Controller", "ControllerInput", "ControllerOutput", "make_controller"]
