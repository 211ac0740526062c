"""Rows of the model's arrays, collected body by body and shape by shape."""

from __future__ import annotations

from contact_core.multibody.collision.arrays import Geometry, Hulls, Rules
from contact_core.multibody.collision.convex_mesh import ConvexMesh, stack_meshes
from contact_core.multibody.rigid_body.arrays import Bodies, Inertias, Joints, Trees
from contact_core.multibody.selection import from_rows, no_rows
from tamsi_sim.arrays.data import Closures, Model


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
        )
