"""Demonstrations on the graph: what they do, how they are run, their figures."""
