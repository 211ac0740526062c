"""Experiments on the running graph, with their figures."""
