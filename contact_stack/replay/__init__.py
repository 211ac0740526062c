"""The command ``contact-stack replay``: compute an incident record again."""
