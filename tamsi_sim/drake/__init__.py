"""Drake's physics behind the simulator's interface."""
