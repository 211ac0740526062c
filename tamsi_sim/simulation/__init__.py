"""Models, worlds and engines: the simulator as a library."""
