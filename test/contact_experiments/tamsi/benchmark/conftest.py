"""Scenes of the benchmark, cut short."""

import dataclasses

import pytest

from contact_experiments.tamsi.benchmark.scenes import make_scene


@pytest.fixture(scope="session")
def short():
    """Return a function: name, steps -> the first steps of a scene."""

    def cut(name, steps):
        scene = make_scene(name)
        return dataclasses.replace(scene, forces=scene.forces[:steps])

    return cut
