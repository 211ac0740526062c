"""Many bodies: where they are and how they move, and where they touch."""
