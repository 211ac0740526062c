"""The evidence: the papers' figures, benchmarks, peers and comparison integrators."""
