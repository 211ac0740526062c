"""Allocating a simulation, and the handle by which Python calls its kernels."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.experimental import structref

from contact_stack.core.kernel import kernel
from tamsi_sim.data import COUNTERS, FREE, Model, Settings, Work


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
        "jacobian_dof": np.zeros((nc, width), dtype=np.int64),
        "system": np.zeros((nv, nv)),
        "row_buffer": np.zeros(6),
        "clip": np.zeros((2, 16, 3)),
        "effort_limit": np.full(nv, np.inf),
    }
    indices = {"contact_pair": nc, "jacobian_columns": nc, "jacobian_split": nc}
    indices |= {"contact_order": nc, "link_first": nt + 1, "link_tree": 2 * nc}
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
    widest = 1
    for shapes in np.unique(model.shape_body[model.pair_shapes], axis=0):
        bodies = shapes[shapes >= 0]
        first, last = model.body_first_dof[bodies], model.body_last_dof[bodies]
        same = len(set(model.body_tree[bodies])) == 1
        runs = [last.max() - first.min() + 1] if same else last - first + 1
        widest = max(widest, int(np.sum(runs)))
    return widest


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
