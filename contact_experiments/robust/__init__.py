"""Evidence for the robust planner: the paper chance_constraints."""
