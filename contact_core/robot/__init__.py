"""A robot and its scene as configuration and kinematics, and what a driver says of it."""
