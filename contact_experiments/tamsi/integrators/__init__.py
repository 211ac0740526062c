"""Integrators on one contact model: implicit Euler, semi-implicit Euler and TAMSI, by name."""
