"""What was written for version 0.1 still finds what it imports."""

import importlib

import pytest


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("contact_core.errors", "ModelError"),
        ("contact_core.errors", "ModelWarning"),
        ("contact_core.errors", "ContactStackError"),
        ("contact_core.files", "share"),
        ("contact_core.description", "RobotDescription"),
        ("contact_core.robot", "Robot"),
        ("contact_core.scene", "Scene"),
    ],
)
def test_a_module_that_has_moved_is_found(module, name):
    found = getattr(importlib.import_module(module), name)
    assert found.__module__ not in (module, "contact_core")
