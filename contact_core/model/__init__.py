"""Model files: URDF, SDF, MJCF and SRDF, what moves in them and how it looks."""
