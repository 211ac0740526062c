"""The simulator in the graph: it speaks the hardware's interface and no other."""
