"""The command ``contact-stack robust``."""
