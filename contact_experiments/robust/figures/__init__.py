"""The figures of the paper `chance_constraints`."""
