"""Scenes of the benchmark, cut short."""

import dataclasses

import pytest

from contact_core.base.errors import ConfigError
from contact_experiments.tamsi.benchmark.scenes import make_scene


@pytest.fixture(scope="session")
def scene_of():
    """Return a function: name -> a scene; the test is skipped if the scene's robot is missing."""

    def make(name):
        try:
            return make_scene(name)
        except ConfigError as error:
            pytest.skip(str(error))

    return make


@pytest.fixture(scope="session")
def short():
    """Return a function: name, steps -> the first steps of a scene."""

    def cut(name, steps):
        scene = make_scene(name)
        return dataclasses.replace(scene, forces=scene.forces[:steps])

    return cut
