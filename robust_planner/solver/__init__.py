"""Nonlinear-programming solvers behind one interface."""
