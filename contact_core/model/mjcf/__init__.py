"""Reading MJCF: the document, the inertia of its geoms, and the tree of its bodies."""
