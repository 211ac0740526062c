"""The benchmark's blocks: in towers, a wall, apart, and as heaps in a bin.

Where Drake takes part, blocks have spheres at their corners for it to touch with: it finds one
contact point between two boxes, which is another physics. Heaps are of true boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import coal
import numpy as np

from contact_core.robot.description import placement, read_urdf
from contact_core.robot.scene import Instance
from contact_core.robot.surface import Surface
from contact_experiments.tamsi.benchmark.runners import DRAKE_SAP, DRAKE_TAMSI
from contact_experiments.tamsi.benchmark.scene import GRAVITY, BenchmarkScene, passive
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import build_model
from tamsi_sim.simulation.world import World

SURFACE = Surface(2e4, 5.0, 0.5)
BLOCK = 0.1  # Edge of a block [m].
TOWER = 4  # Blocks of a tower.
ROW = 24  # Separate blocks in a row.
SPACING = 0.11  # Distance of neighbours in a wall; they do not touch [m].
PILE = (8, 7, 6, 5, 4, 2)  # Blocks per layer; each stands on two below, so all are one cluster.

SEED = 0  # Of sizes and orientations in a heap.
ROOM = 0.16  # Edge of the cube in which a thing of a heap starts [m].
LAYERS = 5  # In which a heap falls, about.
DENSITY = 500.0  # [kg/m^3]
WALL = 0.1  # Thickness of a bin's walls and floor [m].
HEAP_STEP, HEAP_STEPS = 2e-3, 750
ONE_POINT = "it finds one contact point between two boxes"
MOST = {DRAKE_TAMSI: 32, DRAKE_SAP: 128}
TOO_MANY = "a step of so many bodies takes it a good part of a second"


def blocks(
    name: str, positions: Sequence[tuple[float, float, float]], steps: int
) -> BenchmarkScene:
    """Return blocks that come to rest on a floor and on each other, h 3 ms.

    Args:
        name: Name of the scene.
        positions: Centres of the blocks [m].
        steps: How many steps.
    """
    urdf = read_urdf("urdf/block.urdf")
    instances = [Instance("floor", read_urdf("urdf/floor.urdf"))]
    for k, position in enumerate(positions):
        instances.append(Instance(f"block_{k}", urdf, placement(position), True, GRAVITY))
    built = build_model(instances, lambda instance, link: SURFACE, _feet_and_boxes)
    engine = Engine(built, 3e-3)
    left_out = {name: TOO_MANY for name, most in MOST.items() if len(positions) > most}
    return passive(name, engine, SURFACE, np.zeros((steps, len(engine.v))), left_out)


def towers(count: int) -> list[tuple[float, float, float]]:
    """Return the centres of blocks in separate towers of four."""
    centers = []
    for k in range(count):
        tower, level = divmod(k, TOWER)
        x, y = divmod(tower, 4)
        centers.append((2 * BLOCK * x, 2 * BLOCK * y, BLOCK * (level + 0.5)))
    return centers


def islands(count: int) -> list[tuple[float, float, float]]:
    """Return the centres of separate blocks, in rows that fit on the floor."""
    start, side = -BLOCK * ROW, 2 * BLOCK
    places = (divmod(k, ROW) for k in range(count))
    return [(start + side * x, start + side * y, BLOCK / 2) for x, y in places]


def pile() -> list[tuple[float, float, float]]:
    """Return the centres of the blocks of one wall; no two in a layer touch."""
    return [
        (0.0, SPACING * (k + 0.5 * level), BLOCK * (level + 0.5))
        for level, count in enumerate(PILE)
        for k in range(count)
    ]


def heap(name: str, count: int, kinds: Sequence[str] = ("box",)) -> BenchmarkScene:
    """Return things of random size that fall into a bin and come to rest, 1.5 s at h 2 ms.

    Args:
        name: Name of the scene.
        count: How many things.
        kinds: Their shapes in turn: box, cylinder, capsule, sphere.
    """
    generator = np.random.default_rng(SEED)
    row = max(2, round((count / LAYERS) ** 0.5))
    world = World(GRAVITY, SURFACE).add("bin", _bin(row * ROOM, 2.0 * ROOM * count / row**2))
    for k in range(count):
        layer, place = divmod(k, row * row)
        x, y = (ROOM * (i + 0.5 - 0.5 * row) for i in divmod(place, row))
        size, turn = generator.uniform(0.05, 0.1, 3), generator.uniform(-np.pi, np.pi, 3)
        thing = _thing(kinds[k % len(kinds)], size)
        world.add(f"thing_{k}", thing, (x, y, ROOM * (layer + 0.5)), turn.tolist(), free=True)
    engine = world.build(HEAP_STEP)
    forces = np.zeros((HEAP_STEPS, len(engine.v)))
    why = TOO_MANY if set(kinds) == {"sphere"} else ONE_POINT
    left_out = dict.fromkeys((DRAKE_TAMSI, DRAKE_SAP), why)
    return passive(name, engine, SURFACE, forces, left_out)


def _bin(width: float, height: float) -> str:
    """Return the URDF of an open square bin with its floor at z = 0."""
    floor = f"<origin xyz='0 0 {-0.5 * WALL}'/>{_box_tag(width, width, WALL)}"
    parts = [floor, *_walls(width, height)]
    collisions = (f"<collision name='wall_{k}'>{part}</collision>" for k, part in enumerate(parts))
    return f"<robot name='bin'><link name='bin'>{''.join(collisions)}</link></robot>"


def _walls(width: float, height: float) -> Iterator[str]:
    away, along = 0.5 * (width + WALL), width + 2.0 * WALL
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        size = (WALL, along, height) if x else (along, WALL, height)
        yield f"<origin xyz='{x * away} {y * away} {0.5 * height}'/>{_box_tag(*size)}"


def _box_tag(x: float, y: float, z: float) -> str:
    return f"<geometry><box size='{x} {y} {z}'/></geometry>"


def _thing(kind: str, size: np.ndarray) -> str:
    """Return the URDF of a solid thing that fills about a box of that size [m]."""
    x, y, z = size
    radius = 0.25 * (x + y)
    shape, tag = {
        "box": (coal.Box(*size), f"<box size='{x} {y} {z}'/>"),
        "cylinder": (coal.Cylinder(radius, z), f"<cylinder radius='{radius}' length='{z}'/>"),
        "capsule": (
            coal.Capsule(0.5 * radius, z), f"<capsule radius='{0.5 * radius}' length='{z}'/>"
        ),
        "sphere": (coal.Sphere(radius), f"<sphere radius='{radius}'/>"),
    }[kind]  # fmt: skip
    mass, inertia = DENSITY * shape.computeVolume(), DENSITY * shape.computeMomentofInertia()
    return (
        f"<robot name='thing' version='1.2'><link name='thing'><inertial><mass value='{mass}'/>"
        f"<inertia ixx='{inertia[0, 0]}' iyy='{inertia[1, 1]}' izz='{inertia[2, 2]}' "
        "ixy='0' ixz='0' iyz='0'/></inertial>"
        f"<collision name='thing'><geometry>{tag}</geometry></collision></link></robot>"
    )


def _feet_and_boxes(a: tuple[str, str], b: tuple[str, str]) -> bool:
    return a[0] != b[0] and (a[1] == "feet") != (b[1] == "feet")
