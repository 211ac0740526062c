"""The experiments of contact_aware_control in one process, and the figures of that paper."""
