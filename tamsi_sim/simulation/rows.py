"""Rows of the model's arrays, collected body by body and shape by shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from contact_core.multibody.collision.arrays import Geometry, Hulls, Rules
from contact_core.multibody.collision.convex_mesh import ConvexMesh, stack_meshes
from contact_core.multibody.rigid_body.arrays import Bodies, Inertias, Joints, Trees
from contact_core.multibody.selection import allocate, from_rows, no_rows
from tamsi_sim.arrays.data import Closures, Model, Tendons


class ModelRows:
    """The rows of the arrays, by selection and field."""

    def __init__(self) -> None:
        """Start without rows."""
        self.bodies = no_rows(Bodies)
        self.inertias = no_rows(Inertias)
        self.joints = no_rows(Joints)
        self.trees = no_rows(Trees)
        self.geometry = no_rows(Geometry)
        self.hulls = no_rows(Hulls)
        self.meshes: list[ConvexMesh] = []
        # Closures need poses at the start, so they are added to the model: none yet.
        self.closures = no_rows(Closures)
        self.tendons = no_rows(Tendons)
        self.tendon_laws = no_rows(Joints)

    def arrays(self, rules: Rules) -> Model:
        """Turn the rows into arrays, beside the rules."""
        return Model(
            from_rows(Bodies, self.bodies),
            from_rows(Inertias, self.inertias),
            from_rows(Joints, self.joints),
            from_rows(Trees, self.trees),
            from_rows(Geometry, self.geometry),
            from_rows(Hulls, self.hulls),
            stack_meshes(self.meshes),
            rules,
            from_rows(Closures, self.closures),
            _tendons(self.tendons),
            from_rows(Joints, self.tendon_laws),
        )


def _tendons(rows: Mapping[str, Sequence[Any]]) -> Tendons:
    """Turn rows of tendons of any number of joints into arrays."""
    widest = max(rows["columns"], default=1)
    padded = [np.arange(widest) < columns for columns in rows["columns"]]
    tendons = allocate(Tendons, {"nd": len(padded), "nj": widest})
    for name, array in tendons._asdict().items():
        for t, row in enumerate(rows[name]):
            array[(t, padded[t]) if array.ndim > 1 else t] = row
    return tendons
