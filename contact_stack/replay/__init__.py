"""The command ``contact-stack replay``: compute a flight record again."""
