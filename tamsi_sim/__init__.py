"""Simulation of robots in compliant frictional contact: the TAMSI scheme."""
