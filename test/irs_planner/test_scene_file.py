"""Scenes from YAML: what is wrong is named, and what is valid is listed."""

import copy

import pytest
import yaml

from contact_core.base.errors import ConfigError, ModelError
from contact_core.base.files import share
from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes import load_scene, scene_from_mapping, scene_names

PIVOTING = yaml.safe_load(share("config", "irs", "scenes", "box_pivoting.yaml").read_text())


def changed(**fields):
    return copy.deepcopy(PIVOTING) | fields


@pytest.mark.parametrize("name", scene_names())
def test_every_scene_makes_a_model(name):
    scene = load_scene(name)
    model = PlanarQuasiDynamics(scene)
    assert model.state_size == len(scene.state_names)
    assert model.input_size == len(scene.links)


def test_unknown_scene_lists_the_valid_ones():
    with pytest.raises(ConfigError, match=r"unknown scene 'hand'.*planar_hand"):
        load_scene("hand")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("colour", "red", "unknown parameter 'scene.colour'"),
        ("gravity", [0.0], "needs 2 values"),
        ("objects", [{"name": "a"}], "'scene.objects.0..mass' is missing"),
        ("fixtures", [{"name": "g", "friction": 1, "shapes": [{"cone": {}}]}], "is a 'cone'"),
        ("fixtures", [{"name": "g", "friction": 1, "shapes": [{}]}], "one key"),
        ("fixtures", [{"name": "g", "friction": -1}], "valid: >= 0"),
        ("fixtures", [{"name": "box", "friction": 1}], "'box' is used twice"),
        ("fixtures", [3], "must be a mapping"),
    ],
)
def test_bad_scene_is_explained(field, value, message):
    with pytest.raises(ConfigError, match=message):
        scene_from_mapping(changed(**{field: value}))


def test_a_link_before_its_parent_is_rejected():
    robot = copy.deepcopy(PIVOTING["robots"][0])
    robot["links"].reverse()
    with pytest.raises(ConfigError, match="unknown parent 'hand_y'"):
        scene_from_mapping(changed(robots=[robot]))


def test_a_scene_without_robot_is_rejected():
    with pytest.raises(ModelError, match="no robot joint"):
        PlanarQuasiDynamics(scene_from_mapping(changed(robots=[])))
