"""The calibration of an arm: what its torques do not know."""
