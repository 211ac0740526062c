"""The paper's small contact examples, Sec. IV."""

from contact_experiments.irs.contact_examples.coulomb import CoulombContact
from contact_experiments.irs.contact_examples.frictional_contact import (
    coulomb_contact,
    relaxed_contact,
)
from contact_experiments.irs.contact_examples.normal_contact import normal_contact
from contact_experiments.irs.contact_examples.penalty import PenaltyContact

__all__ = [
    "CoulombContact",
    "PenaltyContact",
    "coulomb_contact",
    "normal_contact",
    "relaxed_contact",
]
