"""Rigid bodies in motion: kinematics, dynamics, Jacobians."""
