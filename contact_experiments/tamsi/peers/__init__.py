"""Simulators that others made, on our scenes."""
