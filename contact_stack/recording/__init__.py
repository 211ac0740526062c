"""Recording of the graph's topics."""
