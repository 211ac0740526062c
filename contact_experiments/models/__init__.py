"""Models that others have published, read by us and by the reference of their format."""
