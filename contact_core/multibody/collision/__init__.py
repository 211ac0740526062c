"""Which shapes touch, where, and how deep."""
