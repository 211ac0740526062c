"""Allocating a simulation, and the handle by which Python calls its kernels."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.experimental import structref

from contact_core.joints import FREE
from contact_core.kernel import kernel
from tamsi_sim.arrays.data import (
    COUNTERS,
    MAX_CORNERS,
    MAX_EDGES,
    MAX_POINTS,
    MAX_TRIANGLES,
    Model,
    Settings,
    Work,
)


def make_work(model: Model, nq: int, max_contacts: int, max_iterations: int) -> Work:
    """Allocate a workspace.

    Args:
        model: The model.
        nq: Number of positions.
        max_contacts: How many contact points it holds.
        max_iterations: Newton iterations of one solve.

    Returns:
        A workspace of zeros; free bodies have a unit quaternion.
    """
    nb, nm = len(model.parent), len(model.column_body)
    nv, ns, nc = len(model.dof_q), len(model.shape_kind), max_contacts
    nt, width = len(model.tree_dof) - 1, _jacobian_width(model)
    bodies = {"rotation": (3, 3), "position": (3,), "velocity": (6,), "acceleration": (6,)}
    bodies |= {"force": (6,), "composite_mass": (), "composite_moment": (3,)}
    bodies |= {"composite_inertia": (3, 3)}
    contacts = {"depth": (), "point": (3,), "frame": (3, 3), "stiffness": (), "elastic": ()}
    contacts |= {"velocity": (3,), "update": (3,), "force": (3,), "gradient": (3, 3)}
    contacts |= {"mean_force": (3,)}
    arrays = {name: np.zeros((nb, *shape)) for name, shape in bodies.items()}
    arrays |= {f"contact_{name}": np.zeros((nc, *shape)) for name, shape in contacts.items()}
    arrays |= {
        "q": np.zeros(nq),
        "counters": np.zeros(COUNTERS, dtype=np.int64),
        "residuals": np.zeros(max_iterations + 1),
        "motion": np.zeros((nm, 6)),
        "mass_matrix": np.zeros((nv, nv)),
        "shape_rotation": np.zeros((ns, 3, 3)),
        "shape_position": np.zeros((ns, 3)),
        "hull_position": np.zeros((len(model.hull_body), 3)),
        "jacobian": np.zeros((nc, 3, width)),
        # Unsigned: innermost loops would spend time on indices that count from the end.
        "jacobian_dof": np.zeros((nc, width), dtype=np.uint64),
        "jacobian_row": np.zeros((nc, width), dtype=np.uint64),
        "edge_trees": np.zeros((nc, 2), dtype=np.int64),
        "system": np.zeros((nv, nv)),
        "row_buffer": np.zeros(6),
        "clip": np.zeros((3, MAX_CORNERS, 3)),
        "polytope_point": np.zeros((MAX_POINTS, 6)),
        "polytope_corner": np.zeros((MAX_TRIANGLES, 3), dtype=np.int64),
        "polytope_plane": np.zeros((MAX_TRIANGLES, 4)),
        "polytope_edge": np.zeros((MAX_EDGES, 2), dtype=np.int64),
        "effort_limit": np.full(nv, np.inf),
    }
    indices = {"contact_pair": nc, "contact_order": nc, "jacobian_columns": nc}
    indices |= {"link_first": nt + 1, "link_tree": 2 * nc}
    indices |= {"tree_island": nt, "tree_queue": nt, "island_dof": nt + 1}
    indices |= {"island_contact": nt + 1, "order": nv, "place": nv, "row_end": nv}
    indices |= {"joint_piece": nv}
    arrays |= {name: np.zeros(size, dtype=np.int64) for name, size in indices.items()}
    arrays |= {name: np.zeros(nv) for name in Work._fields if name not in arrays}
    for body in np.flatnonzero(model.joint_type == FREE):
        arrays["q"][model.q_index[body] + 6] = 1.0
    return Work(**arrays)


def _jacobian_width(model: Model) -> int:
    """How many columns the Jacobian of one contact may have."""
    lengths: list[int] = []
    for parent, joint in zip(model.parent, model.joint_type, strict=True):
        lengths.append((6 if joint == FREE else 1) + (lengths[parent] if parent >= 0 else 0))
    # One more for the world, which is body -1 and has no columns.
    columns = np.array([*lengths, 0])
    return max(
        1, int(columns[model.shape_body[model.pair_shapes]].sum(axis=1, initial=0).max(initial=0))
    )


@structref.register
class _HandleType(types.StructRef):
    """Numba type of :class:`Handle`."""


class Handle(structref.StructRefProxy):
    """Model, workspace and settings behind one pointer, so that calls are cheap.

    Passing the arrays one by one would cost microseconds per call; this costs one
    reference. The arrays stay shared with Python.
    """

    model: Model
    work: Work
    settings: Settings


structref.define_proxy(Handle, _HandleType, ["model", "work", "settings"])


@kernel
def make_handle(model: Model, work: Work, settings: Settings) -> Handle:
    """Bundle model, workspace and settings for the kernels."""
    return Handle(model, work, settings)
