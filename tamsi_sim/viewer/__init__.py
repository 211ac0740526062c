"""Simulations in the browser and in notebooks."""
