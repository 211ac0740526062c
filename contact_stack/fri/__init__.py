"""A driver for robots that speak FRI, the Fast Robot Interface; no product of KUKA's."""
