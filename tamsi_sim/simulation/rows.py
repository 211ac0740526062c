"""Rows of the model's arrays, collected body by body and shape by shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from contact_core.multibody.collision.arrays import Geometry, Hulls, Rules
from contact_core.multibody.collision.convex_mesh import ConvexMesh, stack_meshes
from contact_core.multibody.rigid_body.arrays import Bodies, Inertias, Joints, Trees
from tamsi_sim.arrays.data import Closures, Model

# Arrays that hold indices; all others hold numbers.
_INDICES: dict[type, set[str]] = {
    Bodies: {
        "parent", "joint_type", "q_index", "first_column", "last_column", "column_dof",
        "column_parent",
    },
    Joints: {"q"},
    Trees: {"first_dof", "of_dof", "elimination"},
    Geometry: {"kind", "body", "tree", "group"},
    Hulls: {"body", "shape", "group", "first_shape", "shapes"},
    Closures: {"body", "tree", "first"},
}  # fmt: skip
# Shape of one row, so that an empty array has the right number of dimensions too.
_ROWS: dict[type, dict[str, tuple[int, ...]]] = {
    Bodies: {"joint_axis": (3,), "joint_rotation": (3, 3), "joint_position": (3,)},
    Inertias: {"center": (3,), "inertia": (3, 3), "gravity": (3,)},
    Geometry: {"size": (3,), "rotation": (3, 3), "position": (3,)},
    Hulls: {"center": (3,)},
    Closures: {
        "body": (2,), "tree": (2,), "position": (2, 3), "rotation": (2, 3, 3), "stiffness": (2,),
    },
}  # fmt: skip


class ModelRows:
    """The rows of the arrays, by selection and field."""

    def __init__(self) -> None:
        """Start without rows."""
        self.bodies = _fields(Bodies)
        self.inertias = _fields(Inertias)
        self.joints = _fields(Joints)
        self.trees = _fields(Trees)
        self.geometry = _fields(Geometry)
        self.hulls = _fields(Hulls)
        self.meshes: list[ConvexMesh] = []
        # Closures need poses at the start, so they are added to the model: none yet.
        self.closures = _fields(Closures)

    def arrays(self, rules: Rules) -> Model:
        """Turn the rows into arrays, beside the rules."""
        return Model(
            Bodies(**_arrays(Bodies, self.bodies)),
            Inertias(**_arrays(Inertias, self.inertias)),
            Joints(**_arrays(Joints, self.joints)),
            Trees(**_arrays(Trees, self.trees)),
            Geometry(**_arrays(Geometry, self.geometry)),
            Hulls(**_arrays(Hulls, self.hulls)),
            stack_meshes(self.meshes),
            rules,
            Closures(**_arrays(Closures, self.closures)),
        )


def _fields(selection: Any) -> dict[str, list[Any]]:
    return {name: [] for name in selection._fields}


def _arrays(selection: type, fields: dict[str, list[Any]]) -> dict[str, np.ndarray]:
    arrays = {}
    for name, rows in fields.items():
        kind = np.int64 if name in _INDICES.get(selection, set()) else np.float64
        shape = _ROWS.get(selection, {}).get(name, ())
        arrays[name] = np.array(rows, dtype=kind).reshape(len(rows), *shape)
    return arrays
