"""The benchmark's scenes by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from contact_core.base.errors import ConfigError, choices
from contact_experiments.tamsi.benchmark.blocks import blocks, heap, islands, pile, towers
from contact_experiments.tamsi.benchmark.robots import (
    HUMANOID,
    HUMANOID_SQUAT,
    QUADRUPED,
    QUADRUPED_SQUAT,
    allegro,
    arm_mug,
    gripper,
    legged,
)
from contact_experiments.tamsi.benchmark.scene import BenchmarkScene

MIXED = ("box", "cylinder", "capsule", "sphere")

SCENES: dict[str, Callable[[str], BenchmarkScene]] = {
    "gripper_soft": partial(gripper, stiffness=1e3, dissipation=3.0),
    "gripper_stiff": partial(gripper, stiffness=1e4, dissipation=10.0),
    "arm_mug": arm_mug,
    "allegro": allegro,
    "quadruped": partial(
        legged, model=QUADRUPED, squat=QUADRUPED_SQUAT, stiffness=100.0, damping=2.0
    ),
    "humanoid": partial(
        legged, model=HUMANOID, squat=HUMANOID_SQUAT, stiffness=400.0, damping=10.0
    ),
    "towers_8": partial(blocks, positions=towers(8), steps=1000),
    "towers_32": partial(blocks, positions=towers(32), steps=100),
    "islands_32": partial(blocks, positions=islands(32), steps=100),
    "islands_128": partial(blocks, positions=islands(128), steps=100),
    "islands_512": partial(blocks, positions=islands(512), steps=100),
    "pile_32": partial(blocks, positions=pile(), steps=100),
    "heap_8": partial(heap, count=8),
    "heap_32": partial(heap, count=32),
    "heap_128": partial(heap, count=128),
    "bin_24": partial(heap, count=24, kinds=MIXED),
    "balls_125": partial(heap, count=125, kinds=("sphere",)),
    "balls_216": partial(heap, count=216, kinds=("sphere",)),
    "balls_666": partial(heap, count=666, kinds=("sphere",)),
}

# Scenes of one kind and growing size, besides those of the same kind above.
GROWTH: dict[str, Callable[[str], BenchmarkScene]] = {
    "towers_4": partial(blocks, positions=towers(4), steps=1000),
    "towers_16": partial(blocks, positions=towers(16), steps=300),
}


def make_scene(name: str) -> BenchmarkScene:
    """Build a scene.

    Args:
        name: One of SCENES or GROWTH.

    Returns:
        The scene.

    Raises:
        ConfigError: If there is no such scene.
    """
    scenes = SCENES | GROWTH
    if name not in scenes:
        raise ConfigError(f"no benchmark scene '{name}' ({choices(scenes)})")
    return scenes[name](name)
