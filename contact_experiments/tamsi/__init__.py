"""Evidence for the simulator: the paper tamsi, peers and benchmarks."""
