"""The paper's small contact examples, Sec. IV."""

from irs_planner.contact_examples.coulomb import CoulombContact
from irs_planner.contact_examples.frictional_contact import coulomb_contact, relaxed_contact
from irs_planner.contact_examples.normal_contact import normal_contact
from irs_planner.contact_examples.penalty import PenaltyContact

__all__ = [
    "CoulombContact",
    "PenaltyContact",
    "coulomb_contact",
    "normal_contact",
    "relaxed_contact",
]
