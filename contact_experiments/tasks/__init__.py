"""Tasks of others, solved by the planner: their own starts, limits and judges."""
