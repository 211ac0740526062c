"""The planner in the graph: the action ``plan_through_contact``."""
