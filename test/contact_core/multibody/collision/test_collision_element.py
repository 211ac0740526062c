"""Collision elements the URDF parser would leave out in silence are refused by name."""

import xml.etree.ElementTree as ElementTree

import pytest

from contact_core.base.errors import ModelError
from contact_core.multibody.collision.collision_element import collision_elements
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.robot.description import collision_shapes

LINK = """<robot name="r"><link name="brick">
  <collision><geometry><sphere radius="0.1"/></geometry></collision>
  <collision name="horn"><geometry>{geometry}</geometry></collision></link></robot>"""


def test_names_and_links():
    elements = collision_elements(
        ElementTree.fromstring(LINK.format(geometry='<mesh filename="a.stl"/>'))
    )
    assert [(e.link, e.name, e.geometry, e.filename) for e in elements] == [
        ("brick", "brick_0", "sphere", ""),
        ("brick", "horn", "mesh", "a.stl"),
    ]


def test_a_capsule_of_newer_urdf_collides():
    urdf = LINK.format(geometry='<capsule radius="0.1" length="0.4"/>')
    shapes = collision_shapes(urdf.replace('name="r"', 'name="r" version="1.2"'))
    assert (shapes[1].name, shapes[1].shape.kind) == ("horn", ShapeKind.CAPSULE)
    assert shapes[1].shape.size == (0.1, 0.2, 0.0)


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        ("", r"has no geometry \(valid: sphere, box, cylinder, capsule, mesh\)"),
        (
            '<cone radius="1" length="2"/>',
            r"is a cone \(valid: sphere, box, cylinder, capsule, mesh\)",
        ),
        ('<box size="1 1"/>', "is a box whose size must be 3 positive numbers, got '1 1'"),
        ('<box size="1 0 1"/>', "is a box whose size must be 3 positive numbers, got '1 0 1'"),
        ('<box size="1 nan 1"/>', "got '1 nan 1'"),
        ('<sphere radius="-1"/>', "is a sphere whose radius must be 1 positive number, got '-1'"),
        ('<sphere radius="big"/>', "got 'big'"),
        ('<cylinder radius="1"/>', "whose radius and length must be 2 positive numbers, got '1 '"),
        ('<capsule radius="1" length="1"/>', 'is a capsule, which needs <robot version="1.2">'),
        ('<mesh filename="none.stl"/>', "Mesh none.stl could not be found"),
    ],
)
def test_mistakes_name_the_link_and_the_collision(geometry, message):
    with pytest.raises(ModelError, match=f"link 'brick': collision 'horn'.*{message}"):
        collision_shapes(LINK.format(geometry=geometry), meshes=True)
