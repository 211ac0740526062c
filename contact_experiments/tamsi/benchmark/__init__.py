"""The speed of the engine and of its peers, on the same scenes."""
