"""A maker's model becomes a robot of the graph: the command ``contact-stack import``."""
