"""Registries: what is registered is found, what is not is named with the valid choices."""

import pytest

from contact_core.base.errors import ConfigError
from contact_core.base.registry import Registry


@pytest.fixture
def shapes() -> Registry[int]:
    return Registry("shape", {"triangle": 3, "square": 4})


def test_an_item_is_found_by_its_name_in_the_order_of_registration(shapes) -> None:
    shapes.register("pentagon", 5)
    assert dict(shapes) == {"triangle": 3, "square": 4, "pentagon": 5}
    assert tuple(shapes) == ("triangle", "square", "pentagon")
    assert "pentagon" in shapes
    assert len(shapes) == 3


def test_an_unknown_name_is_refused_with_the_valid_ones(shapes) -> None:
    assert "line" not in shapes
    with pytest.raises(ConfigError, match=r"unknown shape 'line' \(valid: triangle, square\)"):
        shapes["line"]


def test_a_name_is_given_once(shapes) -> None:
    with pytest.raises(ConfigError, match="there is a shape 'square' already"):
        shapes.register("square", 5)


def test_another_package_adds_an_item_by_an_entry_point() -> None:
    """That of this project's own metadata: the experiments register a model of contact."""
    models: Registry[object] = Registry("contact model", {}, "contact_stack.contact_models")
    assert tuple(models) == ("second_order",)
    assert "second_order" in models
    assert callable(models["second_order"])
