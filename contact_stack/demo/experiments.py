"""Experiments by name."""

from __future__ import annotations

from contact_stack.demo.experiment import Experiment
from contact_stack.demo.mug_moving import MugMoving
from contact_stack.demo.mug_placement import MugPlacement
from contact_stack.demo.two_contacts import TwoContacts

EXPERIMENTS: dict[str, type[Experiment]] = {
    "mug_placement": MugPlacement,
    "mug_moving": MugMoving,
    "two_contacts": TwoContacts,
}
